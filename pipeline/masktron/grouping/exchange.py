"""Groups made better by moving single records and by exchanging two: fewer that share nothing, then less spread."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from masktron.grouping.disjuncts import Disjuncts
from masktron.kernels import exchange
from masktron.kernels.mdav import TREE_FROM

NEAR = 8
"""Groups, nearest first, with which a record may be exchanged for less spread."""
NEAR_REPAIR = 40
"""The same where its group is not admissible."""
PASSES = 4
"""Passes over the records; most of the gain is in the first."""
TRIALS = 6
"""Exchanges of one record whose bounds are checked, best first."""
LOADED_FROM = 300
"""Records from which compiled code is worth loading, which takes 0.2 seconds; in Python, 2,000 take a second."""
_TOGETHER = 100_000
"""Records whose neighbours are looked up at once: the tree answers with more than is kept."""
_GAIN = 1e-9
"""Least reduction of the sum of squares, in standardised units, that counts: rounding must not drive exchanges."""


def exchange_records(
    points: NDArray[np.float64],
    labels: NDArray[np.intp],
    k: int,
    disjuncts: Disjuncts,
    *,
    repair: bool,
    compiled: bool | None = None,
) -> NDArray[np.intp]:
    """Move records to near groups, or exchange two of them, while that helps.

    Theorem: no group gets smaller than k that was not, and no admissible group becomes inadmissible; the number of
    records that stand in the way of shared disjuncts never grows. Proof: each step is taken only if both groups that
    it changes keep k records, the lack of shared disjuncts of both together does not grow, and neither loses its
    admissibility. Each step lowers the lack or, with the same lack, the sum of squares within groups, so that none
    is undone; the number of passes is bounded all the same.

    Parameters
    ----------
    points : ndarray of float64, shape (n, d)
    labels : ndarray of intp, shape (n,)
        Group of each record; -1 for records that are in none and stay so.
    k : int
    disjuncts : Disjuncts
    repair : bool
        Look only at records of groups that are not admissible, and take the exchanges that lower the lack, with the
        least increase of the sum of squares. Else take those that lower the sum of squares.
    compiled : bool, optional
        Whether compiled code does it, in far less time and with the same result; where not given, `worth_compiled`
        says so.

    Returns
    -------
    ndarray of intp, shape (n,)
        New labels of the same groups.
    """
    taken = np.flatnonzero(labels >= 0)
    if labels.max(initial=-1) < 1 or (repair and not _lacking(labels[taken], disjuncts.rows(taken)).any()):
        return labels
    if not points.shape[1]:
        points = np.zeros((len(points), 1))  # neighbours are looked up in at least one dimension
    near = _in_space(points, taken, labels)
    order, groups = taken[near.order], near.groups
    fast = worth_compiled(len(points)) if compiled is None else compiled
    state = (_Compiled if fast else _State)(points[order], near.labels, k, disjuncts.rows(order))
    _improve(state, points[order], repair=repair)
    result = labels.copy()
    result[order] = groups[state.labels]
    return result


def worth_compiled(n: int) -> bool:
    """Tell whether compiled code is to exchange records of a file of n.

    Many are worth the seconds that it takes to compile it. A small file never waits for the compiler: there it does
    where it is at hand, on as many records as are worth loading it.
    """
    if n >= TREE_FROM:
        return True
    if n < LOADED_FROM:
        return False
    return exchange.exchange_ready()


def _lacking(labels: NDArray[np.intp], disjuncts: Disjuncts) -> NDArray[np.intp]:
    return disjuncts.lacking(counts_of(labels, disjuncts), np.bincount(labels))


class _InSpace(NamedTuple):
    """An order in which near groups stand close together, so that what is compared is at hand.

    Attributes
    ----------
    groups : ndarray of intp, shape (groups,)
        Groups in that order.
    order : ndarray of intp, shape (n,)
        Records, group by group.
    labels : ndarray of intp, shape (n,)
        Place of the group of each of these.
    """

    groups: NDArray[np.intp]
    order: NDArray[np.intp]
    labels: NDArray[np.intp]


def _in_space(points: NDArray[np.float64], taken: NDArray[np.intp], labels: NDArray[np.intp]) -> _InSpace:
    """Order groups and the records in them as the leaves of a k-d tree over the centres are."""
    from scipy.spatial import cKDTree  # noqa: PLC0415 -- most runs do without

    own = labels[taken]
    groups = cKDTree(means(points[taken], own)).indices
    place = np.empty(len(groups), dtype=np.intp)
    place[groups] = np.arange(len(groups))
    order = np.argsort(place[own], kind="stable")
    return _InSpace(groups, order, place[own][order])


def means(points: NDArray[np.float64], labels: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the mean of each group 0 to g - 1, shape (g, d); members are added in order."""
    sums = [np.bincount(labels, column) for column in points.T]
    sizes = np.bincount(labels)
    return np.stack([*sums, sizes], axis=1)[:, :-1] / sizes[:, None]


