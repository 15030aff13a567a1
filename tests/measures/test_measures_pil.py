"""PIL against its formulas with central moments, scipy's density and normal distribution; its corners."""

from __future__ import annotations

import itertools
import math
from dataclasses import astuple
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import gaussian_kde, norm

from central_moments import by_central_moments
from examples import examples
from masktron.kernels.mdav import mdav
from masktron.kernels.standardise import standardised
from masktron.measures import linkage, pil
from masktron.measures.pil import Pil

RNG = np.random.default_rng(21)
ORIGINAL = RNG.lognormal(size=(300, 4))
ORIGINAL[:, 1] += ORIGINAL[:, 0]
ORIGINAL[:, 3] = ORIGINAL[:, 0] + ORIGINAL[:, 2]
NOISE = RNG.normal(size=ORIGINAL.shape)
LEVELS = np.linspace(0.05, 0.95, 19)
PAPER = ["AFNLWGT", "AGI", "EMCONTRB", "ERNVAL", "FEDTAX", "FICA", "INTVAL", "PEARNVAL", "POTHVAL"]
PAPER += ["PTOTVAL", "STATETAX", "TAXINC", "WSALVAL"]


def loss(before: float, after: float, variance: float) -> float:
    return float(200 * (norm.cdf(abs(after - before) / math.sqrt(variance)) - 0.5))


def by_the_formulas(original: NDArray[np.float64], masked: NDArray[np.float64]) -> list[float]:
    """For columns that vary, with correlations other than 0, 1 and -1."""
    kinds: list[list[float]] = [[], [], [], [], []]
    for before, after in zip(original.T, masked.T, strict=True):
        x, y = before[~np.isnan(before)], after[~np.isnan(after)]
        n = len(x)
        for q, density in zip(LEVELS, gaussian_kde(x)(np.quantile(x, LEVELS)), strict=True):
            kinds[0].append(loss(np.quantile(x, q), np.quantile(y, q), q * (1 - q) / (n * density**2)))
        fourth = ((x - x.mean()) ** 4).mean()
        kinds[1].append(loss(x.mean(), y.mean(), x.var() / n))
        kinds[2].append(loss(x.var(), y.var(), (fourth - x.var() ** 2) / n))
    for pair in itertools.combinations(range(original.shape[1]), 2):
        (a, b), (c, d) = (file[:, pair][~np.isnan(file[:, pair]).any(axis=1)].T for file in (original, masked))
        of_covariance, of_correlation = by_central_moments(a, b)
        covariances = [np.cov(*both, bias=True)[0, 1] for both in ((a, b), (c, d))]
        kinds[3].append(loss(*covariances, of_covariance / len(a)))
        kinds[4].append(loss(np.corrcoef(a, b)[0, 1], np.corrcoef(c, d)[0, 1], of_correlation / len(a)))
    means = [sum(kind) / len(kind) for kind in kinds]
    return [*means, sum(means) / 5]


