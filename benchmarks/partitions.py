"""Partitions of many records: MDAV through the compiled tree, the univariate optimum, cuts, and other methods.

Nothing here is a test: absolute times say more about the machine than about masktron. Brute force gives the same
partition, which is compared wherever it is run: up to a size that it can bear, beyond which it takes minutes, and
four times as long for twice the records. Growth is that of the tree, from each size to the next. The data are a
mixture of lognormals with a rounded and a tied column, those of one variable are lognormal and rounded.
"""

from __future__ import annotations

import argparse
import math
import resource
import sys
import time
from collections.abc import Callable
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Labels
from masktron.kernels.mdav import brute_force, mdav
from masktron.kernels.standardise import standardised
from masktron.kernels.univariate import univariate
from masktron.measures.information_loss import information_loss
from masktron.methods.crest import CrestMethod
from masktron.methods.mst import MstMethod
from masktron.methods.mu_approx import MuApproxMethod
from masktron.methods.t_closeness import TClosenessMethod
from masktron.methods.univariate import UnivariateMethod
from masktron.partitions.kdcut import Cuts
from masktron.partitions.partitioner import Partitioner

type Points = NDArray[np.float64]

BEARABLE = 100_000
"""Records up to which brute force is run: a minute at most."""
MOST = 100_000
"""Records of a block in the rows of cuts."""
MEMORY = 2**20 if sys.platform == "darwin" else 2**10


def lognormals(n: int, d: int) -> Points:
    """Standardised records."""
    rng = np.random.default_rng(d)
    logs = rng.normal(size=(3, d))[rng.integers(0, 3, n)] + rng.normal(0, 0.7, (n, d))
    points = np.exp(logs)
    points[:, 0] = np.round(points[:, 0] * 10)
    if d > 3:
        points[:, 1] = np.round(points[:, 1])
    return np.ascontiguousarray(standardised(points))


def loss(points: Points, labels: Labels) -> float:
    """Return 100 SSE/SST when groups get their means."""
    sizes = np.bincount(labels)
    means = np.stack([np.bincount(labels, column) / sizes for column in points.T], axis=1)
    return information_loss(points, means[labels])


def timed(partition: Callable[[Points, int], Labels], points: Points, k: int) -> tuple[float, Labels]:
    """Return CPU seconds and labels."""
    start = time.process_time()
    labels = partition(points, k)
    return time.process_time() - start, labels


def row(*cells: object) -> None:
    """Print a line of a table."""
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def head(title: str, *names: str) -> None:
    """Print the first lines of a table."""
    print(f"\n{title}\n")
    row(*names)
    row(*("---" for _ in names))


def tree(n: int, d: int, k: int) -> float:
    """Print a row of MDAV and return the seconds of the tree."""
    points = lognormals(n, d)
    seconds, labels = timed(lambda points, k: mdav(points, k, of=10**9), points, k)
    slow = ratio = ""
    if n <= BEARABLE:
        brute, expected = timed(brute_force, points, k)
        slow, ratio = f"{brute:.2f}", f"{brute / seconds:.0f} x"
        if (labels != expected).any():
            raise SystemExit(f"the tree and brute force differ: n = {n}, d = {d}, k = {k}")
    row(f"{n:,}", d, k, f"{seconds:.3f}", slow, ratio, f"{loss(points, labels):.3f}", peak())
    return seconds


def cut(n: int, d: int, k: int, whole: bool) -> None:
    """Print a row of a cut into blocks, beside the partition without one."""
    points = lognormals(n, d)
    seconds, labels = timed(Partitioner(MOST), points, k)
    cuts = Cuts()
    estimating, _ = timed(Partitioner(MOST, cuts=cuts), points, k)
    done = cuts.largest()
    if done is None:
        raise SystemExit(f"{n} records were not cut")
    own = loss(points, labels)
    costs = f"{own - loss(points, mdav(points, k)):.3f}" if whole else ""
    estimate = f"{done.loss(float(np.square(points).sum())):.3f}"
    row(f"{n:,}", d, k, done.blocks, f"{seconds:.2f}", f"{own:.3f}", costs, estimate, f"{estimating:.2f}")


