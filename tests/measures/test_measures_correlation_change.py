"""Differences of correlations against numpy's."""

from __future__ import annotations

import math

import numpy as np
import pytest

from masktron.measures.correlation_change import correlation_change


def test_it_is_the_difference_of_numpys_correlations() -> None:
    generator = np.random.default_rng(3)
    before = generator.normal(size=(50, 4)) @ generator.normal(size=(4, 4))
    after = before + generator.normal(size=before.shape)
    differences = np.abs(np.corrcoef(after.T) - np.corrcoef(before.T))
    found = correlation_change(before, after)
    assert found.largest == pytest.approx(differences.max(), abs=1e-12)
    assert found.average == pytest.approx(differences[np.triu_indices(4, 1)].mean(), abs=1e-12)
    assert found.pair is not None
    assert differences[found.pair] == pytest.approx(found.largest, abs=1e-12)
    assert correlation_change(before, before[::-1]).largest == 0.0


def test_weights_weigh_correlations() -> None:
    generator = np.random.default_rng(3)
    before = generator.normal(size=(50, 2)) @ generator.normal(size=(2, 2))
    after, weights = before + generator.normal(size=before.shape), generator.lognormal(size=50)
    expected = []
    for file in (before, after):
        covariances = np.cov(file.T, aweights=weights)
        expected.append(covariances[0, 1] / math.sqrt(covariances[0, 0] * covariances[1, 1]))
    found = correlation_change(before, after, weights)
    assert found.largest == pytest.approx(abs(expected[1] - expected[0]), abs=1e-12)
    assert abs(found.largest - correlation_change(before, after).largest) > 0.01


def test_a_correlation_near_0_that_stays_there_has_hardly_changed() -> None:
    generator = np.random.default_rng(1)
    one, other, noise = generator.normal(size=(3, 10_000))
    other -= one * (one @ other) / (one @ one) - 1e-6 * one
    found = correlation_change(np.column_stack([one, other]), np.column_stack([one, other + 0.01 * noise]))
    assert 0 < found.largest < 0.001


def test_what_becomes_constant_loses_its_correlations() -> None:
    before = np.array([[1.0, 2, 7], [2, 4, 7], [3, 6, 7]])
    after = before.copy()
    after[:, 1] = 4
    assert correlation_change(before, after).largest == pytest.approx(1)
    nothing = correlation_change(after, before)
    assert math.isnan(nothing.largest)
    assert math.isnan(nothing.average)
    assert nothing.pair is None
    assert math.isnan(correlation_change(before[:, :1], before[:, :1]).largest)


def test_missing_values_are_left_out() -> None:
    before = np.array([[1.0, 2], [2, 1], [3, 3], [4, np.nan]])
    assert correlation_change(before[:3], before[:3]).largest == 0.0
    other = before.copy()
    other[3, 1] = 100.0
    expected = abs(np.corrcoef(other.T)[0, 1] - np.corrcoef(before[:3].T)[0, 1])
    assert correlation_change(before, other).largest == pytest.approx(expected, abs=1e-12)
