"""Groups of at least k records in which the rules survive aggregation: strata, attachment, MDAV.

An aggregator keeps a rule if all records of a group satisfy the same disjunct of it. So the records are split into
*strata* by the disjunct that they satisfy first (Torra, Cano and Navarro-Arribas 2009, section 3.4: by the
antecedent), and every stratum is partitioned by MDAV. Records of a stratum that is too small are *attached*: each
takes as company its nearest records, of whatever stratum, that share a disjunct with it for every rule.

Some differences cannot be bridged at all: another pattern of missing values, another sign under the geometric
mean, another value of an unmasked field that a rule ties to a masked one. They part the records first. What is
left over there in groups smaller than k goes into *mixed* groups, for which no aggregator vouches: settle checks
them one by one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from masktron.methods.mdav import partition as mdav_partition

type Labels = NDArray[np.intp]

RARE = 2
"""Strata with fewer than RARE * k records, which would form one far-flung group, are attached instead."""


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
        first = np.unique(self.labels, return_index=True)[1]
        unlike = (codes != codes[first][self.labels]).any(axis=1)
        return np.bincount(self.labels, unlike, minlength=self.groups) > 0

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
    disjuncts: tuple[NDArray[np.bool_], ...] = (),
) -> Grouping:
    """Partition records into groups of at least k.

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
    disjuncts : tuple of ndarray of bool, each of shape (n, number of disjuncts)
        For each disjunctive rule, which of its disjuncts each record satisfies.

    Returns
    -------
    Grouping
    """
    shared = np.zeros(len(points), dtype=np.intp) if bonds is None else bonds
    builder = _Builder(np.where(np.isnan(points), 0.0, points), k, apart, patterns, shared, disjuncts)
    left: list[NDArray[np.intp]] = []
    for code in np.unique(apart):
        records = np.flatnonzero(apart == code)
        known = ~np.isnan(points[records]).any(axis=0)
        left.append(builder.group_stratum(records, known) if len(records) >= k else records)
    builder.place(np.sort(np.concatenate(left)))
    return builder.finish()


class _Builder:
    """Collects groups; every record is given to exactly one of them."""

    def __init__(
        self,
        points: NDArray[np.float64],
        k: int,
        apart: NDArray[np.intp],
        patterns: NDArray[np.intp],
        bonds: NDArray[np.intp],
        disjuncts: tuple[NDArray[np.bool_], ...],
    ) -> None:
        self.points = points
        self.k = k
        self.apart = apart
        self.patterns = patterns
        self.bonds = bonds
        self.disjuncts = disjuncts
        self.labels = np.full(len(points), -1, dtype=np.intp)
        self.mixed: list[bool] = []

    def add(self, records: NDArray[np.intp], *, mixed: bool = False) -> None:
        self.labels[records] = len(self.mixed)
        self.mixed.append(mixed)

    def add_partition(self, records: NDArray[np.intp], points: NDArray[np.float64], *, mixed: bool = False) -> None:
        labels = mdav_partition(points, self.k)
        for group in range(int(labels.max()) + 1):
            self.add(records[labels == group], mixed=mixed)

    def group_stratum(self, records: NDArray[np.intp], known: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Group records that nothing keeps apart but their disjuncts; return those that found no company."""
        points = self.points[:, known]
        strata = self._natural_strata(records)
        free = np.zeros(len(self.points), dtype=np.bool_)
        free[records] = True
        stuck: set[int] = set()
        while (rare := self._rare(strata, free, stuck)).size:
            seed = rare[_farthest(points[rare])]
            company = self._company(seed, points, free)
            if company.size:
                self.add(company)
                free[company] = False
            else:
                stuck.add(int(seed))
        left = []
        for stratum in strata:
            rest = stratum[free[stratum]]
            if len(rest) >= self.k:
                self.add_partition(rest, points[rest])
            else:
                left.append(rest)
        return np.concatenate(left) if left else np.empty(0, dtype=np.intp)

    def _natural_strata(self, records: NDArray[np.intp]) -> list[NDArray[np.intp]]:
        """Split by the first disjunct that holds for each rule; a record that satisfies none stands alone."""
        if not self.disjuncts:
            return [records]
        first = np.stack(
            [np.where(holds[records].any(axis=1), holds[records].argmax(axis=1), -1) for holds in self.disjuncts],
            axis=1,
        )
        _, stratum = np.unique(first, axis=0, return_inverse=True)
        return [records[stratum.ravel() == code] for code in range(int(stratum.max()) + 1)]

    def _rare(self, strata: list[NDArray[np.intp]], free: NDArray[np.bool_], stuck: set[int]) -> NDArray[np.intp]:
        """Return the free records of the smallest stratum that is too small to be parted, but for the stuck ones."""
        sizes = [(int(free[stratum].sum()), position) for position, stratum in enumerate(strata)]
        alive = [entry for entry in sizes if entry[0]]
        if len(alive) == 1 and alive[0][0] >= self.k:
            return np.empty(0, dtype=np.intp)
        for size, position in sorted(alive):
            if size >= RARE * self.k:
                break
            stratum = strata[position]
            rare = [record for record in stratum[free[stratum]] if int(record) not in stuck]
            if rare:
                return np.array(rare, dtype=np.intp)
        return np.empty(0, dtype=np.intp)

    def _company(self, seed: int, points: NDArray[np.float64], free: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Return `seed` and its k - 1 nearest free records that share one disjunct per rule with it, if there are."""
        admissible = free.copy()
        for holds in self.disjuncts:
            own = np.flatnonzero(holds[seed])
            if not own.size:
                return np.empty(0, dtype=np.intp)
            support = holds[np.ix_(admissible, own)].sum(axis=0)
            admissible &= holds[:, own[int(support.argmax())]]
        pool = np.flatnonzero(admissible)
        if len(pool) < self.k:
            return np.empty(0, dtype=np.intp)
        distance = ((points[pool] - points[seed]) ** 2).sum(axis=1)
        distance[pool == seed] = -1.0
        return np.sort(pool[np.lexsort((pool, distance))[: self.k]])

    def place(self, left: NDArray[np.intp]) -> None:
        """Give the records that found no group to groups in which all is shared, else to mixed ones.

        Mixed groups share their bonds, since the medoid then keeps every rule; where that is impossible, the pattern
        of missing values; where that is impossible too, nothing.
        """
        left = self._admitted(left)
        left = self._mixed_groups(left, codes_of(np.stack([self.bonds, self.patterns], axis=1)))
        left = self._mixed_groups(left, self.bonds)
        left = self._joined(left, self.bonds)
        left = self._mixed_groups(left, self.patterns)
        left = self._mixed_groups(left, np.zeros_like(self.patterns))
        self._joined(left, np.zeros_like(self.patterns))

    def _mixed_groups(self, left: NDArray[np.intp], codes: NDArray[np.intp]) -> NDArray[np.intp]:
        """Partition the records of each code that are at least k; return the others."""
        rest = [np.empty(0, dtype=np.intp)]
        for code in np.unique(codes[left]):
            alike = left[codes[left] == code]
            if len(alike) >= self.k:
                self.add_partition(alike, self.points[alike], mixed=True)
            else:
                rest.append(alike)
        return np.sort(np.concatenate(rest))

    def _admitted(self, left: NDArray[np.intp]) -> NDArray[np.intp]:
        """Let records join the nearest group with which they share all that is needed; return the others."""
        first, centres = self._outline()
        shared = [np.ones((len(first), holds.shape[1]), dtype=np.bool_) for holds in self.disjuncts]
        taken = self.labels >= 0
        for common, holds in zip(shared, self.disjuncts, strict=True):
            np.logical_and.at(common, self.labels[taken], holds[taken])
        others = []
        for record in left:
            open_ = self.apart[first] == self.apart[record]
            for common, holds in zip(shared, self.disjuncts, strict=True):
                open_ &= (common & holds[record]).any(axis=1)
            if not open_.any():
                others.append(record)
                continue
            nearest = self._nearest(record, centres, open_)
            self.labels[record] = nearest
            for common, holds in zip(shared, self.disjuncts, strict=True):
                common[nearest] &= holds[record]
        return np.array(others, dtype=np.intp)

    def _joined(self, left: NDArray[np.intp], codes: NDArray[np.intp]) -> NDArray[np.intp]:
        """Let records join the nearest group of their code, of their pattern of missing values if there is one.

        Records without such a group are returned.
        """
        first, centres = self._outline()
        others = []
        for record in left:
            open_ = codes[first] == codes[record]
            if not open_.any():
                others.append(record)
                continue
            alike = open_ & (self.patterns[first] == self.patterns[record])
            nearest = self._nearest(record, centres, alike if alike.any() else open_)
            self.labels[record] = nearest
            self.mixed[nearest] = True
        return np.array(others, dtype=np.intp)

    def _outline(self) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """A record and the mean of each group."""
        taken = np.flatnonzero(self.labels >= 0)
        labels, position = np.unique(self.labels[taken], return_index=True)
        centres = np.zeros((len(labels), self.points.shape[1]))
        np.add.at(centres, self.labels[taken], self.points[taken])
        return taken[position], centres / np.bincount(self.labels[taken])[:, None]

    def _nearest(self, record: int, centres: NDArray[np.float64], among: NDArray[np.bool_]) -> int:
        squared = ((centres - self.points[record]) ** 2).sum(axis=1)
        return int(np.where(among, squared, np.inf).argmin())

    def finish(self) -> Grouping:
        mixed = np.array(self.mixed, dtype=np.bool_)
        grouping = Grouping(self.labels, mixed, mixed)
        return replace(grouping, pooled=grouping.varying(self.patterns[:, None]))


def _farthest(points: NDArray[np.float64]) -> int:
    """Position of the point farthest from the mean, the first of several."""
    return int(((points - points.mean(axis=0)) ** 2).sum(axis=1).argmax())


def codes_of(columns: NDArray[np.generic]) -> NDArray[np.intp]:
    """Number the distinct rows of a 2-d array, in sorted order; shape (n,). All 0 where there are no columns."""
    if columns.shape[1] == 0:
        return np.zeros(len(columns), dtype=np.intp)
    _, codes = np.unique(columns, axis=0, return_inverse=True)
    flat: NDArray[np.intp] = codes.ravel().astype(np.intp)
    return flat
