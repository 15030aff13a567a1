"""MDAV-generic: MDAV with the average and the distance of each kind of variable, and partitions of several kinds.

Theorem: with the coordinates of `masktron.partitions.encode`, squared Euclidean distance is the sum over variables of
the squared difference of numbers, of the squared difference of ranks, and of 0 or 1 for categories. Proof: two
one-hot places differ, if at all, in two coordinates by sqrt(1/2) each, whose squares add up to 1. So records are as
far from each other as the kinds ask; what differs from MDAV is the average record, from which the search begins.

Source: Domingo-Ferrer and Torra (2005), Ordinal, continuous and heterogeneous k-anonymity through microaggregation;
Domingo-Ferrer and Gonzalez-Nicolas (2010), sections 2.2 and 3.2.
"""

from __future__ import annotations

from typing import override

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Labels
from masktron.kernels.mdav import Ungrouped, mdav, outside_in
from masktron.partitions.column_kinds import KINDS, NOMINAL, NUMBER, ORDINAL, Kinds
from masktron.partitions.mdav import require_groups
from masktron.partitions.partitioner import partition_whole


def partition_generic(points: NDArray[np.float64], kinds: Kinds, k: int) -> Labels:
    """Partition records in groups of k to 2k - 1 by MDAV-generic.

    The average record has the mean of every number, the lower median of every order and the mode of every nominal
    variable, of equal ones the first. Numbers alone are MDAV (`masktron.kernels.mdav`), tree included. Ties are
    decided as there.

    Parameters
    ----------
    points : ndarray of float64, shape (n, d)
        Coordinates as `masktron.partitions.encode` makes them, or rows of such.
    kinds : Kinds
        Of d columns.
    k : int
        Minimum group size, at least 1.

    Returns
    -------
    ndarray of intp, shape (n,)
        Group labels 0 to g - 1.

    Raises
    ------
    InfeasibleError, UsageError
        As for `masktron.partitions.mdav.partition`, or the kinds are of another number of columns.
    """
    kinds.require(points)
    require_groups(points, k)
    return _grouped(points, kinds, k)


def partition_imposed(points: NDArray[np.float64], kinds: Kinds, k: int, imposing: str | None = None) -> Labels:
    """Partition records by the variables of one kind, for those of all kinds.

    Parameters
    ----------
    imposing : str, optional
        The kind; of those in which records differ, the first of numbers, orders, nominal variables where it is not
        given, or where records do not differ in it.

    Other parameters, result and errors are those of `partition_generic`.
    """
    kinds.require(points)
    require_groups(points, k)
    varying = varying_kinds(points, kinds)
    kind = imposing if imposing in varying or not varying else varying[0]
    return _grouped(points, kinds, k) if kind not in varying else _by_kind(points, kinds, k, kind)


def partition_consensus(points: NDArray[np.float64], kinds: Kinds, k: int) -> Labels:
    """Partition records as the partitions by each kind agree.

    1. Records that are together in the partitions by all kinds are a group, if there are at least k of them.
    2. The others are grouped from the outside in, as MDAV does, but near are first those that are kept apart by fewer
       of the partitions, and of these those at less distance. A partition does not keep records apart that are alike
       in all variables of its kind: which group such records come to is chance.
    3. If fewer than k are left for that, each joins the group of step 1 that fewest partitions keep it apart from,
       then the nearest, and a group that comes to 2k or more is partitioned by MDAV-generic.

    Kinds in which no records differ have no partition.

    Parameters, result and errors are those of `partition_generic`.

    Notes
    -----
    Theorem: every group has k to 2k - 1 records. Proof: the partitions have such groups, so that a part of one has at
    most 2k - 1, and step 1 takes those of at least k. Step 2 forms groups of k while 3k records are left, and of what
    is left then one of k and one of k to 2k - 1, or one of k to 2k - 1, as MDAV does with any distance. Step 3 splits
    what is larger.
    """
    kinds.require(points)
    require_groups(points, k)
    varying = varying_kinds(points, kinds)
    if len(varying) < 2:
        return _grouped(points, kinds, k)
    partitions = np.stack([_by_kind(points, kinds, k, kind) for kind in varying])
    together = _codes(partitions.T)
    agreed = np.bincount(together) >= k
    labels = np.where(agreed[together], np.cumsum(agreed)[together] - 1, -1)
    rest = np.flatnonzero(labels < 0)
    groups = int(agreed.sum())
    alike = np.stack([_codes(points[:, kinds.of(kind)]) for kind in varying])
    if len(rest) >= k:
        left = _Disputed(points[rest], kinds, partitions[:, rest], alike[:, rest])
        labels[rest] = groups + outside_in(left, k)
        return labels
    return _joined(points, kinds, k, labels, partitions)


def partitions_by_kind(points: NDArray[np.float64], kinds: Kinds, k: int) -> dict[str, Labels]:
    """Return a partition for each kind that there is, by MDAV-generic on its variables alone.

    Parameters and errors are those of `partition_generic`.
    """
    kinds.require(points)
    require_groups(points, k)
    return {kind: _by_kind(points, kinds, k, kind) for kind in KINDS if kind in kinds.kinds}


