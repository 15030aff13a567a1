"""Files that are large beside `--memory`: validate, mask and check as processes, stage by stage, with all memory.

Prints a table of stages in Markdown and, with ``--json``, writes the same figures; ``--scaling`` fills the table of
docs/scaling.md from them. Seconds are multiples of bare parsing of the same file in the same run, too. Memory is the
proportional set size of the process and of all that it has started, ten times a second; what is shared counts once.
What is held of it is anonymous: no pages of files, mapped ones among them, which the system takes back when it needs
memory.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from data import FIELDS, RECORDS, jittered, source
from measure import peer

ROOT = Path(__file__).resolve().parents[1]
RULES = ROOT / "rules" / "census_edit_paper.sch"
MASKTRON = [sys.executable, "-m", "masktron"]
LEAST_BETWEEN = 0.1
"""Seconds between two looks at the memory."""
CELL = re.compile(rb"<V\d+>([^<]*)</V\d+>")
GROUP = 64
"""Blocks of CSV (1 MB) of a row group."""
NETWORK, DISK = 1.25e9, 0.5e9
"""Bytes a second that docs/scaling.md assumes: 10 Gbit/s between nodes; a shared disk, all nodes together."""
CORES = 16
"""Of a node."""
BASE = 0.3e9
"""Bytes that a run of few records takes."""


@dataclass(frozen=True, slots=True)
class Stage:
    """What a stage of a command takes.

    Attributes
    ----------
    name : str
        The command, and what it says that it is doing.
    seconds : float
        Until the next stage begins.
    megabytes : float
        Most that all processes took together.
    held : float
        Most of it that was anonymous, in megabytes.
    """

    name: str
    seconds: float
    megabytes: float
    held: float


@dataclass(frozen=True, slots=True)
class Command:
    """A command as a whole, with its stages."""

    name: str
    seconds: float
    cpu: float
    megabytes: float
    held: float
    disk: float
    stages: tuple[Stage, ...]


def processes_of(pid: int) -> Iterator[int]:
    """Yield a process and all that it has started, as far as they are there."""
    yield pid
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from processes_of(int(child))
    except (FileNotFoundError, ProcessLookupError):  # it has ended in the meantime
        return


def megabytes_of(pid: int) -> tuple[float, float]:
    """Return the proportional set size of a process, and what of it is anonymous; 0 when it has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError, PermissionError):  # PermissionError: it is just ending
        return 0.0, 0.0
    found = {line.partition(":")[0]: int(line.split()[1]) * 1.024e-3 for line in lines if line.startswith("Pss")}
    return found.get("Pss", 0.0), found.get("Pss_Anon", 0.0)


def stage_of(progress: Path) -> str:
    """Return the stage that a command has said last, "starting" before any."""
    try:
        last = progress.read_bytes().rpartition(b"\n")[0].rpartition(b"\n")[2]
    except FileNotFoundError:
        return "starting"
    return str(json.loads(last)["stage"]) if last else "starting"


def run(name: str, arguments: Sequence[object], folder: Path) -> Command:
    """Run a command and look at it while it is at work.

    Raises
    ------
    SystemExit
        It ended with an error.
    """
    progress, said = folder / f"{name}.progress", folder / f"{name}.txt"
    environment = {**os.environ, "MASKTRON_PROGRESS": str(progress), "COLUMNS": "200"}
    seconds: dict[str, float] = {}
    memory: dict[str, float] = {}
    held: dict[str, float] = {}
    disk = 0
    before = os.times()
    with said.open("wb") as stream:
        process = subprocess.Popen([*MASKTRON, *map(str, arguments)], stdout=stream, stderr=stream, env=environment)
        start = last = time.perf_counter()
        while process.poll() is None:
            stage = stage_of(progress)
            now = time.perf_counter()
            seconds[stage] = seconds.get(stage, 0.0) + now - last
            last = now
            for seen, most in zip(
                (memory, held), map(sum, zip(*map(megabytes_of, processes_of(process.pid)), strict=True)), strict=True
            ):
                seen[stage] = max(seen.get(stage, 0.0), most)
            disk = max(disk, sum(_size(path) for path in folder.glob(".*.masktron-parts/*")))
            time.sleep(LEAST_BETWEEN)
        taken = time.perf_counter() - start
    if process.returncode:
        raise SystemExit(f"{name} ended with {process.returncode}:\n{said.read_text(encoding='utf-8')[-2000:]}")
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    stages = tuple(Stage(f"{name}: {one}", seconds[one], memory[one], held[one]) for one in seconds)
    return Command(name, taken, cpu, max(memory.values()), max(held.values()), disk / 1e6, stages)


