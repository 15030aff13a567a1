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
def _divergences(
    counts: NDArray[np.int64], size: int, shares: NDArray[np.float64], into: NDArray[np.float64]
) -> None:
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
        Squared distance of the last that was taken, where some equally many edges away were not; else infinite.
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
def spanning(
    columns: NDArray[np.float64], start: int
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
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
def _entered(
    grown: NDArray[np.float64],
    links: NDArray[np.int64],
    place: int,
    wanted: int,
    found: NDArray[np.int64],
    reach: NDArray[np.int64],
    radius: NDArray[np.float64],
    queue: NDArray[np.int64],
    via: NDArray[np.int64],
    changed: NDArray[np.int64],
) -> int:
    """List the records into whose neighbourhood a new one comes, itself first; return how many.

    A neighbourhood that is full before it reaches the new record shuts off those behind it as well: theirs hold it.
    """
    changed[0], many = place, 1
    queue[0], via[0] = place, -1
    stop = _spread(links, via, 0, 1, queue, via)
    begin, steps = 1, 1
    while begin < stop and steps <= wanted:
        last = stop
        for at in range(begin, last):
            u = queue[at]
            full = found[u] > wanted
            if full and reach[u] < steps:
                continue
            if not full or reach[u] > steps or _squared(grown, u, place) < radius[u]:
                changed[many] = u
                many += 1
            stop = _spread(links, via, at, stop, queue, via)
        begin = last
        steps += 1
    return many


@kernel
def _offer(
    columns: NDArray[np.float64],
    codes: NDArray[np.intp],
    u: int,
    center: NDArray[np.float64],
    alpha: float,
    unit: float,
    divergence: NDArray[np.float64],
    lower: NDArray[np.bool_],
    waiting: NDArray[np.bool_],
    stale: NDArray[np.bool_],
    key: NDArray[np.float64],
    length: NDArray[np.float64],
    end: NDArray[np.int64],
    total: NDArray[np.float64],
) -> None:
    """Measure the edges of a record in the tree to those that wait, of the classes for which they are shorter now."""
    for low in range(0, len(codes), _BLOCK):
        width = min(_BLOCK, len(codes) - low)
        _squares(columns, low, width, center, total)
        for at in range(width):
            w = low + at
            if not waiting[w] or not lower[codes[w]]:
                continue
            composite = alpha * (math.sqrt(total[at]) * unit) + (1.0 - alpha) * divergence[codes[w]]
            if composite < key[w] or (
                composite == key[w] and (total[at] < length[w] or (total[at] == length[w] and u >= end[w]))
            ):
                key[w], length[w], end[w], stale[w] = composite, total[at], u, False


@kernel
def _search(
    grown: NDArray[np.float64],
    places: int,
    center: NDArray[np.float64],
    alpha: float,
    unit: float,
    divergence: NDArray[np.float64],
    total: NDArray[np.float64],
) -> tuple[float, float, int]:
    """Return the least composite distance of a record to the tree, the squared length of that edge, and its end."""
    key, length, end = np.inf, np.inf, -1
    for low in range(0, places, _BLOCK):
        width = min(_BLOCK, places - low)
        _squares(grown, low, width, center, total)
        for at in range(width):
            composite = alpha * (math.sqrt(total[at]) * unit) + (1.0 - alpha) * divergence[low + at]
            if composite < key or (composite == key and total[at] <= length):
                key, length, end = composite, total[at], low + at
    return key, length, end


@kernel
def _share(
    columns: NDArray[np.float64],
    codes: NDArray[np.intp],
    v: int,
    waiting: NDArray[np.bool_],
    stale: NDArray[np.bool_],
    key: NDArray[np.float64],
    length: NDArray[np.float64],
    end: NDArray[np.int64],
) -> None:
    """Give what was found for a record to its equals: searched one by one, equal records take the cube of n."""
    for w in range(len(codes)):
        if not stale[w] or not waiting[w] or codes[w] != codes[v]:
            continue
        same = True
        for row in range(columns.shape[0]):
            if columns[row, w] != columns[row, v]:
                same = False
                break
        if same:
            key[w], length[w], end[w], stale[w] = key[v], length[v], end[v], False


@kernel
def _least(
    waiting: NDArray[np.bool_], stale: NDArray[np.bool_], key: NDArray[np.float64], length: NDArray[np.float64]
) -> int:
    """Return who has the least key; of equals somebody stale, else the nearest, else the first."""
    chosen = -1
    for w in range(len(key)):
        if waiting[w] and (
            chosen < 0
            or key[w] < key[chosen]
            or (key[w] == key[chosen] and not stale[chosen] and (stale[w] or length[w] < length[chosen]))
        ):
            chosen = w
    return chosen


@kernel
def _renew(
    codes: NDArray[np.intp],
    u: int,
    old: NDArray[np.float64],
    fresh: NDArray[np.float64],
    stale: NDArray[np.bool_],
    end: NDArray[np.int64],
    lower: NDArray[np.bool_],
) -> bool:
    """Replace divergences around a record; mark classes for which they fell, and who relied on what rose."""
    better = worse = False
    for code in range(len(fresh)):
        lower[code] = fresh[code] < old[code]
        better |= lower[code]
        worse |= fresh[code] > old[code]
    if worse:
        for w in range(len(codes)):
            if end[w] == u and fresh[codes[w]] > old[codes[w]]:
                stale[w] = True
    old[:] = fresh
    return better


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

    Places in the tree stand for its records. `key` is never above the least composite distance of a waiting record:
    it falls when an edge comes or gets better; where the edge that it came from gets worse, the record is `stale`,
    and searched anew, with all its equals, only when it is the next to join.
    """
    d, n = columns.shape
    wanted = neighbours - 2
    order, parent, squared = np.empty(n, np.intp), np.full(n, -1, np.intp), np.zeros(n)
    grown, kinds, links = np.empty((d, n)), np.empty(n, np.intp), np.full((3, n), -1)
    found, reach, radius = np.zeros(n, np.int64), np.zeros(n, np.int64), np.full(n, np.inf)
    divergence = np.full((len(shares), n), np.inf).T
    queue, via, distance, changed = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n), np.empty(n, np.int64)
    counts, fresh, lower = np.zeros(len(shares), np.int64), np.zeros(len(shares)), np.zeros(len(shares), np.bool_)
    key, length, end = np.full(n, np.inf), np.full(n, np.inf), np.full(n, -1)
    waiting, stale = np.ones(n, np.bool_), np.zeros(n, np.bool_)
    total = np.empty(_BLOCK)
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
        for at in range(_entered(grown, links, place, wanted, found, reach, radius, queue, via, changed)):
            u = changed[at]
            found[u], reach[u], radius[u] = _neighbourhood(
                grown, kinds, links, u, wanted, queue, via, distance, counts
            )
            _divergences(counts, found[u] + 1, shares, fresh)
            if _renew(codes, u, divergence[u], fresh, stale, end, lower):
                _offer(
                    columns, codes, u, grown[:, u].copy(), alpha, unit, fresh, lower, waiting, stale, key, length,
                    end, total,
                )  # fmt: skip
        v = _least(waiting, stale, key, length)
        while stale[v]:
            stale[v] = False
            key[v], length[v], end[v] = _search(
                grown, place + 1, columns[:, v].copy(), alpha, unit, divergence[:, codes[v]], total
            )
            _share(columns, codes, v, waiting, stale, key, length, end)
            v = _least(waiting, stale, key, length)
    return order, parent, squared


@kernel
def _weighted(counts: NDArray[np.int64], shares: NDArray[np.float64]) -> float:
    size, total = int(counts.sum()), 0.0
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
            or (own == ratio and (parted < increase or (parted == increase and length[v] > length[chosen])))
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
