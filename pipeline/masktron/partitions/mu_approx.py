"""Partition by mu-Approx: records joined to near ones until every tree holds k, and trees that are too large cut."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import batched

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Indices
from masktron.partitions.cutting import Forest, by_size, cut_longest, forest, in_file_order
from masktron.partitions.mdav import require_groups
from masktron.partitions.partitioner import partition_whole

_BLOCK = 1024
"""Records whose neighbours are listed together: bounds memory where all records are equally near."""


def approx_partition(points: NDArray[np.float64], k: int) -> NDArray[np.intp]:
    """Partition records in groups of k to 2k - 1.

    A forest is grown: record after record, from the origin outwards, one whose tree holds fewer than k records is
    joined to the nearest record of another tree. Each tree has one record without an outgoing edge, and a record is
    that of its tree until it has been asked, so asking each once is enough. Trees of more than max(2k - 1, 3k - 5)
    are cut at the longest edge that leaves k records on both sides; where there is none, branches around one record
    are put together, see `around`. What is left with more than 2k - 1 records is partitioned by MDAV.

    The source leaves open which tree comes first. Of records equally far from the origin, the earlier in the file
    comes first; of equally near ones, one that stands closer in the file is nearer, then the earlier one.

    Parameters
    ----------
    points : ndarray of float64, shape (n, d)
        Coordinates in which Euclidean distance is meant.
    k : int
        Minimum group size, at least 1.

    Returns
    -------
    ndarray of intp, shape (n,)
        Group labels 0 to g - 1, by the first record of each group.

    Raises
    ------
    InfeasibleError
        There are fewer than k records.
    UsageError
        k is below 1, or a coordinate is missing, infinite or too large to be squared.

    Notes
    -----
    Source: Domingo-Ferrer, Sebe and Solanas (2008); the forest from Aggarwal et al. (2005). A k-d tree finds what is
    near: about O(n log n) time in few dimensions, O(n k) memory.
    """
    require_groups(points, k)
    trees = grown(points, k)
    most = max(2 * k - 1, 3 * k - 5)
    labels = np.empty(len(points), dtype=np.intp)
    groups = 0
    for tree in cut_longest(trees, np.ones((len(points), 1), dtype=np.int64), by_size(k), most):
        for part in around(trees, tree, k, most):
            records = np.sort(trees.record[part])
            inner = partition_whole(points[records], k) if len(records) >= 2 * k else 0
            labels[records] = groups + inner
            groups = int(labels[records].max()) + 1
    return in_file_order(labels)


def grown(points: NDArray[np.float64], k: int) -> Forest:
    """Join records until every tree holds at least k.

    Parameters
    ----------
    points : ndarray of float64, shape (n, d)
        Finite.
    k : int
        At most n.
    """
    n = len(points)
    near = _Neighbours.of(points, k)
    members = [[record] for record in range(n)]
    parent, squared = np.full(n, -1, dtype=np.intp), np.zeros(n)
    for block in batched(_outwards(points), _BLOCK):
        asked = [record for record in block if len(members[record]) < k]
        for record, lists in near.listed(asked):
            own = members[record]
            if len(own) >= k:
                continue
            squared[record], parent[record] = near.outside(record, own, *lists)
            small, large = sorted((own, members[parent[record]]), key=len)
            large += small
            for moved in small:
                members[moved] = large
    return forest(_roots_first(parent), parent, squared)


def _outwards(points: NDArray[np.float64]) -> list[int]:
    squared = np.zeros(len(points))
    for column in points.T:
        squared += column * column
    order: list[int] = np.argsort(squared, kind="stable").tolist()
    return order


def _roots_first(parent: Indices) -> Indices:
    """Order records by depth, so that each comes after the one that it hangs on."""
    depth, above = np.zeros(len(parent), dtype=np.intp), parent.copy()
    depth[above >= 0] = 1
    # pointers are doubled: after i rounds they reach 2**i records up
    while (reaching := np.flatnonzero(above >= 0)).size:
        depth[reaching] += depth[above[reaching]]
        above[reaching] = above[above[reaching]]
    return np.argsort(depth, kind="stable")


@dataclass(frozen=True, slots=True, eq=False)
class _Neighbours:
    """Distinct points, and the records at each in the order of the file."""

    place: list[int]
    places: NDArray[np.float64]
    at: list[list[int]]
    k: int

    @classmethod
    def of(cls, points: NDArray[np.float64], k: int) -> _Neighbours:
        places, place = np.unique(points, axis=0, return_inverse=True)
        by_place = np.split(np.argsort(place, kind="stable"), np.cumsum(np.bincount(place))[:-1])
        return cls(place.tolist(), places, [records.tolist() for records in by_place], k)

    def listed(self, records: list[int]) -> Iterator[tuple[int, tuple[list[int], list[float]]]]:
        """Yield records in their order, with the places no farther than their k-th nearest, and squared distances.

        Where k records are equal, the place of the record itself is enough.
        """
        asked = sorted({self.place[record] for record in records})
        found: dict[int, tuple[list[int], list[float]]] = {
            p: ([p], [0.0]) for p in asked if len(self.at[p]) >= self.k
        }
        if len(found) < len(asked):
            found |= self._listed([place for place in asked if place not in found])
        yield from ((record, found[self.place[record]]) for record in records)

    def _listed(self, asked: list[int]) -> dict[int, tuple[list[int], list[float]]]:
        from masktron.kernels.nearest import nearest_places  # noqa: PLC0415 -- loads SciPy

        found = {}
        for near in nearest_places(self.places, self.places[asked], self.k):
            ends = np.append(near.starts[1:], len(near.place))
            for point, start, end in zip(near.points.tolist(), near.starts.tolist(), ends.tolist(), strict=True):
                order = start + np.argsort(near.squared[start:end], kind="stable")
                found[asked[point]] = near.place[order].tolist(), near.squared[order].tolist()
        return found

    def outside(
        self, record: int, own: Collection[int], places: Sequence[int], squared: Sequence[float]
    ) -> tuple[float, int]:
        """Squared distance and number of the nearest record that is not in its tree.

        Its tree has fewer than k records, which are all of those at fewer than k places: one of the k nearest places
        has another record.
        """
        best = (np.inf, 0, 0)
        for place, distance in zip(places, squared, strict=True):
            if distance > best[0]:
                break
            for other in _closest(self.at[place], record, own):
                best = min(best, (distance, abs(other - record), other))
        return best[0], best[2]


def _closest(records: list[int], record: int, own: Collection[int]) -> Iterator[int]:
    """Yield the last record before one, and the first from it on, that are not in its tree."""
    middle = bisect_left(records, record)
    for direction in (range(middle - 1, -1, -1), range(middle, len(records))):
        for position in direction:
            if records[position] not in own:
                yield records[position]
                break


def around(trees: Forest, part: Indices, k: int, most: int) -> list[Indices]:
    """Put together the branches around one record of a tree in which no edge leaves k records on both sides.

    In a tree of at least 2k records there is then a record whose branches all hold fewer than k. While more than
    `most` records are left, branches are taken by descending size until they hold k - 1. If they hold just that, the
    record joins them; else it stays with the rest. Once it has left, they are taken until they hold k, and the rest
    stays as it is if fewer than k would be left.

    Parameters
    ----------
    trees : Forest
    part : ndarray of intp
        Indices of a tree; the first is its root.
    k : int
    most : int
        max(2k - 1, 3k - 5).

    Returns
    -------
    list of ndarray of intp
        The last is what is left, of at least k records. The others hold k to 2k - 1.

    Notes
    -----
    Theorem: every part has at least k records, all but the last at most 2k - 1. Proof: a first branch of k - 1 makes
    k with the record, and leaves more than most - k >= k - 1. Smaller branches hold at most k - 2, so that two sums
    below k - 1 and k - 1 make at most 2k - 4, and more than most - (2k - 4) >= k - 1 are left. Without the record
    at most 2(k - 1) are taken, and the rest is looked at.
    """
    if len(part) <= most:
        return [part]
    centre, branches = _branches(trees, part, k)
    parts: list[Indices] = []
    left, joined, at = len(part), False, 0
    while left > most:
        taken, first = 0, at
        while taken < k - 1 + joined:
            taken += len(branches[at])
            at += 1
        group = branches[first:at]
        if not joined and taken == k - 1:
            group, taken, joined = [centre, *group], k, True
        if left - taken < k:
            at = first
            break
        parts.append(np.concatenate(group))
        left -= taken
    return [*parts, np.concatenate(branches[at:] if joined else [centre, *branches[at:]])]


def _branches(trees: Forest, part: Indices, k: int) -> tuple[Indices, list[Indices]]:
    """Find the record whose branches all hold fewer than k, and these: largest first, of equal ones the nearest."""
    end, up = trees.end[part], trees.parent[part]
    sizes = np.searchsorted(part, end) - np.arange(len(part))
    # what holds k or more is a path from the root
    middle = int(np.flatnonzero(sizes >= k)[-1])
    inside = slice(middle + 1, middle + int(sizes[middle]))
    below = part[inside]
    starts = np.flatnonzero(up[inside] == part[middle])
    branches = np.split(below, starts)[1:]
    if middle:
        branches.append(np.concatenate((part[:middle], part[inside.stop :])))
    nearness = [int(trees.rank[branch[0]]) for branch in branches]
    if middle:
        nearness[-1] = int(trees.rank[part[middle]])
    order = sorted(range(len(branches)), key=lambda i: (-len(branches[i]), nearness[i]))
    return part[middle : middle + 1], [branches[i] for i in order]
