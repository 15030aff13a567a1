"""The same records as XML, CSV and Parquet, in one run on one machine: `make bench`, or `make bench SCALE=10`.

Every record of the file is jittered, so that no cell is known from another one. Prints a table in Markdown and, with
``--json``, writes the same figures. Counts of violations are asserted to be the same in all formats.
"""

from __future__ import annotations

import argparse
import itertools
import json
import platform
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet as pq
from data import FIELDS, RECORDS, jittered, source
from measure import Measured, peer, process

ROOT = Path(__file__).resolve().parents[1]
RULES = Path(__file__).resolve().parent / "rules" / "five.sch"
MASKED_RULES = ROOT / "rules" / "census_edit_paper.sch"
MASKTRON = [sys.executable, "-m", "masktron"]
COPIES = 93
"""Of the source at scale 1: 100,440 records; 926 from scale 10 on: 1,000,080."""
TIMES = 5
"""How many times larger the file is whose memory is compared."""
FORMATS = ("csv", "parquet")
PARTS = ("validate", "memory", "mask")
"""Methods of `Bench`, each with figures of its own."""
TARGETS = {"csv": 1.0, "parquet": 0.7}
"""Seconds of `validate`, in those of the same records in XML."""
GROWTH = 1.1
"""What memory of the larger file may be, in that of the smaller one."""
_CELL = re.compile(rb">([^<]*)</")


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure, and what it should be."""

    what: str
    value: str
    target: str = ""
    met: bool | None = None


class Bench:
    """The figures on one set of records."""

    def __init__(self, folder: Path, scale: float) -> None:
        self.folder = folder
        copies = round(scale / 10 * 926) if scale >= 10 else max(round(scale * COPIES), 10)
        self.n = copies * RECORDS
        self.xml = jittered(source(folder), copies, folder / "data.xml")
        self.files = {"xml": self.xml, "csv": folder / "data.csv", "parquet": folder / "data.parquet"}
        write_csv(self.xml, self.files["csv"])
        pq.write_table(pyarrow.csv.read_csv(self.files["csv"]), self.files["parquet"])
        self.figures: list[Figure] = []

    def add(self, what: str, value: str, target: str = "", *, met: bool | None = None) -> None:
        """Print a figure and keep it for the table."""
        self.figures.append(Figure(what, value, target, met))
        print(f"{what}: {value}" + (f" (target {target}{'' if met else ', MISSED'})" if target else ""), flush=True)

    def bare(self) -> None:
        """Measure what pyarrow takes to read the files, typed."""
        for name in FORMATS:
            seconds = peer("arrow", self.files[name])["seconds"]
            self.add(f"pyarrow alone, {name}", f"{seconds:.2f} s")

    def validate(self) -> None:
        """Compare whole processes of `validate`, after one another and so three times."""
        found: dict[str, Measured] = {}
        counts: set[tuple[str, ...]] = set()
        for _ in range(3):
            for name, path in self.files.items():
                measured, said = self.judged(path)
                counts.add(said)
                if name not in found or measured.seconds < found[name].seconds:
                    found[name] = measured
        if len(counts) != 1:
            raise AssertionError(f"formats are not judged alike: {counts}")
        xml = found["xml"]
        self.add("validate, five rules, from XML", told(xml))
        for name in FORMATS:
            ratio, target = found[name].seconds / xml.seconds, TARGETS[name]
            value = f"{told(found[name])}; {ratio:.2f} x XML, CPU {found[name].cpu / xml.cpu:.2f} x"
            self.add(f"the same from {name}", value, f"<= {target} x", met=ratio <= target)

    def judged(self, path: Path) -> tuple[Measured, tuple[str, ...]]:
        """Validate a file, and return what is said of each rule."""
        out = self.folder / "out.txt"
        measured = process([*MASKTRON, "validate", path, "--rules", RULES], out, allowed=(0, 1), repeats=1)
        said = re.findall(r"(?m)^ec-\S+ +\S+ +[\d,]+ +[\d,]+ ", out.read_text(encoding="utf-8"))
        if len(said) < 5:
            raise AssertionError(out.read_text(encoding="utf-8"))
        return measured, tuple(said)

    def memory(self) -> None:
        """Compare the memory of `validate` with that for a file some times as large."""
        larger = {"csv": self.folder / "larger.csv", "parquet": self.folder / "larger.parquet"}
        text = self.files["csv"].read_bytes()
        head = text.index(b"\n") + 1
        with larger["csv"].open("wb") as stream:
            stream.write(text[:head])
            stream.writelines([text[head:]] * TIMES)
        del text
        table = pq.read_table(self.files["parquet"])
        with pq.ParquetWriter(larger["parquet"], table.schema) as writer:
            for _ in range(TIMES):
                writer.write_table(table)
        for name, path in larger.items():
            peak, before = (self.judged(one)[0].megabytes for one in (path, self.files[name]))
            self.add(
                f"peak memory of validate, {name}, at {self.n:,} and at {TIMES * self.n:,}",
                f"{before:.0f} and {peak:.0f} MB",
                "the same",
                met=peak <= GROWTH * before,
            )
            path.unlink()

    def mask(self) -> None:
        """Compare whole processes of `mask`."""
        found = {}
        for name, path in self.files.items():
            out = self.folder / f"masked-{name}.{name}"  # so has its manifest
            arguments = [*MASKTRON, "mask", path, "--rules", MASKED_RULES, "-k", 5, "--out", out]
            found[name] = process(arguments, self.folder / "out.txt", repeats=1)
            out.unlink()
        xml = found["xml"]
        self.add("mask, four rules, from XML", told(xml))
        for name in FORMATS:
            ratio = found[name].seconds / xml.seconds
            value = f"{told(found[name])}; {ratio:.2f} x XML, CPU {found[name].cpu / xml.cpu:.2f} x"
            self.add(f"the same from {name}", value, "<= 1 x", met=ratio <= 1)

    def table(self) -> str:
        """Return the figures in Markdown."""
        lines = [f"| {self.n:,} records of {len(FIELDS)} fields | measured | target | |", "| --- | --- | --- | --- |"]
        signs = {None: "", True: "yes", False: "**no**"}
        lines += [f"| {one.what} | {one.value} | {one.target} | {signs[one.met]} |" for one in self.figures]
        return "\n".join(lines)


def told(measured: Measured) -> str:
    """Return what a process took, in words."""
    return f"{measured.seconds:.2f} s, CPU {measured.cpu:.2f} s, {measured.megabytes:.0f} MB"


def write_csv(xml: Path, path: Path) -> None:
    """Write the records of a file that `jittered` has written."""
    with xml.open("rb") as stream, path.open("wb") as out:
        out.write(",".join(FIELDS).encode() + b"\n")
        out.writelines(b",".join(row) + b"\n" for row in rows_of(stream))


def rows_of(lines: Iterator[bytes]) -> Iterator[tuple[bytes, ...]]:
    """Yield the values of each record; every value has a line of its own."""
    values = (found[1] for line in lines if (found := _CELL.search(line)) is not None)
    yield from itertools.batched(values, len(FIELDS))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description="Tables beside XML, as ratios measured in one run.")
    parser.add_argument("--scale", type=float, default=1, help="1 for 100,440 records, 10 for 1,000,080")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="a part of the figures")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    options = parser.parse_args(arguments)
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="masktron-bench-") as folder:
        bench = Bench(Path(folder), options.scale)
        bench.bare()
        for part in PARTS:
            if part in options.only:
                getattr(bench, part)()
    print(
        f"\n{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, {time.perf_counter() - start:.0f} s\n"
    )
    print(bench.table())
    if options.json:
        content = {"records": bench.n, "figures": [asdict(one) for one in bench.figures]}
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
