"""ABIM, ABISD, ABICO and X^2 against their definitions."""

from __future__ import annotations

import itertools
import math
import statistics
from dataclasses import astuple
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from masktron.measures import biases, class_chi_square
from masktron.measures.classes import Biases
from masktron.measures.subdomains import subdomains

RNG = np.random.default_rng(8)
ORIGINAL = RNG.lognormal(size=(80, 3))
NOISE = RNG.normal(size=ORIGINAL.shape)


def present(column: NDArray[np.float64]) -> list[float]:
    return [value for value in column.tolist() if not math.isnan(value)]


def correlation(file: NDArray[np.float64], i: int, j: int) -> float:
    pairs = [row for row in file[:, [i, j]].tolist() if not any(map(math.isnan, row))]
    return statistics.correlation(*zip(*pairs, strict=True))


def by_definition(original: NDArray[np.float64], masked: NDArray[np.float64]) -> list[float]:
    """For statistics other than 0."""
    kinds: list[list[float]] = [[], [], []]
    for before, after in zip(original.T, masked.T, strict=True):
        x, y = present(before), present(after)
        for kind, statistic in zip(kinds, (statistics.fmean, statistics.pstdev), strict=False):
            kind.append(abs((statistic(y) - statistic(x)) / statistic(x)))
    for i, j in itertools.combinations(range(original.shape[1]), 2):
        r, s = correlation(original, i, j), correlation(masked, i, j)
        kinds[2].append(abs((s - r) / r))
    return [100 * statistics.fmean(kind) for kind in kinds]


@given(st.integers(0, 10**6), st.sampled_from([0.01, 1.0]), st.sampled_from([0, 0.3]))
def test_definition(seed: int, noise: float, gaps: float) -> None:
    rng = np.random.default_rng(seed)
    original = rng.lognormal(size=(50, 3))
    masked = original + noise * rng.normal(size=original.shape)
    original[rng.random(original.shape) < gaps] = np.nan
    masked[rng.random(original.shape) < gaps] = np.nan
    found = biases(original, masked)
    assert astuple(found)[:3] == pytest.approx(by_definition(original, masked), rel=1e-7)
    assert found.left_out == 0


def test_by_hand() -> None:
    # means 2 and 3; deviations 1 and 2; correlation 1
    original = np.array([[1.0, 1.0], [3.0, 5.0]])
    # means 3 and 3; deviations 2 and 1; correlation -1
    masked = np.array([[1.0, 4.0], [5.0, 2.0]])
    assert astuple(biases(original, masked)) == pytest.approx((25.0, 75.0, 200.0, 0))


@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(1, 3), st.sampled_from([0, 0.4]))
def test_identical_files(seed: int, n: int, top: int, gaps: float) -> None:
    rng = np.random.default_rng(seed)
    original = rng.integers(-1, top, size=(n, 3)) / 7
    original[rng.random(original.shape) < gaps] = np.nan
    assert all(value == 0 or math.isnan(value) for value in astuple(biases(original, original))[:3])


def test_each_bias_sees_its_own_statistic() -> None:
    centre = ORIGINAL.mean(axis=0)
    larger = [biases(ORIGINAL, ORIGINAL * t) for t in (1, 1.1, 1.5)]
    assert [one.abim for one in larger] == pytest.approx([0, 10, 50])
    assert [one.abisd for one in larger] == pytest.approx([0, 10, 50])
    wider = [biases(ORIGINAL, centre + (ORIGINAL - centre) * t) for t in (0.5, 1, 3)]
    assert [one.abisd for one in wider] == pytest.approx([50, 0, 200])
    assert max(one.abim for one in wider) < 1e-10
    assert max(one.abico for one in larger + wider) < 1e-6


def test_means_of_groups_lose_deviation_and_gain_correlation() -> None:
    found = biases(ORIGINAL, np.repeat(ORIGINAL.reshape(20, 4, 3).mean(axis=1), 4, axis=0))
    assert found.abim == pytest.approx(0, abs=1e-10)
    assert found.abisd > 10


