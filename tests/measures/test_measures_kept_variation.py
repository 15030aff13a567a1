"""What is left of means, variances and correlations, against plain arithmetic in fractions and numpy."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from masktron.measures.kept_variation import correlations, intervals_left, kept_correlation, kept_variation


def plain(before: list[int], after: list[int], groups: list[int]) -> tuple[float, ...]:
    """Ratio, shares and largest change in exact arithmetic."""
    mean, mean_after = (Fraction(sum(column), len(column)) for column in (before, after))
    squares = [(x - mean) ** 2 for x in before]
    total = sum(squares)
    changes: dict[int, Fraction] = {}
    for group, square, value in zip(groups, squares, after, strict=True):
        changes[group] = changes.get(group, Fraction(0)) + square - (value - mean) ** 2
    sizes = [abs(change) for change in changes.values()]
    ratio = sum((y - mean_after) ** 2 for y in after) / total
    share = max(sizes) / sum(sizes) if sum(sizes) else Fraction(0)
    return float(ratio), float(max(squares) / total), float(share), float(max(sizes) / total)


@given(st.lists(st.tuples(st.integers(-99, 99), st.integers(-99, 99), st.integers(0, 5)), min_size=2, max_size=40))
def test_it_is_what_fractions_say(rows: list[tuple[int, int, int]]) -> None:
    before, after, groups = (list(column) for column in zip(*rows, strict=True))
    found = kept_variation(
        np.array([before], dtype=float).T, np.array([after], dtype=float).T, np.array(groups, dtype=np.intp)
    )[0]
    if len({*before}) == 1:
        assert math.isnan(found.ratio)
        assert math.isnan(found.shift)
        return
    told = (found.ratio, found.record_share, found.change_share, found.largest_change)
    assert told == pytest.approx(plain(before, after, groups), abs=1e-9)
    deviation = float(np.std(before))
    assert found.shift == pytest.approx((np.mean(after) - np.mean(before)) / deviation, abs=1e-9)
    assert found.groups == len({*groups})


def test_means_of_groups_keep_the_mean_and_lose_the_variance_within() -> None:
    before = np.array([[1.0], [3.0], [10.0], [14.0]])
    after = np.array([[2.0], [2.0], [12.0], [12.0]])
    found = kept_variation(before, after, np.array([0, 0, 1, 1]))[0]
    assert found.shift == pytest.approx(0.0)
    assert found.ratio == pytest.approx(100 / 110)
    assert found.change_share == pytest.approx(0.8)  # 8 of the 10 that are lost


def test_each_record_is_its_own_group_without_groups_and_missing_cells_do_not_count() -> None:
    before = np.array([[1.0], [2.0], [np.nan], [4.0]])
    after = np.array([[1.0], [2.0], [3.0], [np.nan]])
    found = kept_variation(before, after)[0]
    assert (found.records, found.groups, found.ratio, found.change_share) == (2, 2, 1.0, 0.0)


def test_large_and_tiny_numbers_neither_overflow_nor_vanish() -> None:
    values = np.array([[1.0], [2.0], [4.0], [8.0]])
    for scale in (1e300, 1e-300):
        assert kept_variation(values * scale, values * scale / 2)[0].ratio == pytest.approx(0.25)


@given(st.integers(0, 10_000))
def test_the_change_of_a_correlation_adds_up_from_records_and_groups(seed: int) -> None:
    """By loops over plain numbers, and numpy's correlation as oracle of the change."""
    random = np.random.default_rng(seed)
    before = random.normal(size=(30, 2)) * [1, 1e6]
    after = before + random.normal(size=(30, 2)) * [1, 1e6]
    before[3, 0] = after[5, 1] = np.nan
    groups = random.integers(0, 8, size=30)
    found = kept_correlation(before, after, (groups, None))
    held = [row for row in range(30) if row not in (3, 5)]
    products = []
    for table in (before[held], after[held]):
        deviations = (table - table.mean(axis=0)) / table.std(axis=0)
        products.append(deviations[:, 0] * deviations[:, 1] / len(held))
    changes = [abs(products[0][at] - products[1][at]) for at in range(len(held))]
    sums = [
        abs(sum(products[0][at] - products[1][at] for at, row in enumerate(held) if groups[row] == one))
        for one in {int(groups[row]) for row in held}
    ]
    moved = np.corrcoef(after[held].T)[0, 1] - np.corrcoef(before[held].T)[0, 1]
    assert found.change == pytest.approx(abs(moved), abs=1e-9)
    assert (found.records, found.groups) == (len(held), len(sums))
    assert found.record_share == pytest.approx(max(abs(products[0])) / sum(abs(products[0])))
    assert found.change_share == pytest.approx(max(max(one) / sum(one) for one in (sums, changes)))
    assert found.largest_change == pytest.approx(max(*sums, *changes))


