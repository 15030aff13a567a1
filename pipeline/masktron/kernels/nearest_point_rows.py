"""The rows of `masktron.kernels.nearest_point`, compiled: the same method, one row after another.

The normals in force are kept as an orthonormal basis and a triangle: ``normal[j] = sum(basis[i] * triangle[i, j])``.
All compiled functions stand in this one module, since numba renews its cache only where the module of the function
that is called has changed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.compiling import kernel

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
