"""Columns that are drawn, and columns that are computed from these: exact linear relations between variables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Floats
from masktron.synthesis.linear_relations import Coordinates, basis

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
