"""Correlated noise: moments in expectation and exactly, relations, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from masktron.errors import InfeasibleError
from masktron.methods.noise import NoiseMethod
from refusals import refused
from synthesis_files import moments_off, related, relation_off, ugly


def test_the_formula_of_the_paper() -> None:
    """(8), with the noise recovered from the result: its covariance is c times that of the data."""
    original = related(4000)
    masked = NoiseMethod(0.15).check().mask(original, np.random.default_rng(1)).values
    mean = original.mean(axis=0)
    noise = np.sqrt(1.15) * (masked - mean) - (original - mean)
    unit = original.std(axis=0)
    assert np.abs(noise.mean(axis=0) / unit).max() < 5 * np.sqrt(0.15 / 4000)
    difference = np.cov(noise.T / unit[:, None]) - 0.15 * np.cov(original.T / unit[:, None])
    assert np.abs(difference).max() < 5 * 0.15 * np.sqrt(2 / 4000)
    assert (masked != original).all()


@pytest.mark.full
def test_covariances_are_kept_in_expectation() -> None:
    original = related(15)
    unit = original.std(axis=0)
    generator = np.random.default_rng(2)
    each = np.array(
        [np.cov(NoiseMethod(0.5).mask(original, generator).values.T / unit[:, None]) for _ in range(3000)]
    )
    error = each.std(axis=0) / np.sqrt(len(each))
    assert (np.abs(each.mean(axis=0) - np.cov(original.T / unit[:, None])) < 5 * error).all()


@pytest.mark.parametrize("c", [0.01, 0.15, 3.0])
def test_the_exact_form_has_exact_moments(c: float) -> None:
    original = related(40)
    masked = NoiseMethod(c, exact=True).check().mask(original, np.random.default_rng(3)).values
    assert moments_off(original, masked) < 1e-9
    # the noise is orthogonal to the data, so the correlation with the original is known
    for column in range(5):
        correlation = np.corrcoef(original[:, column], masked[:, column])[0, 1]
        assert abs(correlation - 1 / np.sqrt(1 + c)) < 1e-9


@pytest.mark.parametrize("c", [0.15, 2.0])
def test_the_promised_share_is_what_the_noise_has_in_the_masked_value(c: float) -> None:
    original = related(60)
    method = NoiseMethod(c, exact=True)
    masked = method.mask(original, np.random.default_rng(5)).values
    share = (masked - original.mean(axis=0) - (original - original.mean(axis=0)) / np.sqrt(1 + c)).var(axis=0)
    assert np.allclose(share / original.var(axis=0), method.contract.share, rtol=1e-9)
    assert "13.0435 % of the variance of the original" in NoiseMethod().contract.says


@pytest.mark.parametrize("exact", [False, True])
def test_exact_relations_are_kept(exact: bool) -> None:
    masked = NoiseMethod(0.15, exact).mask(related(200), np.random.default_rng(4)).values
    assert relation_off(masked) < 1e-9


def test_the_exact_form_needs_twice_the_variables() -> None:
    values = np.random.default_rng(0).normal(size=(7, 3))
    method = NoiseMethod(exact=True)
    assert method.least(3) == 7
    assert moments_off(values, method.mask(values, np.random.default_rng(1)).values) < 1e-9
    with refused(InfeasibleError, "too-few-records", least=7, records=6):
        method.mask(values[1:], np.random.default_rng(1))
    NoiseMethod().mask(values[:2], np.random.default_rng(1))


@pytest.mark.few(1)
@pytest.mark.parametrize("exact", [False, True])
def test_ugly_files_are_masked_or_refused(exact: bool) -> None:
    masked = 0
    for seed in range(150):
        generator = np.random.default_rng(seed)
        original = ugly(int(generator.integers(2, 40)), seed)
        try:
            drawn = NoiseMethod(exact=exact).mask(original, generator).values
        except InfeasibleError:
            assert exact
            continue
        masked += 1
        assert np.isfinite(drawn).all()
        constant = (original == original[0]).all(axis=0)
        assert np.array_equal(drawn[:, constant], original[:, constant])
        if exact:
            assert moments_off(original, drawn) < 1e-9, seed
    assert masked > 100
