"""What a Dask cluster costs beside local processes: `validate` and `mask` in units, each with the same workers.

Both run in turn, so that a busy machine slows both, and what is written has to be the same. The ratio is that of the
fastest runs, as whole processes, the start of a cluster included; a cluster that is there already starts none.
"""

from __future__ import annotations

import argparse
import json
import secrets
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path

from data import RECORDS, jittered, source
from measure import Measured, process

ROOT = Path(__file__).resolve().parents[1]
RULES = ROOT / "rules" / "census_edit_paper.sch"
MASKTRON = [sys.executable, "-m", "masktron"]
EXECUTORS = ("local", "dask")
TARGET = 1.15


def commands(folder: Path, data: Path, executor: str, workers: int, unit: int) -> dict[str, list[object]]:
    """Return what is measured with an executor."""
    how = ["--workers", workers, "--executor", executor]
    rules = ["--rules", RULES]
    out = ["--out", folder / f"{executor}.xml", "--secret", folder / "key", "--unit-records", unit]
    return {
        "validate": [*MASKTRON, "validate", data, *rules, *how],
        "mask": [*MASKTRON, "mask", data, *rules, *out, *how],
    }


def fastest(runs: Sequence[Measured]) -> Measured:
    """Return the fastest of some runs."""
    return min(runs, key=lambda one: one.seconds)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description="The overhead of a Dask cluster against local processes.")
    parser.add_argument("--records", type=int, default=100_440, help="rounded to copies of 1,080")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--unit-records", type=int, default=16_384)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path, help="also write the figures here")
    options = parser.parse_args(arguments)
    copies = max(round(options.records / RECORDS), 1)
    figures: dict[str, dict[str, Measured]] = {}
    with tempfile.TemporaryDirectory(prefix="masktron-bench-") as name:
        folder = Path(name)
        data = jittered(source(folder), copies, folder / "data.xml")
        (folder / "key").write_text(secrets.token_hex(32), encoding="utf-8")
        made = {one: commands(folder, data, one, options.workers, options.unit_records) for one in EXECUTORS}
        said = folder / "said.txt"
        for what in ("validate", "mask"):
            runs: dict[str, list[Measured]] = {one: [] for one in EXECUTORS}
            for _ in range(options.repeats):
                for one in EXECUTORS:
                    runs[one].append(process(made[one][what], said, repeats=1))
            figures[what] = {one: fastest(runs[one]) for one in EXECUTORS}
        digests = {sha256((folder / f"{one}.xml").read_bytes()).hexdigest() for one in EXECUTORS}
    if len(digests) > 1:
        raise SystemExit("the masked files differ")
    print(f"{copies * RECORDS:,} records, {options.workers} workers, units of {options.unit_records:,}:\n")
    print("| command | local processes | Dask | ratio | target |")
    print("| --- | --- | --- | --- | --- |")
    for what, own in figures.items():
        local, dask = (own[one].seconds for one in EXECUTORS)
        print(f"| {what} | {local:.1f} s | {dask:.1f} s | {dask / local:.2f} | <= {TARGET} |")
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        content = {what: {one: asdict(figure) for one, figure in own.items()} for what, own in figures.items()}
        options.json.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
