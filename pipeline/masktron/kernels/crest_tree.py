"""The trees of `masktron.kernels.crest`, compiled: the same operations on the same numbers, with less searching."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.compiling import is_compiled, kernel

_GRID = 2.0**40
_BLOCK = 256
"""Records whose distances stay in the nearest cache while dimensions are added."""


def tree_ready() -> bool:
    """Tell whether compiled code is at hand."""
    return is_compiled(grow) and is_compiled(cut)


@kernel
def _term(count: int, size: int, share: float) -> float:
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


@kernel
def _on_grid(value: float) -> float:
    return max(math.floor(value * _GRID + 0.5) / _GRID, 0.0)


@kernel
def _divergences(counts: NDArray[np.int64], size: int, shares: NDArray[np.float64], into: NDArray[np.float64]) -> None:
    """JSD of counted records and one more, by the class of that record."""
    total = 0.0
    for code in range(len(shares)):
        total += _term(counts[code], size, shares[code])
    for code in range(len(shares)):
        before = _term(counts[code], size, shares[code])
        into[code] = min(_on_grid(total - before + _term(counts[code] + 1, size, shares[code])), 1.0)


@kernel
def _squares(
    points: NDArray[np.float64], low: int, width: int, center: NDArray[np.float64], total: NDArray[np.float64]
) -> None:
    """Squared distances of a run of points, a row for each dimension, to one."""
    total[:width] = 0.0
    for row in range(len(center)):
        coordinate = center[row]
        for at in range(width):
            difference = points[row, low + at] - coordinate
            total[at] += difference * difference


@kernel
def _squared(points: NDArray[np.float64], u: int, v: int) -> float:
    total = 0.0
    for row in range(points.shape[0]):
        difference = points[row, v] - points[row, u]
        total += difference * difference
    return total


@kernel
def _spread(
    links: NDArray[np.int64], places: NDArray[np.int64], at: int, stop: int, queue: NDArray[np.int64],
    via: NDArray[np.int64],
) -> int:  # fmt: skip
    """Queue the neighbours in the tree of a queued record, but for the one that it was reached from."""
    v = queue[at]
    if links[0, v] >= 0 and links[0, v] != via[at]:
        queue[stop], via[stop] = links[0, v], v
        stop += 1
    w = links[1, v]
    while w >= 0:
        if w != via[at]:
            queue[stop], via[stop] = w, v
            stop += 1
        w = links[2, w]
    return stop


@kernel
def _neighbourhood(
    grown: NDArray[np.float64],
    kinds: NDArray[np.intp],
    links: NDArray[np.int64],
    u: int,
    wanted: int,
    queue: NDArray[np.int64],
    via: NDArray[np.int64],
    distance: NDArray[np.float64],
    counts: NDArray[np.int64],
) -> tuple[int, int, float]:
    """Count the classes of a record and of the first that a breadth-first search meets.

    Returns
    -------
    found : int
        Records counted.
    reach : int
        Edges to the farthest.
    radius : float
        Squared distance of the last that was taken where not all that are equally many edges away were; else infinite.
    """
    counts[:] = 0
    counts[kinds[u]] = 1
    queue[0], via[0] = u, -1
    found, begin, end, reach = 1, 0, 1, 0
    while found <= wanted:
        stop = end
        for at in range(begin, end):
            stop = _spread(links, via, at, stop, queue, via)
        begin, end = end, stop
        if begin == end:
            break
        reach += 1
        missing = wanted + 1 - found
        if end - begin <= missing:
            for at in range(begin, end):
                counts[kinds[queue[at]]] += 1
            found += end - begin
            continue
        radius = 0.0
        for at in range(begin, end):
            distance[at] = _squared(grown, u, queue[at])
        for _ in range(missing):
            nearest = begin
            for at in range(begin + 1, end):
                if distance[at] < distance[nearest] or (
                    distance[at] == distance[nearest] and queue[at] < queue[nearest]
                ):
                    nearest = at
            counts[kinds[queue[nearest]]] += 1
            radius = distance[nearest]
            end -= 1
            queue[nearest], distance[nearest] = queue[end], distance[end]
        return found + missing, reach, radius
    return found, reach, np.inf


@kernel
def spanning(columns: NDArray[np.float64], start: int) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
    """Grow a minimum spanning tree; return order, parents and squared lengths."""
    d, n = columns.shape
    order, parent, squared = np.empty(n, np.intp), np.full(n, -1, np.intp), np.zeros(n)
    # what still waits, in ascending order of the records; those that joined are dropped now and then
    rest, record = columns.copy(), np.arange(n)
    length, end = np.full(n, np.inf), np.full(n, -1, np.intp)
    waiting = np.ones(n, np.bool_)
    size, joined = n, 0
    total = np.empty(_BLOCK)
    at_u = start
    for place in range(n):
        u = record[at_u]
        order[place] = u
        waiting[at_u] = False
        joined += 1
        if place > 0:
            parent[u], squared[u] = end[at_u], length[at_u]
        if place == n - 1:
            break
        if joined * 8 > size:
            kept = 0
            for at in range(size):
                if waiting[at]:
                    for row in range(d):
                        rest[row, kept] = rest[row, at]
                    record[kept], end[kept] = record[at], end[at]
                    length[kept], waiting[kept] = length[at], True
                    kept += 1
            size, joined = kept, 0
        center = columns[:, u].copy()
        chosen = -1
        for low in range(0, size, _BLOCK):
            width = min(_BLOCK, size - low)
            _squares(rest, low, width, center, total)
            for at in range(width):
                here = low + at
                if not waiting[here]:
                    continue
                if total[at] <= length[here]:
                    length[here], end[here] = total[at], u
                if chosen < 0 or length[here] < length[chosen]:
                    chosen = here
        at_u = chosen
    return order, parent, squared


@kernel
def grow(
    columns: NDArray[np.float64],
    codes: NDArray[np.intp],
    shares: NDArray[np.float64],
    alpha: float,
    neighbours: int,
    unit: float,
    start: int,
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
    """Grow what `masktron.kernels.crest.plain_grow` grows; return order, parents and squared lengths.

    Places in the tree stand for its records. `key` is never above the least composite distance of a waiting record: it
    is lowered when an edge comes or gets better, and where the edge that it came from gets worse, the record is
    `stale`, and searched anew only when it is the next to join.
    """
    d, n = columns.shape
    order, parent, squared = np.empty(n, np.intp), np.full(n, -1, np.intp), np.zeros(n)
    grown, kinds = np.empty((d, n)), np.empty(n, np.intp)
    links = np.full((3, n), -1)
    reach, radius, found = np.zeros(n, np.int64), np.full(n, np.inf), np.zeros(n, np.int64)
    divergence = np.empty((n, len(shares)))
    queue, via, distance = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n)
    changed, near, far = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    counts, fresh = np.zeros(len(shares), np.int64), np.zeros(len(shares))
    key, length, end = np.full(n, np.inf), np.full(n, np.inf), np.full(n, -1)
    waiting, stale = np.ones(n, np.bool_), np.zeros(n, np.bool_)
    total, center = np.empty(_BLOCK), np.empty(d)
    lower = np.zeros(len(shares), np.bool_)
    v = start
    for place in range(n):
        order[place], waiting[v] = v, False
        grown[:, place], kinds[place] = columns[:, v], codes[v]
        if place > 0:
            above = end[v]
            parent[v], squared[v] = order[above], length[v]
            links[0, place], links[2, place], links[1, above] = above, links[1, above], place
        if place == n - 1:
            break
        # the records whose neighbourhoods the new one enters
        many = 0
        near[0], far[0] = place, -1
        begin, stop, steps = 0, 1, 0
        while begin < stop:
            last = stop
            for at in range(begin, last):
                u = near[at]
                if steps > 0:
                    if found[u] > neighbours - 2 and reach[u] < steps:
                        continue
                    if (
                        found[u] <= neighbours - 2
                        or reach[u] > steps
                        or radius[u] == np.inf
                        or _squared(grown, u, place) < radius[u]
                    ):
                        changed[many] = u
                        many += 1
                else:
                    changed[many] = u
                    many += 1
                stop = _spread(links, far, at, stop, near, far)
            begin = last
            steps += 1
            if steps > neighbours - 2:
                break
        for number in range(many):
            u = changed[number]
            found[u], reach[u], radius[u] = _neighbourhood(
                grown, kinds, links, u, neighbours - 2, queue, via, distance, counts
            )
            _divergences(counts, found[u] + 1, shares, fresh)
            better = False
            worse = False
            for code in range(len(shares)):
                lower[code] = u == place or fresh[code] < divergence[u, code]
                better |= lower[code]
                worse |= u != place and fresh[code] > divergence[u, code]
            if worse:
                for w in range(n):
                    if end[w] == u and waiting[w] and fresh[codes[w]] > divergence[u, codes[w]]:
                        stale[w] = True
            divergence[u] = fresh
            if not better:
                continue
            center[:] = grown[:, u]
            for low in range(0, n, _BLOCK):
                width = min(_BLOCK, n - low)
                _squares(columns, low, width, center, total)
                for at in range(width):
                    w = low + at
                    if not waiting[w] or not lower[codes[w]]:
                        continue
                    composite = alpha * (math.sqrt(total[at]) * unit) + (1.0 - alpha) * fresh[codes[w]]
                    if composite < key[w] or (
                        composite == key[w]
                        and (total[at] < length[w] or (total[at] == length[w] and u >= end[w]))
                    ):
                        key[w], length[w], end[w], stale[w] = composite, total[at], u, False
        while True:
            chosen = -1
            for w in range(n):
                if waiting[w] and (
                    chosen < 0
                    or key[w] < key[chosen]
                    or (
                        key[w] == key[chosen]
                        and not stale[chosen]
                        and (stale[w] or length[w] < length[chosen])
                    )
                ):
                    chosen = w
            if not stale[chosen]:
                break
            key[chosen] = np.inf
            length[chosen] = np.inf
            stale[chosen] = False
            center[:] = columns[:, chosen]
            for low in range(0, place + 1, _BLOCK):
                width = min(_BLOCK, place + 1 - low)
                _squares(grown, low, width, center, total)
                for at in range(width):
                    composite = alpha * (math.sqrt(total[at]) * unit) + (1.0 - alpha) * divergence[
                        low + at, codes[chosen]
                    ]
                    if composite < key[chosen] or (composite == key[chosen] and total[at] <= length[chosen]):
                        key[chosen], length[chosen], end[chosen] = composite, total[at], low + at
        v = chosen
    return order, parent, squared


@kernel
def _weighted(counts: NDArray[np.int64], shares: NDArray[np.float64]) -> float:
    size, total = counts.sum(), 0.0
    for code in range(len(shares)):
        total += _term(counts[code], size, shares[code])
    return size * total


@kernel
def _subtrees(
    order: NDArray[np.intp], parent: NDArray[np.intp], codes: NDArray[np.intp], counts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Count classes and records below each record; number records so that those below one follow it at once."""
    n = len(order)
    size = np.ones(n, np.int64)
    for at in range(n - 1, -1, -1):
        v = order[at]
        counts[v, codes[v]] += 1
        if at > 0:
            size[parent[v]] += size[v]
            counts[parent[v]] += counts[v]
    number, following = np.zeros(n, np.int64), np.zeros(n, np.int64)
    following[order[0]] = 1
    for at in range(1, n):
        v = order[at]
        number[v] = following[parent[v]]
        following[parent[v]] += size[v]
        following[v] = number[v] + 1
    return size, number, number + size


