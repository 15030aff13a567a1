"""The shortest path of `masktron.kernels.univariate`, compiled: the same operations in the same order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.compiling import is_compiled, kernel


def path_ready() -> bool:
    """Tell whether compiled code is at hand."""
    return is_compiled(last_groups) and is_compiled(first_of_groups)


@kernel
def last_groups(numbers: NDArray[np.float64], k: int, inverse: NDArray[np.float64]) -> NDArray[np.int32]:
    """Find what `masktron.kernels.univariate.plain_last_groups` finds.

    Parameters
    ----------
    numbers : ndarray of float64, shape (n,)
        Ascending.
    k : int
    inverse : ndarray of float64, shape (2k,)

    Returns
    -------
    ndarray of int32, shape (n + 1,)
    """
    n = len(numbers)
    best = np.full(n + 1, np.inf)
    best[0] = 0.0
    sizes = np.zeros(n + 1, np.int32)
    for j in range(k, n + 1):
        if j % k == 0:
            low = max(j - 2 * k + 1, 0)
            least = best[low]
            for i in range(low + 1, j):
                least = min(least, best[i])
            for i in range(low, j):
                best[i] -= least
        top = numbers[j - 1]
        mean = squares = 0.0
        for s in range(1, min(2 * k - 1, j) + 1):
            delta = numbers[j - s] - top - mean
            squares += delta * delta * ((s - 1) * inverse[s])
            mean += delta * inverse[s]
            if s >= k:
                path = best[j - s] + squares
                if path < best[j]:
                    best[j] = path
                    sizes[j] = s
    return sizes


@kernel
def first_of_groups(sizes: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Mark the first number of each group as `masktron.kernels.univariate.plain_first_of_groups` does."""
    first = np.zeros(len(sizes) - 1, np.bool_)
    at = len(first)
    while at:
        at -= sizes[at]
        first[at] = True
    return first
