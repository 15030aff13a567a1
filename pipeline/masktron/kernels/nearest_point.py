"""The nearest point of a polyhedron, for many rows at once: plain numpy for few, compiled code for many.

Each row asks for the shortest move y that satisfies ``normals @ y + excess = 0`` in its first conditions and ``<= 0``
in the others. The origin is the point that is projected, so that all numbers are of the size of the move.
"""

from __future__ import annotations

import math
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.compiling import is_compiled
from masktron.kernels.linear_algebra import orthogonal_triangular, product, times_inverse
from masktron.kernels.nearest_point_rows import project_rows

COMPILED_FROM = 20_000
"""Rows from which it is worth loading compiled code; below, numpy takes a second or two."""
COMMON = 10
"""Rows with normals of their own cost numpy so many times as much."""
DEPENDENT = 1e-9
"""Length below which what is left of a normal, without the normals that are in force, counts as nothing."""
TINY = 1e-12
"""Multipliers below this are roundings of zero."""
STEPS = 50
"""Steps for each condition; a degenerate polyhedron could make the method go in circles."""


_NEVER = (math.inf, -1)


class ProjectionOutcome(IntEnum):
    """What became of a row."""

    FOUND = 0
    INFEASIBLE = 1
    """Some conditions exclude each other."""
    UNRESOLVED = 2
    """The steps did not suffice, or roundings left some condition broken."""


def compiles_first(n: int) -> bool:
    """Tell whether projections of n rows may have to wait for code to be compiled."""
    return n >= COMPILED_FROM // COMMON and not rows_ready()


def rows_ready() -> bool:
    """Tell whether compiled code is at hand."""
    return is_compiled(project_rows)


def compile_rows() -> None:
    """Compile what many rows take, on one."""
    one = np.zeros((1, 1))
    project_rows(np.ones((1, 1, 1)), one, one, 0, one.copy(), np.zeros(1, dtype=np.int8))


