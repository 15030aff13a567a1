"""Partially synthetic data: marks, donors, joint consistency, releases."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from masktron.errors import UsageError
from masktron.methods.hierarchical import HierarchicalMethod
from masktron.partitions.centroid import agglomerate
from masktron.synthesis.hierarchical import Marked, mark, replace_marked
from refusals import refused


def incomes(seed: int = 0, n: int = 200) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    first = rng.lognormal(10, 1, size=n)
    return np.column_stack([first, first * rng.uniform(0.4, 1.2, size=n), rng.integers(0, 4, size=n)])


def masked(values: NDArray[np.float64], seed: int = 0, **parameters: Any) -> NDArray[np.float64]:
    return HierarchicalMethod(**parameters).check().mask(values, np.random.default_rng(seed)).values


def test_only_values_beyond_the_threshold_change() -> None:
    values = incomes()
    cells = HierarchicalMethod(variables=(0, 1), quantile=0.8).marked(values).cells
    assert cells[:, :2].tolist() == (values[:, :2] > np.quantile(values[:, :2], 0.8, axis=0)).tolist()
    assert not cells[:, 2].any()
    found = masked(values, variables=(0, 1), quantile=0.8)
    assert (found[~cells] == values[~cells]).all()
    assert (found[cells] != values[cells]).mean() > 0.7
    for j in (0, 1):
        assert np.isin(found[cells[:, j], j], values[cells[:, j], j]).all()


def test_thresholds_and_sides() -> None:
    values = np.arange(100.0)[:, None] @ np.ones((1, 2))
    cells = mark(values, (1, 0), thresholds=(70.0, 80.0)).cells
    assert (np.flatnonzero(cells[:, 0])[0], np.flatnonzero(cells[:, 1])[0]) == (81, 71)
    assert np.flatnonzero(mark(values, (0,), thresholds=(15.0,), side="lower").cells[:, 0]).tolist() == [*range(15)]
    both = np.flatnonzero(mark(values, (0,), quantile=0.9, side="both").cells[:, 0])
    assert both.tolist() == [*range(10), *range(90, 100)]
    assert not mark(values, (0,), thresholds=(99.0,)).cells.any()


def test_too_few_beyond_the_threshold_take_the_next_ones_along() -> None:
    values = np.concatenate([np.arange(40.0), np.full(20, 50.0), [60.0]])[:, None]
    by_records = mark(values[:40], (0,), thresholds=(36.0,))
    assert np.flatnonzero(by_records.cells[:, 0]).tolist() == [*range(30, 40)]
    assert by_records.more == (0,)
    # twenty-one records with two different values
    by_values = mark(values, (0,), thresholds=(49.0,))
    assert values[by_values.cells[:, 0], 0].min() == 39
    codes = np.arange(30.0)[:, None] % 2
    assert mark(codes, (0,), thresholds=(0.0,)).all == (0,)
    assert mark(codes, (0,), thresholds=(0.0,)).cells.all()


def test_a_cluster_that_is_one_record_apart_is_never_made() -> None:
    values = incomes(3)
    found = HierarchicalMethod(variables=(0,), thresholds=(1e9,)).check().mask(values, np.random.default_rng(0))
    assert (found.values == values).all()
    assert found.notes == ("no value is beyond the threshold, so that all stay as they are, in 1 variable",)
    top = float(np.sort(values[:, 0])[-2])
    found = HierarchicalMethod(variables=(0,), thresholds=(top,)).check().mask(values, np.random.default_rng(0))
    assert (found.values != values).any(axis=1).sum() >= 6
    assert "too few lay beyond" in found.notes[0]


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from(["small", "counts", "spr", "rmsstd"]))
def test_combinations_are_those_of_respondents(seed: int, stop: str) -> None:
    """Values drawn for a record stand together in one of the original, but for those that are counted apart."""
    rng = np.random.default_rng(seed)
    values = np.round(rng.lognormal(2, 1, size=(80, 3)), int(rng.integers(0, 3)))
    method = HierarchicalMethod(quantile=0.6, stop=stop)  # type: ignore[arg-type]
    marked = method.marked(values)
    made = method._made(values, marked, np.random.default_rng(seed))
    order = np.argsort(-marked.cells.sum(axis=0), kind="stable")
    strange = 0
    for row, cells in zip(made.values, marked.cells, strict=True):
        own = [j for j in order if cells[j]]
        # each variable after the first, with all that the record was drawn before
        for turn in range(1, len(own)):
            together = own[: turn + 1]
            strange += not (values[:, together] == row[together]).all(axis=1).any()
    assert strange <= made.apart <= made.replaced


def test_everything_marked_alike_is_copied_record_by_record() -> None:
    values = incomes(4, 60)[:, :2]
    marked = Marked(np.ones(values.shape, dtype=np.bool_))
    made = replace_marked(values, marked, np.random.default_rng(1), lambda points, codes: np.arange(60) % 3)
    assert made.apart == 0
    copied = (made.values[:, None, :] == values).all(axis=2)
    assert copied.sum(axis=1).tolist() == [1] * 60
    # the donor is of the cluster of the first variable
    assert (copied.argmax(axis=1) % 3 == np.arange(60) % 3).all()


def test_variables_come_by_number_of_marks() -> None:
    values = incomes(5, 40)[:, :2]
    cells = np.zeros(values.shape, dtype=np.bool_)
    cells[:12, 0] = cells[:30, 1] = True
    seen: list[int] = []

    def one(points: NDArray[np.float64], codes: NDArray[np.intp]) -> NDArray[np.intp]:
        seen.append(len(codes))
        return np.zeros(len(codes), dtype=np.intp)

    replace_marked(values, Marked(cells), np.random.default_rng(0), one)
    assert seen == [30, 12]


def test_a_release_is_the_same_however_many_there_are() -> None:
    values = incomes()
    five = HierarchicalMethod(releases=5).all_releases(values, np.random.default_rng(9))
    two = HierarchicalMethod(releases=2).all_releases(values, np.random.default_rng(9))
    assert (five[:2] == two).all()
    for release in range(1, 6):
        assert (masked(values, 9, release=release) == five[release - 1]).all()
    assert all((a != b).any() for a, b in combinations(five, 2))


@pytest.mark.full
def test_the_mean_of_a_cluster_is_kept_in_expectation() -> None:
    values = incomes(7)
    found = np.stack([masked(values, seed, variables=(0,)) for seed in range(400)])
    means = found[:, :, 0].mean(axis=1)
    assert means.mean() == pytest.approx(values[:, 0].mean(), abs=4 * means.std() / 20)


def test_ugly_columns() -> None:
    rng = np.random.default_rng(8)
    zeros = np.where(rng.random(60) < 0.95, 0, rng.lognormal(10, 3, size=60))
    values = np.column_stack([np.full(60, 0.1), zeros, rng.integers(0, 3, size=60), rng.lognormal(0, 8, 60) * 1e290])
    for stop, side in product(("small", "counts", "spr", "rmsstd"), ("upper", "lower", "both")):
        found = masked(values, stop=stop, side=side)
        assert np.isfinite(found).all()
        assert (found[:, 0] == 0.1).all()


def test_numbers_are_read_from_texts() -> None:
    parameter = HierarchicalMethod.parameters["thresholds"]
    assert parameter.read("225000, 1.5e5") == (225000.0, 150000.0)
    assert parameter.read("auto") is None
    parameter.check((1, 2.5))
    for wrong in ("1,x", ""):
        with refused(UsageError, "bad-value", name="thresholds", given=repr(wrong)):
            parameter.read(wrong)


def test_thresholds_that_no_value_is_beyond_are_said() -> None:
    flags = np.repeat([0.0, 1.0], 30)
    values = np.column_stack([flags, np.arange(60.0)])
    made = HierarchicalMethod().mask(values, np.random.default_rng(0))
    assert (made.values[:, 0] == flags).all()
    assert made.notes[0] == "no value is beyond the threshold, so that all stay as they are, in 1 variable"
    assert not any(
        "no value" in note for note in HierarchicalMethod(variables=[1]).mask(values, np.random.default_rng(0)).notes
    )


def test_who_has_a_combination_alone_does_not_get_it_back() -> None:
    values = np.random.default_rng(4).lognormal(8, 1, size=(400, 3)).round(2)
    values[:, 1] += values[:, 0]  # so that the same records are marked in several variables
    method = HierarchicalMethod()
    marked = method.marked(values).cells
    several = marked.sum(axis=1) >= 2
    assert several.sum() > 40
    back = 0
    for seed in range(5):
        made = method.mask(values, np.random.default_rng(seed)).values
        back += int(((made == values) | ~marked).all(axis=1)[several].sum())
    assert back <= 0.03 * 5 * several.sum()  # in every variable one in ten donors is the record itself, by chance


@pytest.mark.full
def test_slopes_shrink_by_what_clusters_hold_within_which_is_the_method() -> None:
    """A value drawn from its cluster goes with other fields as the mean of the cluster does, no more."""
    rng = np.random.default_rng(3)
    x = rng.lognormal(size=300)
    values = np.column_stack([x, 1 + x + rng.normal(size=300)])
    releases = HierarchicalMethod(variables=(0,), releases=800).all_releases(values, np.random.default_rng(1))
    rows = np.flatnonzero(x > np.quantile(x, 0.85))
    points = (values / values.std(axis=0))[rows]
    labels = agglomerate(points, np.unique(x[rows], return_inverse=True)[1].astype(np.intp), records=10, distinct=3)
    expected = x.copy()
    for label in np.unique(labels):
        expected[rows[labels == label]] = x[rows[labels == label]].mean()
    other = values[:, 1] - values[:, 1].mean()
    found = releases[:, :, 0] @ other
    # four standard errors
    assert found.mean() == pytest.approx(expected @ other, abs=4 * found.std() / np.sqrt(800))
    assert expected @ other < 0.8 * (x @ other)
    slopes = [np.polyfit(release[:, 0], release[:, 1], 1)[0] for release in releases[:100]]
    assert np.mean(slopes) < 0.9 * np.polyfit(x, values[:, 1], 1)[0]


def test_what_is_lost_is_said() -> None:
    made = HierarchicalMethod().mask(incomes(), np.random.default_rng(0))
    assert sum("slopes of regressions come out too small" in note for note in made.notes) == 1
    assert "66 to 87 %" in HierarchicalMethod.loses[0]
