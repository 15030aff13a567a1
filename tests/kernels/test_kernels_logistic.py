"""Logistic regression against textbook steps, closed forms, and limits where no estimate exists."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from masktron.kernels import logistic as kernel
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


def cells(labels: list[list[int]]) -> tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.float64]]:
    """Indicators of cells in an odd basis, the labels in them, and the share of each record's cell."""
    cell = np.repeat(np.arange(len(labels)), [len(own) for own in labels])
    indicator = (cell == np.arange(len(labels))[:, None]).astype(np.float64)
    mixed = (np.eye(len(labels)) + 0.2) @ indicator
    shares = np.array([np.mean(own) for own in labels])[cell]
    return mixed, np.concatenate(labels).astype(np.bool_), shares


@pytest.mark.parametrize("r", [1, 4, 12])
def test_textbook(r: int) -> None:
    values = np.concatenate([np.ones((1, 500)), RNG.normal(size=(r, 500))])
    labels = RNG.random(500) < 1 / (1 + np.exp(-values[1] - 0.5))
    parts = np.split(values, [30, 31, 400], axis=1)
    fitted, converged = logistic(parts, labels, r + 1)
    assert converged
    np.testing.assert_allclose(fitted, textbook(values, labels), atol=1e-12)


@given(
    st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=12), min_size=1, max_size=7),
)
def test_shares_of_cells_also_where_they_are_0_or_1(labels: list[list[int]]) -> None:
    values, truth, shares = cells(labels)
    fitted, converged = logistic([values], truth, len(values))
    assert converged
    np.testing.assert_allclose(fitted, shares, atol=1e-8)


def test_separation_in_every_record_is_found_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.concatenate([RNG.uniform(1e-3, 1, 300), -RNG.uniform(1e-3, 1, 300)])
    labels = x > 0
    monkeypatch.setattr(kernel, "_STEPS", 25)
    fitted, converged = logistic([np.array([np.ones(600), x / x.std()])], labels, 2)
    assert converged
    assert (fitted == labels).all()


def test_separation_up_to_a_tie_at_the_border() -> None:
    x = np.concatenate([[0.0, 0.0], RNG.uniform(0.1, 1, 50), -RNG.uniform(0.1, 1, 50)])
    labels = np.concatenate([[True, False], np.repeat([True, False], 50)])
    fitted, converged = logistic([np.array([np.ones(102), x / x.std()])], labels, 2)
    assert converged
    np.testing.assert_allclose(fitted, np.concatenate([[0.5, 0.5], labels[2:]]), atol=1e-7)


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


def test_no_functions_and_no_records() -> None:
    fitted, converged = logistic([np.ones((1, 4))], np.array([True, False, False, False]), 1)
    assert converged
    np.testing.assert_allclose(fitted, 0.25)
    assert logistic([], np.empty(0, dtype=np.bool_), 1)[1]


def test_giving_up_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    values, truth, _ = cells([[0, 1, 1], [0, 0, 1, 0], [1, 1]])
    monkeypatch.setattr(kernel, "_STEPS", 3)
    assert not logistic([values], truth, len(values))[1]


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
