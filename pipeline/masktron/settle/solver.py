"""Mixed-integer programs, row by row, and the call of the solver: HiGHS, by scipy, without what it prints."""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

GAP = 0.01
"""A solution is good enough when it is proved to be this near to the best, as a share of the objective."""
_INFEASIBLE = 2
_STDOUT = 1


@dataclass(frozen=True, slots=True, eq=False)
class Optimum:
    """What the solver found.

    Attributes
    ----------
    point : ndarray of float64, shape (columns,), or None
        The best point that was found.
    infeasible : bool
        It is proved that there is none.
    """

    point: NDArray[np.float64] | None
    infeasible: bool


class Infeasible(Exception):  # noqa: N818 -- a result, not an error; caught by the projection
    """Something that has to hold cannot, before anything is solved."""


class IntegerModel:
    """A mixed-integer program under construction: columns with bounds and costs, and rows over them.

    A *switch* is a column of 0 or 1: a row with a switch has to hold where this is 1. None stands for always.
    """

    def __init__(self) -> None:
        self.cost: list[float] = []
        self.low: list[float] = []
        self.high: list[float] = []
        self.whole: list[bool] = []
        self._rows: list[tuple[Mapping[int, float], float, float]] = []

    def column(self, low: float, high: float, *, cost: float = 0.0, whole: bool = True) -> int:
        """Add a column and return its number."""
        self.cost.append(cost)
        self.low.append(low)
        self.high.append(high)
        self.whole.append(whole)
        return len(self.cost) - 1

    def switch(self, cost: float = 0.0) -> int:
        """Add a column of 0 or 1 and return its number."""
        return self.column(0, 1, cost=cost)

    def refuse(self, switch: int | None) -> None:
        """Turn a switch off for good.

        Raises
        ------
        Infeasible
            There is none: what cannot hold has to.
        """
        if switch is None:
            raise Infeasible
        self.high[switch] = 0

    def extent(self, row: Mapping[int, float]) -> tuple[float, float]:
        """Return the least and the largest value that a row can have within the bounds of its columns."""
        ends = [(value * self.low[column], value * self.high[column]) for column, value in row.items()]
        return sum(min(pair) for pair in ends), sum(max(pair) for pair in ends)

    def row(self, row: Mapping[int, float], low: float, high: float, switch: int | None = None) -> None:
        """Add ``low <= sum(coefficient * column) <= high``; `row` has the coefficients by column."""
        if switch is None:
            self._rows.append((row, low, high))
            return
        least, most = self.extent(row)
        if least > high or most < low:
            self.refuse(switch)
        if most > high:
            self._rows.append(({**row, switch: most - high}, -math.inf, most))
        if least < low:
            self._rows.append(({**row, switch: least - low}, least, math.inf))

    def minimise(self, nodes: int) -> Optimum:
        """Minimise the cost.

        Parameters
        ----------
        nodes : int
            Most nodes of the search tree, so that the result does not depend on the clock.

        Notes
        -----
        The presolver is off: that of HiGHS 1.12 calls points optimal that are not (the tests compare with all
        points).
        """
        from scipy.optimize import Bounds, LinearConstraint, milp  # noqa: PLC0415 -- most runs do without
        from scipy.sparse import csr_array  # noqa: PLC0415 -- most runs do without

        entries = [(at, column, value) for at, (row, *_) in enumerate(self._rows) for column, value in row.items()]
        at, columns, values = (list(part) for part in zip(*entries, strict=True)) if entries else ([], [], [])
        matrix = csr_array((values, (at, columns)), shape=(len(self._rows), len(self.cost)))
        rows = LinearConstraint(matrix, [low for _, low, _ in self._rows], [high for *_, high in self._rows])
        with silence():
            result = milp(
                np.array(self.cost),
                integrality=np.array(self.whole, dtype=np.int64),
                bounds=Bounds(np.array(self.low), np.array(self.high)),
                constraints=rows if self._rows else None,
                options={"node_limit": nodes, "mip_rel_gap": GAP, "presolve": False},
            )
        return Optimum(result.x, bool(result.status == _INFEASIBLE))


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Send what C code prints to nowhere: HiGHS 1.12 writes a line of debugging that would spoil a result in JSON."""
    flush = getattr(ctypes.CDLL(None), "fflush", None) if os.name == "posix" else None
    if flush is None:
        yield
        return
    try:
        flush(None)
        kept = os.dup(_STDOUT)
    except OSError:  # there is no standard output that could be spoilt
        yield
        return
    try:
        with open(os.devnull, "wb") as nowhere:  # noqa: PTH123 -- a device, not a path of the user
            os.dup2(nowhere.fileno(), _STDOUT)
        yield
    finally:
        flush(None)
        os.dup2(kept, _STDOUT)
        os.close(kept)
