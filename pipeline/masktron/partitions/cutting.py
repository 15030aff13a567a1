"""Trees of records, cut at their longest edges: what the partitions by spanning trees and forests share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Indices

type ClassCounts = NDArray[np.int64]
type CutRule = Callable[[ClassCounts, ClassCounts], NDArray[np.bool_]]
"""Given records by class on both sides of edges, shape (m, c) each: which edges may be cut."""


@dataclass(frozen=True, slots=True, eq=False)
class Forest:
    """Trees whose records are numbered so that what hangs on a record follows it without a gap.

    Attributes
    ----------
    record : ndarray of intp, shape (n,)
        Record at each place.
    parent : ndarray of intp, shape (n,)
        Place of the record that it hangs on, before its own; -1 for roots.
    end : ndarray of intp, shape (n,)
        First place that does not hang on it.
    descending : ndarray of intp, shape (edges,)
        Indices that are no roots, by the edge to their parent, longest first.
    rank : ndarray of intp, shape (n,)
        Of the edge of each place to its parent: 0 for the shortest; -1 for roots.
    """

    record: Indices
    parent: Indices
    end: Indices
    descending: Indices
    rank: Indices

    @property
    def roots(self) -> Indices:
        """Places of the roots, in order."""
        return np.flatnonzero(self.parent < 0)


def forest(order: Indices, parent: Indices, squared: NDArray[np.float64]) -> Forest:
    """Number the records of trees.

    Of equally long edges, one between records that stand closer together in the file is shorter, then the one whose
    first record comes earlier.

    Parameters
    ----------
    order : ndarray of intp, shape (n,)
        All records, each after the one that it hangs on.
    parent : ndarray of intp, shape (n,)
        Record that each hangs on; -1 for roots.
    squared : ndarray of float64, shape (n,)
        Squared length of the edge to it.
    """
    n = len(order)
    above, sequence = parent.tolist(), order.tolist()
    sizes = [1] * n
    for record in reversed(sequence):
        if above[record] >= 0:
            sizes[above[record]] += sizes[record]
    place, free, roots = [0] * n, [0] * n, 0
    for record in sequence:
        if above[record] < 0:
            place[record], roots = roots, roots + sizes[record]
        else:
            place[record] = free[above[record]]
            free[above[record]] += sizes[record]
        free[record] = place[record] + 1
    at = np.array(place, dtype=np.intp)
    records = np.argsort(at)
    hangs_on = parent[records]
    edges = np.flatnonzero(hangs_on >= 0)
    below, up = records[edges], hangs_on[edges]
    ascending = edges[np.lexsort((np.minimum(below, up), np.abs(below - up), squared[below]))]
    rank = np.full(n, -1, dtype=np.intp)
    rank[ascending] = np.arange(len(ascending))
    ends = np.arange(n) + np.array(sizes, dtype=np.intp)[records]
    return Forest(records, np.where(hangs_on >= 0, at[hangs_on], -1), ends, ascending[::-1], rank)


def by_size(k: int) -> CutRule:
    """Allow what leaves at least k records on both sides."""

    def allowed(below: ClassCounts, above: ClassCounts) -> NDArray[np.bool_]:
        both: NDArray[np.bool_] = np.minimum(below.sum(axis=1), above.sum(axis=1)) >= k
        return both

    return allowed


def cut_longest(trees: Forest, counts: ClassCounts, allowed: CutRule, most: int) -> list[Indices]:
    """Cut the longest edge that is allowed, until none is in a part of more than `most` records.

    Whether an edge is allowed depends on its own part alone. The parts are therefore the same in whatever order they
    are cut, and each is cut by itself, at its own longest edge that is allowed then.

    Parameters
    ----------
    trees : Forest
    counts : ndarray of int64, shape (n, c)
        Records by class at each place: one 1 in each row.
    allowed : callable
    most : int
        Parts of so many records or fewer are left as they are.

    Returns
    -------
    list of ndarray of intp
        Indices of each part, ascending; the first is its root.

    Notes
    -----
    O(n c) for each cut of a part of n, O(n c) memory.
    """
    total = np.concatenate((np.zeros((1, counts.shape[1]), dtype=np.int64), np.cumsum(counts, axis=0)))
    below = total[trees.end] - total[:-1]
    tree_of = np.searchsorted(trees.roots, trees.descending, side="right") - 1
    sorted_by_tree = trees.descending[np.argsort(tree_of, kind="stable")]
    bounds = np.cumsum(np.bincount(tree_of, minlength=len(trees.roots)))[:-1]
    waiting = list(zip(trees.roots.tolist(), np.split(sorted_by_tree, bounds), strict=True))
    parts = []
    while waiting:
        root, edges = waiting.pop()
        cut = _longest(below[edges], below[root], allowed) if len(edges) >= most else None
        if cut is None:
            parts.append(np.concatenate(([root], np.sort(edges))))
            continue
        top = int(edges[cut])
        hanging = (edges >= top) & (edges < trees.end[top])
        holding = np.concatenate(([root], edges[(edges < top) & (trees.end[edges] > top)]))
        below[holding] -= below[top]
        hanging[cut] = False
        staying = ~hanging
        staying[cut] = False
        waiting += [(root, edges[staying]), (top, edges[hanging])]
    return parts


def _longest(below: ClassCounts, whole: ClassCounts, allowed: CutRule) -> int | None:
    """Position of the first edge that is allowed; None without any."""
    fine = allowed(below, whole - below)
    first = int(fine.argmax()) if len(fine) else 0
    return first if len(fine) and fine[first] else None


def labels_of(trees: Forest, parts: list[Indices]) -> Indices:
    """Number parts by their first record in the file, shape (n,)."""
    labels = np.empty(len(trees.record), dtype=np.intp)
    for number, part in enumerate(parts):
        labels[trees.record[part]] = number
    return in_file_order(labels)


def in_file_order(labels: Indices) -> Indices:
    """Number groups from 0 by their first record."""
    _, first, groups = np.unique(labels, return_index=True, return_inverse=True)
    number = np.empty(len(first), dtype=np.intp)
    number[np.argsort(first)] = np.arange(len(first))
    return number[groups]