def test_zero_in_the_original() -> None:
    centred = np.array([[-1.0, 0.1], [0.0, 0.1], [1.0, 0.1]])
    assert biases(centred, centred) == Biases(0, 0, pytest.approx(math.nan, nan_ok=True), 1)
    # the mean 0 has moved, and what was constant has a deviation: no ratio, and both are told; so is the correlation
    found = biases(centred, centred + np.array([[1, 0], [0, 0], [0, 0.3]]))
    assert found.left_out == 3
    assert found.abim == pytest.approx(100)
    assert found.abisd == pytest.approx(100 * abs(np.std([0, 0, 1]) / np.std([-1, 0, 1]) - 1))
    assert math.isnan(found.abico)
    # zero but for rounding
    noisy = np.array([[0.1], [0.2], [-0.3]])
    assert noisy.mean() != 0
    assert math.isnan(biases(noisy, noisy + 1).abim)


def test_numbers_near_the_largest() -> None:
    """A mean from 0 to 1e308 has no relative bias, though the size of what was added up is no double."""
    before, after = np.array([[-1e308], [1e308]]), np.array([[1e308], [1e308]])
    assert np.isnan(biases(before, after).abim)
    assert biases(before, before).abim == 0.0
    assert subdomains(before, before, share=1.0).means == 0.0


def test_uncorrelated_variables() -> None:
    square = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
    assert biases(square, square).abico == 0
    assert math.isnan(biases(square, square + square[:, ::-1]).abico)
    # zero but for rounding
    once = NOISE[:6, :2]
    twice = np.concatenate([once, once * [1, -1]])
    assert 0 < abs(np.corrcoef(twice.T)[0, 1]) < 1e-15
    assert math.isnan(biases(twice, twice + twice[:, ::-1]).abico)
    assert biases(twice, 3 * twice).abico == 0


def test_exact_relations_do_no_harm() -> None:
    noisy = ORIGINAL[:, 0] + 0.1 * NOISE[:, 0]
    relation = [np.stack([x, 2 * x + 1, -x], axis=1) for x in (ORIGINAL[:, 0], noisy)]
    assert biases(*relation).abico == pytest.approx(0, abs=1e-12)


def test_what_becomes_constant() -> None:
    flat = ORIGINAL.copy()
    flat[:, 0] = ORIGINAL[:, 0].mean()
    found = biases(ORIGINAL, flat)
    assert found.abisd == pytest.approx(100 / 3)
    assert found.abico == pytest.approx(200 / 3)
    flat[:, 0] = np.nan
    assert biases(ORIGINAL, flat).abim == pytest.approx(100 / 3)


def test_small_files() -> None:
    nothing = biases(np.empty((0, 2)), np.empty((0, 2)))
    assert all(math.isnan(value) for value in astuple(nothing)[:3])
    one = biases(np.array([[1.0, 2.0]]), np.array([[2.0, 2.0]]))
    assert (one.abim, one.abisd) == (50, 0)
    assert math.isnan(one.abico)


def chi_square(groups: list[int], classes: list[int]) -> float:
    """Every cell of the table in exact arithmetic, those without records too."""
    held = [(g, c) for g, c in zip(groups, classes, strict=True) if c >= 0]
    total = Fraction(0)
    for group in {g for g, _ in held}:
        own = [c for g, c in held if g == group]
        for kind in {c for _, c in held}:
            expected = Fraction(len(own) * sum(c == kind for _, c in held), len(held))
            total += (own.count(kind) - expected) ** 2 / expected
    return float(total / len({g for g, _ in held})) if held else 0.0


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(-1, 4)), max_size=60), st.sampled_from([1, 1000]))
def test_chi_square_in_exact_arithmetic(records: list[tuple[int, int]], factor: int) -> None:
    groups, classes = np.array(records, dtype=np.int64).reshape(-1, 2).T * np.array([[factor], [1]])
    expected = chi_square(groups.tolist(), classes.tolist())
    assert class_chi_square(groups, classes) == pytest.approx(expected, abs=1e-12)


def test_chi_square_corners() -> None:
    classes = np.array([0, 0, 1, 0, 0, 1, 0, 0, 1])
    # the nine patients of the paper: each group has the file's classes, or one class only
    assert class_chi_square(np.repeat([0, 1, 2], 3), classes) == pytest.approx(0, abs=1e-15)
    pure = np.array([0, 0, 1, 0, 2, 1, 2, 2, 1])
    # one group of class 0 (1.5), one of class 1 (2 + 4 = 6), one of class 0 again
    assert class_chi_square(pure, classes) == pytest.approx((1.5 + 6 + 1.5) / 3)
    assert class_chi_square(np.zeros(9, dtype=np.int64), classes) == pytest.approx(0, abs=1e-15)
    assert class_chi_square(np.arange(9), classes) == pytest.approx(1)
