"""Groups of at least k records in which the rules survive aggregation, and mixed groups for what is left.

An aggregator keeps a rule if all records of a group satisfy the same disjunct of it. Some differences cannot be
bridged at all: another pattern of missing values, another sign under the geometric mean, another value of an unmasked
field that an equality ties to a masked one. They part the records first; in each part, `group_admissible` forms
groups. What finds none goes into *mixed* groups, for which no aggregator vouches: settle checks them one by one. So
that it can find something, a mixed group has a *witness* wherever that is possible: a record whose values satisfy the
rules beside the unmasked fields of every member. Where records end in a group without one, all is done again, and
they choose their groups before all others.

The split by antecedents is that of Torra, Cano and Navarro-Arribas (2009), section 3.4.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Labels
from masktron.grouping.admissible import PointPartitioner, group_admissible, restricted
from masktron.grouping.disjuncts import Disjuncts
from masktron.grouping.exchange import squares, worth_compiled
from masktron.grouping.members import Members, codes_of
from masktron.large_arrays import new_array
from masktron.partitions.kdcut import Cut
from masktron.partitions.mdav import partition

_PAIRS = 1_000_000
"""Pairs that are judged at once."""


class Fits(Protocol):
    """Tells whether the masked values of some records satisfy the rules beside the unmasked fields of others."""

    def __call__(self, donors: NDArray[np.intp], hosts: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Judge pairs of records, both of shape (pairs,)."""
        ...


