"""Numbers in groups of k to 2k - 1 with the least sum of squares: plain numpy, or compiled code for many."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from masktron.kernels import univariate_path

COMPILED_FROM = 20_000
"""Numbers from which compiled code is worth loading; below, the plain twin takes a tenth of a second."""
_CELLS = 1 << 22
"""Costs that the plain twin holds at a time."""


def univariate(values: NDArray[np.float64], k: int, *, of: int = 0) -> NDArray[np.intp]:
    """Partition numbers in groups of k to 2k - 1 with the least sum of squares within groups.

    Groups are runs of the sorted numbers, as in every optimal partition, so that the least sum is a shortest path
    over cuts: ``best[j] = min over s of best[j - s] + cost(j - s, j)``, s from k to 2k - 1.

    The partition is a function of the data. Equal numbers are sorted by index. The cost of a run is summed from its
    largest number down, of differences to that number (Welford), so that nothing cancels: a run of equal numbers
    costs exactly 0, and the relative error is a few roundings whatever the offset of the numbers. Before each k new
    cuts, the least of the 2k - 1 values of ``best`` that are still in use is taken from all of them, so that what
    outliers cost does not round away the differences that come after them. Of paths whose computed costs are equal,
    the one with the smallest last group is taken, then the smallest last but one, and so on.

    Parameters
    ----------
    values : ndarray of float64, shape (n,)
        Finite, of magnitudes below 1e300; not checked here.
    k : int
        At least 1 and at most n; not checked here.
    of : int
        Numbers of which these are a part: where all together are many, compiled code is used for the parts as well.

    Returns
    -------
    ndarray of intp, shape (n,)
        Labels 0 to g - 1, in ascending order of the groups' values.

    Notes
    -----
    Source: Hansen and Mukherjee (2003), A polynomial algorithm for optimal univariate microaggregation, IEEE TKDE
    15(4). O(n log n + n k) time, O(n) memory. Differences below 1e-154 of the range count as 0.
    """
    order = np.argsort(values, kind="stable")
    numbers = _scaled(values[order])
    if max(len(values), of) >= COMPILED_FROM:
        first = univariate_path.first_of_groups(univariate_path.last_groups(numbers, k, reciprocals(k)))
    else:
        first = plain_first_of_groups(plain_last_groups(numbers, k, reciprocals(k)))
    labels = np.empty(len(values), dtype=np.intp)
    labels[order] = np.cumsum(first) - 1
    return labels


def path_ready() -> bool:
    """Tell whether compiled code is at hand."""
    return univariate_path.path_ready()


def compile_path() -> None:
    """Compile the path, on one number."""
    univariate(np.zeros(1), 1, of=COMPILED_FROM)


def reciprocals(k: int) -> NDArray[np.float64]:
    """Return 1 / s at place s, shape (2k,), so that both twins multiply by the same numbers."""
    inverse = np.zeros(2 * k)
    inverse[1:] = 1.0 / np.arange(1, 2 * k)
    return inverse


def plain_last_groups(
    numbers: NDArray[np.float64], k: int, inverse: NDArray[np.float64], cells: int = _CELLS
) -> NDArray[np.int32]:
    """Find the last group of the best partition of the first j numbers, for all j.

    Parameters
    ----------
    numbers : ndarray of float64, shape (n,)
        Ascending.
    k : int
    inverse : ndarray of float64, shape (2k,)
        As `reciprocals` gives it.
    cells : int
        Costs held at a time.

    Returns
    -------
    ndarray of int32, shape (n + 1,)
        Sizes; 0 where there are fewer than k numbers.
    """
    n, most = len(numbers), 2 * k - 1
    # the first `most` places stand before all numbers: no cut is there
    best = np.full(most + n + 1, np.inf)
    best[most] = 0.0
    sizes = np.zeros(n + 1, dtype=np.int32)
    rows = max(cells // k, 1)
    for start in range(k, n + 1, rows):
        costs = _costs(numbers, start, min(start + rows, n + 1), k, inverse)
        for j in range(start, min(start + rows, n + 1)):
            if j % k == 0:
                best[j : j + most] -= best[j : j + most].min()
            paths = best[j : j + k][::-1] + costs[j - start]
            at = int(paths.argmin())
            best[most + j], sizes[j] = paths[at], k + at
    return sizes


def plain_first_of_groups(sizes: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Mark the first number of each group, shape (n,): the path is followed from its last cut back."""
    first = np.zeros(len(sizes) - 1, dtype=np.bool_)
    at = len(first)
    while at:
        at -= int(sizes[at])
        first[at] = True
    return first


def _costs(
    numbers: NDArray[np.float64], start: int, stop: int, k: int, inverse: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Cost of the last k to 2k - 1 of the first j numbers, j from start to stop; infinite where there are fewer."""
    last = np.arange(start, stop) - 1
    costs = np.empty((stop - start, k))
    mean, squares = np.zeros(stop - start), np.zeros(stop - start)
    for s in range(1, 2 * k):
        first = last + 1 - s
        delta = numbers[np.maximum(first, 0)] - numbers[last] - mean
        squares = squares + delta * delta * ((s - 1) * inverse[s])
        mean = mean + delta * inverse[s]
        if s >= k:
            costs[:, s - k] = np.where(first >= 0, squares, np.inf)
    return costs


def _scaled(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bring the range of sorted numbers near 1 by a power of two, so that no square overflows or vanishes."""
    power = int(np.frexp(numbers[-1] - numbers[0])[1])
    return np.ldexp(numbers, -power)