def _improve(state: _State | _Compiled, points: NDArray[np.float64], *, repair: bool) -> None:
    """Go over the records up to `PASSES` times.

    For less spread, near groups are looked up once: centres move little, and the look-up takes longer than a pass.
    """
    count = min(NEAR_REPAIR if repair else NEAR, len(state.lacks) - 1) + 1
    records = np.arange(len(points))
    neighbours = np.empty((0, count), dtype=np.int32)
    for turn in range(PASSES):
        if repair:
            records = np.flatnonzero(state.lacks[state.labels] > 0)
        if repair or not turn:
            neighbours = _nearest(state.centres(), points[records], count)
        if not len(records) or not state.improve(records, neighbours, repair=repair):
            break


def _nearest(centres: NDArray[np.float64], points: NDArray[np.float64], count: int) -> NDArray[np.int32]:
    """Find the groups with the nearest centres, shape (n, count), in the order of their numbers."""
    from scipy.spatial import cKDTree  # noqa: PLC0415 -- most runs do without

    tree = cKDTree(centres)
    found = np.empty((len(points), count), dtype=np.int32)
    for start in range(0, len(points), _TOGETHER):
        part = slice(start, start + _TOGETHER)
        found[part] = tree.query(points[part], count)[1].reshape(-1, count)
    found.sort(axis=1)
    return found


def counts_of(labels: NDArray[np.intp], disjuncts: Disjuncts) -> NDArray[np.intp]:
    """Count the members of each group 0 to g - 1 that satisfy each disjunct, shape (g, disjuncts)."""
    groups = int(labels.max(initial=-1)) + 1
    columns = [np.bincount(labels[holding], minlength=groups) for holding in disjuncts.holds.T]
    return np.stack([np.zeros(groups, dtype=np.intp), *columns], axis=1)[:, 1:].copy()


