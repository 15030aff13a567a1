"""Columns moved and scaled to zero mean and unit variance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Standard:
    """Where the zero and the unit of a standardised column are.

    Attributes
    ----------
    power : int
        Numbers are divided by this power of two first, so that no square overflows or vanishes.
    mean, deviation : float
        Of the divided numbers, with divisor n; a deviation of 0 stands for a constant column.
    """

    power: int = 0
    mean: float = 0.0
    deviation: float = 0.0

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> Self:
        """Find them for a column, shape (n,), from the values that are not NaN."""
        numbers = values[~np.isnan(values)]
        if not numbers.size or numbers.min() == numbers.max():
            return cls()
        # division by a power of two rounds nothing
        power = int(np.frexp(np.abs(numbers).max())[1])
        scaled = np.ldexp(numbers, -power)
        return cls(power, float(scaled.mean()), float(scaled.std()))

    def places(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Standardise values of the column, or some of them, shape (m,); a constant column becomes zeros."""
        places = np.where(np.isnan(values), np.nan, 0.0)
        if self.deviation:
            present = ~np.isnan(values)
            places[present] = (np.ldexp(values[present], -self.power) - self.mean) / self.deviation
        return places


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
    result = np.empty(values.shape)
    for column, own in enumerate(values.T):
        result[:, column] = Standard.of(own).places(own)
    return result
