"""MDAV through the tree against brute force, in one run on one machine: part of `make bench`.

Nothing here is a test: absolute times say more about the machine than about masktron. Both give the same partition,
which is compared wherever both are run; brute force is run up to a size that it can bear. Growth is that of the tree,
from each size to the next. The data are a mixture of lognormals with a rounded and a tied column.
"""

from __future__ import annotations

import argparse
import math
import resource
import time
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.mdav import brute_force
from masktron.kernels.mdav_tree import mdav_tree
from masktron.kernels.standardise import standardised
from masktron.measures.information_loss import information_loss

BEARABLE = 20_000
"""Records up to which brute force takes seconds."""


def lognormals(n: int, d: int) -> NDArray[np.float64]:
    """Standardised records."""
    rng = np.random.default_rng(d)
    logs = rng.normal(size=(3, d))[rng.integers(0, 3, n)] + rng.normal(0, 0.7, (n, d))
    points = np.exp(logs)
    points[:, 0] = np.round(points[:, 0] * 10)
    if d > 3:
        points[:, 1] = np.round(points[:, 1])
    return np.ascontiguousarray(standardised(points))


def loss(points: NDArray[np.float64], labels: NDArray[np.intp]) -> float:
    """Return 100 SSE/SST when groups get their means; the fewer than 3k last records are one group."""
    labels = np.where(labels < 0, labels.max() + 1, labels)
    sizes = np.bincount(labels)
    means = np.stack([np.bincount(labels, column) / sizes for column in points.T], axis=1)
    return information_loss(points, means[labels])


def row(n: int, d: int, k: int) -> float:
    """Print a line of the table and return the seconds of the tree."""
    points = lognormals(n, d)
    start = time.process_time()
    labels, _ = mdav_tree(points, k)
    seconds = time.process_time() - start
    against = ""
    if n <= BEARABLE:
        start = time.process_time()
        slow = brute_force(points, k)
        against = f"{(time.process_time() - start) / seconds:.0f} x"
        if (slow[labels >= 0] != labels[labels >= 0]).any():
            raise SystemExit(f"the tree and brute force differ: n = {n}, d = {d}, k = {k}")
    print(f"| {n:,} | {d} | {k} | {seconds:.2f} | {against} | {loss(points, labels):.2f} |", flush=True)
    return seconds


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--scale", type=int, default=1, help="10 for a million records")
    scale = parser.parse_args().scale
    mdav_tree(lognormals(300, 3), 3)
    sizes = [10_000, 100_000, *([1_000_000] if scale >= 10 else [])]
    print("MDAV through the tree, one core\n")
    print("| records | variables | k | CPU seconds | brute force takes | information loss, % |")
    print("| --- | --- | --- | --- | --- | --- |")
    growth = []
    for d in (3, 6, 13):
        for k in (3, 5, 10):
            seconds = [row(n, d, k) for n in sizes]
            steps = zip(pairwise(sizes), pairwise(seconds), strict=True)
            growth.append((d, k, [math.log(t1 / t0) / math.log(n1 / n0) for (n0, n1), (t0, t1) in steps]))
    print("\nGrowth exponents, from each size to the next:")
    for d, k, exponents in growth:
        print(f"  d = {d:2}, k = {k:2}: " + ", ".join(f"{exponent:.2f}" for exponent in exponents))
    print(f"\npeak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