@pytest.mark.parametrize("noise", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_formulas(noise: float, gaps: float) -> None:
    rng = np.random.default_rng(1)
    original, masked = ORIGINAL.copy(), ORIGINAL * 1.01 + noise * NOISE
    original[rng.random(original.shape) < gaps] = np.nan
    masked[rng.random(original.shape) < gaps] = np.nan
    found = astuple(pil(original, masked))
    assert found == pytest.approx(by_the_formulas(original, masked), abs=1e-8)
    assert 0 < found[-1] < 100


def by_the_weighted_formulas(
    original: NDArray[np.float64], masked: NDArray[np.float64], weights: NDArray[np.float64]
) -> list[float]:
    """Linearised variances, record by record; scipy's weighted density, numpy's weighted covariances."""

    def quantiles(x: NDArray[np.float64], w: NDArray[np.float64]) -> NDArray[np.float64]:
        order = np.argsort(x)
        below = [math.fsum(w[order][:at]) for at in range(len(x))]
        return np.interp(LEVELS, np.array(below) / below[-1], x[order])

    def variance(influence: NDArray[np.float64], w: NDArray[np.float64]) -> float:
        return math.fsum((w * influence) ** 2) / math.fsum(w) ** 2

    kinds: list[list[float]] = [[], [], [], [], []]
    for before, after in zip(original.T, masked.T, strict=True):
        (x, w), (y, v) = ((one[~np.isnan(one)], weights[~np.isnan(one)]) for one in (before, after))
        at, moved, effective = quantiles(x, w), quantiles(y, v), w.sum() ** 2 / (w**2).sum()
        for q, density, old, new in zip(LEVELS, gaussian_kde(x, weights=w)(at), at, moved, strict=True):
            kinds[0].append(loss(old, new, q * (1 - q) / (effective * density**2)))
        means = np.average(x, weights=w), np.average(y, weights=v)
        spreads = [float(np.cov(one, aweights=own, ddof=0)) for one, own in ((x, w), (y, v))]
        kinds[1].append(loss(*means, variance(x - means[0], w)))
        kinds[2].append(loss(*spreads, variance((x - means[0]) ** 2 - spreads[0], w)))
    for pair in itertools.combinations(range(original.shape[1]), 2):
        there = [~np.isnan(file[:, pair]).any(axis=1) for file in (original, masked)]
        old, new = (
            np.cov(file[:, pair][held].T, aweights=weights[held], ddof=0)
            for file, held in zip((original, masked), there, strict=True)
        )
        w = weights[there[0]]
        u, v = (original[:, pair][there[0]] - np.average(original[:, pair][there[0]], axis=0, weights=w)).T
        kinds[3].append(loss(old[0, 1], new[0, 1], variance(u * v - old[0, 1], w)))
        r, s = (one[0, 1] / math.sqrt(one[0, 0] * one[1, 1]) for one in (old, new))
        u, v = u / math.sqrt(old[0, 0]), v / math.sqrt(old[1, 1])
        kinds[4].append(loss(r, s, variance(u * v - r * (u**2 + v**2) / 2, w)))
    means = [sum(kind) / len(kind) for kind in kinds]
    return [*means, sum(means) / 5]


@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_weighted_formulas(gaps: float) -> None:
    rng = np.random.default_rng(2)
    original, masked, weights = ORIGINAL.copy(), ORIGINAL * 1.01 + 0.1 * NOISE, 1000 * rng.lognormal(size=300)
    original[rng.random(original.shape) < gaps] = np.nan
    masked[rng.random(original.shape) < gaps] = np.nan
    found = astuple(pil(original, masked, weights))
    assert found == pytest.approx(by_the_weighted_formulas(original, masked, weights), abs=1e-8)
    assert astuple(pil(original, masked, np.full(300, 7.0))) == pytest.approx(astuple(pil(original, masked)))


@examples(8, full=25)
@given(st.integers(0, 10**6))
def test_formulas_with_ties(seed: int) -> None:
    rng = np.random.default_rng(seed)
    original = rng.poisson(2, size=(rng.integers(30, 90), 3)).astype(np.float64)
    masked = original + rng.integers(-1, 2, size=original.shape)
    correlations = np.corrcoef(original.T)[np.triu_indices(3, 1)]
    assume(np.abs(correlations).min() > 1e-6)
    assert astuple(pil(original, masked)) == pytest.approx(by_the_formulas(original, masked), abs=1e-6)


@given(st.integers(0, 10**6), st.integers(0, 12), st.integers(0, 4), st.integers(1, 4), st.sampled_from([0, 0.4]))
def test_identical_files(seed: int, n: int, p: int, top: int, gaps: float) -> None:
    rng = np.random.default_rng(seed)
    original = rng.integers(0, top, size=(n, p)) / 7
    original[rng.random((n, p)) < gaps] = np.nan
    found = astuple(pil(original, original))
    assert all(value == 0 or math.isnan(value) for value in found)
    assert (found[-1] == 0) == (n > 0 and not np.isnan(original).all())


def test_order_of_records_and_units_do_not_matter() -> None:
    masked = ORIGINAL + 0.2 * NOISE
    expected = pytest.approx(astuple(pil(ORIGINAL, masked)), abs=1e-9)
    scale, offset = np.array([1e250, -1e-250, 3, 1]), np.array([0, 0, -5, 2.0**20])
    shuffled = np.random.default_rng(0).permutation(len(masked))
    assert astuple(pil(ORIGINAL, masked[shuffled])) == expected
    moved = pytest.approx(astuple(pil(ORIGINAL, masked)), abs=1e-5)
    assert astuple(pil(ORIGINAL * scale + offset, masked * scale + offset)) == moved


def test_monotone() -> None:
    shifted = [pil(ORIGINAL, ORIGINAL + t * ORIGINAL.std(axis=0)) for t in (0, 0.01, 0.05, 0.2)]
    assert np.diff([one.means for one in shifted]).min() > 0
    assert np.diff([one.quantiles for one in shifted]).min() > 0
    assert max(one.variances + one.covariances + one.correlations for one in shifted) < 1e-6
    centre = ORIGINAL.mean(axis=0)
    spread = [pil(ORIGINAL, centre + (ORIGINAL - centre) * t) for t in (1, 1.02, 1.1, 1.5)]
    assert np.diff([one.variances for one in spread]).min() > 0
    assert np.diff([one.covariances for one in spread]).min() > 0
    assert max(one.means + one.correlations for one in spread) < 1e-6


def test_no_covariance() -> None:
    """mu_11 = 0: the printed variance of a correlation divides by it; its limit here is 1 / n."""
    original = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
    masked = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [1.0, 1.0]])
    r = np.corrcoef(masked.T)[0, 1]
    assert pil(original, masked).correlations == pytest.approx(200 * (norm.cdf(r / math.sqrt(1 / 4)) - 0.5))


