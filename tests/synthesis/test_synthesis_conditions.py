"""What stays: regressors with pooled categories, cells of like records, and conditions that give a variable away."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masktron.arrays import Floats
from masktron.errors import InfeasibleError
from masktron.synthesis.cart import draw_trees
from masktron.synthesis.conditions import RECORDS, Conditions, levels_of, leverages
from masktron.synthesis.regressions import draw_regressions
from masktron.synthesis.trees import pooled
from refusals import refused

NONE = np.zeros(1, dtype=np.bool_)


def share(values: Floats, codes: Floats) -> float:
    """Share of the variance that lies between categories."""
    _, own, sizes = np.unique(codes, return_inverse=True, return_counts=True)
    means = np.bincount(own, values) / sizes
    return float(means[own].var() / values.var())


def conditions(*columns: Floats, nominal: tuple[bool, ...]) -> Conditions:
    return Conditions(np.column_stack(columns), np.array(nominal))


@given(st.integers(0, 2**32 - 1), st.integers(20, 200), st.integers(1, 40))
def test_regressors_are_few_and_no_indicator_is_that_of_few_records(seed: int, n: int, levels: int) -> None:
    rng = np.random.default_rng(seed)
    names, number = rng.integers(0, levels, n).astype(float), rng.normal(size=n)
    number[rng.random(n) < 0.1] = np.nan
    found = conditions(names, number, nominal=(True, False)).regressors()
    assert found.shape[1] <= max(1, n // RECORDS)
    assert not np.isnan(found).any()
    counts = found[:, 1:].sum(axis=0)
    assert ((counts >= 5) & (counts <= n - 5)).all()


def test_the_largest_categories_have_a_level_of_their_own() -> None:
    codes = np.repeat(np.arange(8), [5, 5, 5, 5, 10, 10, 20, 40])
    assert [int(own.max()) for own in levels_of([codes, codes], 5, 16)] == [7, 7]
    assert [int(own.max()) for own in levels_of([codes, codes], 5, 13)] == [7, 5]
    few = levels_of([codes], 5, 3)[0]
    assert [int(few[code]) for code in (7, 6, 4, 5, 0)] == [2, 1, 0, 3, 3]
    assert [int(own.max()) for own in levels_of([codes], 5, 0)] == [0]
    # one more than there is room for is no cliff
    many = np.repeat(np.arange(101), 20)
    assert int(levels_of([many], 5, 100)[0].max()) == 100


def test_what_is_too_rare_joins_the_largest() -> None:
    codes = np.repeat([0, 1, 2], [30, 3, 20])
    levels = pooled(codes, 3, 5)
    assert levels[1] == levels[0] != levels[2]
    shares, tell = conditions(codes.astype(float), nominal=(True,)).together([levels])
    assert shares.tolist() == [3 / 53]
    assert tell.all()


def test_no_record_has_all_weight_in_its_own_value() -> None:
    """A region in which all but one record are of one town: the two tell that record apart."""
    rng = np.random.default_rng(8)
    region = np.repeat([0.0, 1.0, 2.0], [57, 60, 83])
    town = np.concatenate([np.zeros(56), rng.integers(10, 14, 144)])
    found = conditions(region, town, nominal=(True, True))
    assert leverages(found.regressors()).max() <= 1 / 5
    giant = conditions(np.append(rng.normal(size=199), 1e6), nominal=(False,))
    assert leverages(giant.regressors()).max() > 0.99
    assert leverages(giant.clipped(5).regressors()).max() < 0.1


def test_cells_are_of_like_records_where_conditions_tell_something_and_one_where_they_do_not() -> None:
    rng = np.random.default_rng(1)
    region, noise = rng.integers(0, 4, 800).astype(float), rng.normal(size=800)
    outcome = np.column_stack([10 * region + rng.normal(size=800), rng.normal(size=800)])
    numbers = np.zeros(2, dtype=np.bool_)
    cells = conditions(region, noise, nominal=(True, False)).cells(outcome, numbers, 30, rng)
    assert len({*zip(cells.tolist(), region.tolist(), strict=True)}) == len({*cells}) == 4
    assert not conditions(noise, nominal=(False,)).cells(outcome, numbers, 30, rng).any()


def test_a_condition_that_gives_a_variable_away_is_found() -> None:
    rng = np.random.default_rng(2)
    own, other = rng.normal(size=(2, 300))
    job = rng.integers(0, 3, 300).astype(float)
    given_away = conditions(other, own + rng.normal(size=300) / 50, job, nominal=(False, False, True))
    assert given_away.telling(own[:, None], NONE, rng) == [1]
    assert given_away.telling((job * 10)[:, None], ~NONE, rng) == [2]
    assert given_away.telling(rng.normal(size=(300, 1)), NONE, rng) == []
    # curves, bands of ten records, records without a value
    cube = conditions(own**3 + rng.normal(size=300) / 100, np.argsort(np.argsort(own)) // 10.0, nominal=(False, True))
    assert cube.telling(own[:, None], NONE, rng) == [0, 1]
    gaps = np.where(rng.random(300) < 0.2, np.nan, own)
    assert given_away.telling(gaps[:, None], NONE, rng) == [1]
    # neither alone, both together
    both = conditions(own + other, other, nominal=(False, False))
    assert len(both.telling(own[:, None], NONE, rng)) == 1


@pytest.mark.parametrize("draw", ["trees", "regressions"])
def test_what_categories_explain_stays(draw: str) -> None:
    rng = np.random.default_rng(3)
    region, age = rng.integers(0, 6, 900).astype(float), rng.normal(size=900)
    values = np.column_stack([2 * region + age + rng.normal(size=900), rng.lognormal(size=900)])
    stays = conditions(region, age, nominal=(True, False))
    shares, slopes = [], []
    for seed in range(8):
        generator = np.random.default_rng(seed)
        made = (
            draw_trees(values, generator, k=5, smooth=True, conditions=stays)
            if draw == "trees"
            else draw_regressions(values, generator, conditions=stays)
        )
        shares.append(share(made[:, 0], region))
        slopes.append(np.polyfit(age, made[:, 0], 1)[0])
    assert np.mean(shares) == pytest.approx(share(values[:, 0], region), rel=0.1)
    assert np.mean(slopes) == pytest.approx(np.polyfit(age, values[:, 0], 1)[0], rel=0.15)
    without = draw_trees(values, rng, k=5) if draw == "trees" else draw_regressions(values, rng)
    assert share(without[:, 0], region) < 0.05


@pytest.mark.parametrize("draw", [draw_regressions, lambda *a, **b: draw_trees(*a, k=5, smooth=True, **b)])
def test_a_total_that_stays_leaves_its_last_part_to_be_computed(draw: object) -> None:
    assert callable(draw)
    rng = np.random.default_rng(4)
    parts = rng.lognormal(4, 1, size=(200, 2))
    total = parts.sum(axis=1)
    made = draw(parts, rng, conditions=conditions(total, nominal=(False,)))
    assert made.sum(axis=1) == pytest.approx(total)
    assert (np.abs(made - parts) > 1e-6).all(axis=1).mean() > 0.95


def test_what_conditions_give_exactly_is_refused_or_drawn_in_leaves() -> None:
    """Computed from conditions alone, each value would be the respondent's own."""
    rng = np.random.default_rng(5)
    own = rng.normal(size=(100, 1))
    stays = conditions(2 * own[:, 0] + 1, nominal=(False,))
    with refused(InfeasibleError, "would-return-original", variable=1):
        draw_regressions(own, rng, conditions=stays)
    values = np.column_stack([rng.normal(size=100), own])
    made = draw_trees(values, rng, k=5, smooth=True, conditions=stays)
    assert (np.abs(made - values) > 1e-9).mean() > 0.95


