"""Compare generated rulebooks on generated files: every tier, each engine, and oracles that share nothing with them.

python tests/support/differential_run.py --seeds 0:300 [--jobs 2]
python tests/support/differential_run.py --seeds 0:2700 --least 500
python tests/support/differential_run.py --seeds 17 --dump FOLDER
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from time import perf_counter

from differential.coverage import thin
from differential.generate import generate
from differential.run import run


def _seeds(text: str) -> range:
    first, colon, last = text.partition(":")
    return range(int(first), int(last) if colon else int(first) + 1)


def main() -> int:
    """Run the command line; the exit code is 1 when something disagrees that is not recorded."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=_seeds, default=range(30), help="FIRST:LAST, or one; LAST is left out")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--dump", type=Path, help="write data and rulebook of the seeds there, and compare nothing")
    parser.add_argument("--least", type=int, default=0, help="name operators with fewer checks, or too one-sided")
    options = parser.parse_args()
    if options.dump:
        for seed in options.seeds:
            generate(seed).write(options.dump / str(seed))
        return 0
    start = perf_counter()
    summary = run(options.seeds, jobs=options.jobs)
    sys.stdout.write(f"{summary.text()}\n{perf_counter() - start:.0f} seconds.\n")
    if options.least:
        poor = thin(summary.coverage, least=options.least)
        sys.stdout.write(f"Fewer than {options.least} checks, or not 30 to 70 % true: {', '.join(poor) or 'none'}\n")
    return int(bool(summary.unrecorded))


if __name__ == "__main__":
    sys.exit(main())
