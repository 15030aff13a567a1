"""What measures of keys take: CPU seconds of one core for files of six keys, complete and with missing values.

Usage: python benchmarks/keys.py [--scale N]

The default are 100,000 records, ``--scale 10`` is a million. Targets hold for complete keys of a million records:
frequencies in 2 s, minimal sample uniques of up to three values in 60 s. Ends with exit code 1 where one is missed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from masktron.measures.keys import (
    attribute_disclosure,
    individual_risk,
    key_frequencies,
    l_diversity,
    log_linear_risk,
    suda,
    t_closeness,
)

RECORDS = 100_000
VALUES = {"few values": (90, 2, 20, 15, 8, 5), "many values": (100, 1000, 300, 50, 20, 10)}
MISSING = 0.02
TARGETS = {"frequencies": 2.0, "SUDA to size 3": 60.0}
"""Seconds for a million records."""


def keys_of(rng: np.random.Generator, n: int, values: tuple[int, ...], missing: float) -> list[NDArray[np.int32]]:
    """Draw keys of which small codes are frequent, as categories are."""
    keys = [np.minimum(rng.geometric(min(0.6, 4 / most), n) - 1, most - 1).astype(np.int32) for most in values]
    for key in keys:
        key[rng.random(n) < missing] = -1
    return keys


def timed[T](function: Callable[[], T]) -> tuple[T, float]:
    """Return a result, and the CPU seconds that it took."""
    begun = time.process_time()
    result = function()
    return result, time.process_time() - begun


def measured(keys: list[NDArray[np.int32]], weights: NDArray[np.float64], secret: NDArray[Any]) -> dict[str, float]:
    """Return CPU seconds by measure."""
    seconds = {}
    frequencies, seconds["frequencies"] = timed(lambda: key_frequencies(keys, weights))
    _, seconds["individual risk"] = timed(lambda: individual_risk(frequencies))
    _, seconds["SUDA to size 3"] = timed(lambda: suda(keys))
    _, seconds["log-linear"] = timed(lambda: log_linear_risk(keys, weights, frequencies=frequencies))
    _, seconds["l-diversity"] = timed(lambda: l_diversity(keys, secret))
    _, seconds["t-closeness"] = timed(lambda: t_closeness(keys, secret))
    _, seconds["attribute disclosure"] = timed(lambda: attribute_disclosure(keys, secret))
    return seconds


def main() -> int:
    """Measure, print a table and say whether the targets are met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=int, default=1, metavar="N", help=f"times {RECORDS:,} records")
    n = RECORDS * parser.parse_args().scale
    rng, missed = np.random.default_rng(1), []
    pd.factorize(np.arange(3))  # what loads the library is no part of a measure
    print(f"{n:,} records, six keys, CPU seconds\n")
    for what, values in VALUES.items():
        for missing in (0.0, MISSING):
            keys = keys_of(rng, n, values, missing)
            seconds = measured(keys, rng.uniform(5, 50, n), rng.integers(0, 500, n))
            cells = " | ".join(f"{name} {own:.2f}" for name, own in seconds.items())
            print(f"| {what}, {missing:.0%} missing | {cells} |")
            if not missing:
                missed += [name for name, most in TARGETS.items() if seconds[name] > most * n / 1_000_000]
    print(f"\ntargets missed: {', '.join(missed)}" if missed else "\nall targets are met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
