"""Optimal univariate microaggregation: one variable in groups of at least k with the least sum of squares."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.univariate import univariate
from masktron.partitions.mdav import require_groups


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
