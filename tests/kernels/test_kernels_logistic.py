"""Logistic regression against textbook steps; limits without an estimate are those of test_measures_propensity.py."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from masktron.kernels.logistic import logistic

RNG = np.random.default_rng(4)


def textbook(values: NDArray[np.float64], labels: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Reweighted least squares, 60 steps and nothing else."""
    coefficients = np.zeros(len(values))
    for _ in range(60):
        odds = coefficients @ values
        chance = 1 / (1 + np.exp(-odds))
        weight = chance * (1 - chance)
        response = odds + (labels - chance) / weight
        root = np.sqrt(weight)
        coefficients = np.linalg.lstsq((values * root).T, response * root, rcond=None)[0]
    return 1 / (1 + np.exp(-coefficients @ values))


@pytest.mark.parametrize("r", [1, 4, 12])
def test_textbook(r: int) -> None:
    values = np.concatenate([np.ones((1, 500)), RNG.normal(size=(r, 500))])
    labels = RNG.random(500) < 1 / (1 + np.exp(-values[1] - 0.5))
    parts = np.split(values, [30, 31, 400], axis=1)
    fitted, converged = logistic(parts, labels, r + 1)
    assert converged
    np.testing.assert_allclose(fitted, textbook(values, labels), atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_steps_are_halved_where_they_overshoot(seed: int) -> None:
    """Full steps would end with probabilities near 0 and 1, of the wrong label too."""
    x = np.random.default_rng(seed).lognormal(sigma=2.5, size=(2, 100))
    both = np.concatenate([x, np.sort(x, axis=1)], axis=1)
    both = (both - both.mean(axis=1, keepdims=True)) / both.std(axis=1, keepdims=True)
    values = np.array([np.ones(200), *both, *both**2, both[0] * both[1]])
    values = np.linalg.qr(values.T)[0].T * np.sqrt(200)
    labels = np.arange(200) >= 100
    fitted, converged = logistic([values], labels, len(values))
    assert converged
    # the estimate is where the scores are 0
    np.testing.assert_allclose(values @ (labels - fitted) / 200, 0, atol=1e-8)
    assert 0.02 < np.square(fitted - 0.5).mean() < 0.2


def test_flat_and_steep_directions_at_the_same_time() -> None:
    """Cross products of curvatures that differ by more than 1e16 would say nothing of the flat ones."""
    x = RNG.lognormal(sigma=2.5, size=(3, 500))
    both = np.concatenate([x, x * (1 + 0.1 * RNG.normal(size=x.shape))], axis=1)
    both = (both - both.mean(axis=1, keepdims=True)) / both.std(axis=1, keepdims=True)
    values = np.array([np.ones(1000), *both, *both**2, *both**3])
    values = np.linalg.qr(values.T)[0].T * np.sqrt(1000)
    labels = np.arange(1000) >= 500
    fitted, converged = logistic([values[:, :300], values[:, 300:]], labels, len(values))
    assert converged
    np.testing.assert_allclose(values @ (labels - fitted) / 1000, 0, atol=1e-8)
