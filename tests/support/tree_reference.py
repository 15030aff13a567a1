"""Spanning trees and their cuts by the letter: all pairs sorted, and the loop of the paper. Nothing of masktron."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

type Edge = tuple[float, int, int]
"""Squared length, how far apart in the file, first record."""


def random_points(generator: np.random.Generator, n: int) -> NDArray[np.float64]:
    """A small file: continuous, or integers with many ties, duplicates and constant columns."""
    d = int(generator.integers(1, 4))
    match int(generator.integers(0, 4)):
        case 0:
            return generator.normal(size=(n, d))
        case 1:
            return generator.integers(0, int(generator.integers(1, 6)), size=(n, d)).astype(np.float64)
        case 2:
            points = generator.normal(size=(n, d))
            points[:, 0] = 0.0
            return points
        case _:
            return generator.normal(size=(n, d))[generator.integers(0, max(n // 2, 1), n)]


def random_trees(generator: np.random.Generator, n: int, roots: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Order and parents of a random forest."""
    order = generator.permutation(n).astype(np.intp)
    parent = np.full(n, -1, dtype=np.intp)
    for position in range(roots, n):
        parent[order[position]] = order[generator.integers(0, position)]
    return order, parent


def squared_distance(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    total = 0.0
    for x, y in zip(a.tolist(), b.tolist(), strict=True):
        total += (x - y) * (x - y)
    return total


def kruskal(points: NDArray[np.float64]) -> list[Edge]:
    """The edges of the minimum spanning tree, shortest first, of all pairs in order."""
    n = len(points)
    pairs = sorted((squared_distance(points[i], points[j]), j - i, i) for i in range(n) for j in range(i + 1, n))
    tree = list(range(n))
    edges = []
    for edge in pairs:
        first, second = tree[edge[2]], tree[edge[2] + edge[1]]
        if first != second:
            tree = [first if one == second else one for one in tree]
            edges.append(edge)
    return edges


def component(edges: list[Edge], start: int) -> set[int]:
    """All records that edges lead to."""
    found = {start}
    while True:
        more = {end for _, gap, low in edges for end in (low, low + gap) if {low, low + gap} & found}
        if more <= found:
            return found
        found |= more


def cut_by_the_letter(edges: list[Edge], n: int, removable: Callable[[set[int]], bool]) -> list[tuple[int, ...]]:
    """Cut the longest removable edge, look at all edges anew, and end when none is removable."""
    edges = sorted(edges)
    while True:
        for edge in reversed(edges):
            rest = [other for other in edges if other != edge]
            if all(removable(component(rest, end)) for end in (edge[2], edge[2] + edge[1])):
                edges = rest
                break
        else:
            return sorted({tuple(sorted(component(edges, record))) for record in range(n)})


def groups_of(labels: NDArray[np.intp]) -> list[tuple[int, ...]]:
    return sorted(tuple(np.flatnonzero(labels == group).tolist()) for group in range(int(labels.max()) + 1))
