"""Fuzzy c-means: memberships, groups of at least k, and prototypes that keep linear rules."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from masktron.arrays import Floats
from masktron.errors import InfeasibleError
from masktron.methods.fuzzy import FuzzyMethod
from masktron.partitions import fuzzy
from masktron.partitions.mdav import standardise
from refusals import refused


@st.composite
def files(draw: st.DrawFn) -> Floats:
    """Ugly columns: constant, of three values, of zeros, with heavy tails, sums of others; and duplicated records."""
    n, seed = draw(st.integers(2, 60)), draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    kinds = draw(st.lists(st.sampled_from(["constant", "few", "zeros", "heavy", "plain"]), min_size=1, max_size=4))
    made = {
        "constant": lambda: np.full(n, 7.0),
        "few": lambda: rng.integers(0, 3, n).astype(float),
        "zeros": lambda: np.where(rng.random(n) < 0.8, 0.0, rng.normal(size=n)),
        "heavy": lambda: np.exp(rng.normal(0, 4, n)),
        "plain": lambda: rng.normal(size=n) * 1e6,
    }
    columns = [made[kind]() for kind in kinds]
    values = np.stack([*columns, sum(columns, np.zeros(n))], axis=1)
    return values[rng.integers(0, n, n)] if draw(st.booleans()) else values


def by_hand(point: Floats, centres: Floats, m: float) -> list[float]:
    """The definition, for distances that are not zero."""
    far = [math.dist(point, centre) for centre in centres]
    return [1 / sum((own / other) ** (2 / (m - 1)) for other in far) for own in far]


@pytest.mark.parametrize("m", [1.1, 1.5, 2.0, 4.0])
def test_memberships_are_those_of_the_definition(m: float) -> None:
    rng = np.random.default_rng(3)
    points, centres = rng.normal(size=(20, 3)), rng.normal(size=(5, 3))
    found = fuzzy.memberships(points, centres, m)
    assert found == pytest.approx(np.array([by_hand(point, centres, m) for point in points]), rel=1e-9)


def test_a_point_that_is_a_centre_belongs_to_it_alone() -> None:
    centres = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 0.0], [5.0, 5.0]])
    found = fuzzy.memberships(np.array([[0.0, 0.0], [1.0, 0.0]]), centres, 2.0)
    assert found.tolist() == [[1, 0, 0, 0], [0, 0.5, 0.5, 0]]
    far = fuzzy.memberships(np.array([[1e150, 0.0], [1e-160, 0.0]]), centres, 1.01)
    assert far.sum(axis=1) == pytest.approx(1.0)


def test_a_centre_is_the_mean_that_the_memberships_weigh(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    points, values, centres = rng.normal(size=(40, 2)), rng.normal(size=(40, 3)), rng.normal(size=(4, 2))
    weights = fuzzy.memberships(points, centres, 1.7) ** 1.7
    expected = np.stack([np.average(values, axis=0, weights=own) for own in weights.T])
    assert fuzzy.weighted_centres(values, points, centres, 1.7) == pytest.approx(expected, rel=1e-12)
    monkeypatch.setattr(fuzzy, "CELLS", 12)
    assert fuzzy.weighted_centres(values, points, centres, 1.7) == pytest.approx(expected, rel=1e-12), "part by part"


def test_a_centre_without_any_weight_takes_the_nearest_record() -> None:
    points = np.array([[0.0], [1.0]])
    found = fuzzy.weighted_centres(np.array([[3.0], [4.0]]), points, np.array([[0.0], [1.0], [9.0]]), 1.05)
    assert found.tolist() == [[3.0], [4.0], [4.0]]


def test_clustering_decreases_its_objective_and_says_whether_it_converged() -> None:
    rng = np.random.default_rng(5)
    points = np.concatenate([rng.normal(at, 0.3, (30, 2)) for at in (-3.0, 0.0, 3.0)])
    start = fuzzy.starting_centres(points, 3)

    def objective(centres: Floats) -> float:
        squares = np.square(points[:, None] - centres).sum(axis=2)
        return float((fuzzy.memberships(points, centres, 2.0) ** 2.0 * squares).sum())

    runs = [fuzzy.cluster(points, start, m=2.0, tolerance=1e-8, most=most) for most in (1, 2, 4, 200)]
    costs = [objective(start), *(objective(run.centres) for run in runs)]
    assert costs == sorted(costs, reverse=True)
    assert [run.converged for run in runs] == [False, False, False, True]
    assert np.sort(runs[-1].centres[:, 0]) == pytest.approx([-3, 0, 3], abs=0.2)


@examples(30, full=150)
@given(files(), st.integers(2, 9), st.sampled_from([1.05, 1.3, 2.0, 5.0]), st.sampled_from([None, 1, 3]))
def test_groups_have_k_records_and_prototypes_keep_linear_rules(
    values: Floats, k: int, m: float, clusters: int | None
) -> None:
    method = FuzzyMethod(k, m, clusters, rounds=10)
    if len(values) < k:
        with refused(InfeasibleError, "too-few-records", what="fuzzy", least=k):
            method.mask(values, np.random.default_rng(0))
        return
    drawn = method.mask(values, np.random.default_rng(0))
    assert drawn.labels is not None
    sizes = np.bincount(drawn.labels)
    assert sizes.min() >= k
    assert len(sizes) <= (len(values) // k if clusters is None else clusters)
    assert np.unique(drawn.values, axis=0).shape[0] <= len(sizes), "records of a group share their prototype"
    assert (drawn.values >= values.min(axis=0)).all() and (drawn.values <= values.max(axis=0)).all()
    size = np.abs(values).max() * values.shape[1]
    assert drawn.values[:, :-1].sum(axis=1) == pytest.approx(drawn.values[:, -1], abs=1e-9 * size, rel=0)


@settings(max_examples=60)
@given(files(), st.integers(0, 2**32 - 1))
def test_any_inequality_that_all_records_satisfy_holds(values: Floats, seed: int) -> None:
    if len(values) < 4:
        return
    drawn = FuzzyMethod(3, 1.4, rounds=5).mask(values, np.random.default_rng(0)).values
    slopes = np.random.default_rng(seed).normal(size=(8, values.shape[1]))
    sizes = np.abs(slopes) @ np.abs(values).max(axis=0)
    assert (drawn @ slopes.T <= (values @ slopes.T).max(axis=0) + 1e-9 * sizes).all()


def test_small_clusters_are_given_up_and_their_records_go_to_the_nearest_left() -> None:
    points = np.array([[0.0], [0.1], [0.2], [1.0], [5.0], [5.1], [5.2]])
    centres = np.array([[0.1], [1.0], [5.1]])
    assert fuzzy.partition(points, centres, 3).tolist() == [0, 0, 0, 0, 1, 1, 1]
    assert fuzzy.partition(points, centres, 4).tolist() == [0, 0, 0, 0, 0, 0, 0]
    with pytest.raises(InfeasibleError):
        fuzzy.partition(points, centres, 8)


def test_prototypes_are_those_of_the_groups_for_other_variables_too() -> None:
    rng = np.random.default_rng(6)
    values = rng.normal(size=(60, 2))
    points, method = standardise(values), FuzzyMethod(4, 1.2)
    labels = method.partition(points)
    both = method.prototypes(np.concatenate([values, values * 2 + 1], axis=1), points, labels)
    assert both[:, 2:] == pytest.approx(both[:, :2] * 2 + 1)
    assert both[labels, :2] == pytest.approx(method.mask(values, rng).values)


def test_there_are_no_more_centres_to_start_with_than_asked_for() -> None:
    points = np.arange(11.0)[:, None]
    assert [len(fuzzy.starting_centres(points, count)) for count in (1, 2, 4, 5)] == [1, 2, 3, 5]
    assert fuzzy.starting_centres(points, 1).tolist() == [[5.0]]


def test_records_that_are_alike_in_all_points_are_a_group() -> None:
    method, values = FuzzyMethod(3), np.arange(8.0)[:, None]
    labels = method.partition(np.zeros((8, 0)))
    assert labels.tolist() == [0] * 8
    assert method.prototypes(values, np.zeros((8, 0)), labels).tolist() == [[3.5]]


def test_survey_weights_count_in_prototypes() -> None:
    rng = np.random.default_rng(8)
    points, values, centres = rng.normal(size=(40, 2)), rng.normal(size=(40, 3)), rng.normal(size=(4, 2))
    survey = rng.integers(0, 5, 40).astype(float)
    expected = fuzzy.weighted_centres(
        np.repeat(values, survey.astype(int), axis=0), np.repeat(points, survey.astype(int), axis=0), centres, 1.7
    )
    assert fuzzy.weighted_centres(values, points, centres, 1.7, survey * 1e300) == pytest.approx(expected, rel=1e-12)
    far = fuzzy.weighted_centres(values[:3], points[:3], points[:3] + 1e9, 1.7, np.array([0.0, 1.0, 0.0]))
    assert far == pytest.approx(np.tile(values[1], (3, 1)))
    labels = np.repeat(np.arange(4), 10)
    plain, weighted = (FuzzyMethod(4).prototypes(values, points, labels, one) for one in (None, survey))
    assert not np.allclose(plain, weighted)


def test_no_sum_of_large_values_overflows() -> None:
    values = np.where(np.arange(12) % 2, 1.7e308, -1.7e308)[:, None]
    drawn = FuzzyMethod(3).mask(values, np.random.default_rng(0)).values
    assert np.abs(drawn) == pytest.approx(np.full((12, 1), 1.7e308))