def test_a_correlation_without_records_or_spread_has_no_change() -> None:
    apart = np.array([[1.0, np.nan], [2.0, np.nan], [np.nan, 3.0]])
    assert kept_correlation(apart, apart).records == 0
    constant = np.array([[1.0, 5.0], [2.0, 5.0]])
    for table in (apart, constant):
        assert math.isnan(kept_correlation(table, table).change)


@given(st.integers(0, 10_000))
def test_correlations_are_those_of_numpy(seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=(12, 3)) * [1, 1e6, 1e-6] + [0, 5, 1]
    assert correlations(values) == pytest.approx(np.corrcoef(values, rowvar=False), abs=1e-7)


def test_correlations_use_the_records_that_have_both() -> None:
    values = np.array([[1, 2, 5], [2, 4, 5], [3, np.nan, 5], [4, 8, 5.0]])
    found = correlations(values)
    assert found[0, 1] == pytest.approx(1.0)
    assert np.isnan(found[0, 2])
    assert (np.diag(found) == 1).all()


@pytest.mark.parametrize("heavy", [0.0, 2.0, 3.4, 6.0, 40.0])
@pytest.mark.parametrize("noise", [0.05, 0.5])
def test_intervals_are_those_of_trying_all_values(heavy: float, noise: float) -> None:
    """Each value in turn is replaced by all that there may be: those go on that give the same rounded share."""
    random = np.random.default_rng(round(10 * heavy))
    before = random.normal(size=60)
    before[0] = heavy
    after = before + noise * random.normal(size=60)
    widths = intervals_left(before, after, step=0.01)
    share = round(after.var() / before.var(), 2)
    deviation = before.std()
    guesses = np.linspace(-80, 80, 160_001)
    for at in (0, 7):
        others = np.delete(before, at)
        total = np.square(others - others.mean()).sum()
        spread = (total + 59 / 60 * np.square(guesses - others.mean())) / 60
        fits = guesses[np.abs(after.var() / spread - share) <= 0.005]
        apart = np.flatnonzero(np.diff(fits) > 0.0015)
        pieces = [
            piece for piece in np.split(fits, apart + 1) if piece.min() - 0.001 <= before[at] <= piece.max() + 0.001
        ]
        assert len(pieces) == 1
        assert widths[at] * deviation == pytest.approx(np.ptp(pieces[0]), abs=0.004)


def test_intervals_are_open_where_nothing_follows() -> None:
    before = np.array([1.0, 2.0, 4.0, np.nan])
    assert np.isinf(intervals_left(before, np.full(4, 2.0), step=0.01)).all()
    assert np.isinf(intervals_left(np.full(3, 7.0), np.arange(3.0), step=0.01)).all()
    assert len(intervals_left(before, before, step=0.01)) == 3


def test_a_respondent_has_the_share_of_all_his_records() -> None:
    random = np.random.default_rng(8)
    before, after = random.normal(size=(60, 2)), random.normal(size=(60, 2))
    before[:5, 0] = np.nan
    whose = random.integers(0, 9, 60)
    (first, _), (alone, _) = kept_variation(before, after, None, whose), kept_variation(before, after)
    own, people = before[5:, 0], whose[5:]
    squares = (own - own.mean()) ** 2
    shares = [squares[people == one].sum() / squares.sum() for one in np.unique(people)]
    assert first.record_share == pytest.approx(max(shares))
    assert (first.respondents, alone.respondents) == (len(shares), 55)
    assert (first.ratio, first.change_share) == (alone.ratio, alone.change_share)
    found = kept_correlation(before, after, (None, None), whose)
    units = (before[5:] - before[5:].mean(axis=0)) / before[5:].std(axis=0)
    products = abs(units.prod(axis=1))
    shares = [products[people == one].sum() / products.sum() for one in np.unique(people)]
    assert found.record_share == pytest.approx(max(shares))
    assert found.respondents == len(shares)
