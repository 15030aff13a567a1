"""Moments of samples against statistics of the same records, one sample after the other."""

from __future__ import annotations

import itertools
import math
from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from masktron.measures import subdomains
from masktron.measures.subdomains import Variations, _samples, variations

RNG = np.random.default_rng(31)
ORIGINAL = RNG.lognormal(size=(200, 3))
ORIGINAL[:, 1] += ORIGINAL[:, 0]
NOISE = RNG.normal(size=ORIGINAL.shape)


def statistics_of(file: NDArray[np.float64]) -> list[list[float]]:
    columns = [column[~np.isnan(column)] for column in file.T]
    moments = [[((x - x.mean()) ** power).mean() for x in columns] for power in (2, 3, 4)]
    covariances, correlations = [], []
    for pair in itertools.combinations(range(file.shape[1]), 2):
        both = file[:, pair][~np.isnan(file[:, pair]).any(axis=1)]
        table = np.cov(both.T, bias=True)
        covariances.append(table[0, 1])
        correlations.append(table[0, 1] / math.sqrt(table[0, 0] * table[1, 1]))
    return [[x.mean() for x in columns], *moments, covariances, correlations]


def sample_by_sample(original: NDArray[np.float64], masked: NDArray[np.float64], **how: float) -> list[list[float]]:
    """For samples whose statistics are not 0."""
    total: list[NDArray[np.float64]] = []
    draws = list(_samples(len(original), int(how["samples"]), how["share"], int(how["seed"])))
    for rows in draws:
        pairs = zip(statistics_of(original[rows]), statistics_of(masked[rows]), strict=True)
        changes = [np.abs(np.array(after) - before) / np.abs(before) for before, after in pairs]
        total = [a + b for a, b in zip(total, changes, strict=True)] if total else changes
    return [(100 * kind / len(draws)).tolist() for kind in total]


@pytest.mark.parametrize("gaps", [0.0, 0.2])
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_definition(gaps: float, share: float) -> None:
    rng = np.random.default_rng(3)
    original, masked = ORIGINAL.copy(), ORIGINAL + 0.1 * NOISE
    original[rng.random(original.shape) < gaps] = np.nan
    masked[rng.random(original.shape) < gaps] = np.nan
    how = {"samples": 17, "share": share, "seed": 5}
    found = variations(original, masked, samples=17, share=share, seed=5)
    expected = sample_by_sample(original, masked, **how)
    for kind, own in zip(astuple(found)[:-1], expected, strict=True):
        assert kind == pytest.approx(own, rel=1e-8)
    assert found.left_out == 0
    averages = astuple(subdomains(original, masked, samples=17, share=share, seed=5))
    assert averages[:-1] == pytest.approx([np.mean(own) for own in expected], rel=1e-8)


@pytest.mark.full
def test_samples_are_drawn_without_replacement_and_by_seed() -> None:
    draws = [[sorted(rows.tolist()) for rows in _samples(105, 4, 0.1, seed)] for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]
    assert all(len(set(rows)) == 10 for rows in draws[0])
    assert draws[0][0] != draws[0][1]
    counts = np.bincount(np.concatenate(list(_samples(50, 2000, 0.1, 0))), minlength=50)
    assert np.abs(counts - 200).max() < 5 * math.sqrt(200)
    assert subdomains(ORIGINAL, ORIGINAL + NOISE, seed=1) == subdomains(ORIGINAL, ORIGINAL + NOISE, seed=1)
    assert subdomains(ORIGINAL, ORIGINAL + NOISE, seed=1) != subdomains(ORIGINAL, ORIGINAL + NOISE, seed=2)


@given(st.integers(0, 10**6), st.integers(0, 25), st.integers(0, 3), st.integers(1, 4), st.sampled_from([0, 0.4]))
def test_identical_files(seed: int, n: int, p: int, top: int, gaps: float) -> None:
    rng = np.random.default_rng(seed)
    original = rng.integers(-1, top, size=(n, p)) / 7
    original[rng.random((n, p)) < gaps] = np.nan
    found = subdomains(original, original, samples=5)
    assert all(value == 0 or math.isnan(value) for value in astuple(found)[:-1])


def test_monotone() -> None:
    one, two = (subdomains(ORIGINAL, ORIGINAL * (1 + t)) for t in (0.1, 0.2))
    assert (one.means, one.variances, one.thirds, one.fourths) == pytest.approx(
        [100 * (1.1**power - 1) for power in (1, 2, 3, 4)]
    )
    assert two.means > one.means
    assert two.covariances == pytest.approx(44)
    assert two.correlations == pytest.approx(0, abs=1e-9)


