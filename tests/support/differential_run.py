"""Compare generated rulebooks on generated files: every tier, each engine, and oracles that share nothing with them.

python tests/support/differential_run.py --seeds 0:300 [--jobs 2]
python tests/support/differential_run.py --seeds 0:2700 --log FILE --least 500
python tests/support/differential_run.py --seeds 0:300 --save tests/conformance
python tests/support/differential_run.py --seeds 17 --dump FOLDER
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from time import perf_counter

from differential.coverage import thin
from differential.generate import generate
from differential.log import Log, StaleLogError
from differential.run import ENDED, Summary, run, save

_SECONDS = 10
"""Between two lines of progress."""


def _seeds(text: str) -> range:
    first, colon, last = text.partition(":")
    return range(int(first), int(last) if colon else int(first) + 1)


class _Progress:
    """Says now and then how far a run is, and keeps what it has."""

    def __init__(self, seeds: int) -> None:
        self.seeds = seeds
        self.summary = Summary()
        self._next = perf_counter() + _SECONDS

    def __call__(self, summary: Summary) -> None:
        self.summary = summary
        if perf_counter() > self._next:
            self._next = perf_counter() + _SECONDS
            done = f"{len(summary.parts):,} of {self.seeds:,} files, {summary.checks:,} checks"
            sys.stderr.write(f"{done}, {len(summary.unrecorded)} disagreements that are not recorded\n")


def main() -> int:
    """Run the command line; the exit code is 1 when something disagrees that is not recorded, 130 after Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=_seeds, default=range(30), help="FIRST:LAST, or one; LAST is left out")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--log", type=Path, help="write each seed there when it is done; go on from what it has")
    parser.add_argument("--save", type=Path, help="write what disagrees there, made small, as conformance cases")
    parser.add_argument("--dump", type=Path, help="write data and rulebook of the seeds there, and compare nothing")
    parser.add_argument("--least", type=int, default=0, help="name operators with fewer checks, or too one-sided")
    options = parser.parse_args()
    if options.dump:
        for seed in options.seeds:
            generate(seed).write(options.dump / str(seed))
        return 0
    start = perf_counter()
    progress = _Progress(len(options.seeds))
    cut = False
    try:
        summary = run(options.seeds, jobs=options.jobs, log=options.log and Log(options.log), progress=progress)
    except StaleLogError as error:
        parser.error(str(error))
    except KeyboardInterrupt:
        summary, cut = progress.summary, True
    sys.stdout.write(f"{summary.text()}\n{perf_counter() - start:.0f} seconds.\n")
    if cut:
        return 130
    if options.least:
        poor = thin(summary.coverage, least=options.least)
        sys.stdout.write(f"Fewer than {options.least} checks, or not 30 to 70 % true: {', '.join(poor) or 'none'}\n")
    if options.save:
        options.save.mkdir(parents=True, exist_ok=True)
        for found in {(d.seed, d.first, d.second): d for d in summary.unrecorded if d.first != ENDED}.values():
            sys.stdout.write(f"{save(found, options.save)}\n")
            sys.stdout.flush()
    return int(bool(summary.unrecorded))


if __name__ == "__main__":
    sys.exit(main())
