"""MDAV through a tree: the partition of `masktron.kernels.mdav`, record for record, in less than quadratic time.

Three structures over the records that are left. Exact running sums give the mean, correctly rounded. A tree of boxes
finds nearest and farthest records. Shells, which are the records in order of their distance to a past mean, find what
is farthest from the mean by the triangle inequality, and in many dimensions, where corners of boxes say little, also
what is farthest from a record.

Distances that decide are float64, summed over dimensions in order. Bounds of boxes are summed in the same order and
every operation rounds monotonically, so that the computed bound of a box never passes the computed distance of a
record in it: no tolerance is needed. Copies in single precision are a filter with a stated error.

All compiled functions stand in this one module, since numba renews its cache only where the module of the function
that is called has changed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.compiling import inlined, is_compiled, kernel

_SPARE = 3
"""Limbs below the sum into which it is divided: the quotient of a sum of 1 by 2**31 keeps 65 bits."""
FAN = 16
STACK = 256
"""More than the 16 children of each of at most 10 levels."""
_NONE = np.int64(1) << 62
_RELATIVE = 1e-5
"""Above (d + 3) roundings of single precision, for d up to 100."""
_TINY = np.float32(1e-36)
"""Above what 100 products lose that are too small for single precision."""
BLOCK = 64
_SLACK = 1 + 1e-9
"""Far above the roundings of roots and sums of two distances."""
CAPACITY = 128
_SHARE = 16
"""One point in so many is kept in order of distance, for the search from the mean."""
_EVERY = 1 << 62


def mdav_tree(points: NDArray[np.float64], k: int) -> tuple[NDArray[np.intp], int]:
    """Form groups while at least 3k records remain.

    Parameters
    ----------
    points : ndarray of float64, shape (n, d)
        Finite, C-contiguous; centred magnitudes below 1e18.
    k : int

    Returns
    -------
    labels : ndarray of intp, shape (n,)
        In the order in which the groups are formed; -1 for the fewer than 3k records that remain.
    groups : int
    """
    sums, lowest = sums_of(points)
    labels = np.full(len(points), -1, dtype=np.intp)
    groups = _form(points, points.view(np.int64), sums, lowest, k, labels)
    return labels, groups


def tree_ready() -> bool:
    """Tell whether compiled code is at hand; without it, the first call takes some ten seconds longer."""
    return all(map(is_compiled, (_form, _add_all)))


@kernel
def _left(leaf_of: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    left = np.empty(size, np.int64)
    at = 0
    for record in range(len(leaf_of)):
        if leaf_of[record] >= 0:
            left[at] = record
            at += 1
    return left


@kernel
def _form(
    points: NDArray[np.float64],
    bits: NDArray[np.int64],
    sums: NDArray[np.int64],
    lowest: NDArray[np.int64],
    k: int,
    labels: NDArray[np.intp],
) -> int:
    n, d = points.shape
    size = built = n
    mean = np.empty(d)
    work = np.empty(sums.shape[1] + 4, np.int64)
    mean_into(sums, size, lowest, work, mean)
    room = scratch(CAPACITY, d)
    distance = np.empty(k - 1)
    found = np.empty(k - 1, np.int64)
    tree = build(points, np.arange(n), CAPACITY, mean)
    order = shells(points, tree, _left(tree.leaf_of, size), mean, size)
    wide = d >= 8
    spent = 0
    group = 0
    while size >= 3 * k:
        mean_into(sums, size, lowest, work, mean)
        rebuilt = 2 * size < built
        if rebuilt:
            tree = build(points, _left(tree.leaf_of, size), CAPACITY, mean)
            built = size
        if rebuilt or spent > size // 4:
            wanted = size if wide else size // _SHARE + 2048
            order = shells(points, tree, _left(tree.leaf_of, size), mean, wanted)
            spent = 0
        best, record, done, blocks = walk(points, tree, order, mean, room, _EVERY)
        if not done:
            # too many equal distances, or the mean has moved far: order all
            order = shells(points, tree, _left(tree.leaf_of, size), mean, size)
            best, record, done, blocks = walk(points, tree, order, mean, room, _EVERY)
        spent += blocks
        for second in range(2):
            if second:
                query = points[record]
                best, other, done, blocks = walk(points, tree, order, query, room, _EVERY if wide else 4)
                if not done:
                    other, blocks = farthest(points, tree, query, best, other, room)
                record = other
            if k > 1:
                nearest(points, tree, record, room, distance, found)
            labels[record] = group
            remove(points, tree, record)
            drop(order, record)
            add(sums, bits, record, -1, lowest)
            for at in range(k - 1):
                neighbour = int(found[at])
                labels[neighbour] = group
                remove(points, tree, neighbour)
                drop(order, neighbour)
                add(sums, bits, neighbour, -1, lowest)
            size -= k
            group += 1
    return group


# --- exact means ----------------------------------------------------------------------------------------------------


def sums_of(points: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sum every column exactly.

    Parameters
    ----------
    points : ndarray of float64, shape (n, d)
        Finite, C-contiguous, n below 2**31.

    Returns
    -------
    sums : ndarray of int64, shape (d, limbs)
        Column t sums to the sum of ``sums[t, i] * 2**(32 * i + lowest[t] - 1075)``.
    lowest : ndarray of int64, shape (d,)
        The smallest biased exponent of a number other than 0 in the column.
    """
    bits = points.view(np.int64)
    exponent = np.maximum((bits >> 52) & 0x7FF, 1)
    lowest = np.where(points != 0, exponent, 0x7FF).min(axis=0, initial=0x7FF)
    span = int(np.maximum(exponent.max(axis=0, initial=1) - lowest, 0).max(initial=0))
    sums = np.zeros((points.shape[1], (span + 53) // 32 + 4), dtype=np.int64)
    _add_all(sums, bits, lowest)
    return sums, lowest


@kernel
def add(sums: NDArray[np.int64], bits: NDArray[np.int64], record: int, sign: int, lowest: NDArray[np.int64]) -> None:
    """Add a record to the sums, or with the sign -1 take it away. `bits` are those of the doubles."""
    for t in range(bits.shape[1]):
        word = bits[record, t]
        exponent = (word >> 52) & 0x7FF
        mantissa = word & 0xFFFFFFFFFFFFF
        if exponent > 0:
            mantissa += 0x10000000000000
        else:
            exponent += 1
        if mantissa == 0:
            continue
        signed = sign if word >= 0 else -sign
        shift = exponent - lowest[t]
        limb = shift >> 5
        offset = shift & 31
        low = (mantissa & 0xFFFFFFFF) << offset
        high = (mantissa >> 32) << offset
        sums[t, limb] += signed * (low & 0xFFFFFFFF)
        sums[t, limb + 1] += signed * ((low >> 32) + (high & 0xFFFFFFFF))
        sums[t, limb + 2] += signed * (high >> 32)


@kernel
def _add_all(sums: NDArray[np.int64], bits: NDArray[np.int64], lowest: NDArray[np.int64]) -> None:
    for record in range(bits.shape[0]):
        add(sums, bits, record, 1, lowest)


@kernel
def mean_into(
    sums: NDArray[np.int64], count: int, lowest: NDArray[np.int64], work: NDArray[np.int64], mean: NDArray[np.float64]
) -> None:
    """Divide the sums by a count below 2**31 and round to the nearest double, ties to even.

    Parameters
    ----------
    work : ndarray of int64, shape (limbs + 4,)
        Scratch.
    mean : ndarray of float64, shape (d,)
        The result. Means below 2**-1022 may be rounded twice.
    """
    limbs = sums.shape[1]
    for t in range(sums.shape[0]):
        negative = _magnitude(sums[t], work)
        rest = np.int64(0)
        for i in range(_SPARE + limbs, -1, -1):
            dividend = (rest << 32) | work[i]
            work[i] = dividend // count
            rest = dividend % count
        value = _rounded(work, _SPARE + limbs, rest != 0, lowest[t] - 1075 - 32 * _SPARE)
        mean[t] = -value if negative else value


@kernel
def _magnitude(sums: NDArray[np.int64], work: NDArray[np.int64]) -> bool:
    """Write the absolute value in limbs of 32 bits above the spare ones; tell whether the sum is negative."""
    limbs = len(sums)
    for sign in (1, -1):
        carry = np.int64(0)
        for i in range(limbs):
            total = sign * sums[i] + carry
            work[_SPARE + i] = total & 0xFFFFFFFF
            carry = total >> 32
        work[_SPARE + limbs] = carry
        if carry >= 0:
            break
    for i in range(_SPARE):
        work[i] = 0
    return sign < 0


@kernel
def _rounded(work: NDArray[np.int64], top: int, inexact: bool, exponent: int) -> float:
    """Round a number in limbs, with something below them if `inexact`, to 53 bits."""
    while top >= 0 and work[top] == 0:
        top -= 1
    if top < 0:
        return 0.0
    width = 0
    while work[top] >> width > 0:
        width += 1
    mantissa = np.int64(0)
    missing = 54
    while True:
        taken = min(width, missing)
        mantissa = (mantissa << taken) | ((work[top] >> (width - taken)) & ((np.int64(1) << taken) - 1))
        missing -= taken
        width -= taken
        if missing == 0:
            break
        top -= 1
        width = 32
    if work[top] & ((np.int64(1) << width) - 1) != 0:
        inexact = True
    for i in range(top):
        inexact = inexact or work[i] != 0
    half = mantissa & 1
    mantissa >>= 1
    if half == 1 and (inexact or mantissa & 1 == 1):
        mantissa += 1
    return math.ldexp(float(mantissa), 32 * top + width + 1 + exponent)


# --- a tree of boxes ------------------------------------------------------------------------------------------------


class BoxTree(NamedTuple):
    """Points that are left, in leaves and boxes.

    Attributes
    ----------
    near : ndarray of float32, shape (leaves, d, capacity)
        Points minus `centre`.
    ids, held : ndarray of int64, shapes (leaves, capacity) and (leaves,)
    leaf_of, slot_of : ndarray of int64, shape (n,)
        Where a point is; leaf -1 once it is taken away.
    levels : ndarray of int64
        First node of each level, the lowest level first, and the number of nodes.
    low, high : ndarray of float64, shape (nodes, d, 16)
        Boxes of the children.
    alive, first : ndarray of int64, shape (nodes, 16)
        How many points a child has left, and the lowest index it had when it was built.
    centre : ndarray of float64, shape (d,)
    norm : float
        No less than the distance of any point from the centre.
    """

    near: NDArray[np.float32]
    ids: NDArray[np.int64]
    held: NDArray[np.int64]
    leaf_of: NDArray[np.int64]
    slot_of: NDArray[np.int64]
    levels: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    alive: NDArray[np.int64]
    first: NDArray[np.int64]
    centre: NDArray[np.float64]
    norm: float


class Scratch(NamedTuple):
    """Room for one search at a time."""

    squared: NDArray[np.float32]
    bounds: NDArray[np.float64]
    stack_bound: NDArray[np.float64]
    stack_node: NDArray[np.int64]
    query: NDArray[np.float32]


@kernel
def scratch(capacity: int, dimensions: int) -> Scratch:
    """Make room."""
    return Scratch(
        np.empty(capacity, np.float32),
        np.empty(FAN),
        np.empty(STACK),
        np.empty(STACK, np.int64),
        np.empty(dimensions, np.float32),
    )


@inlined
def squared_distance(points: NDArray[np.float64], record: int, query: NDArray[np.float64]) -> float:
    """Squared distance, summed over dimensions in order."""
    total = 0.0
    for t in range(len(query)):
        difference = points[record, t] - query[t]
        total += difference * difference
    return total


# --- building ------------------------------------------------------------------------------------------------------


@kernel
def build(
    points: NDArray[np.float64], order: NDArray[np.int64], capacity: int, centre: NDArray[np.float64]
) -> BoxTree:
    """Build a tree over the points whose indices are in `order`, which is permuted."""
    leaves = 1
    while len(order) // leaves + 1 > capacity:
        leaves *= 2
    near = np.empty((leaves, points.shape[1], capacity), np.float32)
    ids = np.empty((leaves, capacity), np.int64)
    leaf_of = np.empty(len(points), np.int64)
    slot_of = np.empty(len(points), np.int64)
    return build_in(points, order, centre, near, ids, leaf_of, slot_of)


@kernel
def build_in(
    points: NDArray[np.float64],
    order: NDArray[np.int64],
    centre: NDArray[np.float64],
    near: NDArray[np.float32],
    ids: NDArray[np.int64],
    leaf_of: NDArray[np.int64],
    slot_of: NDArray[np.int64],
) -> BoxTree:
    """Build a tree in arrays of the shapes that `BoxTree` names, which are filled here.

    There are as many leaves as the least power of two of which each holds fewer points than `ids` has columns.
    """
    n = len(order)
    d = points.shape[1]
    leaves = len(ids)
    depth = 0
    while 1 << depth < leaves:
        depth += 1
    _arrange(points, order, depth)
    count = np.empty(leaves, np.int64)
    near[:] = np.float32(0.0)
    leaf_of[:] = -1
    norm = 0.0
    for leaf in range(leaves):
        low = leaf * n >> depth
        count[leaf] = ((leaf + 1) * n >> depth) - low
        for slot in range(count[leaf]):
            record = order[low + slot]
            ids[leaf, slot] = record
            leaf_of[record] = leaf
            slot_of[record] = slot
            norm = max(norm, squared_distance(points, record, centre))
            for t in range(d):
                near[leaf, t, slot] = np.float32(points[record, t] - centre[t])
    levels = _levels(leaves)
    nodes = levels[-1]
    tree = BoxTree(
        near,
        ids,
        count,
        leaf_of,
        slot_of,
        levels,
        np.zeros((nodes, d, FAN)),
        np.zeros((nodes, d, FAN)),
        np.zeros((nodes, FAN), np.int64),
        np.zeros((nodes, FAN), np.int64),
        centre.copy(),
        math.sqrt(norm) * (1 + 1e-12),
    )
    _raise_boxes(points, tree)
    return tree


@kernel
def _levels(leaves: int) -> NDArray[np.int64]:
    found = np.zeros(12, np.int64)
    level = 0
    width = leaves
    while True:
        width = (width + FAN - 1) // FAN
        found[level + 1] = found[level] + width
        level += 1
        if width == 1:
            return found[: level + 1].copy()


@kernel
def _arrange(points: NDArray[np.float64], order: NDArray[np.int64], depth: int) -> None:
    """Halve the points at the median of the widest dimension, `depth` times."""
    n = len(order)
    for level in range(depth):
        for cell in range(1 << level):
            low = cell * n >> level
            high = (cell + 1) * n >> level
            dimension = _widest(points, order, low, high)
            if dimension >= 0:
                _select(points, order, dimension, low, high, (2 * cell + 1) * n >> (level + 1))


@kernel
def _widest(points: NDArray[np.float64], order: NDArray[np.int64], low: int, high: int) -> int:
    """Dimension of the largest extent, of a thousand points where there are many; -1 where all are equal."""
    step = max(1, (high - low) // 1024)
    widest = -1
    extent = 0.0
    for t in range(points.shape[1]):
        smallest = largest = points[order[low], t]
        for place in range(low, high, step):
            value = points[order[place], t]
            smallest = min(smallest, value)
            largest = max(largest, value)
        if largest - smallest > extent:
            extent = largest - smallest
            widest = t
    return widest


@kernel
def _select(
    points: NDArray[np.float64], order: NDArray[np.int64], dimension: int, low: int, high: int, nth: int
) -> None:
    """Move indices so that none before `nth` has a larger coordinate than any from there on (Hoare)."""
    while high - low > 1:
        a = points[order[low], dimension]
        b = points[order[(low + high) >> 1], dimension]
        c = points[order[high - 1], dimension]
        pivot = max(min(a, b), min(max(a, b), c))
        i = low
        j = high - 1
        while i <= j:
            while points[order[i], dimension] < pivot:
                i += 1
            while points[order[j], dimension] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if nth <= j:
            high = j + 1
        elif nth >= i:
            low = i
        else:
            return


@kernel
def _raise_boxes(points: NDArray[np.float64], tree: BoxTree) -> None:
    for leaf in range(len(tree.held)):
        node = leaf // FAN
        child = leaf % FAN
        tree.alive[node, child] = tree.held[leaf]
        lowest = _NONE
        for slot in range(tree.held[leaf]):
            lowest = min(lowest, tree.ids[leaf, slot])
        tree.first[node, child] = lowest
        for t in range(points.shape[1]):
            tree.low[node, t, child], tree.high[node, t, child] = _extent(points, tree, leaf, t)
    for level in range(1, len(tree.levels) - 1):
        below = tree.levels[level - 1]
        for i in range(tree.levels[level] - below):
            _raise_node(tree, below + i, tree.levels[level] + i // FAN, i % FAN)


@kernel
def _raise_node(tree: BoxTree, node: int, parent: int, child: int) -> None:
    total = np.int64(0)
    lowest = _NONE
    for x in range(FAN):
        if tree.alive[node, x] > 0:
            total += tree.alive[node, x]
            lowest = min(lowest, tree.first[node, x])
    tree.alive[parent, child] = total
    tree.first[parent, child] = lowest
    _tighten(tree, node, parent, child)


@inlined
def _extent(points: NDArray[np.float64], tree: BoxTree, leaf: int, t: int) -> tuple[float, float]:
    low = math.inf
    high = -math.inf
    for slot in range(tree.held[leaf]):
        value = points[tree.ids[leaf, slot], t]
        low = min(low, value)
        high = max(high, value)
    return low, high


@inlined
def _tighten(tree: BoxTree, node: int, parent: int, child: int) -> bool:
    """Make the box of a node that of its children; tell whether it changed."""
    changed = False
    for t in range(tree.low.shape[1]):
        low = math.inf
        high = -math.inf
        for x in range(FAN):
            if tree.alive[node, x] > 0:
                low = min(low, tree.low[node, t, x])
                high = max(high, tree.high[node, t, x])
        if low != tree.low[parent, t, child] or high != tree.high[parent, t, child]:
            tree.low[parent, t, child] = low
            tree.high[parent, t, child] = high
            changed = True
    return changed


# --- taking away ---------------------------------------------------------------------------------------------------


@kernel
def remove(points: NDArray[np.float64], tree: BoxTree, record: int) -> None:
    """Take a point away, and tighten the boxes it held up."""
    leaf = tree.leaf_of[record]
    slot = tree.slot_of[record]
    last = tree.held[leaf] - 1
    moved = tree.ids[leaf, last]
    tree.ids[leaf, slot] = moved
    tree.slot_of[moved] = slot
    tree.leaf_of[record] = -1
    tree.held[leaf] = last
    node = leaf // FAN
    child = leaf % FAN
    tree.alive[node, child] = last
    changed = last == 0
    for t in range(points.shape[1]):
        tree.near[leaf, t, slot] = tree.near[leaf, t, last]
        value = points[record, t]
        if last > 0 and (value == tree.low[node, t, child] or value == tree.high[node, t, child]):
            low, high = _extent(points, tree, leaf, t)
            changed = changed or low != tree.low[node, t, child] or high != tree.high[node, t, child]
            tree.low[node, t, child] = low
            tree.high[node, t, child] = high
    place = node
    for level in range(1, len(tree.levels) - 1):
        node = tree.levels[level - 1] + place
        parent = tree.levels[level] + place // FAN
        child = place % FAN
        tree.alive[parent, child] -= 1
        if changed and tree.alive[parent, child] > 0:
            changed = _tighten(tree, node, parent, child)
        place //= FAN


# --- searching -----------------------------------------------------------------------------------------------------


@inlined
def look_from(tree: BoxTree, query: NDArray[np.float64], room: Scratch) -> float:
    """Put a query in single precision; return by how much distances may then be off, roundings apart."""
    norm = 0.0
    for t in range(len(query)):
        shifted = query[t] - tree.centre[t]
        room.query[t] = np.float32(shifted)
        norm += shifted * shifted
    return 2.0**-23 * (tree.norm + math.sqrt(norm)) * 1.001


@inlined
def measure(near: NDArray[np.float32], count: int, query: NDArray[np.float32], squared: NDArray[np.float32]) -> None:
    """Squared distances of the points of a block in single precision."""
    for slot in range(count):
        squared[slot] = np.float32(0.0)
    for t in range(len(query)):
        coordinate = query[t]
        for slot in range(count):
            difference = near[t, slot] - coordinate
            squared[slot] += difference * difference


@kernel
def nearest(
    points: NDArray[np.float64],
    tree: BoxTree,
    record: int,
    room: Scratch,
    distance: NDArray[np.float64],
    found: NDArray[np.int64],
) -> int:
    """Find the nearest other points of a point of the tree, by squared distance, then index.

    Parameters
    ----------
    distance, found : ndarray, shape (number sought,)
        The result, in order. There must be so many others.

    Returns
    -------
    int
        Number of leaves that were measured.
    """
    query = points[record]
    error = look_from(tree, query, room)
    distance[:] = math.inf
    found[:] = _NONE
    home = tree.leaf_of[record]
    _scan(points, tree, home, record, query, error, room, distance, found)
    measured = 1
    last = len(found) - 1
    size = 1
    room.stack_node[0] = tree.levels[-2]
    room.stack_bound[0] = 0.0
    while size > 0:
        size -= 1
        if room.stack_bound[size] > distance[last]:
            continue
        node = room.stack_node[size]
        level = 0
        while tree.levels[level + 1] <= node:
            level += 1
        _bounds_below(tree, node, query, room.bounds)
        base = size
        for child in range(FAN):
            bound = room.bounds[child]
            if (
                tree.alive[node, child] == 0
                or bound > distance[last]
                or (bound == distance[last] and tree.first[node, child] > found[last])
            ):
                continue
            below = (node - tree.levels[level]) * FAN + child
            if level == 0 and below == home:
                continue
            place = size
            size += 1
            while place > base and room.stack_bound[place - 1] < bound:
                room.stack_bound[place] = room.stack_bound[place - 1]
                room.stack_node[place] = room.stack_node[place - 1]
                place -= 1
            room.stack_bound[place] = bound
            room.stack_node[place] = below if level == 0 else tree.levels[level - 1] + below
        if level > 0:
            continue
        while size > base:
            size -= 1
            if room.stack_bound[size] > distance[last]:
                size = base
                break
            measured += 1
            _scan(points, tree, room.stack_node[size], record, query, error, room, distance, found)
    return measured


@inlined
def _limit(distance: float, error: float) -> np.float32:
    """Squared distance in single precision that no point at most so far exceeds."""
    return np.float32(min((math.sqrt(distance) + error) ** 2 * (1 + _RELATIVE), 3e38)) + _TINY


@inlined
def _scan(
    points: NDArray[np.float64],
    tree: BoxTree,
    leaf: int,
    record: int,
    query: NDArray[np.float64],
    error: float,
    room: Scratch,
    distance: NDArray[np.float64],
    found: NDArray[np.int64],
) -> None:
    count = tree.held[leaf]
    measure(tree.near[leaf], count, room.query, room.squared)
    last = len(found) - 1
    limit = _limit(distance[last], error)
    for slot in range(count):
        if room.squared[slot] > limit:
            continue
        other = tree.ids[leaf, slot]
        if other == record:
            continue
        squared = squared_distance(points, other, query)
        if squared > distance[last] or (squared == distance[last] and other > found[last]):
            continue
        place = last
        while place > 0 and (
            distance[place - 1] > squared or (distance[place - 1] == squared and found[place - 1] > other)
        ):
            distance[place] = distance[place - 1]
            found[place] = found[place - 1]
            place -= 1
        distance[place] = squared
        found[place] = other
        limit = _limit(distance[last], error)


@inlined
def _bounds_below(tree: BoxTree, node: int, query: NDArray[np.float64], bounds: NDArray[np.float64]) -> None:
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


@inlined
def _bounds_above(tree: BoxTree, node: int, query: NDArray[np.float64], bounds: NDArray[np.float64]) -> None:
    """Squared distances from a query to the farthest corners of the boxes of the children."""
    for child in range(FAN):
        bounds[child] = 0.0
    for t in range(len(query)):
        coordinate = query[t]
        for child in range(FAN):
            under = coordinate - tree.low[node, t, child]
            over = tree.high[node, t, child] - coordinate
            reach = under if under > over else over
            bounds[child] += reach * reach


@kernel
def farthest(
    points: NDArray[np.float64], tree: BoxTree, query: NDArray[np.float64], best: float, chosen: int, room: Scratch
) -> tuple[int, int]:
    """Find the farthest point of the tree, the lowest index of equals.

    Parameters
    ----------
    best, chosen : float, int
        Squared distance and index of a point of the tree to begin with; -1 and -1 without one.

    Returns
    -------
    int, int
        The point, and the number of leaves that were measured.
    """
    error = look_from(tree, query, room)
    measured = 0
    size = 1
    room.stack_node[0] = tree.levels[-2]
    room.stack_bound[0] = math.inf
    while size > 0:
        size -= 1
        if room.stack_bound[size] < best:
            continue
        node = room.stack_node[size]
        level = 0
        while tree.levels[level + 1] <= node:
            level += 1
        _bounds_above(tree, node, query, room.bounds)
        base = size
        for child in range(FAN):
            bound = room.bounds[child]
            if tree.alive[node, child] == 0 or bound < best or (bound == best and tree.first[node, child] > chosen):
                continue
            below = (node - tree.levels[level]) * FAN + child
            place = size
            size += 1
            while place > base and room.stack_bound[place - 1] > bound:
                room.stack_bound[place] = room.stack_bound[place - 1]
                room.stack_node[place] = room.stack_node[place - 1]
                place -= 1
            room.stack_bound[place] = bound
            room.stack_node[place] = below if level == 0 else tree.levels[level - 1] + below
        if level > 0:
            continue
        while size > base:
            size -= 1
            if room.stack_bound[size] < best:
                size = base
                break
            measured += 1
            leaf = room.stack_node[size]
            measure(tree.near[leaf], tree.held[leaf], room.query, room.squared)
            best, chosen = keep_farthest(points, tree.ids[leaf], tree.held[leaf], query, error, room, best, chosen)
    return chosen, measured


@inlined
def keep_farthest(
    points: NDArray[np.float64],
    ids: NDArray[np.int64],
    count: int,
    query: NDArray[np.float64],
    error: float,
    room: Scratch,
    best: float,
    chosen: int,
) -> tuple[float, int]:
    """Measure what may be farther than the farthest so far, among points just measured in single precision."""
    limit = np.float32(max(math.sqrt(max(best, 0.0)) - error, 0.0) ** 2 * (1 - _RELATIVE))
    for slot in range(count):
        if room.squared[slot] >= limit:
            squared = squared_distance(points, ids[slot], query)
            if squared > best or (squared == best and ids[slot] < chosen):
                best = squared
                chosen = ids[slot]
                limit = np.float32(max(math.sqrt(best) - error, 0.0) ** 2 * (1 - _RELATIVE))
    return best, chosen


# --- shells ---------------------------------------------------------------------------------------------------------


class Shells(NamedTuple):
    """The points that were farthest from a reference point, in blocks.

    Attributes
    ----------
    near : ndarray of float32, shape (blocks, d, 64)
        Points minus the centre of the tree; NaN once a point is taken away, which no comparison finds.
    ids, held : ndarray of int64, shapes (blocks, 64) and (blocks,)
    radius : ndarray of float64, shape (blocks + 1,)
        Of each block the distance of its first point to the reference point; then that of all that are left out,
        at most; -1 where none is.
    place : ndarray of int64, shape (n,)
        Of each point, -1 for those left out.
    reference : ndarray of float64, shape (d,)
    """

    near: NDArray[np.float32]
    ids: NDArray[np.int64]
    held: NDArray[np.int64]
    radius: NDArray[np.float64]
    place: NDArray[np.int64]
    reference: NDArray[np.float64]


@kernel
def shells(
    points: NDArray[np.float64], tree: BoxTree, left: NDArray[np.int64], reference: NDArray[np.float64], wanted: int
) -> Shells:
    """Order about `wanted` of the points that are left, or all if there are no more."""
    n = len(left)
    d = points.shape[1]
    squared = np.empty(n)
    for i in range(n):
        squared[i] = squared_distance(points, left[i], reference)
    threshold = -1.0
    if wanted < n:
        sample = np.sort(squared[:: max(1, n // 4096)].copy())
        threshold = sample[max(len(sample) - 1 - int(len(sample) * (wanted / n)), 0)]
    chosen = np.flatnonzero(squared >= threshold)
    order = chosen[np.argsort(-squared[chosen])]
    blocks = (len(order) + BLOCK - 1) // BLOCK
    near = np.full((blocks, d, BLOCK), np.float32(np.nan))
    ids = np.zeros((blocks, BLOCK), np.int64)
    count = np.zeros(blocks, np.int64)
    radius = np.empty(blocks + 1)
    place = np.full(len(points), -1, np.int64)
    for i in range(len(order)):
        record = left[order[i]]
        block = i // BLOCK
        slot = i % BLOCK
        if slot == 0:
            radius[block] = math.sqrt(squared[order[i]])
        ids[block, slot] = record
        count[block] += 1
        place[record] = i
        for t in range(d):
            near[block, t, slot] = np.float32(points[record, t] - tree.centre[t])
    radius[blocks] = math.sqrt(threshold) if len(order) < n else -1.0
    return Shells(near, ids, count, radius, place, reference.copy())


@kernel
def drop(order: Shells, record: int) -> None:
    """Take a point away."""
    place = order.place[record]
    if place < 0:
        return
    block = place // BLOCK
    order.held[block] -= 1
    for t in range(order.near.shape[1]):
        order.near[block, t, place % BLOCK] = np.float32(np.nan)


@kernel
def walk(
    points: NDArray[np.float64], tree: BoxTree, order: Shells, query: NDArray[np.float64], room: Scratch, most: int
) -> tuple[float, int, bool, int]:
    """Find the farthest point from the head on, until the triangle inequality ends the search.

    No point is farther from the query than its distance to the reference point and that of the query together.

    Parameters
    ----------
    most : int
        Blocks that may be measured.

    Returns
    -------
    float, int
        Squared distance and index of the farthest point that was seen, the lowest index of equals; -1 and -1
        without any.
    bool
        Whether it is the farthest of all that are left.
    int
        Blocks that were measured.
    """
    error = look_from(tree, query, room)
    away = 0.0
    for t in range(len(query)):
        away += (query[t] - order.reference[t]) ** 2
    away = math.sqrt(away)
    best = -1.0
    chosen = -1
    measured = 0
    for block in range(len(order.held)):
        if best >= 0.0 and (order.radius[block] + away) * _SLACK < math.sqrt(best):
            return best, chosen, True, measured
        if order.held[block] == 0:
            continue
        if measured == most:
            return best, chosen, False, measured
        measured += 1
        measure(order.near[block], BLOCK, room.query, room.squared)
        best, chosen = keep_farthest(points, order.ids[block], BLOCK, query, error, room, best, chosen)
    outside = order.radius[-1]
    done = outside < 0.0 or (best >= 0.0 and (outside + away) * _SLACK < math.sqrt(best))
    return best, chosen, done, measured