def test_units_of_variables_do_not_matter() -> None:
    scale = np.array([1e60, 1e-60, -3])
    masked = ORIGINAL + 0.1 * NOISE
    found = subdomains(ORIGINAL * scale, masked * scale)
    assert astuple(found) == pytest.approx(astuple(subdomains(ORIGINAL, masked)), rel=1e-7)


def test_whole_moments_may_hold_where_those_of_samples_do_not() -> None:
    """Values given to other records: what this measure is for."""
    masked = np.random.default_rng(0).permuted(ORIGINAL, axis=0)
    found = subdomains(ORIGINAL, masked)
    assert found.means > 5
    whole = subdomains(ORIGINAL, masked, share=1.0, samples=1)
    assert (whole.means, whole.variances, whole.fourths) == pytest.approx((0, 0, 0), abs=1e-9)
    assert whole.covariances > 1


def test_exact_relations_do_no_harm() -> None:
    x, y = ORIGINAL[:, 0], ORIGINAL[:, 0] + 0.1 * NOISE[:, 0]
    found = subdomains(np.stack([x, 2 * x + 1], axis=1), np.stack([y, 2 * y + 1], axis=1))
    assert found.correlations == pytest.approx(0, abs=1e-10)


def test_zero_but_for_rounding() -> None:
    """Means, third moments and covariances of a file that is symmetric by construction."""
    once = np.array([[0.1, 0.7], [0.2, -0.3], [-0.3, 0.1]])
    symmetric = np.concatenate([once, -once, once * [1, -1], once * [-1, 1]])
    assert 0 < abs(symmetric.mean(axis=0)).max() < 1e-15
    shifted = symmetric + 0.7
    for file in (symmetric, shifted):
        wider = 1.5 * (file - file[0]) + file[0]
        found = variations(file, wider, samples=1, share=1.0)
        assert found.thirds == (0, 0)
        assert found.covariances == found.correlations == (0,)
    assert variations(symmetric, -3 * symmetric, samples=1, share=1.0).means == (0, 0)
    found = variations(symmetric, symmetric + symmetric[:, ::-1] ** 2, samples=1, share=1.0)
    assert np.isnan(found.means).all()
    skewed = variations(symmetric, symmetric**2, samples=1, share=1.0)
    assert np.isnan(skewed.thirds).all()
    assert math.isnan(skewed.covariances[0])


@pytest.mark.full
def test_constant_samples_of_a_variable_that_varies() -> None:
    """Whatever digits its unit has, it is constant there."""
    for value, n in itertools.product((0.1, 0.3, 0.7), (30, 60, 70, 110, 230)):
        original, masked = np.full((n, 1), value), np.full((n, 1), value + 0.01)
        original[0], masked[0] = 5.0, 7.0
        constant = sum(0 not in rows for rows in _samples(n, 100, 0.1, 0))
        assert 50 < constant < 100
        found = variations(original, masked)
        assert found.left_out == 0
        with_outlier = 100 * abs((7 - value - 0.01) ** 2 / (5 - value) ** 2 - 1)
        assert found.variances[0] == pytest.approx(with_outlier * (100 - constant) / 100)


def test_constant_and_lost_columns() -> None:
    constant = np.stack([ORIGINAL[:, 0], np.full(200, 0.1)], axis=1)
    same = variations(constant, constant)
    assert same.variances == same.thirds == same.fourths == (0, 0)
    assert math.isnan(same.correlations[0])
    assert same.left_out == 100
    noisy = variations(constant, np.stack([ORIGINAL[:, 0], 0.1 + NOISE[:, 0]], axis=1))
    assert math.isnan(noisy.variances[1])
    # variance, third, fourth moment, covariance and correlation of every sample
    assert noisy.left_out == 500
    gone = ORIGINAL.copy()
    gone[:, 0] = np.nan
    lost = variations(ORIGINAL, gone)
    assert (lost.means[0], lost.fourths[0], lost.covariances[0], lost.correlations[1]) == (100, 100, 100, 100)
    assert lost.means[1] == 0


def test_small_files() -> None:
    nothing = variations(np.empty((0, 2)), np.empty((0, 2)))
    assert all(math.isnan(value) for kind in astuple(nothing)[:-1] for value in kind)
    assert variations(np.empty((5, 0)), np.empty((5, 0))) == Variations((), (), (), (), (), (), 0)
    one = variations(np.array([[1.0, 2.0]]), np.array([[2.0, 2.0]]), samples=3)
    assert one.means == (100, 0)
    assert one.variances == (0, 0)
    assert math.isnan(one.correlations[0])
    two = np.array([[0.0, 0.0], [1.0, 1.0]])
    assert variations(two, two * [1, -1], share=1.0).correlations == (200,)
