"""Whose original is nearest, through a tree: for many records, without measuring all pairs.

Nobody asks which original is the nearest of a masked record, only whether any is nearer than its own, and if none is,
how many are as near. A search ends at the first nearer one; where there is none, only boxes as near as the own
original are opened. Distances that decide are float64, summed over dimensions in order, and so are bounds of boxes,
which no rounding makes larger than the distance of a point inside: no tolerance is needed. Single precision is a
filter with a stated error.

All compiled functions stand in this one module, but for the tree, which is built before they are called: numba renews
its cache only where the module of the function that is called has changed.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from numba import njit
from numpy.typing import NDArray

from masktron.kernels.compiling import is_compiled, kernel
from masktron.kernels.mdav_tree import FAN, STACK, Tree, build

_CAPACITY = 64
_PIECES = 64
"""Into which the queries are cut: enough for any number of threads, and for an interruption to be heard."""
_TINY = np.float32(1e-36)
"""Above what a billion products lose that are too small for single precision."""


def credits_of_links(
    places: NDArray[np.float64],
    people: NDArray[np.int64],
    own: NDArray[np.int64],
    queries: NDArray[np.float64],
    prototype: NDArray[np.int64],
    workers: int,
) -> NDArray[np.float64]:
    """Credit every query whose own place is nearest: 1 over the people at all nearest places, else 0.

    Parameters
    ----------
    places : ndarray of float64, shape (m, d)
        Distinct, C-contiguous, finite; d at least 1, magnitudes below 1e17.
    people : ndarray of int64, shape (m,)
        How many share each place.
    own : ndarray of int64, shape (n,)
        Place of each query.
    queries : ndarray of float64, shape (n, d)
        C-contiguous, finite; squared distances must not overflow.
    prototype : ndarray of int64, shape (n,)
        Equal for equal queries; numbered from 0 without gaps.
    workers : int
        Threads; the result does not depend on them.

    Returns
    -------
    ndarray of float64, shape (n,)
    """
    tree = build(places, np.arange(len(places)), _CAPACITY, places.mean(axis=0))
    order = _order(tree, own, prototype)
    credit = np.empty(len(queries))
    ends = np.linspace(0, len(queries), _PIECES + 1).astype(np.int64).tolist()
    tasks = [(places, tree, people, own, queries, prototype, order[a:b], credit) for a, b in pairwise(ends)]
    with ThreadPoolExecutor(max_workers=workers) as threads:
        for task in [threads.submit(_credit, *task) for task in tasks]:
            task.result()
    return credit


def links_ready() -> bool:
    """Tell whether compiled code is at hand."""
    return is_compiled(_credit) and is_compiled(build)


def _order(tree: Tree, own: NDArray[np.int64], prototype: NDArray[np.int64]) -> NDArray[np.int64]:
    """Order queries so that equal ones follow each other, and after them those that open the same boxes."""
    leaf = tree.leaf_of[own]
    first = np.full(int(prototype.max()) + 1, len(tree.held), dtype=np.int64)
    np.minimum.at(first, prototype, leaf)
    order: NDArray[np.int64] = np.argsort(first[prototype] * len(first) + prototype, kind="stable")
    return order


@kernel
def _credit(
    places: NDArray[np.float64],
    tree: Tree,
    people: NDArray[np.int64],
    own: NDArray[np.int64],
    queries: NDArray[np.float64],
    prototype: NDArray[np.int64],
    order: NDArray[np.int64],
    credit: NDArray[np.float64],
) -> None:
    """Credit the queries in `order`, of which equal ones follow each other."""
    single = np.empty(queries.shape[1], np.float32)
    squared = np.empty(tree.ids.shape[1], np.float32)
    bounds = np.empty(FAN)
    bound_of = np.empty(STACK)
    node_of = np.empty(STACK, np.int64)
    last = -1
    nearest = math.inf
    ties = 0
    for at in range(len(order)):
        record = order[at]
        query = queries[record]
        if prototype[record] != last:
            last = prototype[record]
            nearest = math.inf
            ties = 0
        reach = _squared_distance(places, own[record], query)
        if reach < nearest or (reach == nearest and ties == 0):
            nearest, ties = _look(places, tree, people, query, reach, single, squared, bounds, bound_of, node_of)
        credit[record] = 1.0 / ties if reach == nearest and ties > 0 else 0.0


@kernel
def _look(
    places: NDArray[np.float64],
    tree: Tree,
    people: NDArray[np.int64],
    query: NDArray[np.float64],
    reach: float,
    single: NDArray[np.float32],
    squared: NDArray[np.float32],
    bounds: NDArray[np.float64],
    bound_of: NDArray[np.float64],
    node_of: NDArray[np.int64],
) -> tuple[float, int]:
    """Find a place nearer than `reach`, a squared distance, or count the people at exactly that distance.

    Returns
    -------
    float, int
        Squared distance of a nearer place and 0; or `reach` and the people.
    """
    limit = _limit(tree, query, reach, single)
    ties = 0
    size = 1
    node_of[0] = tree.levels[-2]
    bound_of[0] = 0.0
    while size > 0:
        size -= 1
        node = node_of[size]
        if node < 0:
            leaf = -1 - node
            count = tree.held[leaf]
            _measure(tree.near[leaf], count, single, squared)
            for slot in range(count):
                # written so that what is no number passes
                if not squared[slot] > limit:
                    place = tree.ids[leaf, slot]
                    distance = _squared_distance(places, place, query)
                    if distance < reach:
                        return distance, 0
                    if distance == reach:
                        ties += people[place]
            continue
        level = 0
        while tree.levels[level + 1] <= node:
            level += 1
        _bounds_below(tree, node, query, bounds)
        base = size
        for child in range(FAN):
            bound = bounds[child]
            if tree.alive[node, child] == 0 or bound > reach:
                continue
            below = (node - tree.levels[level]) * FAN + child
            at = size
            size += 1
            while at > base and bound_of[at - 1] < bound:
                bound_of[at] = bound_of[at - 1]
                node_of[at] = node_of[at - 1]
                at -= 1
            bound_of[at] = bound
            node_of[at] = -1 - below if level == 0 else tree.levels[level - 1] + below
    return reach, ties


@njit(nogil=True, inline="always")
def _squared_distance(points: NDArray[np.float64], place: int, query: NDArray[np.float64]) -> float:
    """Squared distance, summed over dimensions in order."""
    total = 0.0
    for t in range(len(query)):
        difference = points[place, t] - query[t]
        total += difference * difference
    return total


@njit(nogil=True, inline="always")
def _limit(tree: Tree, query: NDArray[np.float64], reach: float, single: NDArray[np.float32]) -> np.float32:
    """Put a query in single precision; return what no place within `reach` exceeds there."""
    norm = 0.0
    for t in range(len(query)):
        shifted = query[t] - tree.centre[t]
        single[t] = np.float32(shifted)
        norm += shifted * shifted
    error = 2.0**-23 * (tree.norm + math.sqrt(norm)) * 1.001
    # beyond single precision all places pass
    limit = (math.sqrt(reach) + error) ** 2 * (1 + (len(query) + 8) * 2.0**-22)
    return np.float32(limit) + _TINY if limit < 1e38 else np.float32(math.inf)


@njit(nogil=True, inline="always")
def _measure(near: NDArray[np.float32], count: int, query: NDArray[np.float32], squared: NDArray[np.float32]) -> None:
    """Squared distances of the points of a leaf in single precision."""
    for slot in range(count):
        squared[slot] = np.float32(0.0)
    for t in range(len(query)):
        coordinate = query[t]
        for slot in range(count):
            difference = near[t, slot] - coordinate
            squared[slot] += difference * difference


@njit(nogil=True, inline="always")
def _bounds_below(tree: Tree, node: int, query: NDArray[np.float64], bounds: NDArray[np.float64]) -> None:
    """Squared distances from a query to the boxes of the children."""
    for child in range(FAN):
        bounds[child] = 0.0
    for t in range(len(query)):
        coordinate = query[t]
        for child in range(FAN):
            under = tree.low[node, t, child] - coordinate
            over = coordinate - tree.high[node, t, child]
            gap = under if under > over else over
            gap = gap if gap > 0.0 else 0.0
            bounds[child] += gap * gap
