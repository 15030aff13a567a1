"""What releases tell together: against elimination over fractions and linear programs, on small pairs."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog

from examples import parts, spread
from masktron.measures.differencing import (
    NEAR,
    OUTSIDE,
    Differencing,
    FieldReleases,
    Possible,
    Sums,
    differencing,
    possible_values,
    published_sums,
)

SEEDS = parts(range(200), 40)
PROGRAMS = parts(range(200), 15)
FAR = 1e4
"""More than any interval of the small pairs is wide."""


def exact_sums(groups: list[int]) -> Sums:
    m = max(groups, default=-1) + 1
    return Sums(np.array(groups, dtype=np.intp), np.zeros(m), np.zeros(m))


def equations(*sums: Sums) -> list[list[int]]:
    """A row for each group: 1 for its values."""
    return [[int(group == own) for own in one.groups] for one in sums for group in range(len(one.error))]


def solvable(rows: list[list[int]], n: int) -> list[bool]:
    """Tell by elimination over fractions which unknowns are determined: their unit vector is a sum of rows."""
    reduced: list[list[Fraction]] = []
    left = [[Fraction(entry) for entry in row] for row in rows]
    for column in range(n):
        pivot = next((row for row in left if row[column]), None)
        if pivot is None:
            continue
        left.remove(pivot)
        pivot = [entry / pivot[column] for entry in pivot]
        left, reduced = (
            [[a - row[column] * b for a, b in zip(row, pivot, strict=True)] for row in some]
            for some in (left, reduced)
        )
        reduced.append(pivot)
    alone = [[at for at, entry in enumerate(row) if entry] for row in reduced]
    return [[at] in alone for at in range(n)]


def intervals(*sums: Sums) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Possible of every unknown by linear programs: unknowns are values, less the true ones."""
    rows = np.array(equations(*sums), dtype=float)
    error = np.concatenate([one.error for one in sums])
    tolerance = np.concatenate([one.tolerance for one in sums])
    n = rows.shape[1]
    found = []
    for direction in (1.0, -1.0):
        ends = []
        for at in range(n):
            done = linprog(
                direction * np.eye(n)[at],
                A_ub=np.concatenate([rows, -rows]),
                b_ub=np.concatenate([tolerance - error, tolerance + error]),
                bounds=(-FAR, FAR),
                method="highs",
            )
            assert done.status == 0, done.message
            end = direction * done.fun
            ends.append(end if abs(end) < FAR / 2 else -direction * np.inf)
        found.append(np.array(ends))
    return found[0], found[1]


