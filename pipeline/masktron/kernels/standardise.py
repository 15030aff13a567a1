"""Columns moved and scaled to zero mean and unit variance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def standardised(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standardise each column by the mean and population variance (divisor n) of its present values.

    Parameters
    ----------
    values : ndarray of float64, shape (n, p)
        Finite or NaN; NaN stays NaN.

    Returns
    -------
    ndarray of float64, shape (n, p)
        A constant column becomes zeros.
    """
    result = np.where(np.isnan(values), np.nan, 0.0)
    for column in range(values.shape[1]):
        present = ~np.isnan(values[:, column])
        numbers = values[present, column]
        if not numbers.size or numbers.min() == numbers.max():
            continue
        # A power of two brings them near 1 without rounding, so that no square overflows or vanishes.
        scaled = np.ldexp(numbers, -np.frexp(np.abs(numbers).max())[1])
        result[present, column] = (scaled - scaled.mean()) / scaled.std()
    return result