@pytest.mark.parametrize("factor", [1.0, -3.0, 0.1])
def test_exact_relations(factor: float) -> None:
    original = np.stack([ORIGINAL[:, 0], factor * ORIGINAL[:, 0] + 5], axis=1)
    noisy = ORIGINAL[:, 0] + 0.1 * NOISE[:, 0]
    kept = np.stack([noisy, factor * noisy + 5], axis=1)
    assert pil(original, kept).correlations == 0
    broken = kept + 0.1 * NOISE[:, :2]
    assert pil(original, broken).correlations == 100
    # among three variables no pair has a correlation of 1
    assert astuple(pil(ORIGINAL, ORIGINAL + 0.1 * NOISE)) == pytest.approx(
        by_the_formulas(ORIGINAL, ORIGINAL + 0.1 * NOISE), abs=1e-8
    )


def test_variance_without_variance() -> None:
    """Two values, equally frequent: mu_4 = mu_2^2."""
    original = np.array([[0.0], [0.0], [1.0], [1.0]])
    assert pil(original, 1.0 - original).variances == 0
    assert pil(original, original + 7.0).variances == 0
    assert pil(original, 1.5 * original).variances == 100


def test_constant_columns() -> None:
    varies = ORIGINAL[:, 0]
    constant = np.stack([varies, np.full(300, 0.1)], axis=1)
    same = pil(constant, constant)
    assert (same.means, same.variances, same.covariances, same.quantiles) == (0, 0, 0, 0)
    assert math.isnan(same.correlations)
    assert same.total == 0
    moved = pil(constant, np.stack([varies, np.full(300, 0.2)], axis=1))
    assert (moved.means, moved.quantiles, moved.variances, moved.covariances) == (50, 50, 0, 0)
    noisy = pil(constant, np.stack([varies, NOISE[:, 0]], axis=1))
    assert (noisy.variances, noisy.covariances) == (50, 100)
    assert math.isnan(noisy.correlations)
    large = np.full((300, 1), 1e20)
    assert pil(large, np.nextafter(large, np.inf)).total == 0
    flattened = pil(ORIGINAL[:, :2], np.stack([varies, np.full(300, ORIGINAL[:, 1].mean())], axis=1))
    assert flattened.correlations == 100
    assert 0 < flattened.covariances < 100


