"""Microaggregation by MDAV: standardised variables, and the partition of records in groups of at least k."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import cell_place, require_value
from masktron.errors import InfeasibleError, UsageError
from masktron.kernels.mdav import mdav
from masktron.kernels.standardise import standardised

_LARGEST = 1e150
"""Squares of differences of larger coordinates overflow."""


def standardise(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Move and scale every column to zero mean and unit variance.

    The variance is the population variance (divisor n). A constant column becomes zeros, so that it says nothing
    about distance. Missing values are left out of mean and variance, and stay missing.

    Parameters
    ----------
    values : ndarray of float64, shape (n, p)
        Finite numbers, or NaN where missing.

    Returns
    -------
    ndarray of float64, shape (n, p)

    Raises
    ------
    UsageError
        A value is infinite.
    """
    require_finite(values)
    return standardised(values)


def require_finite(values: NDArray[np.float64]) -> None:
    """Refuse what `standardise` refuses."""
    if (wrong := np.argwhere(np.isinf(values))).size:
        raise UsageError.of("unusable-values", cell_place(*wrong[0]), kind="infinite")


def partition(points: NDArray[np.float64], k: int) -> NDArray[np.intp]:
    """Partition records in groups of k to 2k - 1 by MDAV.

    Parameters
    ----------
    points : ndarray of float64, shape (n, d)
        Coordinates in which Euclidean distance is meant, usually from `standardise` or `masktron.partitions.encode`.
    k : int
        Minimum group size, at least 1.

    Returns
    -------
    ndarray of intp, shape (n,)
        Group labels 0 to g - 1.

    Raises
    ------
    InfeasibleError
        There are fewer than k records.
    UsageError
        k is below 1, or a coordinate is missing, infinite or too large to be squared.
    """
    require_groups(points, k)
    return mdav(points, k)


def require_groups(points: NDArray[np.float64], k: int) -> None:
    """Refuse what cannot be partitioned in groups of at least k, with the errors of `partition`."""
    require_value(k >= 1, "k", "at least 1", k)
    if k > len(points):
        raise InfeasibleError.of("too-few-records", what=f"a group of {k}", least=k, records=len(points))
    if (wrong := np.argwhere(~np.isfinite(points))).size:
        raise UsageError.of("missing-values", cell_place(*wrong[0]))
    if points.size and np.abs(points).max() > _LARGEST:
        raise UsageError.of("values-too-large", what="the coordinates")
