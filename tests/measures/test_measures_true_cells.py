"""True cells against sets of values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from examples import spread
from masktron.measures import true_cells


def brute_force(
    original: NDArray[np.float64], masked: NDArray[np.float64], groups: NDArray[np.int64]
) -> tuple[int, float, float, float, float]:
    cells = [(i, j) for i, j in np.ndindex(masked.shape) if not math.isnan(masked[i, j])]
    own = sum(masked[i, j] == original[i, j] for i, j in cells)
    group = sum(masked[i, j] in set(original[groups == groups[i], j].tolist()) for i, j in cells)
    file = sum(masked[i, j] in set(original[:, j].tolist()) for i, j in cells)
    sole = sum(original[:, j].tolist().count(masked[i, j]) == 1 for i, j in cells)
    share = 100 / max(len(cells), 1)
    return len(cells), share * own, share * group, share * file, share * sole


@pytest.mark.parametrize("seed", spread(range(200), every=4))
def test_sets(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, p, top = int(rng.integers(1, 40)), int(rng.integers(1, 5)), int(rng.integers(1, 30))
    original = rng.integers(-top, top, size=(n, p)) / 2
    groups = rng.integers(-3, 1 + n // 3, size=n)
    masked = original + rng.integers(-1, 2, size=(n, p)) / 2
    if seed % 2:
        for label in np.unique(groups):
            masked[groups == label] = original[rng.choice(np.flatnonzero(groups == label))]
    if seed % 3 == 0:
        original[rng.random((n, p)) < 0.2] = np.nan
        masked[rng.random((n, p)) < 0.2] = np.nan
    found = true_cells(original, masked, groups)
    expected = pytest.approx(brute_force(original, masked, groups))
    assert (found.cells, found.own, found.group, found.file, found.sole) == expected
    assert found.own <= found.group + 1e-9
    assert found.group <= found.file + 1e-9
    alone = true_cells(original, masked)
    assert math.isnan(alone.group)
    assert (alone.cells, alone.own, alone.file, alone.sole) == (found.cells, found.own, found.file, found.sole)


def test_a_value_that_two_respondents_share_is_no_sole_value() -> None:
    original = np.array([[10.0], [20.0], [20.0], [np.nan]])
    # 10 is published twice, in other records; 20 has two owners, 30 none
    found = true_cells(original, np.array([[20.0], [10.0], [10.0], [30.0]]))
    assert (found.sole, found.file) == (50, 75)


def test_corners() -> None:
    original = np.array([[1.0, np.nan], [2.0, 5.0], [-0.0, 5.0]])
    same = true_cells(original, original, np.array([0, 0, 1]))
    assert (same.cells, same.own, same.group, same.file) == pytest.approx((5, 100, 100, 100))
    # the other zero is the same number; a value where the original has none is not the record's own
    found = true_cells(original, np.array([[0.0, 5.0], [np.nan, np.nan], [0.0, 7.0]]), np.array([0, 0, 1]))
    assert (found.cells, found.own, found.group, found.file) == pytest.approx((4, 25, 50, 75))
    nothing = true_cells(original, np.full((3, 2), np.nan), np.zeros(3, dtype=np.int64))
    assert (nothing.cells, nothing.own, nothing.group, nothing.file) == (0, 0, 0, 0)
    empty = true_cells(np.empty((0, 2)), np.empty((0, 2)), np.empty(0, dtype=np.int64))
    assert (empty.cells, empty.own, empty.group, empty.file) == (0, 0, 0, 0)


def test_a_value_of_another_variable_is_not_true() -> None:
    assert true_cells(np.array([[1.0, 2.0]]), np.array([[2.0, 1.0]])).file == 0
