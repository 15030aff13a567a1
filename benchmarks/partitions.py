"""MDAV as a ratio to passes of distances, measured in one run on one machine: part of `make bench`.

Nothing here is a test: absolute times say more about the machine than about masktron. Every figure is the best of
three runs, divided by a bare call on the same data.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

from masktron.kernels.mdav import mdav


def best(run: Callable[[], object], repeats: int = 3) -> float:
    """Seconds of the fastest of some runs."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def partitions(sizes: tuple[int, ...]) -> None:
    """MDAV against one pass of distances from each record to the mean, the least that any partition costs."""
    print("MDAV, k = 5, six variables                       records   seconds   x one distance pass per group")
    for records in sizes:
        points = np.random.default_rng(2).lognormal(size=(records, 6))
        points = (points - points.mean(axis=0)) / points.std(axis=0)
        passes = best(
            lambda points=points: [((points - points[0]) ** 2).sum(axis=1) for _ in range(len(points) // 5)]
        )  # type: ignore[misc]
        seconds = best(lambda points=points: mdav(points, 5))  # type: ignore[misc]
        print(f"  {'brute force':44} {records:>9} {seconds:9.2f} {seconds / passes:10.2f}")


def main() -> None:
    """Print all ratios."""
    scale = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    partitions((1_000 * scale, 4_000 * scale))


if __name__ == "__main__":
    main()
