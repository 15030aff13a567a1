"""Projections on polyhedra: optimal by the conditions of Karush, Kuhn and Tucker, infeasible by a linear program."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog, nnls

from examples import examples
from masktron.arrays import Floats
from masktron.kernels.nearest_point import ProjectionOutcome, nearest_points, project_rows


def compiled(normals: Floats, excess: Floats, slack: Floats, equal: int) -> tuple[Floats, ProjectionOutcome]:
    moves, outcomes = np.zeros((1, normals.shape[1])), np.zeros(1, dtype=np.int8)
    project_rows(normals[None], excess[None], slack[None], equal, moves, outcomes)
    return moves[0], ProjectionOutcome(int(outcomes[0]))


def plain(normals: Floats, excess: Floats, slack: Floats, equal: int) -> tuple[Floats, ProjectionOutcome]:
    moves, outcomes = nearest_points(normals[None], excess[None], slack[None], equal)
    return moves[0], ProjectionOutcome(int(outcomes[0]))


WAYS = (plain, compiled)


@st.composite
def polyhedra(draw: st.DrawFn) -> tuple[Floats, Floats, int]:
    """Rows with small whole coefficients, some repeated, scaled, opposite, sums of others, or empty."""
    d = draw(st.integers(1, 6))
    rows = draw(st.lists(st.lists(st.integers(-3, 3), min_size=d, max_size=d), min_size=1, max_size=6))
    bounds = draw(st.lists(st.integers(-20, 20), min_size=len(rows), max_size=len(rows)))
    pairs = list(zip(rows, bounds, strict=True))
    for _ in range(draw(st.integers(0, 4))):
        one, two = (pairs[draw(st.integers(0, len(pairs) - 1))] for _ in range(2))
        factor = draw(st.sampled_from([-1, 0, 1, 2]))
        shift = draw(st.sampled_from([-1, 0, 0, 0, 2]))
        pairs.append(
            ([a + factor * b for a, b in zip(one[0], two[0], strict=True)], one[1] + factor * two[1] + shift)
        )
    order = draw(st.permutations(range(len(pairs))))
    normals = np.array([pairs[at][0] for at in order], dtype=np.float64)
    excess = np.array([pairs[at][1] for at in order], dtype=np.float64)
    return normals, excess, draw(st.integers(0, min(3, len(pairs))))


def unit(normals: Floats, excess: Floats) -> tuple[Floats, Floats, Floats]:
    lengths = np.linalg.norm(normals, axis=1)
    lengths = np.where(lengths > 0, lengths, 1.0)
    return normals / lengths[:, None], excess / lengths, np.full(len(excess), 1e-10)


def feasible(normals: Floats, excess: Floats, equal: int) -> bool:
    found = linprog(
        np.zeros(normals.shape[1]),
        A_eq=normals[:equal] if equal else None,
        b_eq=-excess[:equal] if equal else None,
        A_ub=normals[equal:] if equal < len(excess) else None,
        b_ub=-excess[equal:] if equal < len(excess) else None,
        bounds=(None, None),
    )
    assert found.status in {0, 2}
    return bool(found.status == 0)


def optimal(normals: Floats, excess: Floats, equal: int, move: Floats) -> bool:
    """Whether a point holds all conditions and is minus a combination of the normals that are met with equality."""
    left = normals @ move + excess
    size = 1e-7 * (1 + np.abs(move).max())
    if (np.abs(left[:equal]) > size).any() or (left[equal:] > size).any():
        return False
    tight = equal + np.flatnonzero(left[equal:] > -size)
    columns = np.concatenate([normals[:equal], -normals[:equal], normals[tight], np.zeros((1, len(move)))])
    return bool(nnls(columns.T, -move)[1] <= size)


@pytest.mark.parametrize("project", WAYS, ids=lambda way: way.__name__)
@examples(30, full=150)
@given(polyhedra())
def test_what_is_found_is_optimal_and_what_is_not_does_not_exist(
    project: type[None], polyhedron: tuple[Floats, Floats, int]
) -> None:
    normals, excess, equal = polyhedron
    move, outcome = project(*unit(normals, excess), equal)
    exists = feasible(normals, excess, equal)
    assert outcome == (ProjectionOutcome.FOUND if exists else ProjectionOutcome.INFEASIBLE)
    if exists:
        assert optimal(*unit(normals, excess)[:2], equal, move)
    else:
        assert np.isnan(move).all()
