"""Sums, extremes and weighted means by group, without cancellation and without a loop over records."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_SPLIT = 134217729.0
"""2 ** 27 + 1: splits a double in two halves whose products are exact (Dekker 1971)."""

type DoubleDouble = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Numbers in double-double: the unevaluated sum of a double and a much smaller one."""


def two_sum(a: NDArray[np.float64], b: NDArray[np.float64]) -> DoubleDouble:
    """Return ``a + b`` rounded, and what the rounding lost (Knuth); exact where nothing overflows."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def two_product(a: NDArray[np.float64], b: NDArray[np.float64]) -> DoubleDouble:
    """Return ``a * b`` rounded, and what the rounding lost (Dekker); exact for magnitudes far from the limits."""
    product = a * b
    a_high = a * _SPLIT - (a * _SPLIT - a)
    b_high = b * _SPLIT - (b * _SPLIT - b)
    a_low, b_low = a - a_high, b - b_high
    return product, a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)


def group_sums(high: NDArray[np.float64], low: NDArray[np.float64], sizes: NDArray[np.intp]) -> DoubleDouble:
    """Sum double-doubles by group, halving all groups at once until one row is left of each.

    Parameters
    ----------
    high, low : ndarray of float64, shape (n, p)
        Rows sorted by group.
    sizes : ndarray of intp, shape (groups,)
        Rows of each group, all at least 1, in order.

    Returns
    -------
    high, low : ndarray of float64, shape (groups, p)
        Relative to the sum of magnitudes, the error is of the order of 2 ** -104.
    """
    while sizes.max(initial=1) > 1:
        starts = np.cumsum(sizes) - sizes
        position = np.arange(len(high)) - np.repeat(starts, sizes)
        even = np.flatnonzero(position % 2 == 0)
        has_partner = position[even] + 1 < np.repeat(sizes, sizes)[even]
        first = even[has_partner]
        total, error = two_sum(high[first], high[first + 1])
        total, error = two_sum(total, error + low[first] + low[first + 1])
        high[first], low[first] = total, error
        high, low, sizes = high[even], low[even], (sizes + 1) // 2
    return high, low


def weighted_means(
    values: NDArray[np.float64], weights: NDArray[np.float64], sizes: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Weighted arithmetic means by group.

    Parameters
    ----------
    values : ndarray of float64, shape (n, p)
        Rows sorted by group; NaN makes the mean NaN.
    weights : ndarray of float64, shape (n,)
        Not negative, with a positive sum in every group.
    sizes : ndarray of intp, shape (groups,)
        Rows of each group, all at least 1, in order.

    Returns
    -------
    ndarray of float64, shape (groups, p)
        Within an ulp or so of the exact mean whatever cancels, and inside the group's smallest and largest value.
    """
    starts = np.cumsum(sizes) - sizes
    # Powers of two bring each group's values and weights to at most 1, without rounding: nothing can overflow.
    power = np.frexp(np.maximum.reduceat(np.abs(values), starts, axis=0))[1]
    weight_power = np.frexp(np.maximum.reduceat(weights, starts))[1]
    scaled = np.ldexp(values, np.repeat(-power, sizes, axis=0))
    scaled_weights = np.ldexp(weights, np.repeat(-weight_power, sizes))[:, np.newaxis]
    numerator = group_sums(*two_product(scaled, scaled_weights), sizes)
    denominator = group_sums(scaled_weights.copy(), np.zeros_like(scaled_weights), sizes)
    means = np.ldexp(_quotient(numerator, denominator), power)
    lowest = np.minimum.reduceat(values, starts, axis=0)
    return np.clip(means, lowest, np.maximum.reduceat(values, starts, axis=0))


def _quotient(numerator: DoubleDouble, denominator: DoubleDouble) -> NDArray[np.float64]:
    """Divide, then correct once by the exact remainder."""
    quotient = numerator[0] / denominator[0]
    product, error = two_product(quotient, np.broadcast_to(denominator[0], quotient.shape))
    remainder = ((numerator[0] - product) - error) + numerator[1] - quotient * denominator[1]
    return quotient + remainder / denominator[0]
