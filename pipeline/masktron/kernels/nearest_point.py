"""The nearest point of a polyhedron, for many rows at once: plain numpy for few, compiled code for many.

Each row asks for the shortest move y that satisfies ``normals @ y + excess = 0`` in its first conditions and ``<= 0``
in the others. The origin is the point that is projected, so that all numbers are of the size of the move.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.compiling import is_compiled, kernel
from masktron.kernels.linear_algebra import orthogonal_triangular, product, times_inverse

_DEPENDENT = 1e-9
_TINY = 1e-12
_STEPS = 50
_FOUND, _INFEASIBLE, _UNRESOLVED = 0, 1, 2


class _Work(NamedTuple):
    """Working space of a row: conditions in force with their basis, triangle and weights; a normal that is split."""

    basis: NDArray[np.float64]
    triangle: NDArray[np.float64]
    force: NDArray[np.int64]
    inside: NDArray[np.bool_]
    weights: NDArray[np.float64]
    part: NDArray[np.float64]
    rest: NDArray[np.float64]


class _Row(NamedTuple):
    """The conditions of a row, the first `equal` of them equalities."""

    normals: NDArray[np.float64]
    excess: NDArray[np.float64]
    slack: NDArray[np.float64]
    equal: int


@kernel
def project_rows(
    normals: NDArray[np.float64],
    excess: NDArray[np.float64],
    slack: NDArray[np.float64],
    equal: int,
    moves: NDArray[np.float64],
    outcomes: NDArray[np.int8],
) -> None:
    """Fill in what `masktron.kernels.nearest_point.nearest_points` returns.

    Parameters
    ----------
    normals : ndarray of float64, shape (1, m, d) or (n, m, d)
    excess, slack : ndarray of float64, shape (n, m)
    equal : int
    moves : ndarray of float64, shape (n, d)
    outcomes : ndarray of int8, shape (n,)
    """
    m, d = normals.shape[1], normals.shape[2]
    work = _Work(
        np.zeros((d, d)),
        np.zeros((d, d)),
        np.zeros(d, np.int64),
        np.zeros(m, np.bool_),
        np.zeros(d),
        np.zeros(d),
        np.zeros(d),
    )
    for at in range(len(excess)):
        row = _Row(normals[at if len(normals) > 1 else 0], excess[at], slack[at], equal)
        outcomes[at] = _project(row, moves[at], work)
        if outcomes[at] != _FOUND:
            moves[at] = np.nan


@kernel
def _project(row: _Row, move: NDArray[np.float64], work: _Work) -> int:
    """Project one row."""
    work.inside[:] = False
    fixed = 0
    for at in range(row.equal):
        length = _split(row.normals[at], fixed, work)
        if length > _DEPENDENT:
            fixed = _append(at, fixed, length, 0.0, work)
    _foot(row.excess, fixed, move, work)
    for at in range(row.equal):
        if abs(_left(row, at, move)) > 4 * row.slack[at]:
            return _INFEASIBLE
    count = fixed
    for _ in range(_STEPS * len(row.excess)):
        added = _worst(row, move, work)
        if added < 0:
            return _FOUND if _holds(row, move) else _UNRESOLVED
        count = _enforce(row, added, fixed, count, move, work)
        if count < 0:
            return _INFEASIBLE
        _foot(row.excess, count, move, work)
    return _UNRESOLVED


@kernel
def _worst(row: _Row, move: NDArray[np.float64], work: _Work) -> int:
    """Return the inequality that is missed by most; -1 where all hold."""
    found, most = -1, 0.0
    for at in range(row.equal, len(row.excess)):
        if not work.inside[at]:
            missed = _left(row, at, move) - row.slack[at]
            if missed > most:
                found, most = at, missed
    return found


@kernel
def _enforce(row: _Row, added: int, fixed: int, count: int, move: NDArray[np.float64], work: _Work) -> int:
    """Bring a condition in force, giving up those that hold it back; return how many are in force then, or -1."""
    weight = 0.0
    while True:
        length = _split(row.normals[added], count, work)
        full = math.inf
        if length > _DEPENDENT:
            full = _left(row, added, move) / (length * length)
        leaving, partial = _leaving(fixed, count, work)
        step = min(partial, full)
        if step == math.inf:
            return -1
        if length > _DEPENDENT:
            for j in range(len(move)):
                move[j] -= step * work.rest[j]
        for at in range(count):
            work.weights[at] = max(work.weights[at] - step * work.part[at], 0.0)
        weight += step
        if full <= partial:
            # `_leaving` has put the coefficients of the normal in the place of its part
            length = _split(row.normals[added], count, work)
            return _append(added, count, length, weight, work)
        count = _remove(row.normals, leaving, count, work)


@kernel
def _left(row: _Row, at: int, move: NDArray[np.float64]) -> float:
    """Return the left side of a condition."""
    return float(row.excess[at] + _inner(row.normals[at], move))


@kernel
def _holds(row: _Row, move: NDArray[np.float64]) -> bool:
    fine = True
    for at in range(row.equal, len(row.excess)):
        fine = fine and _left(row, at, move) <= 4 * row.slack[at]
    return fine


@kernel
def _split(normal: NDArray[np.float64], count: int, work: _Work) -> float:
    """Put the inner products of a normal with the basis in `part`, what is independent in `rest`; return its length.

    Twice is enough for orthogonality to rounding (Kahan and Parlett).
    """
    rest, part = work.rest, work.part
    rest[:] = normal
    part[:count] = 0.0
    for _ in range(2):
        for i in range(count):
            inner = _inner(work.basis[i], rest)
            part[i] += inner
            for j in range(len(normal)):
                rest[j] -= inner * work.basis[i, j]
    return math.sqrt(_inner(rest, rest))


@kernel
def _append(added: int, count: int, length: float, weight: float, work: _Work) -> int:
    """Bring the normal that was split in force."""
    work.triangle[:count, count] = work.part[:count]
    work.triangle[count, count] = length
    for j in range(len(work.rest)):
        work.basis[count, j] = work.rest[j] / length
    work.force[count] = added
    work.inside[added] = True
    work.weights[count] = weight
    return count + 1


@kernel
def _remove(normals: NDArray[np.float64], leaving: int, count: int, work: _Work) -> int:
    """Give a condition up; the basis is made anew from there on."""
    work.inside[work.force[leaving]] = False
    for at in range(leaving, count - 1):
        work.force[at], work.weights[at] = work.force[at + 1], work.weights[at + 1]
    now = leaving
    for at in range(leaving, count - 1):
        length = _split(normals[work.force[at]], now, work)
        now = _append(work.force[at], now, length, work.weights[at], work)
    return now


@kernel
def _leaving(fixed: int, count: int, work: _Work) -> tuple[int, float]:
    """Solve for the coefficients of a normal, in place; return who has to leave first, and after which step."""
    part, triangle = work.part, work.triangle
    for i in range(count - 1, -1, -1):
        for j in range(i + 1, count):
            part[i] -= triangle[i, j] * part[j]
        part[i] /= triangle[i, i]
    leaving, partial = -1, math.inf
    for at in range(fixed, count):
        if part[at] > _TINY and work.weights[at] / part[at] < partial:
            leaving, partial = at, work.weights[at] / part[at]
    return leaving, partial


@kernel
def _foot(excess: NDArray[np.float64], count: int, move: NDArray[np.float64], work: _Work) -> None:
    """Put the point nearest to the origin at which the conditions in force are equalities in `move`."""
    move[:] = 0.0
    for i in range(count):
        inner = -excess[work.force[i]]
        for at in range(i):
            # basis . move is what the earlier ones have given so far
            inner -= work.triangle[at, i] * _inner(work.basis[at], move)
        inner /= work.triangle[i, i]
        for j in range(len(move)):
            move[j] += inner * work.basis[i, j]


@kernel
def _inner(one: NDArray[np.float64], two: NDArray[np.float64]) -> float:
    total = 0.0
    for j in range(len(one)):
        total += one[j] * two[j]
    return total


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

    The twin of `masktron.kernels.nearest_point` in plain numpy.
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