class _Compiled:
    """Groups in the arrays of `masktron.kernels.exchange`, which does what `_State` does."""

    def __init__(self, points: NDArray[np.float64], labels: NDArray[np.intp], k: int, disjuncts: Disjuncts) -> None:
        self._pass = exchange.exchange_pass
        self._points = np.ascontiguousarray(points)
        self._k = k
        starts = np.append(disjuncts.starts, disjuncts.holds.shape[1])
        sides = (np.ascontiguousarray(disjuncts.values), np.ascontiguousarray(disjuncts.limits))
        self._rules = exchange.Rules(np.ascontiguousarray(disjuncts.holds), starts, disjuncts.owners, *sides)
        self._pool = np.argsort(labels, kind="stable")
        sizes, counts, centres = np.bincount(labels), counts_of(labels, disjuncts), means(points, labels)
        self._groups = exchange.ExchangeGroups(
            labels=labels.copy(),
            sizes=sizes,
            begins=np.cumsum(sizes) - sizes,
            room=sizes.copy(),
            centres=centres,
            own=squares(points - centres[labels]),
            counts=counts,
            lacks=disjuncts.lacking(counts, sizes),
            changed=np.ones(len(sizes), dtype=np.bool_),
        )

    @property
    def labels(self) -> NDArray[np.intp]:
        """Group of each record."""
        return self._groups.labels

    @property
    def lacks(self) -> NDArray[np.intp]:
        """Records of each group that stand in the way of shared disjuncts."""
        return self._groups.lacks

    def centres(self) -> NDArray[np.float64]:
        """Mean of each group."""
        return self._groups.centres.copy()

    def improve(self, records: NDArray[np.intp], neighbours: NDArray[np.int32], *, repair: bool) -> bool:
        """Go over records once; tell whether anything was changed."""
        active = self._groups.changed.copy()
        self._groups.changed[:] = False
        self._pool = self._pass(
            self._points, self._rules, self._groups, self._pool, records, neighbours, active, self._k, repair, _GAIN,
            TRIALS,
        )  # fmt: skip
        return bool(self._groups.changed.any())