class Fitting:
    """`Fits` with the shortcut that records with equal bonds fit each other."""

    def __init__(self, bonds: NDArray[np.intp], fits: Fits | None) -> None:
        self._bonds = bonds
        self._fits = fits

    def __call__(self, donors: NDArray[np.intp], hosts: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Judge pairs of records, both of shape (pairs,)."""
        fine = self._bonds[donors] == self._bonds[hosts]
        if self._fits is not None and not fine.all():
            fine[~fine] = self._fits(donors[~fine], hosts[~fine])
        return np.asarray(fine)

    def donors(self, host: int, among: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Which records have values that fit a host."""
        return self(among, np.full(len(among), host))

    def hosts(self, donor: int, among: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Which records a donor's values fit."""
        return self(np.full(len(among), donor), among)

    def witnesses(self, members: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Which members' values fit all members."""
        if (self._bonds[members] == self._bonds[members[0]]).all():
            return np.ones(len(members), dtype=np.bool_)
        _, kinds = np.unique(self._bonds[members], return_index=True)
        donors, hosts = np.meshgrid(members, members[kinds], indexing="ij")
        return np.asarray(self(donors.ravel(), hosts.ravel()).reshape(donors.shape).all(axis=1))

    def witnesses_of(self, members: Members) -> NDArray[np.bool_]:
        """Which members' values fit all members of their groups, in the order of `members.order`."""
        bonds, labels = self._bonds[members.order], members.labels
        first = np.ones(len(bonds), dtype=np.bool_)
        ranked = np.lexsort((bonds, labels))
        first[ranked[1:]] = (np.diff(labels[ranked]) != 0) | (np.diff(bonds[ranked]) != 0)
        kinds = np.bincount(labels, first, minlength=len(members)).astype(np.intp)
        found = np.ones(len(bonds), dtype=np.bool_)
        hosts = Members.of(np.where(first, labels, -1), len(members))
        mixed = np.flatnonzero(kinds[labels] > 1)
        ends = np.cumsum(kinds[labels[mixed]])
        for part in np.split(mixed, np.searchsorted(ends, np.arange(_PAIRS, ends.max(initial=0), _PAIRS))):
            self._judge(part, labels[part], members, hosts, found)
        return found

    def _judge(
        self,
        donors: NDArray[np.intp],
        labels: NDArray[np.intp],
        members: Members,
        hosts: Members,
        found: NDArray[np.bool_],
    ) -> None:
        """Let donors, by their places in `members.order`, meet one host of each kind in their groups."""
        counts = hosts.sizes[labels]
        begins = np.cumsum(counts) - counts
        steps = np.arange(counts.sum()) - np.repeat(begins, counts)
        met = members.order[hosts.order[np.repeat(hosts.starts[labels], counts) + steps]]
        fine = self(np.repeat(members.order[donors], counts), met)
        if len(donors):
            found[donors] = np.logical_and.reduceat(fine, begins)


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


ATTEMPTS = 3
"""Records that ended in a group without a witness choose first in the next attempt, this often."""


@dataclass(frozen=True, slots=True, eq=False)
class RecordGroups:
    """A partition of the records.

    Attributes
    ----------
    labels : ndarray of intp, shape (n,)
        Group of each record, 0 to groups - 1.
    mixed : ndarray of bool, shape (groups,)
        Groups whose records do not share what the aggregator needs.
    pooled : ndarray of bool, shape (groups,)
        Mixed groups that hold different patterns of missing values.
    cut : Cut or None
        The largest part of the records that was cut before it was partitioned.
    spread : float
        Sum of squares of the coordinates, where there is a cut.
    """

    labels: Labels
    mixed: NDArray[np.bool_]
    pooled: NDArray[np.bool_]
    cut: Cut | None = None
    spread: float = 0.0

    def varying(self, codes: NDArray[np.generic]) -> NDArray[np.bool_]:
        """Groups whose records differ in some column of codes, shape (n, p), without NaN; shape (groups,)."""
        return varying(self.labels, codes)

    @property
    def groups(self) -> int:
        """Number of groups."""
        return len(self.mixed)

    @property
    def members(self) -> Members:
        """Records of each group, in file order; sorted anew each time."""
        return Members.of(self.labels, self.groups)

    @property
    def first(self) -> NDArray[np.intp]:
        """First record of each group, shape (groups,)."""
        first = np.empty(self.groups, dtype=np.intp)
        # of several assignments the last one stays
        first[self.labels[::-1]] = np.arange(len(self.labels))[::-1]
        return first

    @property
    def sizes(self) -> NDArray[np.intp]:
        """Records per group, shape (groups,)."""
        return np.bincount(self.labels, minlength=self.groups)


def joined_groups(members: Members, groupings: Iterable[RecordGroups]) -> RecordGroups:
    """Number the groups of several parts of the records, part after part; the cut is the largest of those inside.

    Parameters
    ----------
    members : Members
        Records of each part, ascending.
    groupings : iterable of RecordGroups
        Of each part, in the same order.
    """
    labels = new_array(len(members.order), np.intp)
    mixed, pooled, cuts = [], [], []
    groups = 0
    for rows, own in zip(members, groupings, strict=True):
        labels[rows] = groups + own.labels
        groups += own.groups
        mixed.append(own.mixed)
        pooled.append(own.pooled)
        cuts += [] if own.cut is None else [own.cut]
    cut = max(cuts, key=lambda cut: (cut.records, cut.blocks), default=None)
    return RecordGroups(labels, np.concatenate(mixed), np.concatenate(pooled), cut)


def group_records(
    points: NDArray[np.float64],
    k: int,
    *,
    apart: NDArray[np.intp],
    patterns: NDArray[np.intp],
    bonds: NDArray[np.intp] | None = None,
    disjuncts: Disjuncts | None = None,
    fits: Fits | None = None,
    partitioner: PointPartitioner = partition,
) -> RecordGroups:
    """Partition records into groups of at least k.

    Theorem: the records of a group that is not mixed have one code of `apart`, share a disjunct of every rule, and
    have the same limits from unmasked fields in these. Proof: groups that are not mixed come from
    `group_admissible` over the records of one code, which forms admissible groups only; those with different
    limits are marked as mixed, and so is every group that a record joins later.

    Parameters
    ----------
    points : ndarray of float64, shape (n, d)
        Standardised coordinates; NaN where a value is missing.
    k : int
        Smallest size of a group, 1 <= k <= n.
    apart : ndarray of intp, shape (n,)
        Records with different codes may not share a group (unless it is marked as mixed).
    patterns : ndarray of intp, shape (n,)
        Codes of the patterns of missing values; `apart` is at least as fine.
    bonds : ndarray of intp, shape (n,), optional
        Codes of what unmasked fields say in the rules: in a group that shares it, every record satisfies the rules
        in the place of every other, so mixed groups share it where possible.
    disjuncts : Disjuncts, optional
        For each disjunctive rule, which of its disjuncts each record satisfies; limits that unmasked fields set.
    fits : callable, optional
        Whether a record's masked values satisfy the rules beside another's unmasked fields; where not given, it
        does if the bonds are equal.
    partitioner : callable, optional
        Partitions points, shape (n, d), in groups of at least k that are near; MDAV where not given.

    Returns
    -------
    Grouping
    """
    shared = np.zeros(len(points), dtype=np.intp) if bonds is None else bonds
    asked = Fitting(shared, fits)
    needed = Disjuncts.of(len(points), ()) if disjuncts is None else disjuncts
    built: list[GroupBuilder] = []
    parts: Parts = {}
    first = np.empty(0, dtype=np.intp)
    for _ in range(ATTEMPTS):
        groups = GroupBuilder(points, k, apart, patterns, shared, needed, asked, partitioner, parts)
        groups.build(first)
        built.append(groups)
        if not 0 < len(groups.astray) <= HARD:
            break
        first = np.concatenate([groups.astray, first[~np.isin(first, groups.astray)]])
    best = min(built, key=lambda groups: len(groups.astray))
    mixed = np.array(best.mixed, dtype=np.bool_)
    return RecordGroups(best.labels, mixed, varying(best.labels, patterns[:, None]))


def varying(labels: Labels, codes: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Tell which groups differ in some column of codes, shape (n, p), without NaN; shape (groups,)."""
    first = np.empty(int(labels.max(initial=-1)) + 1, dtype=np.intp)
    first[labels[::-1]] = np.arange(len(labels))[::-1]  # of several assignments the last one stays
    unlike = np.zeros(len(labels), dtype=np.bool_)
    for column in codes.T:
        unlike |= column != column[first][labels]
    return np.bincount(labels[unlike], minlength=len(first)) > 0
