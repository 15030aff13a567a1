"""Projections on polyhedra: the compiled kernel and its twin in numpy against HiGHS, row by row.

Nothing here is a test of speed, but the points are compared: those of HiGHS minimise the same sum of squares, and a
difference ends the run. The polyhedra have 13 variables and 10 conditions, three of them equalities, one redundant.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

sys.path.insert(0, str(Path(__file__).parents[1] / "pipeline"))
from masktron.arrays import Floats
from masktron.kernels import nearest_point
from masktron.kernels.nearest_point import nearest_points
from masktron.settle.solver import silence

VARIABLES, CONDITIONS, EQUALITIES = 13, 10, 3
TWIN, PEER = 2_000, 200
"""Rows that the twin and HiGHS are given."""


def polyhedra(n: int) -> tuple[Floats, Floats, Floats]:
    """Return normals of length 1, what each row has of them at the origin, and slacks."""
    rng = np.random.default_rng(13)
    normals = rng.integers(-1, 2, (CONDITIONS, VARIABLES)).astype(float)
    normals[-1] = normals[-2] * 2
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    excess = rng.normal(size=(n, CONDITIONS))
    return normals[None], excess, np.full(excess.shape, 1e-10)


def linear_program(normals: Floats, excess: Floats) -> float:
    """Return the least sum of absolute moves, as searches of single groups have HiGHS find it."""
    whole = np.concatenate([normals, np.zeros_like(normals)], axis=1)
    eye = np.eye(VARIABLES)
    sizes = np.concatenate([np.concatenate([eye, -eye], axis=1), np.concatenate([-eye, -eye], axis=1)])
    low = np.concatenate(
        [np.where(np.arange(CONDITIONS) < EQUALITIES, -excess, -np.inf), np.full(len(sizes), -np.inf)]
    )
    high = np.concatenate([-excess, np.zeros(len(sizes))])
    with silence():
        found = milp(
            np.concatenate([np.zeros(VARIABLES), np.ones(VARIABLES)]),
            constraints=LinearConstraint(np.concatenate([whole, sizes]), low, high),
            bounds=Bounds(-np.inf, np.inf),
        )
    return float(found.fun)


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    rows = parser.parse_args().rows
    normals, excess, slack = polyhedra(max(rows, nearest_point.COMPILED_FROM))
    nearest_points(normals, excess[: nearest_point.COMPILED_FROM], slack[: nearest_point.COMPILED_FROM], EQUALITIES)
    start = time.process_time()
    moves, outcomes = nearest_points(normals, excess, slack, EQUALITIES)
    compiled = (time.process_time() - start) / len(excess)
    start = time.process_time()
    few, _ = nearest_points(normals, excess[:TWIN], slack[:TWIN], EQUALITIES)
    twin = (time.process_time() - start) / TWIN
    start = time.process_time()
    least = np.array([linear_program(normals[0], own) for own in excess[:PEER]])
    peer = (time.process_time() - start) / PEER
    if not np.allclose(few, moves[:TWIN], atol=1e-9) or (outcomes != nearest_point.ProjectionOutcome.FOUND).any():
        sys.exit("the kernel and its twin differ")
    sums = np.abs(moves[:PEER]).sum(axis=1)
    if (sums < least - 1e-6).any() or (sums > np.sqrt(VARIABLES) * least + 1e-6).any():
        sys.exit("the nearest points are none")
    print("| projection of one row, CPU | microseconds |\n| --- | ---: |")
    for name, seconds in (("compiled", compiled), ("numpy", twin), ("HiGHS, the linear program of a search", peer)):
        print(f"| {name} | {1e6 * seconds:,.1f} |")


if __name__ == "__main__":
    main()
