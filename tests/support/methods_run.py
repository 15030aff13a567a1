"""Mask the reference data and both samples by every method and print what came of each run.

python tests/support/methods_run.py [--methods mst,noise] [--files census,eia] [--sizes 5,10] [--seeds 3] [--jobs 2]

Every written file is judged without masktron, by the stylesheets of `xslt_oracle` on Saxon. The first seed of each
cell is run twice for the same bytes. Methods of partition have no randomness: one seed, repeated with another.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

import masktron
from attacks import SEED
from masktron import methods
from masktron.config import Config, Role
from masktron.errors import MasktronError
from masktron.jobs.mask import run_mask
from masktron.methods.base import Partitioning
from paths import ROOT
from sample_settings import untreated
from xslt_oracle import evaluate

SAMPLES, RULES = ROOT / "sample_xml", ROOT / "rules"
SHARED = ROOT.parent / "shared" / "data"
FALLBACKS = ("prototype", "medoid")
"""Exits that stand for a record or group without an admissible value of its own."""
MOST = 5.0
"""Per cent of the records of a block that may leave so, before the cell is a weakness."""
CLASSES = {"household": "Region", "business": "Sector", "census": "V0", "census-paper": "V0", "eia": "STATE"}
"""The class of each record, for methods that need one. Census has none; it gets one from its order."""


@dataclass(frozen=True, slots=True)
class File:
    """A file with its rulebook and settings."""

    name: str
    data: Path
    rules: Path
    config: Config


@dataclass(frozen=True, slots=True)
class Cell:
    """One run to make."""

    file: File
    method: str
    k: int
    seed: int
    twice: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a run."""

    cell: Cell
    refused: str = ""
    broken: int = 0
    same: bool = True
    smallest: int = 0
    exits: tuple[tuple[str, int], ...] = ()
    fallback: float = 0.0
    loss: float = 0.0
    linkage: float = 0.0
    seconds: float = 0.0

    @property
    def fine(self) -> bool:
        """Whether the promise held: rules, bytes and groups."""
        return not self.refused and not self.broken and self.same

    def line(self) -> str:
        """Return one line of the table."""
        cell = self.cell
        head = f"{cell.file.name:13s} {cell.method:18s} k={cell.k:<3d} seed={cell.seed}"
        if self.refused:
            return f"{head} REFUSED {self.refused}"
        flags = ("" if self.same else " OTHER BYTES") + (f" BROKEN {self.broken}" if self.broken else "")
        flags += " weak" if self.fallback > MOST else ""
        exits = ", ".join(f"{name} {count}" for name, count in self.exits)
        return (
            f"{head} {self.seconds:6.1f} s  loss {self.loss:7.2f} %  linked {self.linkage:5.1f} %  fallback "
            f"{self.fallback:5.2f} %  smallest {self.smallest}{flags}  [{exits}]"
        )


def files(shared: Path, folder: Path) -> Iterator[File]:
    """Yield the samples, and the reference data where they are there, converted into a folder."""
    for name in ("household", "business"):
        yield File(name, SAMPLES / f"{name}.xml", RULES / f"{name}.sch", untreated(name))
    if not shared.is_dir():
        return
    for name, source, rules, options in (
        ("census", "census.csv", "census_real.sch", ()),
        ("census-paper", "census.csv", "census_edit_paper.sch", ("--census-paper",)),
        ("eia", "eia.csv", "eia.sch", ()),
    ):
        target = folder / name / "microdata.xml"
        target.parent.mkdir()
        command = [sys.executable, str(SAMPLES / "convert_csv.py"), str(shared / source), str(target), *options]
        subprocess.run(command, check=True, capture_output=True)
        roles = {"UTILNAME": Role.IDENTIFIER, "STATE": Role.UNTOUCHED} if name == "eia" else {}
        if name.startswith("census"):
            _classify(target)
            roles = {"V0": Role.UNTOUCHED}
        numeric = ("MONTH",) if name == "eia" else ()
        yield File(name, target, RULES / rules, Config(roles=roles, numeric=numeric, invalid="exclude"))