def nearest_points(
    normals: NDArray[np.float64], excess: NDArray[np.float64], slack: NDArray[np.float64], equal: int
) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """Project the origin on a polyhedron of each row.

    Parameters
    ----------
    normals : ndarray of float64, shape (1, m, d) or (n, m, d)
        Of length 1, or 0 where a condition asks nothing of the point; one matrix for all rows, or one for each.
    excess : ndarray of float64, shape (n, m)
        Left sides at the origin.
    slack : ndarray of float64, shape (n, m)
        By how much a condition may be missed, above the rounding error of its left side.
    equal : int
        How many of the conditions, the first ones, are equalities.

    Returns
    -------
    moves : ndarray of float64, shape (n, d)
        NaN where there is none.
    outcomes : ndarray of int8, shape (n,)
        See `ProjectionOutcome`.

    Notes
    -----
    The dual active-set method of Goldfarb and Idnani (1983) with the identity as matrix. Where it stops, the move is
    a combination of the normals in force, not negative for inequalities, and all conditions hold: these are the
    conditions of Karush, Kuhn and Tucker, which are sufficient as the problem is convex. A condition whose normal
    depends on those in force can be met only if one of them is given up; where none can be, the multipliers are a
    proof by Farkas that the conditions exclude each other. Redundant and repeated conditions never come in force.
    """
    if len(excess) >= (COMPILED_FROM if len(normals) == 1 else COMPILED_FROM // COMMON):
        moves, outcomes = np.zeros((len(excess), normals.shape[2])), np.zeros(len(excess), dtype=np.int8)
        project_rows(normals, excess, slack, equal, moves, outcomes)
        return moves, outcomes
    made = [_Conditions(own, equal) for own in normals]
    rows = [made[at % len(made)].project(excess[at], slack[at]) for at in range(len(excess))]
    moves = np.array([move for move, _ in rows]).reshape(len(rows), normals.shape[2])
    return moves, np.array([outcome for _, outcome in rows], dtype=np.int8)


class _Conditions:
    """The conditions of rows that share their normals, and what is known of sets of them: rows often end in the same.

    The twin of `masktron.kernels.nearest_point_rows` in plain numpy.
    """

    def __init__(self, normals: NDArray[np.float64], equal: int) -> None:
        self._normals = normals
        self._equal = equal
        self._feet: dict[tuple[int, ...], NDArray[np.float64]] = {}
        self._splits: dict[tuple[int, ...], tuple[NDArray[np.float64], NDArray[np.float64], float]] = {}
        fixed: tuple[int, ...] = ()
        for at in range(equal):
            if self._split(fixed, at)[2] > DEPENDENT:
                fixed = (*fixed, at)
        self._fixed = fixed

    def project(
        self, excess: NDArray[np.float64], slack: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], ProjectionOutcome]:
        """Project the origin on the polyhedron of one row; excess and slack of shape (m,)."""
        normals, equal = self._normals, self._equal
        nothing = np.full(normals.shape[1], np.nan)
        force, weights = list(self._fixed), [0.0] * len(self._fixed)
        move = self._foot(excess, force)
        if (np.abs(excess + _times(normals, move))[:equal] > 4 * slack[:equal]).any():
            return nothing, ProjectionOutcome.INFEASIBLE
        for _ in range(STEPS * len(excess)):
            left = excess + _times(normals, move)
            missed = left - slack
            missed[:equal] = missed[force] = -math.inf
            added = int(missed.argmax())
            if missed[added] <= 0:
                fine = bool((left[equal:] <= 4 * slack[equal:]).all())
                return (move, ProjectionOutcome.FOUND) if fine else (nothing, ProjectionOutcome.UNRESOLVED)
            if not self._enforce(added, float(left[added]), force, weights):
                return nothing, ProjectionOutcome.INFEASIBLE
            move = self._foot(excess, force)
        return nothing, ProjectionOutcome.UNRESOLVED

    def _enforce(self, added: int, left: float, force: list[int], weights: list[float]) -> bool:
        """Bring a condition in force, giving up those that hold it back; False where that cannot be done."""
        weight = 0.0
        while True:
            _, coefficients, length = self._split(tuple(force), added)
            shares = coefficients.tolist()
            free = range(len(self._fixed), len(force))
            partial, leaving = min(
                ((weights[at] / shares[at], at) for at in free if shares[at] > TINY), default=_NEVER
            )
            full = left / length**2 if length > DEPENDENT else math.inf
            step = min(partial, full)
            if step == math.inf:
                return False
            left -= step * length**2 if length > DEPENDENT else 0.0
            weights[:] = [max(own - step * share, 0.0) for own, share in zip(weights, shares, strict=True)]
            weight += step
            if full <= partial:
                force.append(added)
                weights.append(weight)
                return True
            del force[leaving], weights[leaving]

    def _split(self, force: tuple[int, ...], at: int) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """What of a normal is independent of those in force, its coefficients in them, and the length of that."""
        if (*force, at) not in self._splits:
            normal, others = self._normals[at], self._normals[list(force)]
            basis, triangle = orthogonal_triangular(others.T)
            column = normal[:, None]
            along = product(basis.T, column)
            rest = column - product(basis, along)
            rest = (rest - product(basis, product(basis.T, rest)))[:, 0]
            shares = times_inverse(along.T, triangle.T)[0]
            self._splits[*force, at] = rest, shares, float(np.sqrt(np.square(rest).sum()))
        return self._splits[*force, at]

    def _foot(self, excess: NDArray[np.float64], force: list[int]) -> NDArray[np.float64]:
        """Return the point nearest to the origin at which the conditions in force are equalities."""
        key = tuple(force)
        if key not in self._feet:
            basis, triangle = orthogonal_triangular(self._normals[force].T)
            self._feet[key] = -times_inverse(basis, triangle.T)
        return _times(self._feet[key], excess[force])


def _times(matrix: NDArray[np.float64], vector: NDArray[np.float64]) -> NDArray[np.float64]:
    """Multiply without BLAS: which condition is missed most must not depend on the processor."""
    return np.asarray((matrix * vector).sum(axis=1))
