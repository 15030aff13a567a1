"""Masking from the file to the manifest, in one run on one machine: `make bench`, or `make bench SCALE=10`.

Every record of the file is jittered, so that ties do not make it easy, and keeps the four rules of the edit paper.
Prints tables in Markdown and, with ``--json``, writes the same figures. What a run has to find is asserted.
"""

from __future__ import annotations

import argparse
import filecmp
import json
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from data import RECORDS, jittered, source
from measure import Measured, peer, process

ROOT = Path(__file__).resolve().parents[1]
RULES = ROOT / "rules" / "census_edit_paper.sch"
MASKTRON = [sys.executable, "-m", "masktron"]
COPIES = 93
"""Of the source at scale 1: 100,440 records; 926 from scale 10 on: 1,000,080."""
K = 5
_KEY = bytes(range(32)).hex()
TARGET_SECONDS, TARGET_MEGABYTES = 75, 4000
"""For 1,000,080 records, on two cores."""


@dataclass(frozen=True, slots=True)
class Run:
    """A run of the command."""

    workers: str
    seconds: float
    cpu: float
    megabytes: float
    same: str


@dataclass(frozen=True, slots=True)
class Stage:
    """What a stage takes: seconds until another one begins, or of both where they overlap."""

    name: str
    seconds: float
    parsings: float


class Bench:
    """The runs on one file."""

    def __init__(self, folder: Path, scale: float, *, doubles: bool = False) -> None:
        self.folder = folder
        copies = round(scale / 10 * 926) if scale >= 10 else max(round(scale * COPIES), 10)
        self.n = copies * RECORDS
        self.data = jittered(source(folder), copies, folder / "jittered.xml", doubles=doubles)

    def command(self, number: int, *options: str) -> tuple[Measured, Path]:
        """Mask with the command line, in a folder of its own, and look at what it says."""
        folder = self.folder / f"run-{number}"
        folder.mkdir()
        out, said = folder / "masked.xml", folder / "said.json"
        arguments = [*MASKTRON, "mask", self.data, "--rules", RULES, "-k", K, "--out", out, "--json", said, *options]
        if "--secret" in help_of_mask():  # the draws of records in random order are compared, too
            key = self.folder / "release.key"
            key.write_text(f"{_KEY}\n", encoding="utf-8")
            arguments += ["--secret", key]
        measured = process(arguments, folder / "tables.txt", repeats=1)
        self.verify(json.loads(said.read_text(encoding="utf-8")))
        return measured, out

    def verify(self, result: dict[str, Any]) -> None:
        """Assert what masking has to come to.

        Raises
        ------
        SystemExit
            Rules are broken, groups are small, engines do not agree, or no other looked at every record.
        """
        engines = result["engines"]
        whole = [one for one in engines if one["records"] == self.n]
        wrong = [
            *([f"{result['violations']} violations"] if result["violations"] else []),
            *([f"{result['records_out']} records"] if result["records_out"] != self.n else []),
            *([f"a group of {result['min_group']}"] if result["min_group"] < K else []),
            *([f"{one['engine']} does not agree" for one in engines if not one["agrees"]]),
            *([f"only {len(whole)} engines saw the whole file"] if len(whole) < 2 else []),
        ]
        if wrong:
            raise SystemExit(f"masking {self.n:,} records: {'; '.join(wrong)}")

    def runs(self) -> Iterator[Run]:
        """Mask with one worker and with two, and once more: every file has to be the same.

        Raises
        ------
        SystemExit
            It is not.
        """
        able = "--workers" in help_of_mask()
        choices: list[tuple[str, tuple[str, ...]]] = [("the default", ()), ("the default, again", ())]
        if able:
            choices[:0] = [("1", ("--workers", "1")), ("2", ("--workers", "2"))]
        first: Path | None = None
        for number, (workers, options) in enumerate(choices):
            measured, out = self.command(number, *options)
            same = first is None or filecmp.cmp(first, out, shallow=False)
            if not same:
                raise SystemExit(f"masking with {workers} workers gives another file than with {choices[0][0]}")
            yield Run(workers, measured.seconds, measured.cpu, measured.megabytes, "" if first is None else "yes")
            if first is None:
                first = out
            else:
                out.unlink()

    def stages(self) -> list[Stage]:
        """Mask once more from Python, and note when stages begin; in units of bare reading."""
        bare = float(peer("bare", self.data)["Utf8"])
        found = peer("stages", self.data, RULES, self.folder / "stages.xml")
        return [Stage(name, seconds, seconds / bare) for name, seconds in [("bare reading", bare), *found["stages"]]]


def help_of_mask() -> str:
    """Return what the command line says of `mask`."""
    return subprocess.run([*MASKTRON, "mask", "--help"], capture_output=True, text=True, check=True).stdout


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description="Masking, whole processes and stage by stage.")
    parser.add_argument("--scale", type=float, default=1, help="1 for 100,440 records, 10 for 1,000,080")
    parser.add_argument("--doubles", action="store_true", help="decimals with all digits that doubles have")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    options = parser.parse_args(arguments)
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="masktron-bench-") as folder:
        bench = Bench(Path(folder), options.scale, doubles=options.doubles)
        runs = []
        for run in bench.runs():
            runs.append(run)
            print(
                f"workers {run.workers}: {run.seconds:.1f} s, CPU {run.cpu:.1f} s, {run.megabytes:.0f} MB", flush=True
            )
        stages = bench.stages()
    print(
        f"\n{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, {time.perf_counter() - start:.0f} s\n"
    )
    rows = [(r.workers, f"{r.seconds:.1f} s", f"{r.cpu:.1f} s", f"{r.megabytes:.0f} MB", r.same) for r in runs]
    print(f"`mask` of {bench.n:,} records{', decimals of doubles' * options.doubles}, k = {K}\n")
    print(table(["workers", "wall clock", "CPU", "peak memory", "the same file"], rows))
    print()
    parts = [[one.name, f"{one.seconds:.2f} s", f"{one.parsings:.1f}"] for one in stages]
    print(table(["where the time goes", "wall clock", "in units of bare reading"], parts))
    if options.scale >= 10:
        best = min(run.seconds for run in runs)
        most = max(run.megabytes for run in runs)
        print(
            f"\nseconds {best:.1f} (target {TARGET_SECONDS}{'' if best < TARGET_SECONDS else ', MISSED'}), ", end=""
        )
        print(f"memory {most:.0f} MB (target {TARGET_MEGABYTES}{'' if most < TARGET_MEGABYTES else ', MISSED'})")
    if options.json:
        content = {"records": bench.n, "runs": [asdict(r) for r in runs], "stages": [asdict(s) for s in stages]}
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
