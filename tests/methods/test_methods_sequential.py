"""Sequential regressions: their draws against a normal distribution, exact relations, refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from masktron.methods.sequential import SequentialMethod
from masktron.synthesis.free_columns import basis
from paths import SHARED_DATA


def drawn(values: NDArray[np.float64], seed: int = 0, *, bayesian: bool = True) -> NDArray[np.float64]:
    return SequentialMethod(bayesian=bayesian).mask(values, np.random.default_rng(seed)).values


@given(st.integers(0, 10**6), st.sampled_from([1e-8, 1.0, 1e8]), st.booleans())
def test_exact_relations_hold(seed: int, unit: float, bayesian: bool) -> None:
    rng = np.random.default_rng(seed)
    parts = rng.integers(0, 50, size=(rng.integers(12, 40), 3)).astype(np.float64) * unit
    total, twice = parts.sum(axis=1), 2 * parts[:, 0] - 3 * parts[:, 2] + 7 * unit
    columns = rng.permutation(5)
    values = np.column_stack([parts, total, twice])[:, columns]
    found = np.empty_like(values)
    found[:, columns] = drawn(values, seed, bayesian=bayesian)
    scale = np.abs(found).max() + unit
    assert np.abs(found[:, :3].sum(axis=1) - found[:, 3]).max() < 1e-9 * scale
    assert np.abs(2 * found[:, 0] - 3 * found[:, 2] + 7 * unit - found[:, 4]).max() < 1e-9 * scale


def test_estimates_give_the_normal_distribution_of_the_file() -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(size=(40_000, 3)) @ np.array([[3.0, 1, 0], [0, 0.5, 2], [0, 0, 1]]) + [5, -2, 100]
    found = drawn(values, 1, bayesian=False)
    own = np.cov(values.T)
    spread = np.sqrt(np.diag(own))
    # standard error of a difference of means 0.007 deviations, of covariances up to 0.01
    assert np.abs((found.mean(axis=0) - values.mean(axis=0)) / spread).max() < 0.025
    assert np.abs((np.cov(found.T) - own) / np.outer(spread, spread)).max() < 0.035
    assert np.abs(np.corrcoef(found[:, 0], values[:, 0])[0, 1]) < 0.02


@pytest.mark.full
def test_estimates_give_the_covariances_of_a_few_records_in_any_order() -> None:
    values = np.random.default_rng(4).normal(size=(9, 4)) @ np.array(
        [[3, 1, 0, 1], [0, 1, 2, 0], [0, 0, 1, 1], [0, 0, 0, 1]]
    )
    own = np.cov(values.T)
    unit = np.sqrt(np.outer(np.diag(own), np.diag(own)))
    for order in (np.arange(4), np.arange(4)[::-1]):
        generator = np.random.default_rng(5)
        method = SequentialMethod(bayesian=False)
        each = np.array([np.cov(method.mask(values[:, order], generator).values.T) for _ in range(800)])
        error = each.std(axis=0) / np.sqrt(len(each))
        assert (np.abs(each.mean(axis=0) - own[np.ix_(order, order)]) < 4 * error).all()
        assert (error / unit[np.ix_(order, order)]).max() < 0.03


@pytest.mark.full
def test_posterior_of_means_and_variances() -> None:
    """Means of releases vary by 2 s^2 / n, half of it from the posterior, where s^2 grows by f / (f - 2)."""
    n, releases = 25, 4_000
    values = np.random.default_rng(1).normal(10, 2, size=(n, 1))
    s2, freedom = values.var(ddof=1), n - 1
    found = np.stack([drawn(values, seed)[:, 0] for seed in range(releases)])
    expected = s2 * freedom / (freedom - 2)
    # three standard errors of a variance from 4,000 draws are 7 %
    assert found.mean(axis=1).var() == pytest.approx(2 * expected / n, rel=0.08)
    assert found.var(axis=1, ddof=1).mean() == pytest.approx(expected, rel=0.03)
    plain = np.stack([drawn(values, seed, bayesian=False)[:, 0] for seed in range(releases)])
    assert plain.mean(axis=1).var() == pytest.approx(s2 / n, rel=0.08)


@pytest.mark.full
def test_coefficients_vary_as_their_posterior_says() -> None:
    """A slope of the release varies by the posterior, and by sampling as much again."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=30)
    values = np.column_stack([x, 2 * x + rng.normal(size=30)])
    slope, rss = np.polyfit(x, values[:, 1], 1)[0], np.polyfit(x, values[:, 1], 1, full=True)[1][0]
    slopes = []
    for seed in range(3_000):
        release = drawn(values, seed)
        slopes.append(np.polyfit(release[:, 0], release[:, 1], 1)[0])
    posterior = rss / 26 / ((x - x.mean()) ** 2).sum()
    assert np.mean(slopes) == pytest.approx(slope, abs=4 * np.sqrt(2 * posterior / 3_000))
    # sampling with x drawn anew has a variance of at least that of the posterior
    assert 1.8 < np.var(slopes) / posterior < 2.6


