"""Columns that are drawn, and columns that are computed from these: exact linear relations between variables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

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


_TRACE = 1e-6
"""Standard deviations that a column moves another one by, at least, which is computed from it."""


@dataclass(frozen=True, slots=True, eq=False)
class FreeColumns:
    """Which columns of some records tell the others.

    Attributes
    ----------
    free : ndarray of bool, shape (p,)
        Columns that the others do not give exactly. Of an exact linear relation the last column is not free: kept
        columns come first, then the others by ascending mean size, so that a total is computed from its parts and
        not a part from the total. Constant columns are not free.
    """

    free: NDArray[np.bool_]
    _order: NDArray[np.intp]
    _held: Coordinates

    @classmethod
    def of(cls, values: Floats, kept: NDArray[np.bool_]) -> Self:
        """Find them.

        Parameters
        ----------
        values : ndarray of float64, shape (n, p)
            Finite.
        kept : ndarray of bool, shape (p,)
            Columns that stay as they are.
        """
        # a power of two brings sizes near 1, so that no sum overflows
        sizes = np.abs(np.ldexp(values, -int(np.frexp(np.abs(values).max(initial=1.0))[1]))).mean(axis=0)
        order = np.lexsort((sizes, ~kept)).astype(np.intp)
        held = basis(values[:, order])
        free = np.zeros(values.shape[1], dtype=np.bool_)
        free[order] = held.free
        return cls(free, order, held)

    def telling(self, read: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the free columns that are among some columns, or that these are computed from; shape (p,)."""
        held, told = self._held, self._order[~self._held.free]
        row, unit = np.empty((1, len(read))), np.empty(len(read))
        row[0, self._order], unit[self._order] = held.center, held.scale
        found = self.free & read
        if not read[told].any():
            return found
        still = self.completed(row)[0, told]
        for column in np.flatnonzero(self.free & ~read).tolist():
            moved = row.copy()
            moved[0, column] += unit[column]
            steps = np.abs(self.completed(moved)[0, told] - still) / unit[told]
            found[column] = (steps[read[told]] > _TRACE).any()
        return found

    def completed(self, drawn: Floats) -> Floats:
        """Compute the columns that are not free from those that are.

        Parameters
        ----------
        drawn : ndarray of float64, shape (m, p)
            Of the columns that are not free, nothing counts.

        Returns
        -------
        ndarray of float64, shape (m, p)
            Every linear relation of the original holds, to rounding. Proof: see `draw_regressions`.
        """
        if self.free.all():
            return drawn
        made, held = drawn.copy(), self._held
        coordinates = np.zeros(drawn.shape)
        for place, column in enumerate(self._order.tolist()):
            center, scale = held.center[place], held.scale[place]
            if held.free[place]:
                standardised = (drawn[:, column] - center) / scale
                coordinates[:, place] = held.coordinate(place, standardised, coordinates)
            else:
                made[:, column] = center + scale * held.told(place, coordinates)
        return made
