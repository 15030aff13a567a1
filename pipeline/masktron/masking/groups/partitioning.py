"""What forms the groups of a run: MDAV with its cut, or another method of partition."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Labels
from masktron.grouping.members import codes_of
from masktron.methods.base import Partitioning
from masktron.partitions.column_kinds import Kinds
from masktron.partitions.kdcut import Cuts, kd_cut


@dataclass(frozen=True, slots=True, eq=False)
class MethodPartitioner:
    """Forms groups by a method, of records that may be a part of the file.

    Attributes
    ----------
    method : Partitioning
    classes : ndarray of intp, shape (n, c), or None
        Classes of the records.
    shares : ndarray of float64, shape (combinations,), or None
        Shares of the combinations of classes among the records of the file.
    kinds : Kinds or None
        What the columns of points are; numbers where not given.
    most : int or None
        Records that are partitioned together; more are cut into blocks of near records first. What that costs is not
        found: methods differ too much for an estimate.
    """

    method: Partitioning
    classes: NDArray[np.intp] | None = None
    shares: NDArray[np.float64] | None = None
    kinds: Kinds | None = None
    most: int | None = None

    @classmethod
    def of(cls, method: Partitioning, classes: NDArray[np.intp] | None, most: int | None) -> MethodPartitioner:
        """Return the partitioner of all records of a file."""
        if classes is None:
            return cls(method, most=most)
        combined = codes_of(classes)
        return cls(method, combined[:, None], np.bincount(combined) / len(combined), most=most)

    @property
    def by_points(self) -> bool:
        """Whether records may change places for less spread."""
        return self.classes is None

    def restricted(self, records: NDArray[np.intp], columns: NDArray[np.bool_] | None = None) -> MethodPartitioner:
        """Return the partitioner of some of the records, and of some columns of their points."""
        classes = None if self.classes is None else self.classes[records]
        kinds = self.kinds if self.kinds is None or columns is None else self.kinds.having(columns)
        return replace(self, classes=classes, kinds=kinds)

    def of_kinds(self, kinds: Kinds) -> MethodPartitioner:
        """Return the partitioner of points whose columns are of some kinds."""
        return replace(self, kinds=kinds)

    def recording(self, cuts: Cuts) -> MethodPartitioner:
        """Return the partitioner itself, which records no cuts."""
        del cuts
        return self

    def alone(self) -> MethodPartitioner:
        """Return the partitioner itself, which has no other threads."""
        return self

    def whole(self) -> MethodPartitioner:
        """Return the same without a cut."""
        return replace(self, most=None)

    def __call__(self, points: NDArray[np.float64], k: int) -> Labels:
        """Partition points, shape (n, d), of its records; see `masktron.methods.base.Partitioning.partition`."""
        if not points.shape[1]:
            # a part of the file without any value: all of its records are in one place
            return replace(self, kinds=None)(np.zeros((len(points), 1)), k)
        if self.most is None or len(points) <= self.most:
            return self.method.partition(points, classes=self.classes, shares=self.shares, kinds=self.kinds)
        labels = np.empty(len(points), dtype=np.intp)
        groups = 0
        for block in kd_cut(points, self.most, k):
            labels[block] = groups + self.restricted(block).whole()(points[block], k)
            groups = int(labels[block].max()) + 1
        return labels
