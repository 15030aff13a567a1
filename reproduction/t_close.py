"""The benchmark of the class-restricted paper: a minimum spanning tree, cut where classes stay as in the file."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Labels
from masktron.kernels.crest import GrownTree, grow

_ROUNDING = 1e-12


def spanning_tree(points: NDArray[np.float64]) -> GrownTree:
    """Return the minimum spanning tree of points."""
    return grow(points, np.zeros(len(points), np.intp), np.ones(1), 1.0, 2, 1.0)


def t_closeness(tree: GrownTree, k: int, t: float, codes: Labels, shares: NDArray[np.float64]) -> Labels:
    """Cut the longest edge that leaves k records and classes within t on both sides, until there is none.

    The distance of distributions is the earth mover's with equal ground distance: half the sum of differences.
    """
    n = len(codes)
    counts = np.zeros((n, len(shares)))
    counts[np.arange(n), codes] = 1
    for v in tree.order[:0:-1]:
        counts[tree.parent[v]] += counts[v]
    number, last = _numbers(tree, counts.sum(axis=1))
    roots = np.zeros(n, np.bool_)
    parts = [(tree.order[1:], int(tree.order[0]))]
    while parts:
        edges, root = parts.pop()
        whole = counts[root]
        below, above = counts[edges], whole - counts[edges]
        large = np.minimum(below.sum(axis=1), above.sum(axis=1)) >= k
        edges, below, above = edges[large], below[large], above[large]
        fine = np.maximum(_distance(below, shares), _distance(above, shares)) <= t + _ROUNDING
        if not fine.any():
            continue
        v = int(edges[fine][tree.squared[edges[fine]].argmax()])
        roots[v] = True
        over = int(tree.parent[v])
        while over >= 0:
            counts[over] -= counts[v]
            over = -1 if over == root else int(tree.parent[over])
        inside = (number[edges] >= number[v]) & (number[edges] < last[v])
        parts += [(edges[~inside], root), (edges[inside & (edges != v)], v)]
    head = np.arange(n)
    for v in tree.order[1:]:
        if not roots[v]:
            head[v] = head[tree.parent[v]]
    return np.unique(head, return_inverse=True)[1]


def _distance(counts: NDArray[np.float64], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.abs(counts / counts.sum(axis=1, keepdims=True) - shares).sum(axis=1) / 2


def _numbers(tree: GrownTree, sizes: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Number records so that those below one follow it at once; return numbers and where those below end."""
    number, following = np.zeros(len(sizes)), np.ones(len(sizes))
    for v in tree.order[1:]:
        number[v] = following[tree.parent[v]]
        following[tree.parent[v]] += sizes[v]
        following[v] = number[v] + 1
    return number, number + sizes
