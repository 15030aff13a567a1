"""Partition by the minimum spanning tree, cut at its longest edges that leave k records on both sides."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.mst import spanning_tree
from masktron.partitions.cutting import Forest, by_size, cut_longest, forest, labels_of
from masktron.partitions.mdav import require_groups


def tree_partition(points: NDArray[np.float64], k: int) -> NDArray[np.intp]:
    """Cut the longest removable edge of the minimum spanning tree until none is removable.

    An edge is removable if both parts that cutting it makes hold at least k records. Groups have no upper bound: of a
    star, whose branches are all smaller than k, nothing can be cut. `masktron.kernels.mst` says how ties of edges are
    decided.

    Parameters
    ----------
    points : ndarray of float64, shape (n, d)
        Coordinates in which Euclidean distance is meant.
    k : int
        Minimum group size, at least 1.

    Returns
    -------
    ndarray of intp, shape (n,)
        Group labels 0 to g - 1, by the first record of each group.

    Raises
    ------
    InfeasibleError
        There are fewer than k records.
    UsageError
        k is below 1, or a coordinate is missing, infinite or too large to be squared.

    Notes
    -----
    Source: Laszlo and Mukherjee (2005); class-restricted clustering (2013), section 4. O(n^2 d) time, O(n d) memory.
    """
    require_groups(points, k)
    tree = tree_of(points)
    counts = np.ones((len(points), 1), dtype=np.int64)
    return labels_of(tree, cut_longest(tree, counts, by_size(k), 2 * k - 1))


def tree_of(points: NDArray[np.float64]) -> Forest:
    """Return the minimum spanning tree of at least one point; coordinates are not checked here."""
    return forest(*spanning_tree(points))


def to_unit(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rescale every column to [0, 1]; leave out those that are constant.

    Parameters
    ----------
    points : ndarray of float64, shape (n, d)
        Finite, of magnitudes below 1e150; at least one record.

    Returns
    -------
    ndarray of float64, shape (n, columns that vary)
    """
    low, high = points.min(axis=0), points.max(axis=0)
    varying = high > low
    scaled: NDArray[np.float64] = (points[:, varying] - low[varying]) / (high - low)[varying]
    return scaled
