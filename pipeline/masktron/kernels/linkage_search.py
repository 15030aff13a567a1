"""Searches for originals nearer than one's own: the compiled part of `masktron.kernels.linkage`.

Distances that decide are float64, summed over dimensions in order, and so are bounds of boxes, which no rounding
makes larger than the distance of a point inside: no tolerance is needed. Single precision is a filter with a stated
error.

All compiled functions stand in this one module, and of the tree only its arrays are used: numba renews its cache only
where the module of the function that is called has changed.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.compiling import inlined, kernel
from masktron.kernels.mdav_tree import BoxTree

_TINY = np.float32(1e-36)
"""Above what a billion products lose that are too small for single precision."""


@kernel
def credit_links(
    places: NDArray[np.float64],
    tree: BoxTree,
    people: NDArray[np.int64],
    own: NDArray[np.int64],
    queries: NDArray[np.float64],
    prototype: NDArray[np.int64],
    order: NDArray[np.int64],
    depth: int,
    credit: NDArray[np.float64],
) -> None:
    """Credit the queries in `order`, of which equal ones follow each other.

    What the last search has found is kept for equal queries: how many people are nearer than `bar` and how many at
    it; none at it where the search was broken off, with `depth` people no farther than `bar`.
    """
    single = np.empty(queries.shape[1], np.float32)
    squared = np.empty(tree.ids.shape[1], np.float32)
    fan = tree.low.shape[2]
    bounds = np.empty(fan)
    # a node is replaced by its children, at most once on each level
    bound_of = np.empty(fan * len(tree.levels))
    node_of = np.empty(fan * len(tree.levels), np.int64)
    last = -1
    bar = math.inf
    nearer = ties = 0
    for at in range(len(order)):
        record = order[at]
        query = queries[record]
        if prototype[record] != last:
            last = prototype[record]
            bar = math.inf
            nearer = ties = 0
        reach = _squared_distance(places, own[record], query)
        if reach < bar or (reach == bar and ties == 0) or (reach > bar and 0 < ties < depth - nearer):
            bar, nearer, ties = _look(
                places, tree, people, query, reach, depth, single, squared, bounds, bound_of, node_of
            )
        if reach == bar and ties > 0:
            credit[record] = 1.0 if ties <= depth - nearer else (depth - nearer) / ties
        else:
            credit[record] = 0.0


@kernel
def _look(
    places: NDArray[np.float64],
    tree: BoxTree,
    people: NDArray[np.int64],
    query: NDArray[np.float64],
    reach: float,
    depth: int,
    single: NDArray[np.float32],
    squared: NDArray[np.float32],
    bounds: NDArray[np.float64],
    bound_of: NDArray[np.float64],
    node_of: NDArray[np.int64],
) -> tuple[float, int, int]:
    """Find `depth` people nearer than `reach`, a squared distance, or count those nearer and those at that distance.

    Returns
    -------
    float, int, int
        Squared distance of the farthest of the nearer ones, how many were found, and 0; or `reach`, the people nearer
        than that, fewer than `depth`, and those at it.
    """
    limit = _limit(tree, query, reach, single)
    fan = len(bounds)
    nearer = ties = 0
    farthest = 0.0
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
                        nearer += people[place]
                        farthest = max(farthest, distance)
                        if nearer >= depth:
                            return farthest, nearer, 0
                    elif distance == reach:
                        ties += people[place]
            continue
        level = 0
        while tree.levels[level + 1] <= node:
            level += 1
        _bounds_below(tree, node, query, bounds)
        base = size
        for child in range(fan):
            bound = bounds[child]
            if tree.alive[node, child] == 0 or bound > reach:
                continue
            below = (node - tree.levels[level]) * fan + child
            at = size
            size += 1
            while at > base and bound_of[at - 1] < bound:
                bound_of[at] = bound_of[at - 1]
                node_of[at] = node_of[at - 1]
                at -= 1
            bound_of[at] = bound
            node_of[at] = -1 - below if level == 0 else tree.levels[level - 1] + below
    return reach, nearer, ties


@inlined
def _squared_distance(points: NDArray[np.float64], place: int, query: NDArray[np.float64]) -> float:
    """Squared distance, summed over dimensions in order."""
    total = 0.0
    for t in range(len(query)):
        difference = points[place, t] - query[t]
        total += difference * difference
    return total


@inlined
def _limit(tree: BoxTree, query: NDArray[np.float64], reach: float, single: NDArray[np.float32]) -> np.float32:
    """Put a query in single precision; return what no place within `reach` exceeds there."""
    norm = 0.0
    for t in range(len(query)):
        shifted = query[t] - tree.centre[t]
        single[t] = np.float32(shifted)
        norm += shifted * shifted
    error = 2.0**-23 * (tree.norm + math.sqrt(norm)) * 1.001
    # what is too large for single precision becomes infinite there, so that all places pass
    return np.float32((math.sqrt(reach) + error) ** 2 * (1 + (len(query) + 8) * 2.0**-22)) + _TINY


@inlined
def _measure(near: NDArray[np.float32], count: int, query: NDArray[np.float32], squared: NDArray[np.float32]) -> None:
    """Squared distances of the points of a leaf in single precision."""
    for slot in range(count):
        squared[slot] = np.float32(0.0)
    for t in range(len(query)):
        coordinate = query[t]
        for slot in range(count):
            difference = near[t, slot] - coordinate
            squared[slot] += difference * difference


@inlined
def _bounds_below(tree: BoxTree, node: int, query: NDArray[np.float64], bounds: NDArray[np.float64]) -> None:
    """Squared distances from a query to the boxes of the children."""
    fan = len(bounds)
    for child in range(fan):
        bounds[child] = 0.0
    for t in range(len(query)):
        coordinate = query[t]
        for child in range(fan):
            under = tree.low[node, t, child] - coordinate
            over = coordinate - tree.high[node, t, child]
            gap = under if under > over else over
            gap = gap if gap > 0.0 else 0.0
            bounds[child] += gap * gap