def in_format(data: Path, name: str) -> Path:
    """Write a file of XML that `data` has made in another format, some records at a time, and remove it."""
    if name == "xml":
        return data
    texts = data.with_name("large.csv")
    with data.open("rb") as xml, texts.open("wb") as out:
        out.write(",".join(FIELDS).encode() + b"\n")
        rest = b""
        while block := xml.read(1 << 24):
            *whole, rest = (rest + block).split(b"</Record>")
            out.write(b"".join(b",".join(CELL.findall(one)) + b"\n" for one in whole))
    data.unlink()
    if name == "csv":
        return texts
    found = data.with_name("large.parquet")
    with pa.csv.open_csv(texts) as batches, pq.ParquetWriter(found, batches.schema) as writer:
        for group in itertools.batched(batches, GROUP):
            writer.write_table(pa.Table.from_batches(group))
    texts.unlink()
    return found


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # a part that has just got its name
        return 0


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *rows])


@dataclass(frozen=True, slots=True)
class Constants:
    """What a record costs; docs/scaling.md says what is done with it.

    Attributes
    ----------
    survey : float
        Seconds of the client, for each command that reads the file.
    slices : float
        Seconds of one core in `validate`.
    units : float
        Seconds of one core for groups and prototypes.
    engines : float
        Seconds of one core until libxml2 and Saxon have judged it, in `mask` and in `check`.
    rest : float
        Seconds of the client for all else of `mask`.
    check : float
        Seconds of the client for all else of `check`.
    memory : float
        Bytes of the client in `mask`, beside `BASE`.
    parts : float
        Bytes on disk in `mask`, each written once and read once.
    size : float
        Bytes of the file.
    """

    survey: float
    slices: float
    units: float
    engines: float
    rest: float
    check: float
    memory: float
    parts: float
    size: float

    @classmethod
    def of(cls, commands: Sequence[Command], records: int, size: int, workers: int) -> Constants:
        """Take them from runs of `validate`, `mask` and `check` on one file, with so many workers."""
        validate, mask, check = commands
        survey = sum(one.seconds for one in validate.stages if one.name.startswith("validate: surveying"))
        units = sum(
            one.seconds for one in mask.stages if one.name.startswith(("mask: forming groups", "mask: masking"))
        )
        # nothing else is under way in `check` meanwhile
        engines = sum(one.seconds for one in check.stages if one.name.startswith("check: asking"))
        return cls(
            survey / records,
            validate.cpu / records,
            units * workers / records,
            engines * workers / records,
            (mask.seconds - units - engines) / records,
            (check.seconds - engines) / records,
            max(mask.megabytes * 1e6 - BASE, 0.0) / records,
            mask.disk * 1e6 / records,
            size / records,
        )


