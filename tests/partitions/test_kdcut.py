"""Blocks of near records: sizes, ties, and what is the widest column."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from masktron.partitions.kdcut import Cut, Cuts, kd_cut


def slow_cut(points: NDArray[np.float64], most: int, k: int, own: list[int]) -> list[list[int]]:
    """The definition by full sorts, one block at a time."""
    if len(own) <= most:
        return [own]
    at = len(own) // 8
    sorts = [sorted(points[own, column]) for column in range(points.shape[1])]
    widths = [column[-1 - at] - column[at] for column in sorts]
    if not any(widths):
        widths = [column[-1] - column[0] for column in sorts]
    widest = widths.index(max(widths))
    size = len(own) // 2 // k * k
    lower = sorted(sorted(own, key=lambda i: (points[i, widest], i))[:size])
    upper = sorted(set(own) - set(lower))
    return [*slow_cut(points, most, k, lower), *slow_cut(points, most, k, upper)]


@pytest.mark.parametrize("seed", range(40))
def test_blocks_of_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, d, k = int(rng.integers(1, 500)), int(rng.integers(1, 5)), int(rng.integers(1, 9))
    points = rng.integers(0, int(rng.choice([2, 9, 10**6])), (n, d)).astype(np.float64)
    most = int(rng.integers(2 * k, 12 * k))
    blocks = [block.tolist() for block in kd_cut(points, most, k)]
    assert blocks == slow_cut(points, most, k, list(range(n)))
    assert sorted(i for block in blocks for i in block) == list(range(n))
    assert max(map(len, blocks)) <= most
    assert min(map(len, blocks)) >= min(k, n)
    assert all(len(block) % k == 0 for block in blocks[:-1])


def test_the_largest_cut_is_kept_in_whatever_order_they_come() -> None:
    made = [Cut(70, 2, 40, 1.0, True), Cut(90, 4, 25, -2.0, False), Cut(90, 4, 25, 3.0, False)]
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        cuts = Cuts()
        assert cuts.largest() is None
        for at in order:
            cuts.add(made[at])
        assert cuts.largest() == made[2]


def test_loss_is_a_share_of_all_squares() -> None:
    assert Cut(70, 2, 40, 3.0, True).loss(600.0) == 0.5
    assert Cut(70, 2, 40, 0.0, True).loss(0.0) == 0.0
