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
    total = 0.0
    for code in range(len(shares)):
        total += _term(counts[code], size, shares[code])
    for code in range(len(shares)):
        before = _term(counts[code], size, shares[code])
        into[code] = min(_on_grid(total - before + _term(counts[code] + 1, size, shares[code])), 1.0)


@kernel
def _squared(columns: NDArray[np.float64], u: int, v: int) -> float:
    total = 0.0
    for row in range(columns.shape[0]):
        difference = columns[row, v] - columns[row, u]
        total += difference * difference
    return total


@kernel
def _neighbourhood(
    columns: NDArray[np.float64],
    codes: NDArray[np.intp],
    parent: NDArray[np.intp],
    child: NDArray[np.intp],
    sibling: NDArray[np.intp],
    u: int,
    wanted: int,
    queue: NDArray[np.intp],
    via: NDArray[np.intp],
    distance: NDArray[np.float64],
    counts: NDArray[np.int64],
) -> int:
    """Count the classes of a record and of the first that a breadth-first search meets; return how many they are."""
    counts[:] = 0
    counts[codes[u]] = 1
    queue[0], via[0] = u, -1
    found, begin, end = 1, 0, 1
    while begin < end and found <= wanted:
        stop = end
        for at in range(begin, end):
            v = queue[at]
            if parent[v] >= 0 and parent[v] != via[at]:
                queue[stop], via[stop] = parent[v], v
                stop += 1
            w = child[v]
            while w >= 0:
                if w != via[at]:
                    queue[stop], via[stop] = w, v
                    stop += 1
                w = sibling[w]
        begin, end = end, stop
        missing = wanted + 1 - found
        if end - begin <= missing:
            for at in range(begin, end):
                counts[codes[queue[at]]] += 1
            found += end - begin
            continue
        for at in range(begin, end):
            distance[at] = _squared(columns, u, queue[at])
        for _ in range(missing):
            nearest = begin
            for at in range(begin + 1, end):
                if distance[at] < distance[nearest] or (
                    distance[at] == distance[nearest] and queue[at] < queue[nearest]
                ):
                    nearest = at
            counts[codes[queue[nearest]]] += 1
            end -= 1
            queue[nearest], distance[nearest] = queue[end], distance[end]
        found += missing
    return found


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
    """Grow what `masktron.kernels.crest.plain_grow` grows; return order, parents and squared lengths."""
    d, n = columns.shape
    order, parent, squared = np.empty(n, np.intp), np.full(n, -1, np.intp), np.zeros(n)
    child, sibling = np.full(n, -1, np.intp), np.full(n, -1, np.intp)
    queue, via, distance = np.empty(n, np.intp), np.empty(n, np.intp), np.empty(n)
    counts, divergence = np.zeros(len(shares), np.int64), np.zeros(len(shares))
    # what still waits, in ascending order of the records; those that joined are dropped now and then
    rest, kind, record = columns.copy(), codes.copy(), np.arange(n)
    best, length, end = np.full(n, np.inf), np.full(n, np.inf), np.full(n, -1, np.intp)
    waiting = np.ones(n, np.bool_)
    size, joined = n, 0
    total, center = np.empty(_BLOCK), np.empty(d)
    classless = alpha >= 1.0
    at_u = start
    for place in range(n):
        u = record[at_u]
        order[place] = u
        waiting[at_u] = False
        joined += 1
        if place > 0:
            parent[u], squared[u] = end[at_u], length[at_u]
            sibling[u], child[end[at_u]] = child[end[at_u]], u
        best[at_u] = np.inf
        if place == n - 1:
            break
        center[:] = columns[:, u]
        if not classless:
            found = _neighbourhood(
                columns, codes, parent, child, sibling, u, neighbours - 2, queue, via, distance, counts
            )
            _divergences(counts, found + 1, shares, divergence)
        if joined * 8 > size:
            kept = 0
            for at in range(size):
                if waiting[at]:
                    for row in range(d):
                        rest[row, kept] = rest[row, at]
                    kind[kept], record[kept], end[kept] = kind[at], record[at], end[at]
                    best[kept], length[kept], waiting[kept] = best[at], length[at], True
                    kept += 1
            size, joined = kept, 0
        chosen = -1
        for low in range(0, size, _BLOCK):
            width = min(_BLOCK, size - low)
            total[:width] = 0.0
            for row in range(d):
                coordinate = center[row]
                for at in range(width):
                    difference = rest[row, low + at] - coordinate
                    total[at] += difference * difference
            for at in range(width):
                here = low + at
                if not waiting[here]:
                    continue
                composite = math.sqrt(total[at]) * unit
                if not classless:
                    composite = alpha * composite + (1.0 - alpha) * divergence[kind[here]]
                if composite < best[here] or (composite == best[here] and total[at] <= length[here]):
                    best[here], length[here], end[here] = composite, total[at], u
                if (
                    chosen < 0
                    or best[here] < best[chosen]
                    or (best[here] == best[chosen] and length[here] < length[chosen])
                ):
                    chosen = here
        at_u = chosen
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
