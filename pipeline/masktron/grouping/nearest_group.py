"""The nearest admissible group of a record."""

from __future__ import annotations

import heapq
import itertools

import numpy as np
from numpy.typing import NDArray

from masktron.grouping.disjuncts import Disjuncts

CASES = 200
"""Choices of disjuncts that are looked at, nearest group first, before the search turns greedy."""


def nearest_group(
    seed: int, squared: NDArray[np.float64], k: int, disjuncts: Disjuncts, free: NDArray[np.bool_]
) -> NDArray[np.intp]:
    """Find the k - 1 records with the least sum of squared distances that form an admissible group with a record.

    The search is best first over the choices of one disjunct per rule that the record satisfies. A node is a set of
    records, and its bound the sum over the k - 1 nearest of them. If those share a disjunct for every rule, they are
    the group; else the node has one child for each disjunct of a rule that they do not share.

    Theorem: without bounds of unmasked fields, and within `CASES` nodes, the group is the nearest, and there is
    none only if there is no admissible group of k free records with this one. Proof: an admissible group shares,
    for each rule, a disjunct that the record satisfies, so it lies within one child of each node that holds it,
    and at least one node on the heap holds it. The bound of that node is not above the sum of that group, since it
    minimises over more records; the first node whose nearest records are admissible therefore has the least sum.

    Parameters
    ----------
    seed : int
    squared : ndarray of float64, shape (n,)
        Squared distances to the record.
    k : int
    disjuncts : Disjuncts
    free : ndarray of bool, shape (n,)
        Records to choose from, `seed` among them.

    Returns
    -------
    ndarray of intp, shape (k,) or (0,)
        Sorted, `seed` included; empty where none was found.
    """
    distance = np.where(np.arange(len(squared)) == seed, -1.0, squared)
    pool = np.flatnonzero(free)
    pool = pool[np.lexsort((pool, distance[pool]))]
    ticket = itertools.count()
    heap: list[tuple[float, int, NDArray[np.intp]]] = []

    def push(records: NDArray[np.intp]) -> None:
        if len(records) >= k:
            heapq.heappush(heap, (float(distance[records[:k]].sum()), next(ticket), records))

    push(pool)
    for _ in range(CASES):
        if not heap:
            return np.empty(0, dtype=np.intp)
        _, _, pool = heapq.heappop(heap)
        children = _children(seed, pool, k, disjuncts)
        if children is None:
            return np.sort(pool[:k])
        for child in children:
            push(child)
    while heap:
        pool = max((records for _, _, records in heap), key=len)
        children = _children(seed, pool, k, disjuncts)
        if children is None:
            return np.sort(pool[:k])
        heap.clear()
        for child in children:
            push(child)
    return np.empty(0, dtype=np.intp)


def _children(seed: int, pool: NDArray[np.intp], k: int, disjuncts: Disjuncts) -> list[NDArray[np.intp]] | None:
    """Narrow a pool to what its k nearest records do not share; None where they form an admissible group."""
    nearest = pool[:k]
    if len(disjuncts.starts):
        counts = disjuncts.holds[nearest].sum(axis=0)
        lacking = k - np.maximum.reduceat(counts, disjuncts.starts)
        rule = int(lacking.argmax())
        if lacking[rule]:
            columns = disjuncts.rules[rule]
            own = columns.start + np.flatnonzero(disjuncts.holds[seed, columns])
            return [pool[disjuncts.holds[pool, column]] for column in own]
    if disjuncts.admissible(nearest):
        return None
    own = disjuncts.holds[seed, disjuncts.owners]
    narrowed = pool[(disjuncts.values[seed, own] <= disjuncts.limits[np.ix_(pool, own)]).all(axis=1)]
    return [narrowed] if len(narrowed) < len(pool) else []