@kernel
def _least_ratio(
    edges: NDArray[np.intp],
    low: int,
    high: int,
    root: int,
    k: int,
    size: NDArray[np.int64],
    counts: NDArray[np.int64],
    below: NDArray[np.float64],
    length: NDArray[np.float64],
    shares: NDArray[np.float64],
) -> tuple[int, int]:
    """Drop the edges that cannot be removed; return where the others end, and the one to cut, or -1."""
    kept, chosen = low, -1
    ratio = increase = np.inf
    for at in range(low, high):
        v = edges[at]
        above = size[root] - size[v]
        if size[v] < k or above < k:
            continue
        edges[kept] = v
        kept += 1
        total = 0.0
        for code in range(len(shares)):
            total += _term(counts[root, code] - counts[v, code], above, shares[code])
        parted = _on_grid((below[v] + above * total - below[root]) / size[root])
        own = parted / length[v] if length[v] > 0.0 else np.inf
        if (
            chosen < 0
            or own < ratio
            or (
                own == ratio
                and (parted < increase or (parted == increase and length[v] > length[chosen]))
            )
        ):
            ratio, increase, chosen = own, parted, v
    return kept, chosen


@kernel
def cut(
    order: NDArray[np.intp],
    parent: NDArray[np.intp],
    length: NDArray[np.float64],
    codes: NDArray[np.intp],
    shares: NDArray[np.float64],
    k: int,
) -> NDArray[np.bool_]:
    """Cut as `masktron.kernels.crest.plain_cut` does; return which records are cut from their parents."""
    n = len(order)
    counts = np.zeros((n, len(shares)), np.int64)
    size, number, last = _subtrees(order, parent, codes, counts)
    roots = np.zeros(n, np.bool_)
    below = np.zeros(n)
    edges, spare = np.empty(n, np.intp), np.empty(n, np.intp)
    high = 0
    for at in range(n):
        v = order[at]
        if size[v] >= k:
            below[v] = _weighted(counts[v], shares)
            if at > 0:
                edges[high] = v
                high += 1
    lows, highs, heads = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.intp)
    lows[0], highs[0], heads[0] = 0, high, order[0]
    waiting = 1
    while waiting > 0:
        waiting -= 1
        low, root = lows[waiting], heads[waiting]
        high, chosen = _least_ratio(edges, low, highs[waiting], root, k, size, counts, below, length, shares)
        if chosen < 0:
            continue
        roots[chosen] = True
        v = chosen
        while v != root:
            v = parent[v]
            size[v] -= size[chosen]
            counts[v] -= counts[chosen]
            if size[v] >= k:
                below[v] = _weighted(counts[v], shares)
        middle, others = low, 0
        for at in range(low, high):
            v = edges[at]
            if v == chosen:
                continue
            if number[chosen] <= number[v] < last[chosen]:
                spare[others] = v
                others += 1
            else:
                edges[middle] = v
                middle += 1
        edges[middle : middle + others] = spare[:others]
        lows[waiting], highs[waiting], heads[waiting] = low, middle, root
        lows[waiting + 1], highs[waiting + 1], heads[waiting + 1] = middle, middle + others, chosen
        waiting += 2
    return roots
