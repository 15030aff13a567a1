"""The nearest point of a polyhedron, for many rows at once: plain numpy for few, compiled code for many.

Each row asks for the shortest move y that satisfies ``normals @ y + excess = 0`` in its first conditions and ``<= 0``
in the others. The origin is the point that is projected, so that all numbers are of the size of the move.
"""

from __future__ import annotations

import math
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

COMPILED_FROM = 2_000
"""Rows from which it is worth loading compiled code; below, numpy takes a second at most."""
DEPENDENT = 1e-9
"""Length below which what is left of a normal, without the normals that are in force, counts as nothing."""
TINY = 1e-12
"""Multipliers below this are roundings of zero."""
STEPS = 50
"""Steps for each condition; a degenerate polyhedron could make the method go in circles."""


class Outcome(IntEnum):
    """What became of a row."""

    FOUND = 0
    INFEASIBLE = 1
    """Some conditions exclude each other."""
    UNRESOLVED = 2
    """The steps did not suffice, or roundings left some condition broken."""


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
        See `Outcome`.

    Notes
    -----
    The dual active-set method of Goldfarb and Idnani (1983) with the identity as matrix. Where it stops, the move is
    a combination of the normals in force, not negative for inequalities, and all conditions hold: these are the
    conditions of Karush, Kuhn and Tucker, which are sufficient as the problem is convex. A condition whose normal
    depends on those in force can be met only if one of them is given up; where none can be, the multipliers are a
    proof by Farkas that the conditions exclude each other. Redundant and repeated conditions never come in force.
    """
    if len(excess) >= COMPILED_FROM:
        from masktron.kernels.nearest_point_rows import project_rows  # noqa: PLC0415 -- numba is slow to load

        moves, outcomes = np.zeros((len(excess), normals.shape[2])), np.zeros(len(excess), dtype=np.int8)
        project_rows(normals, excess, slack, equal, moves, outcomes)
        return moves, outcomes
    rows = [nearest_point(normals[at % len(normals)], excess[at], slack[at], equal) for at in range(len(excess))]
    moves = np.array([move for move, _ in rows]).reshape(len(rows), normals.shape[2])
    return moves, np.array([outcome for _, outcome in rows], dtype=np.int8)


def nearest_point(
    normals: NDArray[np.float64], excess: NDArray[np.float64], slack: NDArray[np.float64], equal: int
) -> tuple[NDArray[np.float64], Outcome]:
    """Project the origin on one polyhedron; normals of shape (m, d), excess and slack of shape (m,)."""
    nothing = np.full(normals.shape[1], np.nan)
    force: list[int] = []
    for at in range(equal):
        rest = _rest(normals, force, at)[0]
        if np.linalg.norm(rest) > DEPENDENT:
            force.append(at)
    move = _foot(normals, excess, force)
    if (np.abs(excess + normals @ move)[:equal] > 4 * slack[:equal]).any():
        return nothing, Outcome.INFEASIBLE
    fixed = len(force)
    weights: list[float] = [0.0] * fixed
    for _ in range(STEPS * len(normals)):
        missed = excess + normals @ move - slack
        missed[:equal] = -math.inf
        missed[force] = -math.inf
        if not len(missed) or missed.max() <= 0:
            fine = (excess + normals @ move)[equal:] <= 4 * slack[equal:]
            return (move, Outcome.FOUND) if fine.all() else (nothing, Outcome.UNRESOLVED)
        if not _enforce(normals, excess, move, force, weights, fixed, int(missed.argmax())):
            return nothing, Outcome.INFEASIBLE
        move = _foot(normals, excess, force)
    return nothing, Outcome.UNRESOLVED


def _rest(normals: NDArray[np.float64], force: list[int], at: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Split a normal in what is independent of the normals in force, and its coefficients in terms of these."""
    if not force:
        return normals[at], np.empty(0)
    basis, triangle = np.linalg.qr(normals[force].T)
    rest = normals[at] - basis @ (basis.T @ normals[at])
    rest -= basis @ (basis.T @ rest)
    coefficients: NDArray[np.float64] = np.linalg.solve(triangle, basis.T @ normals[at])
    return rest, coefficients


def _foot(normals: NDArray[np.float64], excess: NDArray[np.float64], force: list[int]) -> NDArray[np.float64]:
    """Return the point nearest to the origin at which the conditions in force are equalities."""
    if not force:
        return np.zeros(normals.shape[1])
    basis, triangle = np.linalg.qr(normals[force].T)
    foot: NDArray[np.float64] = basis @ np.linalg.solve(triangle.T, -excess[force])
    return foot


def _enforce(
    normals: NDArray[np.float64],
    excess: NDArray[np.float64],
    move: NDArray[np.float64],
    force: list[int],
    weights: list[float],
    fixed: int,
    added: int,
) -> bool:
    """Bring a condition in force, giving up those that hold it back; False where that cannot be done."""
    weight = 0.0
    while True:
        rest, coefficients = _rest(normals, force, added)
        length = float(np.linalg.norm(rest))
        ratios = [(weights[at] / c, at) for at, c in enumerate(coefficients.tolist()) if at >= fixed and c > TINY]
        partial, leaving = min(ratios, default=(math.inf, -1))
        full = float(excess[added] + normals[added] @ move) / length**2 if length > DEPENDENT else math.inf
        step = min(partial, full)
        if step == math.inf:
            return False
        if length > DEPENDENT:
            move = move - step * rest
        weights[:] = [max(own - step * c, 0.0) for own, c in zip(weights, coefficients.tolist(), strict=True)]
        weight += step
        if full <= partial:
            force.append(added)
            weights.append(weight)
            return True
        del force[leaving], weights[leaving]
