"""Admissible groups among records that nothing keeps apart but their disjuncts: strata first, or groups first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from masktron.methods.company import nearest_company
from masktron.methods.disjuncts import Disjuncts
from masktron.methods.exchange import exchange_records, squares
from masktron.methods.mdav import partition as mdav_partition

type Labels = NDArray[np.intp]

RARE = 2
"""Strata with fewer than RARE * k records, which would form one far-flung group, are attached instead."""


def group_alike(points: NDArray[np.float64], k: int, disjuncts: Disjuncts) -> Labels:
    """Partition records into admissible groups of at least k, as far as that is possible.

    Two ways are gone, and the one that leaves fewer records alone is taken, else the one with less spread:

    * *strata first*: records are split by the first disjunct that holds for each rule, and each stratum is
      partitioned by MDAV; records of small strata take their nearest admissible company, of whatever stratum. Good
      where strata are large.
    * *groups first*: MDAV over all records; groups that are not admissible exchange records with their neighbours,
      and what cannot be repaired is broken up. Good where many rules cut the records into many strata: their number
      grows with the product of the numbers of disjuncts, that of groups does not.

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

    Returns
    -------
    ndarray of intp, shape (n,)
        Labels 0 to g - 1; -1 for records that found no group. Every group is admissible and holds at least k
        records.
    """
    cells = disjuncts.cells()
    if len(np.unique(cells, axis=0)) == 1 and not len(disjuncts.owners) and (cells >= 0).all():
        return mdav_partition(points, k)
    ways = [
        _completed(points, labels, k, disjuncts)
        for labels in (_strata_first(points, k, disjuncts), _groups_first(points, k, disjuncts))
    ]
    labels = min(ways, key=lambda way: (int((way < 0).sum()), spread(points, way)))
    return _attached(points, exchange_records(points, labels, k, disjuncts, repair=False), k, disjuncts)


def spread(points: NDArray[np.float64], labels: Labels) -> float:
    """Return the sum of squares within groups."""
    return sum(float(squares(points[own] - points[own].mean(axis=0)).sum()) for own in _members(labels))


def _members(labels: Labels) -> list[NDArray[np.intp]]:
    """Return the records of each group, without those that are in none."""
    taken = np.flatnonzero(labels >= 0)
    order = taken[np.argsort(labels[taken], kind="stable")]
    sizes = np.bincount(labels[taken])
    return np.split(order, np.cumsum(sizes)[:-1]) if len(taken) else []


def _strata_first(points: NDArray[np.float64], k: int, disjuncts: Disjuncts) -> Labels:
    labels = np.full(len(points), -1, dtype=np.intp)
    _, stratum = np.unique(disjuncts.cells(), axis=0, return_inverse=True)
    stratum = stratum.ravel()
    sizes = np.bincount(stratum)
    free = np.ones(len(points), dtype=np.bool_)
    waiting = free.copy()
    groups = 0
    while (rare := _rarest(stratum, sizes, waiting, free, k)).size:
        seed = int(rare[squares(points[rare] - points[rare].mean(axis=0)).argmax()])
        found = nearest_company(seed, squares(points - points[seed]), k, disjuncts, free)
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
            labels[rest] = groups + mdav_partition(points[rest], k)
            groups = int(labels.max()) + 1
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


def _groups_first(points: NDArray[np.float64], k: int, disjuncts: Disjuncts) -> Labels:
    return exchange_records(points, mdav_partition(points, k), k, disjuncts, repair=True)


def _completed(points: NDArray[np.float64], labels: Labels, k: int, disjuncts: Disjuncts) -> Labels:
    """Break up what is not admissible, attach what is left, and split what is large."""
    return _split(points, _attached(points, _broken_up(labels, k, disjuncts), k, disjuncts), k, disjuncts)


def _broken_up(labels: Labels, k: int, disjuncts: Disjuncts) -> Labels:
    """Keep of each group what shares a disjunct for every rule, if that is enough; renumber the groups."""
    result = np.full(len(labels), -1, dtype=np.intp)
    groups = 0
    for members in _members(labels):
        kept = _largest_case(members, disjuncts)
        if len(kept) >= k and disjuncts.admissible(kept):
            result[kept] = groups
            groups += 1
    return result


def _largest_case(members: NDArray[np.intp], disjuncts: Disjuncts) -> NDArray[np.intp]:
    """Narrow a group, rule by rule, to the disjunct that most of what is left satisfy."""
    for rule in disjuncts.rules:
        own = disjuncts.holds[members, rule]
        members = members[own[:, own.sum(axis=0).argmax()]]
        if not len(members):
            break
    return members


def _attached(points: NDArray[np.float64], labels: Labels, k: int, disjuncts: Disjuncts) -> Labels:
    """Let records without a group join the admissible group that costs least, else form one with each other."""
    labels = labels.copy()
    left = np.flatnonzero(labels < 0)
    if not left.size:
        return labels
    groups = _members(labels)
    sizes = np.array([len(members) for members in groups], dtype=np.intp)
    sums = np.array([points[members].sum(axis=0) for members in groups]).reshape(len(groups), points.shape[1])
    counts = np.array([disjuncts.holds[members].sum(axis=0) for members in groups], dtype=np.intp)
    counts = counts.reshape(len(groups), disjuncts.holds.shape[1])
    for record in left.tolist():
        open_ = np.flatnonzero(disjuncts.lacking(counts + disjuncts.holds[record], sizes + 1) == 0)
        cost = sizes[open_] / (sizes[open_] + 1) * squares(sums[open_] / sizes[open_, None] - points[record])
        for group in open_[np.argsort(cost, kind="stable")].tolist():
            if not disjuncts.admissible(np.append(groups[group], record)):
                continue
            groups[group] = np.append(groups[group], record)
            labels[record] = group
            sizes[group] += 1
            sums[group] += points[record]
            counts[group] += disjuncts.holds[record]
            break
    return _companies(points, labels, k, disjuncts)


def _companies(points: NDArray[np.float64], labels: Labels, k: int, disjuncts: Disjuncts) -> Labels:
    """Form groups among the records that are left."""
    free = labels < 0
    groups = int(labels.max()) + 1
    for seed in np.flatnonzero(free).tolist():
        if free[seed] and np.count_nonzero(free) >= k:
            found = nearest_company(seed, squares(points - points[seed]), k, disjuncts, free)
            if found.size:
                labels[found] = groups
                free[found] = False
                groups += 1
    return labels


def _split(points: NDArray[np.float64], labels: Labels, k: int, disjuncts: Disjuncts) -> Labels:
    """Partition groups of 2k records and more, where the parts are admissible."""
    labels = labels.copy()
    groups = int(labels.max()) + 1
    for members in _members(labels):
        if len(members) < 2 * k:
            continue
        parts = mdav_partition(points[members], k)
        if len(disjuncts.owners) and not all(disjuncts.admissible(members[part]) for part in _members(parts)):
            continue
        labels[members[parts > 0]] = groups - 1 + parts[parts > 0]
        groups = int(labels.max()) + 1
    return labels
