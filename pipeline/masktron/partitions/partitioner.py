"""What partitions the records of a stratum: the univariate optimum, MDAV, and a cut where there are too many."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from itertools import batched

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Labels
from masktron.errors import UsageError
from masktron.kernels import mdav as kernel
from masktron.kernels import univariate
from masktron.partitions.column_kinds import Kinds
from masktron.partitions.kdcut import Cut, Cuts, excess_of_cuts, kd_cut
from masktron.partitions.mdav import require_groups

AFFORDABLE = 100_000
"""Records that are partitioned whole as well, to measure what the cut costs: about a second."""


@dataclass(frozen=True, slots=True)
class Partitioner:
    """Partitions records in groups of k to 2k - 1; with the contract of `masktron.partitions.mdav.partition`.

    Constant columns are no dimension. Records that differ in one column get the optimum
    (`masktron.partitions.univariate`), however many they are; others get MDAV. More than `most` records that differ
    in several columns are cut first (`masktron.partitions.kdcut`), and each block is partitioned alone.

    Attributes
    ----------
    most : int or None
        Records that are partitioned together, at least 3k; None for any number.
    workers : int
        Threads that share the blocks of a cut; labels do not depend on them.
    cuts : Cuts or None
        Where cuts are recorded. What they cost is found only for this: see `Cut`.
    of : int
        Records of the whole file. Where they are many, compiled code groups small parts of them as well; labels do
        not depend on it.
    """

    most: int | None = None
    workers: int = 1
    cuts: Cuts | None = None
    of: int = 0

    def recording(self, cuts: Cuts) -> Partitioner:
        """Return the same with another place for what is cut."""
        return replace(self, cuts=cuts)

    def restricted(self, records: NDArray[np.intp], columns: NDArray[np.bool_] | None = None) -> Partitioner:
        """Return the partitioner itself, also for some of the records and columns."""
        del records, columns
        return self

    def of_kinds(self, kinds: Kinds) -> Partitioner:
        """Return the partitioner itself: it knows distances alone."""
        del kinds
        return self

    def alone(self) -> Partitioner:
        """Return the same without other threads."""
        return replace(self, workers=1)

    def whole(self) -> Partitioner:
        """Return the same without a cut."""
        return replace(self, most=None)

    def __call__(self, points: NDArray[np.float64], k: int) -> Labels:
        """Partition records.

        Parameters
        ----------
        points : ndarray of float64, shape (n, d)
            Coordinates in which Euclidean distance is meant.
        k : int
            Minimum group size, at least 1.

        Returns
        -------
        ndarray of intp, shape (n,)
            Group labels 0 to g - 1; those of a cut are numbered block after block.

        Raises
        ------
        InfeasibleError
            There are fewer than k records.
        UsageError
            k is below 1, `most` is below 3k, or a coordinate is missing, infinite or too large to be squared.
        """
        require_groups(points, k)
        if self.most is not None and self.most < 3 * k:
            expected = f"at least 3k, which is {3 * k}; some ten thousand are usual"
            raise UsageError.of("bad-value", name="most", expected=expected, given=self.most)
        if self.most is None or len(points) <= self.most or _varying(points).sum() <= 1:
            return partition_whole(points, k, of=self.of)
        return self._cut(points, k, self.most)

    def _cut(self, points: NDArray[np.float64], k: int, most: int) -> Labels:
        blocks = kd_cut(points, most, k)
        labels = self._partitioned(points, blocks, k)
        if self.cuts is not None:
            measured = len(points) <= AFFORDABLE
            within = within_groups(points, labels)
            excess = (
                within - within_groups(points, partition_whole(points, k, of=self.of))
                if measured
                else self._estimate(points, blocks, within, k)
            )
            self.cuts.add(Cut(len(points), len(blocks), max(map(len, blocks)), excess, measured))
        return labels

    def _partitioned(self, points: NDArray[np.float64], blocks: list[NDArray[np.intp]], k: int) -> Labels:
        labels = np.empty(len(points), dtype=np.intp)
        groups = 0
        of = max(self.of, len(points))
        context = copy_context()
        with ThreadPoolExecutor(self.workers) as pool:
            run = map if self.workers == 1 else pool.map
            # no block waits in the pool: after Ctrl-C, all that are there would be partitioned first
            for together in batched(blocks, self.workers):
                parts = run(lambda block: context.copy().run(partition_whole, points[block], k, of=of), together)
                for block, part in zip(together, parts, strict=True):
                    labels[block] = groups + part
                    groups += int(part.max()) + 1
        return labels

    def _estimate(self, points: NDArray[np.float64], blocks: list[NDArray[np.intp]], within: float, k: int) -> float:
        """Cut every block once more, and carry what that costs over to the levels of the cut."""
        halves = [block[half] for block in blocks for half in kd_cut(points[block], max(len(block) - 1, 2 * k), k)]
        once_more = within_groups(points, self._partitioned(points, halves, k)) - within
        return excess_of_cuts(once_more, len(blocks), int(_varying(points).sum()))


def partition_whole(points: NDArray[np.float64], k: int, *, of: int = 0) -> Labels:
    """Partition records without a cut.

    Parameters
    ----------
    points : ndarray of float64, shape (n, d)
        Finite; not checked here.
    k : int
        At most n; not checked here.
    of : int
        Records of which these are a part.
    """
    varying = _varying(points)
    if varying.sum() > 1:
        return kernel.mdav(points if varying.all() else points[:, varying], k, of=of)
    if varying.any():
        return univariate.univariate(points[:, varying.argmax()], k, of=of)
    # what MDAV makes of equal records
    return np.minimum(np.arange(len(points)) // k, len(points) // k - 1)


def within_groups(points: NDArray[np.float64], labels: Labels) -> float:
    """Return the sum of squares within groups.

    Parameters
    ----------
    points : ndarray of float64, shape (n, d)
    labels : ndarray of intp, shape (n,)
        From 0, without gaps.
    """
    sizes = np.bincount(labels)
    total = 0.0
    for column in points.T:
        means = np.bincount(labels, weights=column) / sizes
        total += float(np.square(column - means[labels]).sum())
    return total


def _varying(points: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Tell which columns are not constant, shape (d,)."""
    varying: NDArray[np.bool_] = (points != points[:1]).any(axis=0)
    return varying
