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

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Labels
from masktron.grouping.admissible import PointPartitioner
from masktron.grouping.disjuncts import Disjuncts
from masktron.grouping.fitting import Fits, Fitting
from masktron.grouping.members import Members
from masktron.grouping.mixed import HARD, GroupBuilder, Parts
from masktron.large_arrays import new_array
from masktron.partitions.kdcut import Cut
from masktron.partitions.mdav import partition

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