def varying_kinds(points: NDArray[np.float64], kinds: Kinds) -> list[str]:
    """Return the kinds in which records differ: numbers, orders, nominal variables."""
    varying = (points != points[:1]).any(axis=0)
    return [kind for kind in KINDS if varying[kinds.of(kind)].any()]


def _grouped(points: NDArray[np.float64], kinds: Kinds, k: int) -> Labels:
    varying = (points != points[:1]).any(axis=0)
    if not varying.any():
        return partition_whole(points, k)
    if set(kinds.kinds) <= {NUMBER}:
        return mdav(points[:, varying], k)
    return outside_in(_Generic(points, kinds), k)


def _by_kind(points: NDArray[np.float64], kinds: Kinds, k: int, kind: str) -> Labels:
    return _grouped(points[:, kinds.of(kind)], kinds.only(kind), k)


def _codes(rows: NDArray[np.generic]) -> NDArray[np.intp]:
    """Number the distinct rows, shape (n,)."""
    codes: NDArray[np.intp] = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
    return codes


def _joined(
    points: NDArray[np.float64], kinds: Kinds, k: int, labels: Labels, partitions: NDArray[np.intp]
) -> Labels:
    """Let each record without a group, label -1, join one, and split what becomes large."""
    taken = labels >= 0
    first = np.unique(labels[taken], return_index=True)[1]
    held = partitions[:, np.flatnonzero(taken)[first]]
    sizes = np.bincount(labels[taken])
    centres = np.stack([np.bincount(labels[taken], column) for column in points[taken].T], axis=1) / sizes[:, None]
    joined = labels.copy()
    for record in np.flatnonzero(~taken).tolist():
        apart = (held != partitions[:, record, None]).sum(axis=0)
        squared = np.square(centres - points[record]).sum(axis=1)
        joined[record] = np.lexsort((squared, apart))[0]
    groups = len(sizes)
    for group in np.flatnonzero(np.bincount(joined) >= 2 * k).tolist():
        own = np.flatnonzero(joined == group)
        parts = _grouped(points[own], kinds, k)
        joined[own] = np.where(parts == 0, group, groups + parts - 1)
        groups += int(parts.max())
    return joined


class _Generic(Ungrouped):
    """Records whose average is that of their kinds."""

    def __init__(self, points: NDArray[np.float64], kinds: Kinds) -> None:
        super().__init__(points)
        self._spans = [(kind, span) for kind, span in kinds.spans() if kind != NUMBER and span.stop > span.start]
        # of an order: its distinct places, and how many records each has; of a nominal variable: its categories
        self._places: list[NDArray[np.float64]] = []
        self._codes: list[NDArray[np.intp]] = []
        for kind, span in self._spans:
            if kind == ORDINAL:
                places, codes = np.unique(points[:, span.start], return_inverse=True)
            else:
                places, codes = np.arange(span.stop - span.start), points[:, span].argmax(axis=1)
            self._places.append(places)
            self._codes.append(codes)
        pairs = zip(self._codes, self._places, strict=True)
        self._counts = [np.bincount(codes, minlength=len(places)) for codes, places in pairs]

    @override
    def mean(self) -> NDArray[np.float64]:
        average = super().mean()
        for (kind, span), places, counts in zip(self._spans, self._places, self._counts, strict=True):
            if kind == NOMINAL:
                average[span] = 0.0
                average[span.start + int(counts.argmax())] = np.sqrt(0.5)
            else:
                reached = np.cumsum(counts)
                average[span] = places[int(np.searchsorted(2 * reached, self.size))]
        return average

    @override
    def take(self, squared: NDArray[np.float64], center: int, k: int) -> NDArray[np.intp]:
        records = super().take(squared, center, k)
        for codes, counts in zip(self._codes, self._counts, strict=True):
            np.subtract.at(counts, codes[records], 1)
        return records


class _Disputed(_Generic):
    """Records that are near first by how few partitions keep them apart, then by distance."""

    def __init__(
        self, points: NDArray[np.float64], kinds: Kinds, partitions: NDArray[np.intp], alike: NDArray[np.intp]
    ) -> None:
        super().__init__(points, kinds)
        self._partitions = partitions
        self._alike = alike
        # squared distances times this are below 1: (a - b)^2 <= 2 a^2 + 2 b^2
        largest = float(np.square(points).sum(axis=1).max(initial=0.0))
        self._unit = 1.0 / (4.0 * largest + 1.0)

    @override
    def from_record(self, position: int) -> NDArray[np.float64]:
        at = [position]
        apart = (self._partitions != self._partitions[:, at]) & (self._alike != self._alike[:, at])
        nearer: NDArray[np.float64] = apart.sum(axis=0) + self._unit * super().from_record(position)
        return nearer

    @override
    def compact(self) -> None:
        before = self.index
        super().compact()
        if len(self.index) < len(before):
            left = np.searchsorted(before, self.index)
            self._partitions, self._alike = self._partitions[:, left], self._alike[:, left]
