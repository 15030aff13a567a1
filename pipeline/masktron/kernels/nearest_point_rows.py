"""The rows of `masktron.kernels.nearest_point`, compiled: the same method, one row after another.

The normals in force are kept as an orthonormal basis and a triangle: ``normal[j] = sum(basis[i] * triangle[i, j])``.
All compiled functions stand in this one module, since numba renews its cache only where the module of the function
that is called has changed.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.compiling import kernel

_DEPENDENT = 1e-9
_TINY = 1e-12
_STEPS = 50
_FOUND, _INFEASIBLE, _UNRESOLVED = 0, 1, 2


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
    basis, triangle = np.zeros((d, d)), np.zeros((d, d))
    force, weights = np.zeros(d, np.int64), np.zeros(d)
    inside = np.zeros(m, np.bool_)
    part, rest = np.zeros(d), np.zeros(d)
    for row in range(len(excess)):
        own = normals[row if len(normals) > 1 else 0]
        move = moves[row]
        inside[:] = False
        outcomes[row] = _project(
            own, excess[row], slack[row], equal, move, basis, triangle, force, weights, inside, part, rest
        )
        if outcomes[row] != _FOUND:
            move[:] = np.nan


@kernel
def _project(
    normals: NDArray[np.float64],
    excess: NDArray[np.float64],
    slack: NDArray[np.float64],
    equal: int,
    move: NDArray[np.float64],
    basis: NDArray[np.float64],
    triangle: NDArray[np.float64],
    force: NDArray[np.int64],
    weights: NDArray[np.float64],
    inside: NDArray[np.bool_],
    part: NDArray[np.float64],
    rest: NDArray[np.float64],
) -> int:
    """Project one row; the arrays after `move` are its working space."""
    count = 0
    for at in range(equal):
        length = _split(normals[at], basis, count, part, rest)
        if length > _DEPENDENT:
            count = _append(basis, triangle, force, inside, at, count, part, rest, length)
            weights[count - 1] = 0.0
    _foot(excess, basis, triangle, force, count, move)
    for at in range(equal):
        if abs(_left(normals[at], excess[at], move)) > 4 * slack[at]:
            return _INFEASIBLE
    fixed = count
    m = len(excess)
    for _ in range(_STEPS * m):
        added, worst = -1, 0.0
        for at in range(equal, m):
            if not inside[at]:
                missed = _left(normals[at], excess[at], move) - slack[at]
                if missed > worst:
                    added, worst = at, missed
        if added < 0:
            return _FOUND if _holds(normals, excess, slack, equal, move) else _UNRESOLVED
        weight = 0.0
        while True:
            length = _split(normals[added], basis, count, part, rest)
            leaving, partial = _leaving(triangle, weights, part, count, fixed)
            full = math.inf
            if length > _DEPENDENT:
                full = _left(normals[added], excess[added], move) / (length * length)
            step = min(partial, full)
            if step == math.inf:
                return _INFEASIBLE
            if length > _DEPENDENT:
                for j in range(len(move)):
                    move[j] -= step * rest[j]
            # `_leaving` has turned the part of the normal into its coefficients
            for at in range(count):
                weights[at] = max(weights[at] - step * part[at], 0.0)
            weight += step
            if full <= partial:
                length = _split(normals[added], basis, count, part, rest)
                count = _append(basis, triangle, force, inside, added, count, part, rest, length)
                weights[count - 1] = weight
                break
            count = _remove(normals, basis, triangle, force, weights, inside, leaving, count, part, rest)
        _foot(excess, basis, triangle, force, count, move)
    return _UNRESOLVED


@kernel
def _left(normal: NDArray[np.float64], excess: float, move: NDArray[np.float64]) -> float:
    """Return the left side of a condition."""
    total = excess
    for j in range(len(move)):
        total += normal[j] * move[j]
    return total


@kernel
def _holds(
    normals: NDArray[np.float64],
    excess: NDArray[np.float64],
    slack: NDArray[np.float64],
    equal: int,
    move: NDArray[np.float64],
) -> bool:
    for at in range(equal, len(excess)):
        if _left(normals[at], excess[at], move) > 4 * slack[at]:
            return False
    return True


@kernel
def _split(
    normal: NDArray[np.float64],
    basis: NDArray[np.float64],
    count: int,
    part: NDArray[np.float64],
    rest: NDArray[np.float64],
) -> float:
    """Put the inner products of a normal with the basis in `part`, what is independent in `rest`; return its length.

    Twice is enough for orthogonality to rounding (Kahan and Parlett).
    """
    rest[:] = normal
    part[:count] = 0.0
    for _ in range(2):
        for i in range(count):
            inner = 0.0
            for j in range(len(normal)):
                inner += basis[i, j] * rest[j]
            part[i] += inner
            for j in range(len(normal)):
                rest[j] -= inner * basis[i, j]
    square = 0.0
    for j in range(len(normal)):
        square += rest[j] * rest[j]
    return math.sqrt(square)


@kernel
def _append(
    basis: NDArray[np.float64],
    triangle: NDArray[np.float64],
    force: NDArray[np.int64],
    inside: NDArray[np.bool_],
    added: int,
    count: int,
    part: NDArray[np.float64],
    rest: NDArray[np.float64],
    length: float,
) -> int:
    triangle[:count, count] = part[:count]
    triangle[count, count] = length
    for j in range(len(rest)):
        basis[count, j] = rest[j] / length
    force[count] = added
    inside[added] = True
    return count + 1


@kernel
def _remove(
    normals: NDArray[np.float64],
    basis: NDArray[np.float64],
    triangle: NDArray[np.float64],
    force: NDArray[np.int64],
    weights: NDArray[np.float64],
    inside: NDArray[np.bool_],
    leaving: int,
    count: int,
    part: NDArray[np.float64],
    rest: NDArray[np.float64],
) -> int:
    """Give a condition up; the basis is made anew from there on."""
    inside[force[leaving]] = False
    for at in range(leaving, count - 1):
        force[at], weights[at] = force[at + 1], weights[at + 1]
    now = leaving
    for at in range(leaving, count - 1):
        length = _split(normals[force[at]], basis, now, part, rest)
        now = _append(basis, triangle, force, inside, force[at], now, part, rest, length)
    return now


@kernel
def _leaving(
    triangle: NDArray[np.float64], weights: NDArray[np.float64], part: NDArray[np.float64], count: int, fixed: int
) -> tuple[int, float]:
    """Solve for the coefficients of a normal, in place; return who has to leave first, and after which step."""
    for i in range(count - 1, -1, -1):
        for j in range(i + 1, count):
            part[i] -= triangle[i, j] * part[j]
        part[i] /= triangle[i, i]
    leaving, partial = -1, math.inf
    for at in range(fixed, count):
        if part[at] > _TINY and weights[at] / part[at] < partial:
            leaving, partial = at, weights[at] / part[at]
    return leaving, partial


@kernel
def _foot(
    excess: NDArray[np.float64],
    basis: NDArray[np.float64],
    triangle: NDArray[np.float64],
    force: NDArray[np.int64],
    count: int,
    move: NDArray[np.float64],
) -> None:
    """Put the point nearest to the origin at which the conditions in force are equalities in `move`."""
    move[:] = 0.0
    for i in range(count):
        inner = -excess[force[i]]
        for at in range(i):
            # basis . move is what the earlier ones have given so far
            inner -= triangle[at, i] * _inner(basis[at], move)
        inner /= triangle[i, i]
        for j in range(len(move)):
            move[j] += inner * basis[i, j]


@kernel
def _inner(one: NDArray[np.float64], two: NDArray[np.float64]) -> float:
    total = 0.0
    for j in range(len(one)):
        total += one[j] * two[j]
    return total
