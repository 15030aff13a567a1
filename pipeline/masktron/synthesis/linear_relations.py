"""Columns in a basis that is built one after another: what of a column the ones before it do not tell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Floats

TOLD = 1e-9
"""Share of its standard deviation that a column may have left, and be told by the ones before it."""
_ROUNDED = 64 * np.finfo(np.float64).eps


@dataclass(frozen=True, slots=True, eq=False)
class Coordinates:
    """Records as coordinates, one for each column that the ones before it do not tell.

    With ``z = (x - center) / scale``, ``z[j] = sum_i loads[i, j] u[i]``, where u[i] is the coordinate of column i.

    Attributes
    ----------
    center, scale : ndarray of float64, shape (p,)
        Mean and standard deviation; a constant column has its value and 1.
    loads : ndarray of float64, shape (p, p)
        Upper triangular. The diagonal is the root of the residual sum of squares of the regression of a column on the
        ones before it; 0 where these give it exactly.
    free : ndarray of bool, shape (p,)
        Columns with a coordinate of their own.
    """

    center: Floats
    scale: Floats
    loads: Floats
    free: NDArray[np.bool_]

    def told(self, column: int, coordinates: Floats) -> Floats:
        """Return what the columns before it tell of a standardised column, from their coordinates, shape (q, p)."""
        # not by a product of matrices: its last digits depend on the number of threads
        told: Floats = np.einsum("ij,j->i", coordinates[:, :column], self.loads[:column, column])
        return told

    def coordinate(self, column: int, standardised: Floats, coordinates: Floats) -> Floats:
        """Return the coordinate of a free column, shape (q,)."""
        own: Floats = (standardised - self.told(column, coordinates)) / self.loads[column, column]
        return own

    def standardised(self, column: int, values: Floats) -> Floats:
        """Return values of a column in its center and scale, shape (q,)."""
        return np.asarray((values - self.center[column]) / self.scale[column])

    def coordinates(self, values: Floats) -> Floats:
        """Return the coordinates of records, shape (q, p); 0 in columns that are not free."""
        found = np.zeros(values.shape)
        for j in np.flatnonzero(self.free).tolist():
            found[:, j] = self.coordinate(j, self.standardised(j, values[:, j]), found)
        return found


def basis(values: Floats) -> Coordinates:
    """Orthogonalise columns in their order, each twice, so that exact relations are told from small residuals.

    Parameters
    ----------
    values : ndarray of float64, shape (n, p)
        Finite.

    Returns
    -------
    Coordinates
        A column that the ones before it give up to 1e-9 of its standard deviation, or up to the rounding of its
        values, is not free.
    """
    n, p = values.shape
    center, scale = np.zeros(p), np.ones(p)
    loads, directions = np.zeros((p, p)), np.zeros((p, n))
    free = np.zeros(p, dtype=np.bool_)
    for j in range(p):
        rest, center[j], scale[j] = _standardised(values[:, j])
        for _ in range(2):
            rest -= rest.mean()
            along = np.einsum("in,n->i", directions[:j], rest)
            rest -= np.einsum("in,i->n", directions[:j], along)
            loads[:j, j] += along
        norm = float(np.sqrt(np.einsum("n,n->", rest, rest)))
        tolerance = max(TOLD, _ROUNDED * float(np.abs(values[:, j]).max()) / scale[j])
        if norm > tolerance * np.sqrt(n):
            loads[j, j], directions[j], free[j] = norm, rest / norm, True
    return Coordinates(center, scale, loads, free)


def _standardised(values: Floats) -> tuple[Floats, float, float]:
    """Return a column with zero mean and unit variance, its mean and its standard deviation."""
    if values.min() == values.max():
        return np.zeros(len(values)), float(values[0]), 1.0
    # a power of two brings the numbers near 1 without rounding, so that no square overflows or vanishes
    power = int(np.frexp(np.abs(values).max())[1])
    near = np.ldexp(values, -power)
    center, scale = float(near.mean()), float(near.std())
    return (near - center) / scale, float(np.ldexp(center, power)), float(np.ldexp(scale, power))
