"""Groups made better by moving single records and by exchanging two: fewer that share nothing, then less spread."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from masktron.methods.disjuncts import Disjuncts

NEAR = 8
"""Groups, nearest first, with which a record may be exchanged for less spread."""
NEAR_REPAIR = 40
"""The same where its group is not admissible."""
PASSES = 4
"""Passes over the records; most of the gain is in the first."""
TRIALS = 6
"""Exchanges of one record whose bounds are checked, best first."""
_GAIN = 1e-9
"""Least reduction of the sum of squares, in standardised units, that counts: rounding must not drive exchanges."""


def exchange_records(
    points: NDArray[np.float64], labels: NDArray[np.intp], k: int, disjuncts: Disjuncts, *, repair: bool
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

    Returns
    -------
    ndarray of intp, shape (n,)
        New labels of the same groups.
    """
    if labels.max(initial=-1) < 1:
        return labels
    if not points.shape[1]:
        points = np.zeros((len(points), 1))  # neighbours are looked up in at least one dimension
    state = _State(points, labels, k, disjuncts)
    for _ in range(PASSES):
        if not state.improve(repair=repair):
            break
    return state.labels


class _State:
    """Groups with what is needed to tell what an exchange does to them."""

    def __init__(self, points: NDArray[np.float64], labels: NDArray[np.intp], k: int, disjuncts: Disjuncts) -> None:
        self.points = points
        self.labels = labels.copy()
        self.k = k
        self.disjuncts = disjuncts
        groups = int(labels.max()) + 1
        taken = np.flatnonzero(labels >= 0)
        self.sizes = np.bincount(labels[taken], minlength=groups)
        self.sums = np.zeros((groups, points.shape[1]))
        self.counts = np.zeros((groups, disjuncts.holds.shape[1]), dtype=np.intp)
        np.add.at(self.counts, labels[taken], disjuncts.holds[taken].astype(np.intp))
        self.lacks = disjuncts.lacking(self.counts, self.sizes)
        order = taken[np.argsort(labels[taken], kind="stable")]
        self.members = np.split(order, np.cumsum(self.sizes)[:-1])
        self.own = np.zeros(len(points))
        for group, members in enumerate(self.members):
            self._measure(group, members)
        self.changed = np.ones(groups, dtype=np.bool_)

    def _measure(self, group: int, members: NDArray[np.intp]) -> None:
        """Sum up a group, and find how far its members are from their mean."""
        points = self.points[members]
        self.sums[group] = points.sum(axis=0)
        self.own[members] = squares(points - self.sums[group] / len(members))

    def improve(self, *, repair: bool) -> bool:
        """Go over all records once, in the order of their groups' numbers; tell whether anything was changed."""
        active, self.changed = self.changed, np.zeros_like(self.changed)
        centres = self.sums / self.sizes[:, None]
        near = min(NEAR_REPAIR if repair else NEAR, len(centres) - 1)
        wanted = self.labels >= 0
        if repair:
            wanted[wanted] = self.lacks[self.labels[wanted]] > 0
        records = np.flatnonzero(wanted)
        if not len(records):
            return False
        neighbours = cKDTree(centres).query(self.points[records], near + 1)[1].reshape(len(records), -1)
        for record, groups in zip(records.tolist(), neighbours, strict=True):
            own = int(self.labels[record])
            if repair and not self.lacks[own]:
                continue
            others = np.sort(groups[groups != own])[:near]
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
    """Return squared lengths along the last axis."""
    total: NDArray[np.float64] = np.einsum("...i,...i->...", differences, differences)
    return total
