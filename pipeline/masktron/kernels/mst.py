"""The minimum spanning tree of points, in memory for the points alone: plain numpy, or compiled code for many."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.compiling import is_compiled, kernel

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


COMPILED_FROM = 8_000
"""Records from which compiled code is worth loading; below, the plain twin takes half a second at most."""

type SpanningTree = tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]
"""Order in which records join the tree, the record that each is joined to, and the squared length of that edge."""


def spanning_tree(points: NDArray[np.float64]) -> SpanningTree:
    """Find the minimum spanning tree of all pairs, by Euclidean distance.

    The tree is a function of the data: squared distances are float64, summed over dimensions in order; of equally
    long edges, one between records that stand closer together in the file is shorter, then the one whose first
    record comes earlier. That orders all edges, so there is one minimum spanning tree. Equal records form a path in
    the order of the file, and what is near them is spread over the path: a rule that joins all to the first of them
    would make stars, of which nothing can be cut.

    Parameters
    ----------
    points : ndarray of float64, shape (n, d)
        Finite, with squared distances that do not overflow; not checked here. At least one record.

    Returns
    -------
    order : ndarray of intp, shape (n,)
        The first is record 0; every other comes after the record that it is joined to.
    parent : ndarray of intp, shape (n,)
        -1 for record 0.
    squared : ndarray of float64, shape (n,)
        0 for record 0.

    Notes
    -----
    Source: Prim (1957), with distances computed as they are needed. O(n^2 d) time, O(n d) memory.
    """
    if len(points) < COMPILED_FROM:
        return plain_spanning_tree(points)
    return prim(np.ascontiguousarray(points.T))


def tree_ready() -> bool:
    """Tell whether compiled code is at hand."""
    return is_compiled(prim)


def compile_tree() -> None:
    """Compile what many records take, on two."""
    prim(np.zeros((1, 2)))


def plain_spanning_tree(points: NDArray[np.float64]) -> SpanningTree:
    """Find what `spanning_tree` finds, without compiled code."""
    n = len(points)
    order, parent, squared = np.empty(n, dtype=np.intp), np.full(n, -1, dtype=np.intp), np.zeros(n)
    rows = np.array(points.T, order="C")
    outside, near, via = np.arange(n), np.full(n, np.inf), np.full(n, -1, dtype=np.intp)
    at = 0
    for step in range(n):
        record, centre, left = int(outside[at]), rows[:, at].copy(), n - 1 - step
        order[step] = record
        if step:
            parent[record], squared[record] = via[at], near[at]
        # the last of the records outside takes the place of the one that leaves
        for array in (outside, near, via):
            array[at] = array[left]
        rows[:, at] = rows[:, left]
        if left:
            _meet(rows[:, :left], centre, record, outside[:left], near[:left], via[:left])
            at = _next(outside[:left], near[:left], via[:left])
    return order, parent, squared


def _meet(
    rows: NDArray[np.float64],
    centre: NDArray[np.float64],
    record: int,
    outside: NDArray[np.intp],
    near: NDArray[np.float64],
    via: NDArray[np.intp],
) -> None:
    """Let the records outside know of one that has joined."""
    distance = np.zeros(len(near))
    for row, coordinate in zip(rows, centre, strict=True):
        difference = row - coordinate
        distance += difference * difference
    better = distance < near
    tied = np.flatnonzero(distance == near)
    if len(tied):
        here, there = np.abs(outside[tied] - record), np.abs(outside[tied] - via[tied])
        better[tied] = (here < there) | ((here == there) & (record < via[tied]))
    near[better] = distance[better]
    via[better] = record


def _next(outside: NDArray[np.intp], near: NDArray[np.float64], via: NDArray[np.intp]) -> int:
    """Position of the record outside with the shortest edge."""
    at = int(near.argmin())
    tied = np.flatnonzero(near == near[at])
    if len(tied) == 1:
        return at
    gap = np.abs(outside[tied] - via[tied])
    tied = tied[gap == gap.min()]
    return int(tied[np.minimum(outside[tied], via[tied]).argmin()])
