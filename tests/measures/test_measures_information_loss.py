"""SSE/SST: scale-free, zero without change, 100 for the overall mean."""

from __future__ import annotations

import numpy as np
import pytest

from masktron.measures import information_loss

RNG = np.random.default_rng(11)
ORIGINAL = np.exp(RNG.normal(size=(200, 4)))


def test_unchanged_and_overall_mean() -> None:
    assert information_loss(ORIGINAL, ORIGINAL) == 0
    assert information_loss(ORIGINAL, np.tile(ORIGINAL.mean(axis=0), (200, 1))) == pytest.approx(100)


def test_definition() -> None:
    masked = ORIGINAL + RNG.normal(size=ORIGINAL.shape)
    z, y = (ORIGINAL - ORIGINAL.mean(0)) / ORIGINAL.std(0), (masked - ORIGINAL.mean(0)) / ORIGINAL.std(0)
    assert information_loss(ORIGINAL, masked) == pytest.approx(100 * np.square(z - y).sum() / np.square(z).sum())
    scale = np.array([1e200, 1e-200, 3, 7])
    assert information_loss(ORIGINAL * scale, masked * scale) == pytest.approx(information_loss(ORIGINAL, masked))


def test_missing_pairs_and_constant_variables_are_left_out() -> None:
    masked = ORIGINAL * 1.1
    expected = information_loss(ORIGINAL[10:, :1], masked[10:, :1])
    before = np.stack([ORIGINAL[:, 0], np.full(200, 0.1), np.full(200, np.nan)], axis=1)
    after = np.stack([masked[:, 0], RNG.normal(size=200), np.ones(200)], axis=1)
    before[:5, 0] = np.nan
    after[5:10, 0] = np.nan
    assert information_loss(before, after) == pytest.approx(expected)
    assert information_loss(before[:, 1:], after[:, 1:]) == 0