@pytest.mark.parametrize("bayesian", [True, False])
def test_categories_follow_what_stays_and_numbers_follow_them(bayesian: bool) -> None:
    rng = np.random.default_rng(6)
    age = rng.normal(size=1500)
    job = (rng.random(1500) < 1 / (1 + np.exp(-2 * age))).astype(float) + (rng.random(1500) < 0.1)
    wage = 3 * job + rng.normal(size=1500)
    values, nominal = np.column_stack([job, wage]), np.array([True, False])
    made = draw_regressions(
        values, rng, bayesian=bayesian, nominal=nominal, conditions=conditions(age, nominal=(False,))
    )
    assert {*made[:, 0]} <= {*job}
    for code in (0.0, 1.0, 2.0):
        assert (made[:, 0] == code).mean() == pytest.approx((job == code).mean(), abs=0.04)
        assert age[made[:, 0] == code].mean() == pytest.approx(age[job == code].mean(), abs=0.15)
        assert made[made[:, 0] == code, 1].mean() == pytest.approx(wage[job == code].mean(), abs=0.3)


def test_rare_categories_are_drawn_as_often_as_they_are_there() -> None:
    rng = np.random.default_rng(7)
    codes = np.concatenate([np.zeros(500), np.ones(480), np.arange(2.0, 22.0)])
    age = np.where(codes == 1, 1.0, -1.0) + rng.normal(size=1000)
    stays = conditions(age, nominal=(False,))
    drawn = [
        draw_regressions(codes[:, None], np.random.default_rng(seed), nominal=~NONE, conditions=stays)[:, 0]
        for seed in range(10)
    ]
    assert np.mean([(made > 1).mean() for made in drawn]) == pytest.approx(0.02, abs=0.006)
