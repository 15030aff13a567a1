"""Mask generated pairs of data and rulebook and print what came of them.

python tests/support/pairs_run.py --seeds 0:200 [--jobs 2] [--dump FOLDER]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from pairs.generate import generate
from pairs.outcome import LIMIT, Outcome, run_pair, summary


def run(seeds: Sequence[int], *, jobs: int = 1) -> list[Outcome]:
    """Run pairs, in the order of their seeds; each process is fresh, since engines keep threads."""
    if jobs == 1:
        return [run_pair(seed) for seed in seeds]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        return list(pool.map(run_pair, seeds, chunksize=5))


def _seeds(text: str) -> range:
    first, colon, last = text.partition(":")
    return range(int(first), int(last) if colon else int(first) + 1)


def main() -> int:
    """Run the command line; the exit code is 1 when a promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog=f"A pair has {LIMIT:g} seconds.")
    parser.add_argument("--seeds", type=_seeds, default=range(40), help="FIRST:LAST, or one; LAST is left out")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--dump", type=Path, help="write refused and failing pairs there, for a repro")
    options = parser.parse_args()
    outcomes = run(options.seeds, jobs=options.jobs)
    sys.stdout.write(f"{summary(outcomes)}\n")
    for one in outcomes:
        if options.dump and (one.code or one.broken or len(outcomes) == 1):
            generate(one.seed).write(options.dump / str(one.seed))
    return int(any(one.crashed or one.broken for one in outcomes))


if __name__ == "__main__":
    sys.exit(main())
