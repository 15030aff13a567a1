"""MDAV: plain numpy over a compact array of the records that are still ungrouped, or a compiled tree for many."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from masktron.kernels import mdav_tree
from masktron.kernels.integers import as_integers

TREE_FROM = 20_000
"""Records from which the tree is worth loading compiled code; below, brute force takes seconds at most."""
_TREE_GROUPS = 100
_TREE_LARGEST = 1e17
"""The tree squares single precision."""
_GROUPED_SHARE = 8
"""Compact when one record in this many has been grouped: copying after every group would cost more."""


def mdav(points: NDArray[np.float64], k: int, *, of: int = 0) -> NDArray[np.intp]:
    """Partition records in groups of k to 2k - 1 by maximum distance to the average vector.

    While at least 3k records remain, the record farthest from their mean takes its k - 1 nearest, then the one of
    the others that is farthest from that record takes its k - 1 nearest. Of 2k to 3k - 1 left, the farthest from
    the mean takes its k - 1 nearest; what is left then is one group. Groups are numbered as they are formed.

    The partition is a function of the data, ties included: squared distances are float64, summed over dimensions in
    order; of the farthest, and of the nearest, the lowest index comes first; the mean is the exact mean of the
    points, correctly rounded.

    Parameters
    ----------
    points : ndarray of float64, shape (n, d)
        Finite, with squared distances that do not overflow; not checked here.
    k : int
        At least 1 and at most n; not checked here.
    of : int
        Records of which these are a part. Where all together are many, compiled code is loaded anyway, and the tree
        is used for the parts as well; the partition is the same.

    Returns
    -------
    ndarray of intp, shape (n,)
        Labels 0 to g - 1.

    Notes
    -----
    Source: MDAV-generic of Domingo-Ferrer and Torra (2005), as in Domingo-Ferrer and Gonzalez-Nicolas (2010),
    section 2.2. By brute force O(n^2 d / k) time, O(n d) memory; `masktron.kernels.mdav_tree` finds the same
    partition with far less work where there are many records in many groups.
    """
    if _many(max(len(points), of), k) and np.abs(points).max(initial=0.0) < _TREE_LARGEST:
        return _through_tree(points, k)
    return brute_force(points, k)


def brute_force(points: NDArray[np.float64], k: int) -> NDArray[np.intp]:
    """Partition as `mdav` does, measuring every record that is left for each group."""
    return outside_in(Ungrouped(points), k)


def outside_in(rest: Ungrouped, k: int) -> NDArray[np.intp]:
    """Form the groups of `mdav` with the averages and distances of the records that are given."""
    labels = np.empty(rest.size, dtype=np.intp)
    group = 0
    while rest.size >= 3 * k:
        first = rest.farthest(rest.from_average())
        from_first = rest.from_record(first)
        labels[rest.take(from_first, first, k)] = group
        second = rest.farthest(from_first)
        labels[rest.take(rest.from_record(second), second, k)] = group + 1
        group += 2
        rest.compact()
    if rest.size >= 2 * k:
        first = rest.farthest(rest.from_average())
        labels[rest.take(rest.from_record(first), first, k)] = group
        group += 1
    labels[rest.remaining()] = group
    return labels


def tree_ready() -> bool:
    """Tell whether compiled code is at hand."""
    return mdav_tree.tree_ready()


def compile_tree() -> None:
    """Compile the tree, on three records."""
    _through_tree(np.zeros((3, 1)), 1)


def _many(n: int, k: int) -> bool:
    return n >= max(TREE_FROM, _TREE_GROUPS * k)


def _through_tree(points: NDArray[np.float64], k: int) -> NDArray[np.intp]:
    labels, groups = mdav_tree.mdav_tree(np.ascontiguousarray(points), k)
    rest = np.flatnonzero(labels < 0)
    # what follows depends on the records that are left alone
    labels[rest] = groups + brute_force(points[rest], k)
    return labels


class Ungrouped:
    """The records that no group has yet, one row per dimension, in original order.

    Attributes
    ----------
    points : ndarray of float64, shape (d, m)
        Of these records, and of some that have been grouped since the last `compact`.
    index : ndarray of intp, shape (m,)
        Their original indices.
    size : int
        Records without a group.
    """

    def __init__(self, points: NDArray[np.float64]) -> None:
        self.points = np.ascontiguousarray(points.T)
        self.size = len(points)
        self.index = np.arange(self.size)
        self._grouped = np.zeros(self.size, dtype=np.bool_)
        scaled = [as_integers(row) for row in self.points]
        self._integers = np.array([integers for integers, _ in scaled]).reshape(self.points.shape)
        self._exponents = [exponent for _, exponent in scaled]
        self._sums = self._integers.sum(axis=1).tolist()

    def mean(self) -> NDArray[np.float64]:
        """Exact mean of what is left, each coordinate correctly rounded: Python divides integers so."""
        exact = zip(self._sums, self._exponents, strict=True)
        return np.array([_ratio(total, exponent, self.size) for total, exponent in exact], dtype=np.float64)

    def from_average(self) -> NDArray[np.float64]:
        """Squared distances to the average of what is left."""
        return self.distances(self.mean())

    def from_record(self, position: int) -> NDArray[np.float64]:
        """Squared distances to the record at a position."""
        return self.distances(self.points[:, position])

    def distances(self, center: NDArray[np.float64]) -> NDArray[np.float64]:
        """Squared distances to a point; one dimension after the other, so that the order of summation is ours."""
        total = np.zeros(self.points.shape[1])
        difference = np.empty_like(total)
        for row, coordinate in zip(self.points, center, strict=True):
            np.subtract(row, coordinate, out=difference)
            np.multiply(difference, difference, out=difference)
            np.add(total, difference, out=total)
        return total

    def farthest(self, squared: NDArray[np.float64]) -> int:
        """Position of the largest distance of an ungrouped record, the lowest of equals. Overwrites grouped ones."""
        squared[self._grouped] = -1.0
        return int(squared.argmax())

    def take(self, squared: NDArray[np.float64], center: int, k: int) -> NDArray[np.intp]:
        """Remove a record and its k - 1 nearest; return their original indices."""
        distance = np.where(self._grouped, np.inf, squared)
        distance[center] = -1.0
        bound = np.partition(distance, k - 1)[k - 1]
        chosen = np.flatnonzero(distance <= bound)
        if len(chosen) > k:
            tied = distance[chosen] == bound
            surplus = len(chosen) - k
            chosen = np.delete(chosen, np.flatnonzero(tied)[-surplus:])
        self._grouped[chosen] = True
        self.size -= k
        records = self.index[chosen]
        removed = self._integers[:, records].sum(axis=1).tolist()
        self._sums = [total - part for total, part in zip(self._sums, removed, strict=True)]
        return records

    def remaining(self) -> NDArray[np.intp]:
        """Original indices of what is left."""
        return self.index[~self._grouped]

    def compact(self) -> None:
        """Drop the grouped records once they are many; positions change, so only between two pairs of groups."""
        if (len(self.index) - self.size) * _GROUPED_SHARE < len(self.index):
            return
        left = np.flatnonzero(~self._grouped)
        self.points = self.points.take(left, axis=1)
        self.index = self.index[left]
        self._grouped = np.zeros(self.size, dtype=np.bool_)


def _ratio(total: int, exponent: int, count: int) -> float:
    return (total << exponent) / count if exponent >= 0 else total / (count << -exponent)
