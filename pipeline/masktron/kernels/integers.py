"""Floating-point numbers as exact integers, so that sums of them are exact."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_MANTISSA = 53


def as_integers(values: NDArray[np.float64]) -> tuple[NDArray[Any], int]:
    """Write finite numbers as ``integer * 2 ** exponent`` with one exponent for all.

    Parameters
    ----------
    values : ndarray of float64, any shape
        Finite.

    Returns
    -------
    integers : ndarray of int64 or of Python int, same shape
        int64 where the sum of all magnitudes is below 2 ** 62, so that no partial sum overflows.
    exponent : int
    """
    if not values.any():
        return np.zeros(values.shape, dtype=np.int64), 0
    fraction, power = np.frexp(values)
    mantissa = np.ldexp(fraction, _MANTISSA).astype(np.int64)
    # Trailing zero bits carry nothing: without them, integers and short decimals in binary stay small.
    lowest = mantissa & -mantissa
    trailing = np.frexp(lowest.astype(np.float64))[1] - 1
    used = mantissa != 0
    exponent = int((power + trailing)[used].min()) - _MANTISSA
    shift = np.where(used, power - _MANTISSA - exponent, 0)
    bits = int(np.frexp(np.abs(values).max())[1]) - exponent + int(values.size).bit_length()
    reduced = mantissa >> np.maximum(-shift, 0)
    up = np.maximum(shift, 0)
    if bits <= 62:
        return reduced << up, exponent
    return reduced.astype(object) << up.astype(object), exponent
