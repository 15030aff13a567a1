"""Interval disclosure against ranks and intervals written out in exact arithmetic."""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from examples import examples, parts
from masktron.measures.interval_disclosure import PERCENTS, File, by_deviation, by_ranks

type Columns = NDArray[np.float64]


def random_file(seed: int) -> tuple[Columns, Columns]:
    """A file of small integers, with ties and gaps, and a masked one: noise, group means, or values of the file."""
    rng = np.random.default_rng(seed)
    n, p, top = int(rng.integers(1, 40)), int(rng.integers(1, 4)), int(rng.integers(1, 40))
    original = rng.integers(-top, top, size=(n, p)).astype(np.float64)
    masked = original + rng.integers(-9, 10, size=(n, p)) / 16
    if seed % 3 == 1:
        labels = rng.integers(0, 1 + n // 3, size=n)
        for label in np.unique(labels):
            masked[labels == label] = original[labels == label].mean(axis=0)
    if seed % 3 == 2:
        masked = np.sort(original, axis=0)
    if seed % 4 == 0:
        original[rng.random((n, p)) < 0.2] = np.nan
        masked[rng.random((n, p)) < 0.2] = np.nan
    return original, masked


def present(column: Columns) -> list[Fraction]:
    return sorted(Fraction(value) for value in column[~np.isnan(column)].tolist())


def rank_of(value: Fraction, ranked: list[Fraction]) -> Fraction:
    places = [place for place, other in enumerate(ranked, start=1) if other == value]
    if places:
        return Fraction(sum(places), len(places))
    return sum(other < value for other in ranked) + Fraction(1, 2)


def in_ranks(x: Fraction, y: Fraction, ranked: list[Fraction]) -> list[bool]:
    away = [abs(place - rank_of(y, ranked)) for place in range(1, len(ranked) + 1)]
    found = []
    for percent in PERCENTS:
        width = Fraction(percent * len(ranked), 100)
        reached = [y, *(value for value, steps in zip(ranked, away, strict=True) if steps <= width)]
        found.append(min(reached) <= x <= max(reached))
    return found


def in_deviation(x: Fraction, y: Fraction, variance: Fraction) -> list[bool]:
    return [(x - y) ** 2 <= Fraction(percent, 100) ** 2 * variance for percent in PERCENTS]


def variance_of(values: list[Fraction]) -> Fraction:
    mean = sum(values, Fraction()) / len(values)
    return sum(((value - mean) ** 2 for value in values), Fraction()) / len(values)


def brute_force(original: Columns, masked: Columns, *, ranks: bool, file: File) -> float:
    shares = []
    for before, after in zip(original.T, masked.T, strict=True):
        both = ~np.isnan(before) & ~np.isnan(after)
        if not both.any():
            continue
        against = present(after if file == "masked" else before)
        variance = variance_of(against)
        found = []
        for x, y in zip(map(Fraction, before[both].tolist()), map(Fraction, after[both].tolist()), strict=True):
            found += in_ranks(x, y, against) if ranks else in_deviation(x, y, variance)
        shares.append(sum(found) / len(found))
    return 100 * sum(shares) / len(shares) if shares else 0.0


@pytest.mark.few(2)
@pytest.mark.parametrize("seed", parts(range(200), 8))
def test_exact_arithmetic(seed: int) -> None:
    original, masked = random_file(seed)
    for file in ("masked", "original"):
        expected = brute_force(original, masked, ranks=True, file=file)
        assert by_ranks(original, masked, ranks_in=file) == pytest.approx(expected, abs=1e-9)
        expected = brute_force(original, masked, ranks=False, file=file)
        assert by_deviation(original, masked, deviation_of=file) == pytest.approx(expected, abs=1e-9)


def test_the_files_are_hard() -> None:
    """Among the files of the oracle test are figures between the corners, and the two files do not say the same."""
    found = [(by_ranks(*file), by_ranks(*file, ranks_in="original")) for file in map(random_file, range(200))]
    assert sum(0 < masked < 100 and masked != original for masked, original in found) > 100
    found = [
        (by_deviation(*file), by_deviation(*file, deviation_of="masked")) for file in map(random_file, range(200))
    ]
    assert sum(0 < original < 100 and masked != original for original, masked in found) > 40


def test_ranks_by_hand() -> None:
    masked = np.array([10.0, 20, 20, 20, 30, 40, 50, 60, 70, 80])[:, np.newaxis]
    # one record of ten is 10 %: 20 has rank 3, and its interval the ranks 2 to 4, all of them 20
    original = np.array([20.0, 20, 20.5, 19.5, 20, 29.9, 60, 60, 80, 75])[:, np.newaxis]
    # 10: ranks 1, 2 = 10 to 20; 30: 4 to 6 = 20 to 40; 40: 30 to 50, so not 29.9; ... 80: 70 to 80
    inside = [True, True, False, False, True, False, True, True, True, True]
    assert by_ranks(original, masked, percents=[10]) == pytest.approx(100 * np.mean(inside))
    # 9 % of ten records is no record: only unchanged values are inside
    assert by_ranks(original, masked, percents=[9]) == pytest.approx(100 * 2 / 10)


def test_values_that_the_ranking_file_does_not_have() -> None:
    original = np.array([1.0, 2, 3, 4])[:, np.newaxis]
    beyond = np.array([0.0, 1.5, 2.5, 9])[:, np.newaxis]
    assert by_ranks(original, beyond, percents=[10], ranks_in="original") == 0
    # half a rank to each side of 1.5 are the values 1 and 2; of 0 the value 1, of 9 the value 4
    assert by_ranks(original, beyond, percents=[13], ranks_in="original") == 100


def test_deviation_by_hand() -> None:
    original = np.array([0.0, 200.0])[:, np.newaxis]
    # the deviation is 100, and 5 is 5 % of it: at the end of the interval from p = 5 on, in six of ten
    assert by_deviation(original, original + 5) == pytest.approx(60)
    assert by_deviation(original, original + np.array([[5.0], [5.01]])) == pytest.approx((60 + 50) / 2)
    # of the masked file it is 50, and 5 is 10 % of it
    assert by_deviation(original, original + np.array([[5.0], [-95.0]]), deviation_of="masked") == 5


@examples(25, full=100)
@given(seed=st.integers(0, 10**6))
def test_properties(seed: int) -> None:
    original, masked = random_file(seed)
    order = np.random.default_rng(seed).permutation(len(original))
    released = bool((~np.isnan(original) & ~np.isnan(masked)).any())
    for measure in (by_ranks, by_deviation):
        assert measure(original, original) == (100 if not np.isnan(original).all() else 0)
        assert measure(original[order], masked[order]) == measure(original, masked)
        widths = [measure(original, masked, percents=[percent]) for percent in (*PERCENTS, 30, 100)]
        assert widths == sorted(widths)
        assert measure(original, masked) == pytest.approx(np.mean(widths[:10]))
        assert measure(original * 8 - 64, masked * 8 - 64) == pytest.approx(measure(original, masked))
        assert 0 <= widths[-1] <= 100 * released


def test_constant_and_missing_variables() -> None:
    constant = np.full((10, 1), 0.1)
    assert by_ranks(constant, constant) == by_deviation(constant, constant) == 100
    changed = constant + np.where(np.arange(10)[:, np.newaxis] < 4, 1e-9, 0)
    assert by_deviation(constant, changed) == 60
    assert by_ranks(constant, constant + 1) == 0
    # numpy finds a deviation of one ulp in three times 0.1
    three = np.full((3, 1), 0.1)
    assert by_deviation(three, np.nextafter(three, 1), percents=[100]) == 0
    # a variable without a cell in both files is left out, and so is a cell that is missing in one of them
    nothing = np.full((10, 1), np.nan)
    half = np.where(np.arange(10)[:, np.newaxis] < 5, 1.0, np.nan)
    before, after = np.hstack([changed, nothing, half]), np.hstack([constant, constant, half[::-1]])
    assert by_deviation(before, after, deviation_of="masked") == 60
    assert by_ranks(nothing, constant) == by_deviation(nothing, constant) == 0


def test_small_files() -> None:
    for n, p in ((0, 2), (3, 0)):
        assert by_ranks(np.empty((n, p)), np.empty((n, p))) == by_deviation(np.empty((n, p)), np.empty((n, p))) == 0
    one = np.array([[3.0]])
    assert by_ranks(one, one) == by_deviation(one, one) == 100
    assert by_ranks(one, one + 1) == by_deviation(one, one + 1) == 0
    two = np.array([[1.0], [2.0]])
    assert by_ranks(two, two[::-1]) == by_deviation(two, two[::-1]) == 0


def test_absurd_scales() -> None:
    original = np.array([[1e-300], [2e-300], [3e-300]])
    assert by_deviation(original, original * 1.01, percents=[1]) == pytest.approx(0)
    assert by_deviation(original, original * 1.01, percents=[5]) == pytest.approx(100)
    assert by_deviation(original, original * 1e300) == by_deviation(original * 1e300, original) == 0
    assert by_deviation(original * 1e300, original, deviation_of="masked") == 0
    # differences that vanish beside the unit are differences all the same
    tiny = np.array([[0.0], [5e-324], [0.0]])
    assert by_deviation(np.full((3, 1), 1e300), np.full((3, 1), 1e300) + 0 * tiny) == 100
    assert by_deviation(np.zeros((3, 1)), tiny) == pytest.approx(200 / 3)


def test_a_million_values_take_seconds() -> None:
    rng = np.random.default_rng(1)
    original = rng.lognormal(size=(1_000_000, 1))
    masked = np.round(original, 1)
    start = time.process_time()
    assert 0 < by_ranks(original, masked) < 100
    assert 0 < by_deviation(original, masked) < 100
    assert time.process_time() - start < 5
