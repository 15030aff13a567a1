"""Optimal univariate microaggregation: one variable in groups of at least k with the least sum of squares.

Several variables are projected to one first.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.linear_algebra import eigen_decomposition, product
from masktron.kernels.univariate import univariate
from masktron.partitions.mdav import require_groups

type Projection = Literal["pca", "sum"]


def optimal_univariate(values: NDArray[np.float64], k: int) -> NDArray[np.intp]:
    """Partition numbers in groups of k to 2k - 1 with the least sum of squares within groups.

    No partition in groups of at least k loses less, so none by MDAV either. `masktron.kernels.univariate` says how
    ties are decided, and in which order sums are taken.

    Parameters
    ----------
    values : ndarray of float64, shape (n,)
    k : int
        Minimum group size, at least 1.

    Returns
    -------
    ndarray of intp, shape (n,)
        Group labels 0 to g - 1, in ascending order of the groups' values.

    Raises
    ------
    InfeasibleError
        There are fewer than k numbers.
    UsageError
        k is below 1, or a number is missing, infinite or too large to be squared.

    Notes
    -----
    Source: Hansen and Mukherjee (2003), A polynomial algorithm for optimal univariate microaggregation.
    """
    require_groups(values[:, None], k)
    return univariate(values, k)


def projected_partition(points: NDArray[np.float64], k: int, projection: Projection) -> NDArray[np.intp]:
    """Partition records in groups of k to 2k - 1 along one direction, with the least sum of squares along it.

    Records that differ in one column are partitioned by that column, so that nothing is lost to the projection.

    Parameters
    ----------
    points : ndarray of float64, shape (n, d)
        Standardised coordinates.
    k : int
        Minimum group size, at least 1.
    projection : {"pca", "sum"}
        The first principal component, or the sum of the coordinates.

    Returns
    -------
    ndarray of intp, shape (n,)
        Group labels 0 to g - 1, along the direction.

    Raises
    ------
    InfeasibleError
        There are fewer than k records.
    UsageError
        k is below 1, or a coordinate is missing, infinite or too large to be squared.

    Notes
    -----
    Source: Hansen and Mukherjee (2003), with the projections of single axis methods that sdcMicro offers (``pca``,
    ``zscore``).
    """
    require_groups(points, k)
    varying = points[:, (points != points[:1]).any(axis=0)]
    if varying.shape[1] < 2:
        return univariate(varying[:, 0] if varying.shape[1] else np.zeros(len(points)), k)
    # near 1, so that no sum overflows; a power of two rounds nothing
    near_one = np.ldexp(varying, -int(np.frexp(np.abs(varying).max())[1]))
    weights = first_component(near_one) if projection == "pca" else np.ones(varying.shape[1])
    along = np.zeros(len(points))
    # by column, so that equal records have equal values
    for column, weight in zip(near_one.T, weights, strict=True):
        along += column * weight
    return univariate(along, k)


def first_component(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the direction of largest variance, shape (d,): of length 1, its largest coefficient positive.

    Parameters
    ----------
    points : ndarray of float64, shape (n, d)
        Finite, of magnitudes near 1; n and d at least 1.
    """
    centred = points - points.mean(axis=0)
    _, directions = eigen_decomposition(product(centred.T, centred) / len(centred))
    first: NDArray[np.float64] = directions[:, 0]
    return first
