"""Groups of at least k records in which the rules survive aggregation, and mixed groups for what is left.

An aggregator keeps a rule if all records of a group satisfy the same disjunct of it. Some differences cannot be
bridged at all: another pattern of missing values, another sign under the geometric mean, another value of an
unmasked field that an equality ties to a masked one. They part the records first; in each part, `group_alike` forms
admissible groups. What finds none goes into *mixed* groups, for which no aggregator vouches: settle checks them one
by one. So that it can find something, a mixed group has a *witness* wherever that is possible: a record whose values
satisfy the rules beside the unmasked fields of every member. Records that are hard to place choose their company
before all others.

The split by antecedents is that of Torra, Cano and Navarro-Arribas (2009), section 3.4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from masktron.methods.alike import group_alike
from masktron.methods.company import nearest_company
from masktron.methods.disjuncts import Disjuncts
from masktron.methods.mdav import partition as mdav_partition

type Labels = NDArray[np.intp]

HARD = 300
"""More records than this are no exceptions: then they do not choose first, which takes long."""
ATTEMPTS = 3
"""Records that ended in a group without a witness choose first in the next attempt, this often."""
DONORS = 24
"""Records, nearest first, that are tried as the witness of a mixed group."""


class Fits(Protocol):
    """Tells whether the masked values of some records satisfy the rules beside the unmasked fields of others."""

    def __call__(self, donors: NDArray[np.intp], hosts: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Judge pairs of records, both of shape (pairs,)."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Grouping:
    """A partition of the records.

    Attributes
    ----------
    labels : ndarray of intp, shape (n,)
        Group of each record, 0 to groups - 1.
    mixed : ndarray of bool, shape (groups,)
        Groups whose records do not share what the aggregator needs.
    pooled : ndarray of bool, shape (groups,)
        Mixed groups that hold different patterns of missing values.
    """

    labels: Labels
    mixed: NDArray[np.bool_]
    pooled: NDArray[np.bool_]

    def varying(self, codes: NDArray[np.generic]) -> NDArray[np.bool_]:
        """Groups whose records differ in some column of codes, shape (n, p), without NaN; shape (groups,)."""
        return varying(self.labels, codes)

    @property
    def groups(self) -> int:
        """Number of groups."""
        return len(self.mixed)

    @property
    def sizes(self) -> NDArray[np.intp]:
        """Records per group, shape (groups,)."""
        return np.bincount(self.labels, minlength=self.groups)


def group_records(
    points: NDArray[np.float64],
    k: int,
    *,
    apart: NDArray[np.intp],
    patterns: NDArray[np.intp],
    bonds: NDArray[np.intp] | None = None,
    disjuncts: Disjuncts | None = None,
    fits: Fits | None = None,
) -> Grouping:
    """Partition records into groups of at least k.

    Theorem: the records of a group that is not mixed have one code of `apart`, share a disjunct of every rule, and
    keep no bound of an unmasked field but their own. Proof: groups that are not mixed come from `group_alike` over
    the records of one code, which forms admissible groups only; those whose unmasked bounds differ are marked.

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

    Returns
    -------
    Grouping
    """
    shared = np.zeros(len(points), dtype=np.intp) if bonds is None else bonds
    asked = _Fits(shared, fits)
    needed = Disjuncts.of(len(points), ()) if disjuncts is None else disjuncts
    best: _Builder | None = None
    first = np.empty(0, dtype=np.intp)
    for _ in range(ATTEMPTS):
        builder = _Builder(points, k, apart, patterns, shared, needed, asked)
        builder.build(first)
        if best is None or len(builder.astray) < len(best.astray):
            best = builder
        if not 0 < len(builder.astray) <= HARD:
            break
        first = np.concatenate([builder.astray, first[~np.isin(first, builder.astray)]])
    assert best is not None
    return best.finish()


class _Fits:
    """`Fits` with the shortcut that records with equal bonds fit each other."""

    def __init__(self, bonds: NDArray[np.intp], fits: Fits | None) -> None:
        self._bonds = bonds
        self._fits = fits

    def __call__(self, donors: NDArray[np.intp], hosts: NDArray[np.intp]) -> NDArray[np.bool_]:
        fine = self._bonds[donors] == self._bonds[hosts]
        if self._fits is not None and not fine.all():
            fine[~fine] = self._fits(donors[~fine], hosts[~fine])
        return fine

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
        pairs = np.meshgrid(members, members[kinds], indexing="ij")
        fine = self(pairs[0].ravel(), pairs[1].ravel())
        return np.asarray(fine.reshape(len(members), len(kinds)).all(axis=1))


class _Builder:
    """Collects groups; every record is given to exactly one of them."""

    def __init__(
        self,
        points: NDArray[np.float64],
        k: int,
        apart: NDArray[np.intp],
        patterns: NDArray[np.intp],
        bonds: NDArray[np.intp],
        disjuncts: Disjuncts,
        fits: _Fits,
    ) -> None:
        self.known = ~np.isnan(points)
        self.points = np.where(self.known, points, 0.0)
        self.k = k
        self.apart = apart
        self.patterns = patterns
        self.bonds = bonds
        self.disjuncts = disjuncts
        self.fits = fits
        self.labels = np.full(len(points), -1, dtype=np.intp)
        self.mixed: list[bool] = []
        self.astray = np.empty(0, dtype=np.intp)

    def build(self, first: NDArray[np.intp]) -> None:
        """Form all groups; records that end in one without a witness are `astray`."""
        self._reserve(first)
        for code in np.unique(self.apart):
            records = np.flatnonzero((self.apart == code) & (self.labels < 0))
            if len(records) >= self.k:
                self._group_part(records)
        self._place(np.flatnonzero(self.labels < 0))

    def add(self, records: NDArray[np.intp], *, mixed: bool = False) -> None:
        self.labels[records] = len(self.mixed)
        self.mixed.append(mixed)

    def add_partition(self, records: NDArray[np.intp]) -> None:
        """Partition records into mixed groups."""
        labels = mdav_partition(self.points[records], self.k)
        for group in range(int(labels.max()) + 1):
            self.add(records[labels == group], mixed=True)

    def _reserve(self, first: NDArray[np.intp]) -> None:
        """Let records that are hard to place choose a company with a witness, those with the fewest hosts first."""
        everybody = np.arange(len(self.points))
        scarce = [int(self.fits.donors(record, everybody).sum()) for record in first.tolist()]
        for position in np.argsort(scarce, kind="stable"):
            seed = int(first[position])
            if self.labels[seed] < 0 and (found := self._mixed_company(seed)).size:
                self.add(found, mixed=True)

    def _mixed_company(self, seed: int) -> NDArray[np.intp]:
        """Return k records with a witness: as few different bonds as possible meet, then the nearest."""
        free = np.flatnonzero(self.labels < 0)
        distance = _squares(self.points[free] - self.points[seed])
        kin = self.bonds[free] == self.bonds[seed]
        donors = free[self.fits.donors(seed, free)]
        order = np.lexsort((donors, _squares(self.points[donors] - self.points[seed]), donors != seed))
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

    def _group_part(self, records: NDArray[np.intp]) -> None:
        """Group records that nothing keeps apart but their disjuncts."""
        points = self.points[np.ix_(records, self.known[records].any(axis=0))]
        own = self.disjuncts.of_records(records)
        labels = group_alike(points, self.k, own)
        for group in range(int(labels.max(initial=-1)) + 1):
            members = np.flatnonzero(labels == group)
            limits = own.limits[members]
            self.add(records[members], mixed=bool((limits != limits[:1]).any()))

    def _place(self, left: NDArray[np.intp]) -> None:
        """Give the records that found no group to mixed ones.

        They share their bonds, since every record's values then fit the others; where that is impossible, they have
        a witness; where that is impossible too, records with one pattern of missing values pool, then any.
        """
        left = self._pooled(left, codes_of(np.stack([self.bonds, self.patterns], axis=1)))
        left = self._pooled(left, self.bonds)
        for seed in left.tolist() if len(left) <= HARD else ():
            if self.labels[seed] < 0 and (found := self._mixed_company(seed)).size:
                self.add(found, mixed=True)
        left = self.astray = self._joined(left[self.labels[left] < 0])
        left = self._pooled(left, self.patterns)
        left = self._pooled(left, np.zeros_like(self.patterns))
        self._forced(left)
        self._split()

    def _pooled(self, left: NDArray[np.intp], codes: NDArray[np.intp]) -> NDArray[np.intp]:
        """Partition the records of each code that are at least k; return the others."""
        rest = [np.empty(0, dtype=np.intp)]
        for code in np.unique(codes[left]):
            alike = left[codes[left] == code]
            if len(alike) >= self.k:
                self.add_partition(alike)
            else:
                rest.append(alike)
        return np.sort(np.concatenate(rest))

    def _joined(self, left: NDArray[np.intp]) -> NDArray[np.intp]:
        """Let records join groups that have a witness with them; return those for which there is none.

        Groups of the same pattern of missing values come first; among them, the nearest.
        """
        if not left.size or not self.mixed:
            return left
        taken = np.flatnonzero(self.labels >= 0)
        witness = np.zeros(len(self.points), dtype=np.bool_)
        for members in self._members():
            witness[members] = self.fits.witnesses(members)
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
        return (np.bincount(labels, donors, minlength=groups) > 0) | (
            np.bincount(labels, ~hosts, minlength=groups) == 0
        )

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
        return np.lexsort((_squares(centres / sizes[:, None] - self.points[record]), unlike, strange))

    def _forced(self, left: NDArray[np.intp]) -> None:
        """Let records join the nearest group of their own bonds, of partly their own, of others."""
        for record in left.tolist():
            group = int(self._by_distance(record, kin_first=True)[0])
            self.labels[record] = group
            self.mixed[group] = True

    def _split(self) -> None:
        """Partition mixed groups of 2k records and more, unless a part would lose its witness."""
        for group, members in enumerate(self._members()):
            if not self.mixed[group] or len(members) < 2 * self.k:
                continue
            labels = mdav_partition(self.points[members], self.k)
            parts = [members[labels == part] for part in range(int(labels.max()) + 1)]
            if not self.fits.witnesses(members).any() or all(self.fits.witnesses(part).any() for part in parts):
                for part in parts[1:]:
                    self.add(part, mixed=True)

    def _members(self) -> list[NDArray[np.intp]]:
        order = np.argsort(self.labels, kind="stable")
        order = order[self.labels[order] >= 0]
        return np.split(order, np.cumsum(np.bincount(self.labels[order]))[:-1])

    def finish(self) -> Grouping:
        mixed = np.array(self.mixed, dtype=np.bool_)
        return Grouping(self.labels, mixed, varying(self.labels, self.patterns[:, None]))


def varying(labels: Labels, codes: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Tell which groups differ in some column of codes, shape (n, p), without NaN; shape (groups,)."""
    first = np.unique(labels, return_index=True)[1]
    unlike = (codes != codes[first][labels]).any(axis=1)
    return np.bincount(labels, unlike, minlength=len(first)) > 0


def codes_of(columns: NDArray[np.generic]) -> NDArray[np.intp]:
    """Number the distinct rows of a 2-d array, in sorted order; shape (n,). All 0 where there are no columns."""
    if columns.shape[1] == 0:
        return np.zeros(len(columns), dtype=np.intp)
    _, codes = np.unique(columns, axis=0, return_inverse=True)
    flat: NDArray[np.intp] = codes.ravel().astype(np.intp)
    return flat


def _squares(differences: NDArray[np.float64]) -> NDArray[np.float64]:
    total: NDArray[np.float64] = (differences**2).sum(axis=-1)
    return total
