"""Class-restricted spanning trees and their cuts: plain Python, or the same steps compiled for many records."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Floats, Labels
from masktron.kernels import crest_tree

COMPILED_FROM = 32
"""Records from which compiled code is worth loading: the plain twin takes the cube of their number."""
GRID = 2.0**40
"""Divergences are rounded to this grid, so that equal compositions tie whatever the order of their sums."""


@dataclass(frozen=True, slots=True, eq=False)
class GrownTree:
    """A spanning tree in the order in which it grew.

    Attributes
    ----------
    order : ndarray of intp, shape (n,)
        Records as they joined; every record stands behind its parent.
    parent : ndarray of intp, shape (n,)
        The record to which each was joined; -1 for the first.
    squared : ndarray of float64, shape (n,)
        Squared length of the edge to the parent; 0 for the first.
    """

    order: Labels
    parent: Labels
    squared: Floats


def grow(points: Floats, codes: Labels, shares: Floats, alpha: float, neighbours: int, unit: float) -> GrownTree:
    """Grow a spanning tree by Prim's algorithm with the composite distance of class-restricted clustering.

    ``CD(u, v) = alpha L + (1 - alpha) JSD``: L is the Euclidean distance times `unit`; JSD that of the classes of v,
    u and the first ``neighbours - 2`` records that a breadth-first search from u meets in the tree. Of records
    equally many edges away, the nearest to u come first, then the one that joined first.

    Waiting edges are measured anew whenever the tree around them has changed, as definition 3 reads: neighbours are
    those in the present partial tree. Edges measured once, when u joins, would take the O(b n^2) that the source
    claims, but then a record whose neighbourhood lacks a class draws all records of this class to itself: on the
    source's data, groups are mixed worse than without classes in the tree, against its table 1.

    The tree is a function of the data. It starts at the record nearest to the mean. Of equal composite distances the
    shortest edge is taken, then the one to the record of lowest index, then the one whose other end joined last. So
    equal records form a path, which can be cut anywhere, and not a star, which cannot.

    Parameters
    ----------
    points : ndarray of float64, shape (n, d)
        Finite, n >= 1.
    codes : ndarray of intp, shape (n,)
        Classes, from 0.
    shares : ndarray of float64, shape (c,)
        Of the classes in the file.
    alpha : float
        0 to 1. With 1 the tree is a minimum spanning tree, and classes are not looked at.
    neighbours : int
        At least 2.
    unit : float
        Above 0.

    Returns
    -------
    GrownTree

    Notes
    -----
    Source: class-restricted clustering (2013), section 4, definition 3 and figure 3. O(n d) memory; time
    O(n^2 d) with alpha 1, else a few times as much.
    """
    columns = np.ascontiguousarray(points.T)
    start = int(_squared_to(columns, points.mean(axis=0)).argmin())
    if len(points) < COMPILED_FROM:
        return plain_grow(columns, codes, shares, alpha, neighbours, unit, start)
    if alpha >= 1.0:
        return GrownTree(*crest_tree.spanning(columns, start))
    return GrownTree(*crest_tree.grow(columns, codes, shares, alpha, neighbours, unit, start))


def cut(tree: GrownTree, codes: Labels, shares: Floats, k: int) -> Labels:
    """Cut a tree at the edge with the least ratio of divergence to length, until no edge can be removed.

    An edge can be removed while both sides keep k records. The ratio is ``(WJSD - JSD) / L`` of the part that it is
    cut from, so that it changes with every cut there, and with none elsewhere: each part is cut on its own, and the
    result is that of looking for the least ratio of all. An edge that cannot be removed never can be later.

    Edges of no length, between equal records, have an infinite ratio (0/0 as x/0) and are cut last. Of equal ratios,
    the one that separates classes the least is cut first, then the longest, then the one that joined the tree first.
    Without a second class all ratios are 0, and the longest edge is cut, as in a tree without classes.

    Parameters
    ----------
    tree : GrownTree
    codes : ndarray of intp, shape (n,)
    shares : ndarray of float64, shape (c,)
    k : int
        At most n.

    Returns
    -------
    ndarray of intp, shape (n,)
        Labels 0 to g - 1, in the order of each group's first record.

    Notes
    -----
    Source: class-restricted clustering (2013), definition 5, equation (9), and figure 4. Each cut costs O(c) for
    every edge of its part that can be removed.
    """
    if len(codes) < COMPILED_FROM:
        roots = plain_cut(tree, codes, shares, k)
    else:
        roots = crest_tree.cut(tree.order, tree.parent, np.sqrt(tree.squared), codes, shares, k)
    return _labels(tree, roots)


def tree_ready() -> bool:
    """Tell whether compiled code is at hand."""
    return crest_tree.tree_ready()


def compile_tree() -> None:
    """Compile what many records take, on two."""
    codes, shares = np.zeros(2, np.intp), np.ones(1)
    order, parent, squared = crest_tree.grow(np.zeros((1, 2)), codes, shares, 0.5, 2, 1.0, 0)
    crest_tree.cut(order, parent, squared, codes, shares, 1)


def plain_grow(
    columns: Floats, codes: Labels, shares: Floats, alpha: float, neighbours: int, unit: float, start: int
) -> GrownTree:
    """Grow the tree of `grow` from a record, measuring every edge before each step; a row for each dimension."""
    n = columns.shape[1]
    squared = np.stack([_squared_to(columns, column) for column in columns.T])
    lengths = alpha * (np.sqrt(squared) * unit)
    order, parent, waiting = [start], np.full(n, -1), np.ones(n, np.bool_)
    linked: list[list[int]] = [[] for _ in range(n)]
    waiting[start] = False
    while len(order) < n:
        records = np.flatnonzero(waiting)
        composite = lengths[np.ix_(order, records)]
        if alpha < 1.0:
            around = (_neighbourhood(u, order, linked, squared[u], neighbours - 2) for u in order)
            counts = (np.bincount(codes[near], minlength=len(shares)) for near in around)
            composite = (
                composite + (1.0 - alpha) * np.stack([_divergences(one, shares) for one in counts])[:, codes[records]]
            )
        ends, at = np.nonzero(composite == composite.min())
        _, v, place = min((squared[order[u], records[w]], records[w], -u) for u, w in zip(ends, at, strict=True))
        u = order[-place]
        parent[v], waiting[v] = u, False
        linked[u].append(int(v))
        linked[v].append(u)
        order.append(int(v))
    joined = np.array(order)
    return GrownTree(joined, parent, np.where(parent < 0, 0.0, squared[np.arange(n), parent]))


def plain_cut(tree: GrownTree, codes: Labels, shares: Floats, k: int) -> NDArray[np.bool_]:
    """Tell which records are cut from their parents, shape (n,): every subtree counted anew for each cut."""
    length = np.sqrt(tree.squared)
    roots = np.zeros(len(codes), np.bool_)
    parts = [tree.order.tolist()]
    while parts:
        part = parts.pop()
        counts = _subtree_counts(part, tree.parent, codes, len(shares))
        sizes = {v: sum(row) for v, row in counts.items()}
        whole, n = counts[part[0]], len(part)
        best, chosen = (math.inf, math.inf, 0.0), -1
        for v in part[1:]:
            if min(sizes[v], n - sizes[v]) < k:
                continue
            rest = [a - b for a, b in zip(whole, counts[v], strict=True)]
            parted = _weighted(counts[v], shares) + _weighted(rest, shares) - _weighted(whole, shares)
            increase = max(_on_grid(parted / n), 0.0)
            key = (increase / length[v] if length[v] > 0 else math.inf, increase, -length[v])
            if chosen < 0 or key < best:
                best, chosen = key, v
        if chosen >= 0:
            roots[chosen] = True
            below = {chosen}
            for v in part:  # parents come first
                if tree.parent[v] in below:
                    below.add(v)
            parts += [[v for v in part if v not in below], [v for v in part if v in below]]
    return roots


def _subtree_counts(part: list[int], parent: Labels, codes: Labels, classes: int) -> dict[int, list[int]]:
    counts = {v: [0] * classes for v in part}
    for v in reversed(part):
        counts[v][codes[v]] += 1
        if v != part[0]:
            above = counts[int(parent[v])]
            for code, count in enumerate(counts[v]):
                above[code] += count
    return counts


def _neighbourhood(u: int, order: list[int], linked: list[list[int]], to_u: Floats, wanted: int) -> list[int]:
    found, level, seen = [u], [u], {u}
    while level and len(found) <= wanted:
        level = [w for v in level for w in linked[v] if w not in seen]
        seen.update(level)
        level.sort(key=lambda w: (to_u[w], order.index(w)))
        found += level[: wanted + 1 - len(found)]
    return found


def _divergences(counts: NDArray[np.integer], shares: Floats) -> Floats:
    """JSD of a neighbourhood and one more record, by the class of that record, shape (c,)."""
    size = int(counts.sum()) + 1
    total = 0.0
    for count, share in zip(counts.tolist(), shares.tolist(), strict=True):
        total += _term(count, size, share)
    after = [
        total - _term(count, size, share) + _term(count + 1, size, share)
        for count, share in zip(counts.tolist(), shares.tolist(), strict=True)
    ]
    return np.array([min(max(_on_grid(one), 0.0), 1.0) for one in after])


def _weighted(counts: list[int], shares: Floats) -> float:
    size, total = sum(counts), 0.0
    for count, share in zip(counts, shares.tolist(), strict=True):
        total += _term(count, size, share)
    return size * total


def _term(count: int, size: int, share: float) -> float:
    """Return what a class adds to the JSD of a group."""
    of_group = count / size
    middle = (of_group + share) / 2.0
    value = 0.0
    if of_group > 0.0:
        value += 0.5 * of_group * math.log2(of_group)
    if share > 0.0:
        value += 0.5 * share * math.log2(share)
    if middle > 0.0:
        value -= middle * math.log2(middle)
    return value


def _on_grid(value: float) -> float:
    return math.floor(value * GRID + 0.5) / GRID


def _squared_to(columns: Floats, point: Floats) -> Floats:
    """Squared distances to a point, one dimension after the other, so that the order of summation is ours."""
    total = np.zeros(columns.shape[1])
    for row, coordinate in zip(columns, point, strict=True):
        difference = row - coordinate
        total += difference * difference
    return total


def _labels(tree: GrownTree, roots: NDArray[np.bool_]) -> Labels:
    head = np.arange(len(roots))
    parent = tree.parent.tolist()
    for v in tree.order[1:].tolist():
        if not roots[v]:
            head[v] = head[parent[v]]
    _, first, labels = np.unique(head, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[labels]