class _State:
    """Groups with what is needed to tell what an exchange does to them, in Python."""

    def __init__(self, points: NDArray[np.float64], labels: NDArray[np.intp], k: int, disjuncts: Disjuncts) -> None:
        self.points = points
        self.labels = labels.copy()
        self.k = k
        self.disjuncts = disjuncts
        groups = int(labels.max()) + 1
        self.sizes = np.bincount(labels)
        self.sums = np.zeros((groups, points.shape[1]))
        self.counts = np.zeros((groups, disjuncts.holds.shape[1]), dtype=np.intp)
        np.add.at(self.counts, labels, disjuncts.holds.astype(np.intp))
        self.lacks = disjuncts.lacking(self.counts, self.sizes)
        self.members = np.split(np.argsort(labels, kind="stable"), np.cumsum(self.sizes)[:-1])
        self.own = np.zeros(len(points))
        for group, members in enumerate(self.members):
            self._measure(group, members)
        self.changed = np.ones(groups, dtype=np.bool_)

    def _measure(self, group: int, members: NDArray[np.intp]) -> None:
        """Sum up a group, and find how far its members are from their mean."""
        points = self.points[members]
        self.sums[group] = np.cumsum(points, axis=0)[-1]  # one after the other, as the kernel adds
        self.own[members] = squares(points - self.sums[group] / len(members))

    def centres(self) -> NDArray[np.float64]:
        """Mean of each group."""
        return self.sums / self.sizes[:, None]

    def improve(self, records: NDArray[np.intp], neighbours: NDArray[np.int32], *, repair: bool) -> bool:
        """Go over records once; tell whether anything was changed."""
        active, self.changed = self.changed, np.zeros_like(self.changed)
        for record, groups in zip(records.tolist(), neighbours.astype(np.intp), strict=True):
            own = int(self.labels[record])
            if repair and not self.lacks[own]:
                continue
            others = groups[groups != own][: len(groups) - 1]
            if not repair:
                others = others[active[others] | active[own] | self.changed[others] | self.changed[own]]
            if len(others):
                self._best(record, own, others, repair=repair)
        return bool(self.changed.any())

    def _best(self, record: int, own: int, others: NDArray[np.intp], *, repair: bool) -> None:
        """Carry out the best move or exchange of a record, if there is a good one."""
        partners = np.concatenate([self.members[other] for other in others])
        homes = np.repeat(others, self.sizes[others])
        change = self._exchange_cost(record, own, partners, homes)
        if self.sizes[own] > self.k:
            partners = np.concatenate([partners, np.full(len(others), -1, dtype=np.intp)])
            homes = np.concatenate([homes, others])
            change = np.concatenate([change, self._move_cost(record, own, others)])
        worth = np.arange(len(change)) if repair else np.flatnonzero(change < -_GAIN)
        if not len(worth):
            return
        before = self.lacks[own] + self.lacks[homes[worth]]
        after, safe = self._lack_after(record, own, partners[worth], homes[worth])
        good = worth[safe & ((after < before) if repair else (after <= before))]
        for choice in good[np.argsort(change[good], kind="stable")][:TRIALS]:
            if self._do(record, own, int(partners[choice]), int(homes[choice])):
                return

    def _exchange_cost(
        self, record: int, own: int, partners: NDArray[np.intp], homes: NDArray[np.intp]
    ) -> NDArray[np.float64]:
        """Change of the sum of squares when a record and a partner change places."""
        here = self.sums[own] / self.sizes[own]
        mine, theirs = self.points[record], self.points[partners]
        there = self._to_centres(record, homes)
        apart = squares(theirs - mine)
        leaving = squares(mine - here) + self.own[partners]
        joining = squares(theirs - here) + there
        return np.asarray(joining - leaving - apart / self.sizes[own] - apart / self.sizes[homes])

    def _to_centres(self, record: int, homes: NDArray[np.intp]) -> NDArray[np.float64]:
        """Squared distances of a record to the centres of groups that are given as sorted runs."""
        groups, counts = np.unique(homes, return_counts=True)
        squared = squares(self.sums[groups] / self.sizes[groups, None] - self.points[record])
        return np.repeat(squared, counts)

    def _move_cost(self, record: int, own: int, homes: NDArray[np.intp]) -> NDArray[np.float64]:
        """Change of the sum of squares when a record moves."""
        size = self.sizes[own]
        left = size / (size - 1) * squares(self.points[record] - self.sums[own] / size)
        return np.asarray(self.sizes[homes] / (self.sizes[homes] + 1) * self._to_centres(record, homes) - left)

    def _lack_after(
        self, record: int, own: int, partners: NDArray[np.intp], homes: NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Lack of shared disjuncts of both groups after each change, and whether no admissible group loses them."""
        moved = self.disjuncts.holds[record].astype(np.intp)
        swapped = partners >= 0
        given = np.where(swapped[:, None], self.disjuncts.holds[partners], False).astype(np.intp)
        here = self.disjuncts.lacking(self.counts[own] - moved + given, self.sizes[own] - 1 + swapped)
        there = self.disjuncts.lacking(self.counts[homes] - given + moved, self.sizes[homes] + 1 - swapped)
        safe = ((here == 0) | (self.lacks[own] > 0)) & ((there == 0) | (self.lacks[homes] > 0))
        return here + there, safe

    def _do(self, record: int, own: int, partner: int, home: int) -> bool:
        """Carry out a change; not where a bound of an unmasked field would be lost."""
        mine = self.members[own][self.members[own] != record]
        theirs = self.members[home]
        if partner >= 0:
            mine, theirs = np.append(mine, partner), theirs[theirs != partner]
        theirs = np.append(theirs, record)
        if len(self.disjuncts.owners):
            for new, old in ((mine, self.members[own]), (theirs, self.members[home])):
                if self.disjuncts.admissible(old) and not self.disjuncts.admissible(new):
                    return False
        for group, members in ((own, np.sort(mine)), (home, np.sort(theirs))):
            self.labels[members] = group
            self.members[group] = members
            self.sizes[group] = len(members)
            self._measure(group, members)
            self.counts[group] = self.disjuncts.holds[members].sum(axis=0)
            self.changed[group] = True
        pair = np.array([own, home])
        self.lacks[pair] = self.disjuncts.lacking(self.counts[pair], self.sizes[pair])
        return True


def squares(differences: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return squared lengths along the last axis, summed over dimensions in order."""
    total = np.zeros(differences.shape[:-1])
    for dimension in range(differences.shape[-1]):
        total += differences[..., dimension] * differences[..., dimension]
    return total