def test_small_files() -> None:
    nothing = pil(np.empty((0, 2)), np.empty((0, 2)))
    assert all(math.isnan(value) for value in astuple(nothing))
    assert all(math.isnan(value) for value in astuple(pil(np.empty((5, 0)), np.empty((5, 0)))))
    one = pil(np.array([[1.0, 2.0]]), np.array([[1.0, 3.0]]))
    assert (one.means, one.quantiles, one.variances, one.covariances) == (50, 50, 0, 0)
    assert math.isnan(one.correlations)
    two = np.array([[0.0, 0.0], [1.0, 1.0]])
    assert pil(two, 2 * two).correlations == 0
    assert pil(two, two * [1, -1]).correlations == 100


def test_a_single_variable_has_no_pairs() -> None:
    found = pil(ORIGINAL[:, :1], ORIGINAL[:, :1] * 1.1)
    assert math.isnan(found.covariances)
    assert math.isnan(found.correlations)
    assert found.total == pytest.approx((found.quantiles + found.means + found.variances) / 3)


def test_what_is_lost_counts_in_full() -> None:
    gone = ORIGINAL[:, :2].copy()
    gone[:, 1] = np.nan
    assert pil(ORIGINAL[:, :2], gone) == Pil(50, 50, 50, 100, 100, 70)
    found = pil(gone, ORIGINAL[:, :2])
    assert (found.means, found.total) == (0, 0)
    assert math.isnan(found.covariances)


def test_absurd_scales() -> None:
    found = pil(ORIGINAL, ORIGINAL * 1e300)
    assert (found.quantiles, found.means, found.variances, found.covariances) == (100, 100, 100, 100)
    assert found.correlations == pytest.approx(0, abs=1e-9)


def test_far_from_zero() -> None:
    near = np.array([[0.0], [1.0], [2.0], [4.0], [8.0]] * 40)
    far = near + 2.0**45
    near_masked, far_masked = near.copy(), far.copy()
    near_masked[0], far_masked[0] = 1.0, 2.0**45 + 1
    assert astuple(pil(far, far_masked))[:3] == pytest.approx(astuple(pil(near, near_masked))[:3], rel=1e-9)


def test_a_gap_at_the_median_does_not_overflow() -> None:
    """No data near a quantile: its density vanishes, and it says nothing."""
    rng = np.random.default_rng(0)
    halves = np.repeat([[0.0], [1.0]], 100_000, axis=0) + 1e-6 * rng.normal(size=(200_000, 1))
    masked = halves + 1e-7 * rng.normal(size=halves.shape)
    masked[:10] = 1.0
    x = halves[:, 0]
    losses = [
        loss(np.quantile(x, q), np.quantile(masked, q), q * (1 - q) / (len(x) * density**2)) if density else 0.0
        for q, density in zip(LEVELS, gaussian_kde(x)(np.quantile(x, LEVELS)), strict=True)
    ]
    assert np.quantile(x, 0.5) == pytest.approx(0.5, abs=1e-3)
    assert np.quantile(masked, 0.5) > 0.9
    assert pil(halves, masked).quantiles == pytest.approx(sum(losses) / 19)


@pytest.mark.parametrize(("k", "printed"), [(4, 34.39), (6, 35.00), (10, 35.77), (20, 36.25)])
def test_score_of_microaggregated_census(shared_data: Path, k: int, printed: float) -> None:
    """Means of groups of three variables: (PIL + (DBRL + SDID) / 2) / 2 of independent runs."""
    original = pd.read_csv(shared_data / "census.csv")[PAPER].to_numpy(np.float64)
    masked = np.empty_like(original)
    for start in range(0, 13, 3):
        block = original[:, start : start + 3]
        labels = mdav(standardised(block), k)
        sums = np.stack([np.bincount(labels, column) for column in block.T], axis=1)
        masked[:, start : start + 3] = (sums / np.bincount(labels)[:, None])[labels]
    linked = np.mean([linkage(original[:, :j], masked[:, :j]) for j in range(1, 7)])
    moved = np.abs(original - masked) / original.std(axis=0)
    near = np.mean([100 * (moved <= width / 100).mean() for width in range(1, 11)])
    assert (pil(original, masked).total + (linked + near) / 2) / 2 == pytest.approx(printed, abs=0.006)
