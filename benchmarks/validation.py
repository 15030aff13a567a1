"""Validation against what else there is, in one run on one machine: `make bench`, or `make bench SCALE=10`.

Prints a table in Markdown and, with ``--json``, writes the same figures. Counts of violations are asserted.
"""

from __future__ import annotations

import argparse
import json
import mmap
import platform
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from data import RECORDS, jittered, repeated, source
from measure import HERE, Measured, exponent, peer, process

COPIES = 93
"""Of the source at scale 1: 100,440 records; 926 from scale 10 on: 1,000,080."""
RULES = HERE / "rules"
MASKTRON = [sys.executable, "-m", "masktron"]


@dataclass(frozen=True, slots=True)
class Row:
    """A figure, and what it should be."""

    what: str
    value: str
    target: str = ""
    met: bool | None = None


def records_in(said: str) -> int | None:
    """Return the number of records that ``masktron validate`` says that it has read."""
    found = re.search(r": ([\d,]+) records, ", said)
    return None if found is None else int(found[1].replace(",", ""))


class Bench:
    """The rows of a run."""

    def __init__(self, folder: Path, scale: float) -> None:
        self.folder = folder
        self.source = source(folder)
        self.copies = round(scale / 10 * 926) if scale >= 10 else max(round(scale * COPIES), 4)
        self.n = self.copies * RECORDS
        self.rows: list[Row] = []

    def add(self, what: str, value: str, target: str = "", *, met: bool | None = None) -> None:
        """Print a figure and keep it for the table."""
        self.rows.append(Row(what, value, target, met))
        print(f"{what}: {value}" + (f" (target {target}{'' if met else ', MISSED'})" if target else ""), flush=True)

    def file(self, copies: int) -> Path:
        """Return the file with so many copies of the source."""
        path = self.folder / f"{copies}.xml"
        return path if path.exists() else repeated(self.source, copies, path)

    def validate(self, path: Path, rules: str, *, copies: int, repeats: int = 3) -> Measured:
        """Measure ``masktron validate`` as a process and assert what it counts."""
        out = self.folder / "out.txt"
        measured = process(
            [*MASKTRON, "validate", path, "--rules", RULES / rules], out, allowed=(1,), repeats=repeats
        )
        said = out.read_text(encoding="utf-8")
        shown = re.findall(r"(?m)^(ec-\S+) +\S+ +[\d,]+ +([\d,]+) ", said)
        failures = {name: int(failed.replace(",", "")) for name, failed in shown}
        if len(failures) < 5 or records_in(said) != copies * RECORDS:
            raise AssertionError(f"not {copies * RECORDS} records and all rules: {said}")
        self.expect(failures, copies)
        return measured

    def expect(self, failures: dict[str, int], copies: int, *, libxml2: bool = False) -> None:
        """Assert the numbers of failures."""
        known: dict[str, int] = self.source.libxml2 if libxml2 else self.source.failures
        wanted = {name: known.get(name, 0) * copies for name in failures}
        if failures != wanted:
            raise AssertionError(f"counted {failures}, and there are {wanted}")

    # the figures

    def against_bare_parsing(self) -> None:
        """Compare whole processes with bare parsing."""
        path = self.file(self.copies)
        bare = peer("bare", path)
        budget = bare["Float64"]
        self.add("xml2arrow into 16 columns of floats, then expat", f"{budget:.2f} s")
        self.add("the same with columns of text", f"{bare['Utf8']:.2f} s")
        plain = self.validate(path, "five.sch", copies=self.copies)
        ratio = plain.seconds / budget
        self.add(
            "validate, five rules, whole process",
            f"{plain.seconds:.2f} s, {ratio:.2f} x bare parsing",
            "<= 1.25 x",
            met=ratio <= 1.25,
        )
        spelled = self.validate(path, "five_xpath2.sch", copies=self.copies)
        ratio = spelled.seconds / plain.seconds
        self.add(
            "the same rules in XPath 2.0, whole process",
            f"{spelled.seconds:.2f} s, {ratio:.2f} x the former",
            "<= 2 x",
            met=ratio <= 2,
        )
        measured = self.validate(path, "five_tier2.sch", copies=self.copies)
        limit = 25 * max(self.n / 1_000_080, 0.1)
        seconds = measured.seconds
        self.add("with a rule for an engine", f"{seconds:.2f} s", f"<= {limit:.1f} s", met=seconds <= limit)

    def doubles(self) -> None:
        """Validate decimals with all digits of doubles, of which libxml2 misreads many, against bare parsing."""
        path = jittered(self.source, self.copies, self.folder / "doubles.xml", doubles=True)
        budget = peer("bare", path)["Float64"]
        out = self.folder / "out.txt"
        rules = HERE.parent / "rules" / "census_edit_paper.sch"
        measured = process([*MASKTRON, "validate", path, "--rules", rules], out)
        said = " ".join(out.read_text(encoding="utf-8").split())
        alone = re.search(r"ec-nlc: libxml2 by itself refuses ([\d,]+) records", said)
        if alone is None or " records, valid " not in said or records_in(said) != self.n:
            raise AssertionError(said)
        ratio = measured.seconds / budget
        self.add(
            f"validate, four rules, decimals of doubles ({alone[1]} records that libxml2 alone refuses)",
            f"{measured.seconds:.2f} s, {ratio:.2f} x bare parsing",
            "<= 0.7 x",
            met=ratio <= 0.7,
        )
        path.unlink()

    def growth_and_memory(self) -> None:
        """Measure up to five times the records."""
        sizes = [max(self.copies // 4, 1), max(self.copies // 2, 1), self.copies, 5 * self.copies]
        seconds, peaks = [], []
        for copies in sizes:
            path = self.file(copies)
            measured = self.validate(path, "five.sch", copies=copies, repeats=1 if copies > self.copies else 3)
            seconds.append(measured.seconds)
            peaks.append(measured.megabytes)
            if copies > self.copies:
                path.unlink()
        start = self.validate(self.file(1), "five.sch", copies=1).seconds
        whole, grows = exponent(sizes, seconds), exponent(sizes, [max(s - start, 0.01) for s in seconds])
        shown = ", ".join(f"{c * RECORDS:,} in {s:.2f} s" for c, s in zip(sizes, seconds, strict=True))
        self.add("whole processes", shown)
        self.add(
            "growth exponent",
            f"{whole:.2f}, without the {start:.2f} s for a single copy {grows:.2f}",
            "<= 1.05",
            met=max(whole, grows) <= 1.05,
        )
        self.add(f"peak memory at {self.n:,}", f"{peaks[2]:.0f} MB", "< 600 MB", met=peaks[2] < 600)
        self.add(
            f"peak memory at {5 * self.n:,}",
            f"{peaks[3]:.0f} MB",
            "the same",
            met=peaks[3] < min(1.1 * peaks[2], 600),
        )

    def against_engines(self) -> None:
        """Compare with engines, each on what it can bear, start-up excluded."""
        path, small = self.file(self.copies), self.file(1)
        ours = peer("masktron", path, RULES / "five.sch", small)
        self.expect(ours["failures"], self.copies)
        own = ours["seconds"] / ours["records"]
        self.add("validate, five rules, start-up excluded", f"{1e6 * own:.2f} us a record")
        for name, what, factor in (
            ("libxml2", "libxml2's compiled XPath per record, four rules", None),
            ("saxon", "Saxon's XPath over chunks of 5,000 records, four rules", 4),
        ):
            found = peer(name, path)
            self.expect(found["failures"], self.copies, libxml2=name == "libxml2")
            self._compare(what, found["seconds"] / found["records"], own, factor)
        few = self.folder / "few.xml"
        text = small.read_bytes().split(b"</Record>")
        few.write_bytes(b"</Record>".join([*text[:200], text[-1]]))
        found = peer("pyschematron", few, RULES / "five_xpath2.sch")
        each = found["seconds"] / found["records"]
        self._compare(f"pyschematron in chunks of {found['chunk']} records, five rules in XPath 2.0", each, own, 1000)

    def _compare(self, what: str, each: float, own: float, factor: float | None) -> None:
        ratio = each / own
        target = "" if factor is None else f">= {factor:,} x"
        met = None if factor is None else ratio >= factor
        self.add(what, f"{1e6 * each:,.1f} us a record, {ratio:,.1f} x validate", target, met=met)

    def second_opinion(self) -> None:
        """Measure the engine that is not ours, as `mask` and `check` ask it."""
        path = self.file(self.copies)
        for rules, what in (("five.sch", "the second opinion"), ("five_xpath2.sch", "the same in XPath 2.0")):
            found = peer("independent", path, RULES / rules)
            self.expect(found["failures"], self.copies, libxml2="xpath2" not in rules)
            each = 1e6 * found["seconds"] / found["records"]
            self.add(f"{what}, by {found['engine']}", f"{found['seconds']:.2f} s, {each:.1f} us a record")

    def many_findings(self) -> None:
        """Report 1.4 million findings."""
        path, svrl, report = self.file(COPIES), self.folder / "findings.svrl", self.folder / "findings.json"
        command = [*MASKTRON, "validate", path, "--rules", RULES / "findings.sch", "--svrl", svrl, "--json", report]
        measured = process(command, self.folder / "out.txt", allowed=(1,), repeats=1)
        counted = sum(rule["failed"] for rule in json.loads(report.read_text(encoding="utf-8"))["rules"])
        with svrl.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as text:
            written = sum(1 for _ in re.finditer(rb"<svrl:failed-assert[\s>]", text))
        if counted < 1_400_000:
            raise AssertionError(f"{counted} findings")
        self.add(
            f"{counted:,} findings as SVRL",
            f"{written:,} written in {measured.seconds:.1f} s, {measured.megabytes:.0f} MB",
            "all, < 600 MB",
            met=written == counted and measured.megabytes < 600,
        )

    def table(self) -> str:
        """Return the rows in Markdown."""
        lines = [f"| {self.n:,} records, {self.source.name} | measured | target | |", "| --- | --- | --- | --- |"]
        signs = {None: "", True: "yes", False: "**no**"}
        lines += [f"| {r.what} | {r.value} | {r.target} | {signs[r.met]} |" for r in self.rows]
        return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmarks."""
    parser = argparse.ArgumentParser(description="Validation, as ratios measured in one run.")
    parser.add_argument("--scale", type=float, default=1, help="1 for 100,440 records, 10 for 1,000,080")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    options = parser.parse_args(arguments)
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="masktron-bench-") as folder:
        bench = Bench(Path(folder), options.scale)
        bench.against_bare_parsing()
        bench.doubles()
        bench.growth_and_memory()
        bench.against_engines()
        bench.second_opinion()
        bench.many_findings()
    print(
        f"\n{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, {time.perf_counter() - start:.0f} s\n"
    )
    print(bench.table())
    if options.json:
        content = {"records": bench.n, "source": bench.source.name, "rows": [asdict(row) for row in bench.rows]}
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
