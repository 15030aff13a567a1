"""Microaggregation by MDAV: standardised variables, and the partition of records in groups of at least k."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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
    _require(~np.isinf(values), "an infinite value cannot be standardised", "correct or exclude the record")


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
    if k < 1:
        raise UsageError(f"a group of {k} records is asked for", hint="give k of at least 1")
    if k > len(points):
        raise InfeasibleError(
            f"{len(points)} records cannot form a group of {k}",
            hint="lower k, or pool these records with others",
        )
    hint = "group records with the same missing variables apart"
    _require(np.isfinite(points), "a missing or infinite coordinate has no distance to others", hint)
    if points.size and np.abs(points).max() > _LARGEST:
        raise UsageError("coordinates are too large for squared distances", hint="standardise them first")


def _require(fine: NDArray[np.bool_], what: str, hint: str) -> None:
    if fine.all():
        return
    record, column = np.argwhere(~fine)[0].tolist()
    raise UsageError(what, where=f"record {record + 1}, column {column + 1}", hint=hint)
