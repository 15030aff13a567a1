"""Speed as ratios, measured in one run on one machine: `make bench`.

Nothing here is a test: absolute times say more about the machine than about masktron. Every figure is the best of
three runs, divided by a peer or a bare library call on the same data.
"""

from __future__ import annotations

import math
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from lxml import etree

from masktron.evaluation.exact import evaluate
from masktron.kernels.mdav import mdav
from masktron.read.layout import survey
from masktron.read.microdata import read_records
from masktron.read.schematron import read_rules

RULES = """<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="Record">
<assert test="V0 + V1 = V2"/><assert test="0 &lt;= V3 and V3 &lt;= 7500"/>
<assert test="not(V4 &lt; 10) or V5 &lt;= V6"/></rule></pattern></schema>"""


def best(run: Callable[[], object], repeats: int = 3) -> float:
    """Seconds of the fastest of some runs."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def write_file(path: Path, records: int) -> None:
    """Write a flat file of 16 integer fields that satisfies the rules."""
    values = np.random.default_rng(1).integers(10, 7000, size=(records, 16))
    values[:, 2] = values[:, 0] + values[:, 1]
    rows = ("".join(f"<V{at}>{value}</V{at}>" for at, value in enumerate(row)) for row in values.tolist())
    path.write_text("<Data>\n" + "\n".join(f"<Record>{row}</Record>" for row in rows) + "\n</Data>\n")


def validation(folder: Path, sizes: tuple[int, ...]) -> None:
    """Validation against bare parsing, and how it grows."""
    (folder / "rules.sch").write_text(RULES)
    rulebook = read_rules(folder / "rules.sch")
    print("validate, three rules, 16 fields                 records   seconds   x lxml.etree.parse")
    seconds: dict[tuple[str, int], float] = {}
    for records in sizes:
        path = folder / f"{records}.xml"
        write_file(path, records)
        layout, _ = survey(path)
        parsing = best(lambda path=path: etree.parse(str(path)))  # type: ignore[misc]
        for name, run in {
            "survey of the layout": lambda path=path: survey(path),
            "libxml2 (decides XPath 1.0)": lambda path=path, layout=layout: evaluate(path, rulebook, layout),
            "Saxon in XPath 1.0 mode": lambda path=path, layout=layout: evaluate(
                path, rulebook, layout, engine="saxon"
            ),
            "reading columns": lambda path=path, layout=layout: read_records(path, layout),
        }.items():
            seconds[name, records] = best(run)
            print(f"  {name:44} {records:>9} {seconds[name, records]:9.2f} {seconds[name, records] / parsing:10.1f}")
    low, high = sizes[0], sizes[-1]
    for name in dict.fromkeys(name for name, _ in seconds):
        exponent = math.log(seconds[name, high] / seconds[name, low]) / math.log(high / low)
        print(f"  {name:44} growth exponent {exponent:.2f}")


def partitions(sizes: tuple[int, ...]) -> None:
    """MDAV against one pass of distances from each record to the mean, the least that any partition costs."""
    print("\nMDAV, k = 5, six variables                       records   seconds   x one distance pass per group")
    for records in sizes:
        points = np.random.default_rng(2).lognormal(size=(records, 6))
        points = (points - points.mean(axis=0)) / points.std(axis=0)
        passes = best(
            lambda points=points: [((points - points[0]) ** 2).sum(axis=1) for _ in range(len(points) // 5)]
        )  # type: ignore[misc]
        seconds = best(lambda points=points: mdav(points, 5))  # type: ignore[misc]
        print(f"  {'brute force':44} {records:>9} {seconds:9.2f} {seconds / passes:10.2f}")


def main() -> None:
    """Print all ratios."""
    scale = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    with tempfile.TemporaryDirectory() as folder:
        validation(Path(folder), (2_000 * scale, 20_000 * scale))
    partitions((1_000 * scale, 4_000 * scale))


if __name__ == "__main__":
    main()