def _classify(path: Path) -> None:
    """Give every record a class V0 that its values have nothing to do with."""
    text = path.read_text(encoding="utf-8").split("</Record>")
    marked = [f"{record}<V0>{at % 3}</V0>" for at, record in enumerate(text[:-1])]
    path.write_text("</Record>".join([*marked, text[-1]]), encoding="utf-8")


def run(cell: Cell) -> Outcome:
    """Carry out one run, and judge what was written."""
    kind = methods.method_named(cell.method)
    params = {"class": CLASSES[cell.file.name]} if kind.needs_class else {}
    settings = {"k": cell.k, "seed": SEED + cell.seed, "order": "keep", "method": cell.method, "params": params}
    config = replace(cell.file.config, **settings)
    with tempfile.TemporaryDirectory(prefix="masktron-methods-") as folder:
        out = Path(folder) / "masked.xml"
        start = time.perf_counter()
        try:
            result = run_mask(cell.file.data, cell.file.rules, out, config=config)
        except MasktronError as error:
            return Outcome(cell, refused=f"(exit {int(error.exit_code)}) {error.what}")
        seconds = time.perf_counter() - start
        broken = sum(evaluate(cell.file.rules, out, cell.file.data).broken.values())
        same = not cell.twice or _digest(out) == _again(cell, config, Path(folder))
    exits: Counter[str] = Counter()
    for block in result.blocks:
        exits.update({name: count for name, count in block.exits.items() if count})
    return Outcome(
        cell,
        broken=broken,
        same=same,
        smallest=result.min_group,
        exits=tuple(exits.most_common()),
        fallback=max(_fallback(block) for block in result.blocks),
        loss=result.information_loss,
        linkage=result.linkage,
        seconds=seconds,
    )


def _fallback(block: masktron.results.BlockResult) -> float:
    return 100 * sum(block.exits[name] for name in FALLBACKS) / sum(block.exits.values())


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _again(cell: Cell, config: Config, folder: Path) -> str:
    """Mask again with one worker; a method that draws nothing with another seed, too."""
    out = folder / "again" / "masked.xml"
    out.parent.mkdir()
    other = issubclass(methods.method_named(cell.method), Partitioning)
    run_mask(cell.file.data, cell.file.rules, out, config=replace(config, workers=1, seed=SEED + cell.seed + other))
    return _digest(out)


def cells(chosen: Sequence[File], names: Sequence[str], sizes: Sequence[int], seeds: int) -> Iterator[Cell]:
    """Yield the runs to make."""
    for file in chosen:
        for name in names:
            for k in sizes:
                draws = not issubclass(methods.method_named(name), Partitioning)
                for seed in range(seeds if draws else 1):
                    yield Cell(file, name, k, seed, twice=seed == 0)


def main() -> int:
    """Run the command line; the exit code is 1 when a promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    every = [method.name for method in methods.ALL]
    parser.add_argument("--methods", type=lambda text: text.split(","), default=every)
    parser.add_argument("--files", type=lambda text: text.split(","), default=list(CLASSES))
    parser.add_argument("--sizes", type=lambda text: [int(k) for k in text.split(",")], default=[5, 10])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--data", type=Path, default=SHARED, help="folder of the reference data")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="masktron-files-") as folder:
        known = [file for file in files(options.data, Path(folder)) if file.name in options.files]
        wanted = list(cells(known, options.methods, options.sizes, options.seeds))
        found: list[Outcome] = []
        with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
            for outcome in pool.map(run, wanted):
                print(outcome.line(), flush=True)
                found.append(outcome)
    refused = sum(bool(one.refused) for one in found)
    weak = {(one.cell.file.name, one.cell.method, one.cell.k) for one in found if one.fallback > MOST}
    broken = sum(bool(one.broken) for one in found)
    other = sum(not one.same for one in found)
    print(
        f"{len(found)} runs: {broken} break a rule, {other} differ when repeated, {refused} refused, "
        f"{len(weak)} weak cells"
    )
    return int(bool(broken or other))


if __name__ == "__main__":
    sys.exit(main())