def single(n: int, k: int) -> None:
    """Print a row of the univariate optimum, beside MDAV."""
    values = np.round(np.exp(np.random.default_rng(1).normal(size=n)) * 1000)
    points = standardised(values[:, None])
    seconds, labels = timed(lambda points, k: univariate(points[:, 0], k), points, k)
    by_mdav, others = timed(lambda points, k: mdav(points, k, of=10**9), points, k)
    row(f"{n:,}", k, f"{seconds:.3f}", f"{loss(points, labels):.3g}", f"{by_mdav:.3f}", f"{loss(points, others):.3g}")


def beside(n: int, d: int, k: int) -> None:
    """Print a row for each other method: time and loss beside MDAV through the tree."""
    points = lognormals(n, d)
    by_mdav, expected = timed(lambda points, k: mdav(points, k, of=10**9), points, k)
    own = loss(points, expected)
    classes = np.random.default_rng(2).integers(0, 3, (n, 1))
    for method in (
        MuApproxMethod(k),
        MstMethod(k),
        TClosenessMethod(k),
        CrestMethod(k, alpha=1.0),
        CrestMethod(k),
        UnivariateMethod(k),
    ):
        seconds, labels = timed(lambda points, _, one=method: one.partition(points, classes=classes), points, k)  # type: ignore[misc]
        lost = loss(points, labels)
        times = f"{seconds:.3f}", f"{seconds / by_mdav:.1f} x", f"{lost:.3f}", f"{lost / own:.2f} x"
        name = f"{method.name}, partial" if getattr(method, "alpha", None) == 1.0 else method.name
        row(name, f"{n:,}", d, k, *times, np.bincount(labels).max())


def others(dimensions: list[int], ks: list[int]) -> None:
    """Print the table of the other methods."""
    # code is loaded before it is timed
    for method in (MstMethod(), MuApproxMethod(), CrestMethod()):
        method.partition(lognormals(10_000, 3), classes=np.zeros((10_000, 1), dtype=np.intp))
    head(
        "Other methods, and how much more they take and lose than MDAV",
        "method", "records", "variables", "k", "CPU seconds", "ratio", "information loss, %", "ratio", "largest",
    )  # fmt: skip
    for d, k, n in product(dimensions, ks, (2_000, 20_000)):
        beside(n, d, k)


def peak() -> str:
    """Return the most memory that the process has had so far."""
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MEMORY:.0f}"


def numbers(text: str) -> list[int]:
    """Read a list with commas."""
    return [int(part) for part in text.split(",")]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--scale", type=int, default=1, help="10 for a million records, 30 for three millions as well"
    )
    parser.add_argument("--dimensions", type=numbers, default=[3, 6, 13], help="for example 3,6")
    parser.add_argument("--k", type=numbers, default=[3, 5, 10], help="for example 5")
    given = parser.parse_args()
    sizes = [n for n in (10_000, 100_000, 1_000_000, 3_000_000) if n <= max(given.scale, 1) * 100_000]
    for warm in (3, 1):
        mdav(lognormals(300, warm), 3, of=10**9)
    univariate(np.zeros(30_000), 3)
    head(
        "MDAV through the tree, one core; brute force gives the same partition",
        "records", "variables", "k", "CPU seconds", "brute force", "ratio", "information loss, %", "peak so far, MB",
    )  # fmt: skip
    growth = []
    for d in given.dimensions:
        for k in given.k:
            seconds = [tree(n, d, k) for n in sizes]
            steps = zip(pairwise(sizes), pairwise(seconds), strict=True)
            growth.append((d, k, [math.log(t1 / t0) / math.log(n1 / n0) for (n0, n1), (t0, t1) in steps]))
    print("\nGrowth exponents, from each size to the next:")
    for d, k, exponents in growth:
        print(f"  d = {d:2}, k = {k:2}: " + ", ".join(f"{exponent:.2f}" for exponent in exponents))
    head("One variable", "records", "k", "optimum, s", "its loss, %", "MDAV, s", "its loss, %")
    for n in sizes:
        for k in given.k:
            single(n, k)
    others(given.dimensions, given.k)
    if sizes[-1] > MOST:
        head(
            f"Cut into blocks of at most {MOST:,} records",
            "records", "variables", "k", "blocks", "CPU seconds", "information loss, %", "costs, % points",
            "as estimated", "seconds with the estimate",
        )  # fmt: skip
        for d in given.dimensions:
            for k in given.k:
                for n in (n for n in sizes if n > MOST):
                    cut(n, d, k, whole=n <= 10 * MOST and d < 13)
    print(f"\npeak memory {peak()} MB")


if __name__ == "__main__":
    main()
