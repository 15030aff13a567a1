"""Mask generated pairs of data and rulebook and print what came of them.

python tests/support/pairs_run.py --seeds 0:200 [--jobs 2] [--dump FOLDER]
python tests/support/pairs_run.py --seeds 0:200 --without strata,settle
python tests/support/pairs_run.py --seeds 0:200 --worth
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import get_args

from pairs.generate import generate
from pairs.outcome import LIMIT, Outcome, run_pair
from pairs.summary import summary
from pairs.switches import PARTS, Part
from pairs.worth import ROWS, worth, worth_table


def run(seeds: Sequence[int], *, jobs: int = 1, without: Sequence[Part] = ()) -> list[Outcome]:
    """Run pairs, in the order of their seeds; each process is fresh, since engines keep threads."""
    mask = partial(run_pair, parts=tuple(without))
    if jobs == 1:
        return [mask(seed) for seed in seeds]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        return list(pool.map(mask, seeds, chunksize=5))


def _seeds(text: str) -> range:
    first, colon, last = text.partition(":")
    return range(int(first), int(last) if colon else int(first) + 1)


def _parts(text: str) -> tuple[Part, ...]:
    if text == "all":
        return PARTS
    known = {part: part for part in get_args(Part.__value__)}
    try:
        return tuple(known[name] for name in text.split(","))
    except KeyError as error:
        raise argparse.ArgumentTypeError(f"{error} is none of all, {', '.join(known)}") from error


def main() -> int:
    """Run the command line; the exit code is 1 when a promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog=f"A pair has {LIMIT:g} seconds.")
    parser.add_argument("--seeds", type=_seeds, default=range(40), help="FIRST:LAST, or one; LAST is left out")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--dump", type=Path, help="write refused and failing pairs there, for a repro")
    parser.add_argument("--without", type=_parts, default=(), help="parts to take away, with commas, or all")
    parser.add_argument("--worth", action="store_true", help="compare the pairs with and without each part")
    options = parser.parse_args()
    if options.worth:
        rows = {parts: worth(run(options.seeds, jobs=options.jobs, without=parts)) for parts in ROWS}
        sys.stdout.write(worth_table(rows))
        return int(any(rows[()].broken or one.crashed for one in rows.values()))
    outcomes = run(options.seeds, jobs=options.jobs, without=options.without)
    sys.stdout.write(f"{summary(outcomes)}\n")
    for one in outcomes:
        if options.dump and (one.code or one.broken or len(outcomes) == 1):
            generate(one.seed).write(options.dump / str(one.seed))
    return int(any(one.crashed or (one.broken and not options.without) for one in outcomes))


if __name__ == "__main__":
    sys.exit(main())