def test_ugly_columns() -> None:
    rng = np.random.default_rng(7)
    zeros = np.where(rng.random(60) < 0.8, 0, rng.lognormal(10, 3, size=60))
    values = np.column_stack([
        np.full(60, 0.1), zeros, zeros, rng.integers(0, 3, size=60), rng.lognormal(0, 8, size=60) * 1e150,
        1e9 + rng.integers(0, 2, size=60), np.full(60, -7e300),
    ])  # fmt: skip
    found = drawn(values)
    assert np.isfinite(found).all()
    assert (found[:, 0] == 0.1).all()
    assert (found[:, 6] == -7e300).all()
    assert np.abs(found[:, 1] - found[:, 2]).max() < 1e-9 * np.abs(found[:, 1]).max()


def test_too_few_records_are_refused_by_number() -> None:
    rng = np.random.default_rng(0)
    method = SequentialMethod()
    assert method.least(4) == 9
    assert drawn(rng.normal(size=(9, 4))).shape == (9, 4)


def test_basis_by_hand() -> None:
    held = basis(np.array([[1.0, 5, 2], [3, 5, 6], [1, 5, 2], [3, 5, 6], [2, 5, 10]]))
    assert held.free.tolist() == [True, False, True]
    assert held.center.tolist() == pytest.approx([2, 5, 5.2])
    # the regression of the third on the first is 5.2 + 2 (x - 2): residuals -1.2, -1.2, -1.2, -1.2, 4.8
    assert held.loads[2, 2] * held.scale[2] == pytest.approx(np.sqrt(4 * 1.44 + 23.04))


def test_census_keeps_its_total() -> None:
    if not (SHARED_DATA / "census.csv").is_file():
        pytest.skip("the reference data are not beside the repository")
    table = pd.read_csv(SHARED_DATA / "census.csv")
    found = pd.DataFrame(drawn(table.to_numpy(dtype=np.float64)), columns=table.columns)
    assert (found.PTOTVAL - found.POTHVAL - found.PEARNVAL).abs().max() < 1e-9 * found.PTOTVAL.abs().max()


@pytest.mark.parametrize("seed", range(5))
def test_a_relation_between_nearly_equal_columns_is_seen(seed: int) -> None:
    rng = np.random.default_rng(seed)
    large, small = rng.integers(0, 10**6, size=80), rng.integers(-3, 4, size=80)
    held = basis(np.column_stack([large, large + small, small]).astype(np.float64))
    assert held.free.tolist() == [True, True, False]


@pytest.mark.parametrize("seed", range(5))
def test_basis_of_nearly_equal_columns_against_householder(seed: int) -> None:
    rng = np.random.default_rng(seed)
    large = rng.integers(0, 10**6, size=80).astype(np.float64)
    values = large[:, None] + rng.normal(size=(80, 5))
    held = basis(values)
    expected = np.linalg.qr((values - values.mean(axis=0)) / values.std(axis=0))[1]
    assert held.loads == pytest.approx(expected * np.sign(np.diag(expected))[:, None], rel=1e-6, abs=1e-12)
