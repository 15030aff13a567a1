"""Admissible groups among records that nothing keeps apart but their disjuncts: strata first, or groups first."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterator
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Labels
from masktron.grouping.disjuncts import Disjuncts
from masktron.grouping.exchange import counts_of, exchange_records, means, squares
from masktron.grouping.members import Members, codes_of
from masktron.partitions.mdav import partition

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


type PointPartitioner = Callable[[NDArray[np.float64], int], Labels]
"""Partitions points, shape (n, d), in groups of at least k: labels 0 to g - 1, shape (n,)."""


@runtime_checkable
class RecordPartitioner(Protocol):
    """A partitioner that looks at more of the records than their points: it has to be told which they are.

    Attributes
    ----------
    by_points : bool
        Whether less spread of the points is all that it is after, so that records may change places for that.
    """

    by_points: bool

    def restricted(self, records: NDArray[np.intp], columns: NDArray[np.bool_] | None = None) -> RecordPartitioner:
        """Return the partitioner of some of its records, by position, and of some columns of their points."""
        ...

    def __call__(self, points: NDArray[np.float64], k: int) -> Labels:
        """Partition points."""
        ...


def restricted(
    partitioner: PointPartitioner, records: NDArray[np.intp], columns: NDArray[np.bool_] | None = None
) -> PointPartitioner:
    """Return what partitions some of the records of a partitioner, by some columns of their points."""
    return partitioner.restricted(records, columns) if isinstance(partitioner, RecordPartitioner) else partitioner


RARE = 2
"""Strata with fewer than RARE * k records, which would form one far-flung group, are attached instead."""


def group_admissible(
    points: NDArray[np.float64],
    k: int,
    disjuncts: Disjuncts,
    partitioner: PointPartitioner = partition,
    *,
    compiled: bool | None = None,
) -> Labels:
    """Partition records into admissible groups of at least k, as far as that is possible.

    Two ways are gone, and the one that leaves fewer records alone is taken, else the one with less spread:

    * *strata first*: records are split by the first disjunct that holds for each rule, and each stratum is
      partitioned, by MDAV as a rule; records of small strata take their nearest admissible group, of whatever
      stratum. Good where strata are large.
    * *groups first*: one partition of all records; groups that are not admissible exchange records with their
      neighbours, and what cannot be repaired is broken up. Good where many rules cut the records into many strata:
      their number grows with the product of the numbers of disjuncts, that of groups does not.

    Both end with records being attached to the nearest admissible groups; the better one exchanges records for less
    spread. Exchanging in both before they are compared takes 1.6 times as long and gains 0.2 % of the spread on the
    generated pairs.

    Limits that unmasked fields set are no coordinates: groups with near limits need their prototypes moved less, but
    on every file that was tried lost more by the distance in the masked fields.

    Parameters
    ----------
    points : ndarray of float64, shape (n, d)
        Without missing values.
    k : int
        At most n.
    disjuncts : Disjuncts
        Of these records.
    partitioner : callable, optional
        MDAV where not given.
    compiled : bool, optional
        As for `exchange_records`.

    Returns
    -------
    ndarray of intp, shape (n,)
        Labels 0 to g - 1; -1 for records that found no group. Every group is admissible and holds at least k
        records.
    """
    cells = disjuncts.cells()
    stratum = codes_of(cells)
    if not stratum.any() and not len(disjuncts.owners) and (cells >= 0).all():
        return partitioner(points, k)
    ways = [
        _completed(points, labels, k, disjuncts, partitioner)
        for labels in (
            _strata_first(points, k, disjuncts, stratum, partitioner),
            _groups_first(points, k, disjuncts, partitioner, compiled),
        )
    ]
    labels = min(ways, key=lambda way: (int((way < 0).sum()), spread(points, way)))
    if isinstance(partitioner, RecordPartitioner) and not partitioner.by_points:
        return labels
    exchanged = exchange_records(points, labels, k, disjuncts, repair=False, compiled=compiled)
    return _attached(points, exchanged, k, disjuncts)


def spread(points: NDArray[np.float64], labels: Labels) -> float:
    """Return the sum of squares within groups."""
    taken = labels >= 0
    own = labels[taken]
    return float(squares(points[taken] - means(points[taken], own)[own]).sum())


def _strata_first(
    points: NDArray[np.float64],
    k: int,
    disjuncts: Disjuncts,
    stratum: NDArray[np.intp],
    partitioner: PointPartitioner,
) -> Labels:
    labels = np.full(len(points), -1, dtype=np.intp)
    sizes = np.bincount(stratum)
    free = np.ones(len(points), dtype=np.bool_)
    waiting = free.copy()
    groups = 0
    while (rare := _rarest(stratum, sizes, waiting, free, k)).size:
        seed = int(rare[squares(points[rare] - points[rare].mean(axis=0)).argmax()])
        found = nearest_group(seed, squares(points - points[seed]), k, disjuncts, free)
        if not found.size:
            waiting[seed] = False
            continue
        labels[found] = groups
        free[found] = waiting[found] = False
        np.subtract.at(sizes, stratum[found], 1)
        groups += 1
    for code in np.flatnonzero(sizes >= k):
        rest = np.flatnonzero(free & (stratum == code))
        if disjuncts.unlimited().admissible(rest):
            labels[rest] = groups + restricted(partitioner, rest)(points[rest], k)
            groups = int(labels[rest].max()) + 1
    return labels


def _rarest(
    stratum: NDArray[np.intp], sizes: NDArray[np.intp], waiting: NDArray[np.bool_], free: NDArray[np.bool_], k: int
) -> NDArray[np.intp]:
    """Return the waiting records of the smallest stratum that is too small to be partitioned."""
    if np.count_nonzero(sizes) == 1 and sizes.max() >= k:
        return np.empty(0, dtype=np.intp)
    left = np.bincount(stratum[waiting], minlength=len(sizes))
    small = np.flatnonzero((left > 0) & (sizes < RARE * k))
    if not small.size:
        return small
    return np.flatnonzero(waiting & free & (stratum == small[sizes[small].argmin()]))


def _groups_first(
    points: NDArray[np.float64], k: int, disjuncts: Disjuncts, partitioner: PointPartitioner, compiled: bool | None
) -> Labels:
    return exchange_records(points, partitioner(points, k), k, disjuncts, repair=True, compiled=compiled)


def _completed(
    points: NDArray[np.float64], labels: Labels, k: int, disjuncts: Disjuncts, partitioner: PointPartitioner
) -> Labels:
    """Break up what is not admissible, attach what is left, and split what is large."""
    whole = _attached(points, _broken_up(labels, k, disjuncts), k, disjuncts)
    return _split(points, whole, k, disjuncts, partitioner)


def _broken_up(labels: Labels, k: int, disjuncts: Disjuncts) -> Labels:
    """Keep of each group what shares a disjunct for every rule, if that is enough; renumber the groups."""
    kept = labels.copy()
    groups = int(labels.max(initial=-1)) + 1
    # rule by rule, a group is narrowed to the disjunct that most of what is left of it satisfy
    for rule in disjuncts.rules:
        taken = np.flatnonzero(kept >= 0)
        own = disjuncts.holds[taken, rule]
        counts = np.stack([np.bincount(kept[taken][holding], minlength=groups) for holding in own.T], axis=1)
        kept[taken[~own[np.arange(len(taken)), counts.argmax(axis=1)[kept[taken]]]]] = -1
    kept = _only(kept, np.bincount(kept[kept >= 0], minlength=groups) >= k)
    return _only(kept, disjuncts.admissible_groups(Members.of(kept)))


def _only(labels: Labels, which: NDArray[np.bool_]) -> Labels:
    """Keep some groups, and number them anew in their order; -1 for the records of the others."""
    numbers = np.where(which, np.cumsum(which) - 1, -1)
    return np.append(numbers, -1)[labels]  # -1 stays


def _attached(points: NDArray[np.float64], labels: Labels, k: int, disjuncts: Disjuncts) -> Labels:
    """Let records without a group join the admissible group that costs least, else form one with each other."""
    labels = labels.copy()
    left = np.flatnonzero(labels < 0)
    if not left.size:
        return labels
    taken = labels >= 0
    members = Members.of(labels)
    sizes = members.sizes
    centres = means(points[taken], labels[taken])
    counts = counts_of(labels[taken], disjuncts.rows(taken))
    joined: dict[int, list[int]] = {}
    for record in left.tolist():
        open_ = np.flatnonzero(disjuncts.lacking(counts + disjuncts.holds[record], sizes + 1) == 0)
        cost = sizes[open_] / (sizes[open_] + 1) * squares(centres[open_] - points[record])
        for group in _cheapest_first(open_, cost):
            own = joined.setdefault(group, [])
            if not disjuncts.admissible(np.append(members[group], [*own, record])):
                continue
            own.append(record)
            labels[record] = group
            sizes[group] += 1
            centres[group] += (points[record] - centres[group]) / sizes[group]
            counts[group] += disjuncts.holds[record]
            break
    return _formed(points, labels, k, disjuncts)


def _cheapest_first(groups: NDArray[np.intp], cost: NDArray[np.float64]) -> Iterator[int]:
    """Yield groups by cost, the first of equals first; they are sorted only if the first is not taken."""
    if len(groups):
        first = int(cost.argmin())
        yield int(groups[first])
        cost[first] = -1.0
        yield from groups[np.argsort(cost, kind="stable")[1:]].tolist()


def _formed(points: NDArray[np.float64], labels: Labels, k: int, disjuncts: Disjuncts) -> Labels:
    """Form groups among the records that are left."""
    free = labels < 0
    groups = int(labels.max()) + 1
    for seed in np.flatnonzero(free).tolist():
        if free[seed] and np.count_nonzero(free) >= k:
            found = nearest_group(seed, squares(points - points[seed]), k, disjuncts, free)
            if found.size:
                labels[found] = groups
                free[found] = False
                groups += 1
    return labels


def _split(
    points: NDArray[np.float64], labels: Labels, k: int, disjuncts: Disjuncts, partitioner: PointPartitioner
) -> Labels:
    """Partition groups of 2k records and more, where the parts are admissible."""
    labels = labels.copy()
    groups = int(labels.max()) + 1
    own = Members.of(labels)
    for group in np.flatnonzero(own.sizes >= 2 * k).tolist():
        members = own[group]
        parts = restricted(partitioner, members)(points[members], k)
        if len(disjuncts.owners) and not disjuncts.rows(members).admissible_groups(Members.of(parts)).all():
            continue
        labels[members[parts > 0]] = groups - 1 + parts[parts > 0]
        groups += int(parts.max())
    return labels
