"""Groups collected part by part, and mixed ones for the records that find no admissible group."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from masktron.grouping.admissible import PointPartitioner, group_admissible, restricted
from masktron.grouping.disjuncts import Disjuncts
from masktron.grouping.exchange import squares, worth_compiled
from masktron.grouping.fitting import Fitting
from masktron.grouping.members import Members, codes_of

HARD = 300
"""More leftover records than this are no exceptions: they do not choose their groups, which takes long."""
DONORS = 24
"""Records, nearest first, that are tried as the witness of a mixed group."""


type Parts = dict[int, tuple[NDArray[np.intp], NDArray[np.intp]]]
"""Records that had a code of `apart`, and their groups: another attempt finds most parts as they were."""


class GroupBuilder:
    """Collects groups; every record is given to exactly one of them.

    Attributes
    ----------
    labels : ndarray of intp, shape (n,)
        Group of each record; -1 before it has one.
    mixed : list of bool
        For each group, whether no aggregator vouches for it.
    astray : ndarray of intp
        Records that ended in a group without a witness, so far as it was looked for.
    """

    def __init__(
        self,
        points: NDArray[np.float64],
        k: int,
        apart: NDArray[np.intp],
        patterns: NDArray[np.intp],
        bonds: NDArray[np.intp],
        disjuncts: Disjuncts,
        fits: Fitting,
        partitioner: PointPartitioner,
        parts: Parts,
    ) -> None:
        self.known = ~np.isnan(points)
        self.points = np.where(self.known, points, 0.0)
        self.k = k
        self.apart = apart
        self.patterns = patterns
        self.bonds = bonds
        self.disjuncts = disjuncts
        self.fits = fits
        self.partitioner = partitioner
        self.parts = parts
        self.labels = np.full(len(points), -1, dtype=np.intp)
        self.mixed: list[bool] = []
        self.astray = np.empty(0, dtype=np.intp)

    def build(self, first: NDArray[np.intp]) -> None:
        """Form all groups, after the records `first` have chosen their groups."""
        self._reserve(first)
        own = Members.of(np.where(self.labels < 0, self.apart, -1))
        for code in np.flatnonzero(own.sizes >= self.k).tolist():
            self._group_part(code, own[code])
        self._place(np.flatnonzero(self.labels < 0))

    def _add(self, records: NDArray[np.intp], *, mixed: bool = False) -> None:
        self.labels[records] = len(self.mixed)
        self.mixed.append(mixed)

    def _add_partition(self, records: NDArray[np.intp]) -> None:
        """Partition records into mixed groups."""
        labels = restricted(self.partitioner, records)(self.points[records], self.k)
        self.labels[records] = len(self.mixed) + labels
        self.mixed += [True] * (int(labels.max()) + 1)

    def _reserve(self, first: NDArray[np.intp]) -> None:
        """Let records that are hard to place choose a group with a witness, those with the fewest hosts first."""
        everybody = np.arange(len(self.points))
        scarce = [int(self.fits.donors(record, everybody).sum()) for record in first.tolist()]
        for position in np.argsort(scarce, kind="stable"):
            seed = int(first[position])
            if self.labels[seed] < 0 and (found := self._nearest_mixed(seed)).size:
                self._add(found, mixed=True)

    def _nearest_mixed(self, seed: int) -> NDArray[np.intp]:
        """Return k records with a witness: as few different bonds as possible meet, then the nearest."""
        free = np.flatnonzero(self.labels < 0)
        distance = squares(self.points[free] - self.points[seed])
        kin = self.bonds[free] == self.bonds[seed]
        donors = free[self.fits.donors(seed, free)]
        order = np.lexsort((donors, squares(self.points[donors] - self.points[seed]), donors != seed))
        best: tuple[int, float] | None = None
        found = np.empty(0, dtype=np.intp)
        for donor in donors[order][:DONORS].tolist():
            hosts = self.fits.hosts(donor, free)
            if hosts.sum() < self.k:
                continue
            kind = np.where(kin, 0, np.where(self.bonds[free] == self.bonds[donor], 1, 2))
            needed = (free != seed) & (free != donor)
            ranked = np.lexsort((free, distance, kind, needed, ~hosts))[: self.k]
            worth = len(np.unique(self.bonds[free[ranked]])), float(distance[ranked].sum())
            if best is None or worth < best:
                best, found = worth, np.sort(free[ranked])
        return found

    def _group_part(self, code: int, records: NDArray[np.intp]) -> None:
        """Group records that nothing keeps apart but their disjuncts."""
        disjuncts = self.disjuncts.of_records(records)
        known, labels = self.parts.get(code, (None, records))
        if known is None or not np.array_equal(known, records):
            columns = self.known[records].any(axis=0)
            points = self.points[np.ix_(records, columns)]
            fast = worth_compiled(len(self.points))  # a part of many records can be small
            labels = group_admissible(
                points, self.k, disjuncts, restricted(self.partitioner, records, columns), compiled=fast
            )
            self.parts[code] = records, labels
        taken = labels >= 0
        self.labels[records[taken]] = len(self.mixed) + labels[taken]
        self.mixed += (~disjuncts.vouched(Members.of(labels))).tolist()

    def _place(self, left: NDArray[np.intp]) -> None:
        """Give the records that found no group to mixed ones.

        They share their bonds, since every record's values then fit the others; where that is impossible, they have
        a witness; where that is impossible too, records with one pattern of missing values pool, then any.
        """
        left = self._pooled(left, codes_of(np.stack([self.bonds, self.patterns], axis=1)))
        left = self._pooled(left, self.bonds)
        for seed in left.tolist() if len(left) <= HARD else ():
            if self.labels[seed] < 0 and (found := self._nearest_mixed(seed)).size:
                self._add(found, mixed=True)
        left = self.astray = self._joined(left[self.labels[left] < 0])
        left = self._pooled(left, self.patterns)
        left = self._pooled(left, np.zeros_like(self.patterns))
        self._forced(left)
        self._split()

    def _pooled(self, left: NDArray[np.intp], codes: NDArray[np.intp]) -> NDArray[np.intp]:
        """Partition the records of each code that are at least k; return the others."""
        members = Members.of(codes_of(codes[left][:, None]))
        large = members.sizes >= self.k
        for code in np.flatnonzero(large).tolist():
            self._add_partition(left[members[code]])
        return np.sort(left[members.order[~large[members.labels]]])

    def _joined(self, left: NDArray[np.intp]) -> NDArray[np.intp]:
        """Let records join groups that have a witness with them; return those for which there is none.

        Groups of the same pattern of missing values come first; among them, the nearest.
        """
        if not left.size or not self.mixed:
            return left
        taken = np.flatnonzero(self.labels >= 0)
        witness = np.zeros(len(self.points), dtype=np.bool_)
        members = Members.of(self.labels)
        witness[members.order] = self.fits.witnesses_of(members)
        others = []
        for record in left.tolist():
            donors, hosts = self.fits.donors(record, taken), self.fits.hosts(record, taken)
            open_ = self._open(taken, witness[taken] & donors, hosts)
            if not open_.any():
                others.append(record)
                continue
            order = self._by_distance(record)
            group = int(order[open_[order]][0])
            members = taken[self.labels[taken] == group]
            witness[members] &= self.fits.donors(record, members)
            witness[record] = self.fits.hosts(record, members).all()
            self.labels[record] = group
            self.mixed[group] = True
            taken = np.flatnonzero(self.labels >= 0)
        return np.array(others, dtype=np.intp)

    def _open(
        self, taken: NDArray[np.intp], donors: NDArray[np.bool_], hosts: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Which groups have a witness together with a record: one that fits it as well, or the record itself."""
        labels, groups = self.labels[taken], len(self.mixed)
        fitting = np.bincount(labels, donors, minlength=groups)
        strange = np.bincount(labels, ~hosts, minlength=groups)
        return np.asarray((fitting > 0) | (strange == 0))

    def _by_distance(self, record: int, *, kin_first: bool = False) -> NDArray[np.intp]:
        """Order groups: those of the record's pattern of missing values first, the nearest of them first."""
        taken = np.flatnonzero(self.labels >= 0)
        labels, groups = self.labels[taken], len(self.mixed)
        sizes = np.bincount(labels, minlength=groups)
        centres = np.zeros((groups, self.points.shape[1]))
        np.add.at(centres, labels, self.points[taken])
        unlike = np.bincount(labels, self.patterns[taken] != self.patterns[record], minlength=groups) > 0
        kin = np.bincount(labels, self.bonds[taken] == self.bonds[record], minlength=groups)
        strange = np.where(kin == sizes, 0, np.where(kin > 0, 1, 2)) if kin_first else np.zeros(groups)
        return np.lexsort((squares(centres / sizes[:, None] - self.points[record]), unlike, strange))

    def _forced(self, left: NDArray[np.intp]) -> None:
        """Let records join the nearest group of their own bonds, of partly their own, of others."""
        for record in left.tolist():
            group = int(self._by_distance(record, kin_first=True)[0])
            self.labels[record] = group
            self.mixed[group] = True

    def _split(self) -> None:
        """Partition mixed groups of 2k records and more, unless a part would lose its witness."""
        own = Members.of(self.labels)
        for group in np.flatnonzero(np.array(self.mixed, dtype=np.bool_) & (own.sizes >= 2 * self.k)).tolist():
            members = own[group]
            formed = restricted(self.partitioner, members)(self.points[members], self.k)
            parts = [members[part] for part in Members.of(formed)]
            if not self.fits.witnesses(members).any() or all(self.fits.witnesses(part).any() for part in parts):
                self.mixed[group] = not self._vouched(parts[0])
                for part in parts[1:]:
                    self._add(part, mixed=not self._vouched(part))

    def _vouched(self, members: NDArray[np.intp]) -> bool:
        """Tell whether records share all that an aggregator needs, their limits included."""
        alike = bool((self.apart[members] == self.apart[members[0]]).all())
        one = Members(members, np.array([0, len(members)]))
        return alike and bool(self.disjuncts.vouched(one)[0])