def scaling(cost: Constants) -> str:
    """Return the table of docs/scaling.md."""
    rows = []
    for n in (10**8, 10**9):
        for nodes in (4, 64):
            cores = nodes * CORES
            engines = max(n * cost.engines / cores, n * cost.size / DISK)
            rows.append(
                [
                    f"10^{len(str(n)) - 1}",
                    str(nodes),
                    _hours(n * cost.survey + max(n * cost.slices / cores, n * cost.size / DISK)),
                    _hours(max(n * cost.units / cores, 2 * n * cost.parts / DISK)),
                    _hours(n * cost.rest + engines),
                    _hours(n * cost.check + engines),
                    f"{(BASE + n * cost.memory) / 1e9:,.0f} GB",
                    f"{n * (cost.parts + 2 * cost.size) / 1e9:,.0f} GB",
                    f"{_hours(2 * n * cost.parts / (nodes * NETWORK))}",
                ]
            )
    head = ["records", "nodes", "`validate`", "groups and prototypes", "rest of `mask`", "`check`"]
    return table([*head, "memory of the client", "disk beside the input", "parts over the network"], rows)


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:,.1f} h" if seconds >= 3600 else f"{seconds / 60:,.1f} min"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description="Large files in bounded memory: stages, seconds, memory of all.")
    parser.add_argument("--records", type=int, default=21_600, help="rounded to copies of 1,080")
    parser.add_argument("--format", choices=("xml", "csv", "parquet"), default="xml", help="of the file")
    parser.add_argument("--memory", default="1GB", help="of mask")
    parser.add_argument("--unit-records", type=int, help="of mask; as many as the memory holds by default")
    parser.add_argument("--workers", type=int, help="of validate, mask and check")
    parser.add_argument("--scaling", action="store_true", help="print the table of docs/scaling.md")
    parser.add_argument("--folder", type=Path, help="for files, where the disk for temporary files is small")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    options = parser.parse_args(arguments)
    if sys.platform != "linux":
        raise SystemExit("the memory of all processes is read from /proc: Linux alone")
    copies = max(round(options.records / RECORDS), 1)
    records = copies * RECORDS
    with tempfile.TemporaryDirectory(prefix="masktron-bench-", dir=options.folder) as name:
        folder = Path(name)
        data = jittered(source(folder), copies, folder / "large.xml")
        bare = float(peer("bare", data)["Utf8"])
        data = in_format(data, options.format)
        size = data.stat().st_size
        out, manifest = folder / f"masked.{options.format}", folder / "masked.manifest.json"
        workers = [] if options.workers is None else ["--workers", options.workers]
        unit = [] if options.unit_records is None else ["--unit-records", options.unit_records]
        mask = ["mask", data, "--rules", RULES, "--out", out, "--memory", options.memory, *unit, *workers]
        commands = []
        for what, given in (
            ("validate", ["validate", data, "--rules", RULES, *workers]),
            ("mask", mask),
            ("check", ["check", out, "--rules", RULES, "--original", data, "--manifest", manifest, *workers]),
        ):
            done = run(what, given, folder)
            commands.append(done)
            print(f"{what}: {done.seconds:.1f} s, {done.megabytes:.0f} MB, {done.held:.0f} MB held", flush=True)
        print(f"\n{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, {os.cpu_count()} cores, ", end="")
        print(f"{records:,} records of {len(FIELDS)} fields, {size / 1e6:,.0f} MB of {options.format}; ", end="")
        print(f"bare parsing of XML {bare:.2f} s\n")
        rows = [
            [
                one.name,
                f"{one.seconds:.1f} s",
                f"{one.seconds / bare:.1f}",
                f"{one.megabytes:,.0f} MB",
                f"{one.held:,.0f} MB",
            ]
            for command in commands
            for one in (
                Stage(f"**{command.name}**", command.seconds, command.megabytes, command.held),
                *command.stages,
            )
        ]
        print(table(["stage", "wall clock", "in units of bare parsing", "all processes", "held"], rows))
        print(f"\nparts of `mask` on disk: {commands[1].disk:,.1f} MB; CPU of `validate` {commands[0].cpu:.1f} s")
        if options.scaling:
            cost = Constants.of(commands, records, size, options.workers or os.cpu_count() or 1)
            print(f"\nfrom {records:,} records:\n\n{scaling(cost)}")
        if options.json:
            content = {
                "records": records,
                "format": options.format,
                "bytes": size,
                "bare": bare,
                "commands": [asdict(one) for one in commands],
            }
            options.json.parent.mkdir(parents=True, exist_ok=True)
            options.json.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
