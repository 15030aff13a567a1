"""Partition by the minimum spanning tree whose groups stay close to the distribution of a class."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from masktron.errors import UsageError
from masktron.partitions.cutting import ClassCounts, CutRule, cut_longest, labels_of
from masktron.partitions.mdav import require_groups
from masktron.partitions.mst import tree_of

_SLACK = 1e-12
"""Shares are quotients, rounded: 0.7 - 0.5 is not above 0.2."""


def close_partition(
    points: NDArray[np.float64], k: int, t: float, codes: NDArray[np.intp], shares: NDArray[np.float64]
) -> NDArray[np.intp]:
    """Cut the longest removable edge of the minimum spanning tree until none is removable.

    An edge is removable if both parts that cutting it makes hold at least k records, and the distribution of the
    class in each is within t of `shares`. The distance is the earth mover's with equal ground distance, which is half
    the sum of the absolute differences of the shares.

    Parameters
    ----------
    points : ndarray of float64, shape (n, d)
        Coordinates in which Euclidean distance is meant.
    k : int
        Minimum group size, at least 1.
    t : float
        From 0 to 1; to 1e-12.
    codes : ndarray of intp, shape (n,)
        Class of each record, a place in `shares`.
    shares : ndarray of float64, shape (classes,)
        The overall distribution.

    Returns
    -------
    ndarray of intp, shape (n,)
        Group labels 0 to g - 1, by the first record of each group.

    Raises
    ------
    InfeasibleError
        There are fewer than k records.
    UsageError
        k is below 1, or a coordinate is missing, infinite or too large to be squared; a code has no share.

    Notes
    -----
    Source: class-restricted clustering (2013), section 6.1; Li, Li and Venkatasubramanian (2007).

    Theorem: if any edge is cut, every group is within t. Proof: the distance to a fixed distribution is convex, and
    a group is what a cut has left that was allowed. If the records as a whole are farther than t, then no cut leaves
    both parts within it, for the same reason, and they stay one group.
    """
    require_groups(points, k)
    if codes.min() < 0 or codes.max() >= len(shares):
        expected = f"the share of each class from 0 to {codes.max()}"
        raise UsageError.of("bad-value", name="shares", expected=expected, given=f"{len(shares)} shares")
    tree = tree_of(points)
    counts = np.zeros((len(points), len(shares)), dtype=np.int64)
    counts[np.arange(len(points)), codes[tree.record]] = 1
    return labels_of(tree, cut_longest(tree, counts, _close(k, t, shares), 2 * k - 1))


def _close(k: int, t: float, shares: NDArray[np.float64]) -> CutRule:
    def allowed(below: ClassCounts, above: ClassCounts) -> NDArray[np.bool_]:
        fine = np.ones(len(below), dtype=np.bool_)
        for side in (below, above):
            sizes = side.sum(axis=1)
            fine &= sizes >= k
            fine[fine] = distances(side[fine], shares) <= t + _SLACK
        return fine

    return allowed


def distances(counts: ClassCounts, shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distance of the class distribution of each group to the overall one, from 0 to 1.

    Parameters
    ----------
    counts : ndarray of int64, shape (g, classes)
        Records by class; at least one in each group.
    shares : ndarray of float64, shape (classes,)
    """
    within = counts / counts.sum(axis=1, keepdims=True)
    half: NDArray[np.float64] = np.abs(within - shares).sum(axis=1) / 2.0
    return half
