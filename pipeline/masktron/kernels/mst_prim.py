"""The tree of `masktron.kernels.mst`, compiled: the same operations in the same order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.compiling import kernel

_BLOCK = 512
"""Distances that are computed together, one dimension after the other: they stay near the processor."""


@kernel
def prim(points: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
    """Find what `masktron.kernels.mst.spanning_tree` finds.

    Parameters
    ----------
    points : ndarray of float64, shape (d, n)
        A row for each dimension, C-contiguous.

    Returns
    -------
    order, parent : ndarray of intp, shape (n,)
    squared : ndarray of float64, shape (n,)
    """
    d, n = points.shape
    rows = points.copy()
    order, parent, squared = np.empty(n, np.intp), np.full(n, -1, np.intp), np.zeros(n)
    outside, near, via = np.arange(n), np.full(n, np.inf), np.full(n, -1, np.intp)
    distance, centre = np.empty(_BLOCK), np.empty(d)
    at = 0
    for step in range(n):
        record, left = outside[at], n - 1 - step
        order[step] = record
        if step:
            parent[record] = via[at]
            squared[record] = near[at]
        for j in range(d):
            centre[j] = rows[j, at]
            rows[j, at] = rows[j, left]
        outside[at], near[at], via[at] = outside[left], near[left], via[left]
        best, best_gap, best_low = np.inf, n, n
        for start in range(0, left, _BLOCK):
            stop = min(start + _BLOCK, left)
            block = distance[: stop - start]
            block[:] = 0.0
            for j in range(d):
                row, coordinate = rows[j, start:stop], centre[j]
                for i in range(len(block)):
                    difference = row[i] - coordinate
                    block[i] += difference * difference
            for i in range(start, stop):
                if block[i - start] < near[i]:
                    near[i] = block[i - start]
                    via[i] = record
                elif block[i - start] == near[i]:
                    here, there = abs(outside[i] - record), abs(outside[i] - via[i])
                    if here < there or (here == there and record < via[i]):
                        via[i] = record
                if near[i] <= best:
                    gap, low = abs(outside[i] - via[i]), min(outside[i], via[i])
                    if near[i] < best or gap < best_gap or (gap == best_gap and low < best_low):
                        best, best_gap, best_low, at = near[i], gap, low, i
    return order, parent, squared