def pair(seed: int) -> tuple[Sums, Sums]:
    """Two releases of few records: partitions that are often nearly the same, and records that are in one alone."""
    generator = np.random.default_rng(seed)
    n, k = int(generator.integers(4, 13)), int(generator.integers(2, 4))
    groups = np.sort(generator.integers(0, max(1, n // k), size=n))
    again = groups.copy()
    moved = generator.choice(n, size=int(generator.integers(0, 4)), replace=False)
    again[moved] = generator.integers(0, max(1, n // k) + 1, size=len(moved))
    if generator.random() < 0.3:
        again = generator.permutation(again)
    labels = [groups, again]
    for one in labels:
        if generator.random() < 0.5:
            one[generator.integers(n)] = OUTSIDE
    found = []
    for one in labels:
        m = int(one.max(initial=0)) + 1
        tolerance = generator.integers(0, 4, size=m).astype(float)
        found.append(Sums(one.astype(np.intp), tolerance * generator.integers(-2, 3, size=m) / 2, tolerance))
    return found[0], found[1]


@pytest.mark.parametrize("seed", SEEDS)
def test_bridges_are_what_elimination_over_fractions_solves(seed: int) -> None:
    first, second = pair(seed)
    found = possible_values(first, second)
    assert found.solvable.tolist() == solvable(equations(first, second), len(first.groups))


@pytest.mark.parametrize("seed", spread(PROGRAMS, every=3))
def test_intervals_are_those_of_linear_programs(seed: int) -> None:
    first, second = pair(seed)
    found = possible_values(first, second)
    low, high = intervals(first, second)
    np.testing.assert_allclose(found.low, low, atol=1e-9)
    np.testing.assert_allclose(found.high, high, atol=1e-9)


def test_the_pairs_have_values_of_both_kinds() -> None:
    """Else the two tests above would say nothing."""
    found = [possible_values(*pair(seed)) for seed in range(60)]
    solved = np.concatenate([one.solvable for one in found])
    assert 0.2 < solved.mean() < 0.8
    told = np.concatenate([one.high - one.low for one in found])
    assert (solved & np.isinf(told)).sum() == 0
    assert np.isinf(told[~solved]).all()
    assert len(np.unique(told[solved])) > 5


def several(seed: int) -> list[Sums]:
    """Three or four releases; some of them are nearly the same."""
    generator = np.random.default_rng(seed)
    found = list(pair(seed))
    n = len(found[0].groups)
    for _ in range(int(generator.integers(1, 3))):
        groups = found[0].groups.copy()
        if generator.random() < 0.6:
            groups = generator.integers(0, max(1, n // 2), size=n)
        moved = generator.choice(n, size=int(generator.integers(1, 4)), replace=False)
        groups[moved] = generator.integers(0, max(1, int(groups.max())) + 1, size=len(moved))
        tolerance = generator.integers(0, 4, size=int(groups.max()) + 1).astype(float)
        found.append(Sums(groups, tolerance * generator.integers(-2, 3, size=len(tolerance)) / 2, tolerance))
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_several_releases_tell_what_elimination_over_fractions_solves(seed: int) -> None:
    sums = several(seed)
    assert possible_values(*sums).solvable.tolist() == solvable(equations(*sums), len(sums[0].groups))


@pytest.mark.parametrize("seed", spread(PROGRAMS, every=3))
def test_intervals_of_several_releases_hold_those_of_linear_programs(seed: int) -> None:
    sums = several(seed)
    found = possible_values(*sums)
    low, high = intervals(*sums)
    assert (found.low <= low + 1e-6).all()
    assert (found.high >= high - 1e-6).all()
    assert np.isfinite(found.high - found.low)[found.solvable].all()


def test_three_releases_tell_what_no_two_of_them_do() -> None:
    """Else the test of elimination would say nothing of three."""
    more = 0
    for seed in range(60):
        sums = several(seed)
        pairs = [possible_values(*two).solvable for two in combinations(sums, 2)]
        more += int((possible_values(*sums).solvable & ~np.any(pairs, axis=0)).sum())
    assert more > 20


def test_of_too_many_sums_each_pair_is_solved_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    triple = [exact_sums(groups) for groups in ([0, 0, 1, 1, 1], [0, 1, 0, 1, 1], [1, 0, 0, 1, 1])]
    assert possible_values(*triple).solvable.tolist() == [True, True, True, False, False]
    monkeypatch.setitem(possible_values.__globals__, "MOST_SUMS", 5)
    assert not possible_values(*triple).solvable.any()


def test_one_record_more_is_the_difference_of_two_sums() -> None:
    """The classic: two groups of three, and the same with a fourth respondent in one of them."""
    first, second = exact_sums([0, 0, 0, 1, 1, 1, OUTSIDE]), exact_sums([0, 0, 0, 1, 1, 1, 1])
    assert possible_values(first, second).solvable.tolist() == [False] * 6 + [True]


def test_one_record_that_changes_its_group_is_told_and_no_other() -> None:
    first, second = exact_sums([0, 0, 0, 1, 1, 1]), exact_sums([0, 0, 0, 0, 1, 1])
    assert possible_values(first, second).solvable.tolist() == [False, False, False, True, False, False]


def test_two_that_change_hide_each_other() -> None:
    first, second = exact_sums([0, 0, 0, 1, 1, 1]), exact_sums([0, 0, 1, 0, 1, 1])
    assert not possible_values(first, second).solvable.any()


def test_a_field_that_one_release_leaves_unmasked_is_told() -> None:
    first, second = exact_sums([0, 0, 0]), exact_sums([0, 1, 2])
    assert possible_values(first, second).solvable.all()


def twice(first: Sums, second: Sums, values: list[float], step: float = 1.0) -> FieldReleases:
    return FieldReleases(np.array(values), (first, second), np.ones(len(values)), step)


VALUES = [100.0, 103.0, 108.0, 900.0, 910.0, 921.0]
FIRST, SECOND = [0, 0, 0, 1, 1, 1], [0, 0, 0, 0, 1, 1]


def release(values: list[float], groups: list[int], step: float, decimals: int) -> Sums:
    original, labels = np.array(values), np.array(groups, dtype=np.intp)
    means = np.bincount(labels, original) / np.bincount(labels)
    return published_sums(original, np.round(means, decimals)[labels], labels, step=step)


def test_rounding_widens_what_sums_tell() -> None:
    """Means with six digits tell the value that moved; in whole thousands they tell nothing near it."""
    fine = [release(VALUES, groups, 1e-6, 6) for groups in (FIRST, SECOND)]
    assert differencing(twice(fine[0], fine[1], VALUES)) == Differencing(6, 1, 1, 1)
    coarse = [release(VALUES, groups, 1000.0, -3) for groups in (FIRST, SECOND)]
    assert differencing(twice(coarse[0], coarse[1], VALUES)) == Differencing(6, 1, 0, 0)


def test_a_tenth_of_a_deviation_is_near_and_not_exact() -> None:
    whole = [release(VALUES, groups, 1.0, 0) for groups in (FIRST, SECOND)]
    deviation = float(np.std(VALUES))
    found = possible_values(*whole)
    width = float(found.high[3] - found.low[3])
    assert 2 < width <= NEAR * deviation
    assert differencing(twice(whole[0], whole[1], VALUES)) == Differencing(6, 1, 0, 1)
    assert differencing(twice(whole[0], whole[1], VALUES, step=2 * width)) == Differencing(6, 1, 1, 1)


def test_what_is_no_mean_is_off_by_as_much_as_it_is() -> None:
    median = published_sums(np.array([1.0, 2.0, 9.0]), np.full(3, 2.0), np.zeros(3, dtype=np.intp), step=1.0)
    assert (median.error.tolist(), median.tolerance.tolist()) == ([6.0], [6.0])


def test_nothing_is_told_of_a_group_that_misses_a_value_in_one_file_or_has_two_numbers() -> None:
    groups = np.repeat(np.arange(4, dtype=np.intp), 2)
    original = np.array([1, 2, 1, np.nan, 3, 4, np.nan, 5])
    masked = np.array([1.5, 1.5, 1, 1, 3, 4, np.nan, 5])
    found = published_sums(original, masked, groups, step=0.1)
    assert found.groups.tolist() == [0, 0, OUTSIDE, OUTSIDE, OUTSIDE, OUTSIDE, OUTSIDE, 3]


def test_weighted_means_tell_weighted_sums() -> None:
    values, weights = np.array([10.0, 20.0, 60.0, 100.0]), np.array([1.0, 3.0, 2.0, 2.0])
    sums = []
    for groups in ([0, 0, 1, 1], [0, 0, 0, 1]):
        labels = np.array(groups, dtype=np.intp)
        means = np.bincount(labels, weights * values) / np.bincount(labels, weights)
        sums.append(published_sums(values, means[labels], labels, weights, step=0.0))
    found = differencing(FieldReleases(values, (sums[0], sums[1]), weights, 1.0))
    assert found == Differencing(4, 2, 2, 2)
    np.testing.assert_allclose(sums[0].error, 0, atol=1e-9)


def test_nothing_is_counted_without_values_and_fields_add_up() -> None:
    nothing = differencing(FieldReleases(np.array([np.nan]), (exact_sums([0]), exact_sums([0])), np.ones(1), 1.0))
    assert nothing == Differencing(0, 0, 0, 0)
    assert np.isnan(nothing.share)
    joined = Differencing.of_all([Differencing(4, 2, 1, 2), Differencing(6, 3, 0, 1)])
    assert (joined, joined.share) == (Differencing(10, 5, 1, 3), 30.0)
    assert Differencing.of_all([]) == Differencing(0, 0, 0, 0)


def test_a_long_chain_is_searched_without_recursion() -> None:
    """Each record joins a group of one release to the next one of the other."""
    n = 20_000
    first, second = np.arange(n) // 2, (np.arange(n) + 1) // 2
    ones = [Sums(one.astype(np.intp), np.zeros(n), np.zeros(n)) for one in (first, second)]
    found: Possible = possible_values(ones[0], ones[1])
    assert found.solvable.all()
