"""IL1s: against its definition cell by cell; in proportion to the noise."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from masktron.measures import il1s

RNG = np.random.default_rng(12)
ORIGINAL = RNG.lognormal(size=(60, 3))
NOISE = RNG.normal(size=ORIGINAL.shape)


def cell_by_cell(original: NDArray[np.float64], masked: NDArray[np.float64]) -> float:
    cells = []
    for before, after in zip(original.T.tolist(), masked.T.tolist(), strict=True):
        pairs = [(x, y) for x, y in zip(before, after, strict=True) if not math.isnan(x) and not math.isnan(y)]
        if len({x for x, _ in pairs}) > 1:
            s = statistics.stdev([x for x, _ in pairs])
            cells += [abs(x - y) / (math.sqrt(2) * s) for x, y in pairs]
    return 100 * math.fsum(cells) / len(cells) if cells else 0.0


def test_by_hand() -> None:
    # deviations 1 and 10; moved by 1, 0, 0 and 0, 0, 20
    original = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
    masked = np.array([[2.0, 10.0], [2.0, 20.0], [3.0, 50.0]])
    assert il1s(original, masked) == pytest.approx(100 * (1 + 2) / math.sqrt(2) / 6)


@given(st.integers(0, 10**6), st.sampled_from([0, 0.2, 0.7]), st.integers(1, 5))
def test_definition(seed: int, gaps: float, top: int) -> None:
    rng = np.random.default_rng(seed)
    original = rng.integers(0, top, size=(rng.integers(1, 20), 3)).astype(np.float64)
    masked = original + rng.normal(size=original.shape)
    original[rng.random(original.shape) < gaps] = np.nan
    masked[rng.random(original.shape) < gaps] = np.nan
    assert il1s(original, masked) == pytest.approx(cell_by_cell(original, masked))


def test_unchanged_and_in_proportion_to_the_noise() -> None:
    assert il1s(ORIGINAL, ORIGINAL) == 0
    once = il1s(ORIGINAL, ORIGINAL + NOISE)
    assert once > 0
    assert il1s(ORIGINAL, ORIGINAL + 3 * NOISE) == pytest.approx(3 * once)


def test_units_of_variables_do_not_matter() -> None:
    scale = np.array([1e200, 1e-200, -3])
    assert il1s(ORIGINAL * scale, (ORIGINAL + NOISE) * scale) == pytest.approx(il1s(ORIGINAL, ORIGINAL + NOISE))


def test_nothing_to_measure_by() -> None:
    assert il1s(np.ones((5, 2)), np.zeros((5, 2))) == 0
    assert il1s(np.ones((1, 2)), np.zeros((1, 2))) == 0
    assert il1s(np.empty((0, 2)), np.empty((0, 2))) == 0
    assert il1s(np.array([[1.0], [np.nan], [2.0]]), np.array([[np.nan], [3.0], [9.0]])) == 0


def test_beyond_all_units() -> None:
    assert il1s(np.array([[0.0], [1e-300]]), np.array([[1e300], [0.0]])) == math.inf
