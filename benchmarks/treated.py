"""Treatments of a large file: `mask --recode`, `--key-k` and both, as multiples of the same run without them.

Usage: python benchmarks/treated.py [--scale N] [--json FILE]

The default are 100,000 records of CSV; ``--scale 10`` is a million. Each run is a process of its own, and so is bare
reading by pyarrow, which all are also compared with. Prints a table in Markdown and, with ``--json``, writes the same
figures. What a run has to come to is asserted.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from measure import Measured, process

MASKTRON = [sys.executable, "-m", "masktron"]
RECORDS = 100_000
K, KEY_K = 5, 3
KEYS = ("region", "sex", "age", "occupation")
WAYS: Mapping[str, tuple[str, ...]] = {
    "no treatment": (),
    "--recode": ("--recode", "age=width:10"),
    "--key-k": ("--key-k", str(KEY_K)),
    "--recode and --key-k": ("--recode", "age=width:10", "--key-k", str(KEY_K)),
}
"""Options by what a row is called; the first is what the others are compared with."""
_READ = "import sys, pyarrow.csv; pyarrow.csv.read_csv(sys.argv[1])"
_RULES = """<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="record">
<assert id="total" test="wage + other = income">The income is the sum of wage and other income.</assert>
<assert id="young" test="not(age &lt; 20) or wage &lt;= 3000">Who is younger than 20 earns at most 3000.</assert>
<assert id="other" test="other &gt;= 0">Other income is not negative.</assert>
</rule></pattern></schema>
"""


@dataclass(frozen=True, slots=True)
class Row:
    """A run, beside the run without treatments and bare reading.

    Attributes
    ----------
    name : str
    seconds, cpu, megabytes : float
        As `measure.Measured` has them.
    ratio, cpu_ratio : float
        Multiples of the run without treatments, by the wall clock and by CPU seconds.
    readings : float
        Multiples of bare reading in CPU seconds.
    """

    name: str
    seconds: float
    cpu: float
    megabytes: float
    ratio: float
    cpu_ratio: float
    readings: float


def write_people(path: Path, records: int) -> None:
    """Write generated persons who keep all rules: four keys, with some rare combinations, and three amounts."""
    rng = np.random.default_rng(49)
    age = rng.integers(15, 90, records)
    wage, other = (np.rint(rng.lognormal(mean, 0.5, records)).astype(int) for mean in (7.5, 5))
    wage = np.where(age < 20, np.minimum(wage, 3000), wage)
    occupation = np.minimum(rng.geometric(0.3, records), 20)
    people = pd.DataFrame(
        {
            "region": [f"r{one}" for one in rng.integers(1, 17, records)],
            "sex": rng.choice(["f", "m"], records),
            "age": age,
            "occupation": [f"o{one}" for one in occupation],
            "wage": wage,
            "other": other,
            "income": wage + other,
        }
    )
    people.to_csv(path, index=False)


def require_kept(name: str, result: Mapping[str, Any], records: int) -> None:
    """Assert what a run has to come to.

    Raises
    ------
    SystemExit
        Records are missing, rules are broken, or fewer records than asked for share a combination of keys.
    """
    wrong = [
        *([f"{result['records_out']} records"] if result["records_out"] != records else []),
        *([f"{result['violations']} violations"] if result["violations"] else []),
    ]
    if "--key-k" in WAYS[name]:
        figures = {one["figure"]: one["value"] for one in result["figures"]}
        wrong += [f"key_k is {figures['key_k']:g}"] if figures["key_k"] < KEY_K else []
    if wrong:
        raise SystemExit(f"mask with {name}: {', '.join(wrong)}")


def masked(name: str, data: Path, rules: Path, records: int) -> Measured:
    """Mask in a way, and look at what the run says."""
    folder = data.parent / name.replace(" ", "_")
    folder.mkdir()
    out, said = folder / "masked.csv", folder / "said.json"
    roles = [word for key in KEYS for word in ("--role", f"{key}=quasi-identifier")]
    arguments = ["mask", data, "--rules", rules, "-k", K, "--out", out, "--json", said, *roles, *WAYS[name]]
    measured = process([*MASKTRON, *arguments], folder / "tables.txt", repeats=1)
    require_kept(name, json.loads(said.read_text(encoding="utf-8")), records)
    return measured


def rows_of(runs: Mapping[str, Measured], bare: Measured) -> list[Row]:
    """Put each run beside the first one and bare reading."""
    first = next(iter(runs.values()))
    return [
        Row(
            name,
            one.seconds,
            one.cpu,
            one.megabytes,
            one.seconds / first.seconds,
            one.cpu / first.cpu,
            one.cpu / bare.cpu,
        )
        for name, one in runs.items()
    ]


def table(rows: Sequence[Row]) -> str:
    """Return a table in Markdown."""
    head = ("`mask` with", "wall clock", "CPU", "times no treatment", "by CPU", "times bare reading", "peak memory")
    lines = [head, ["---"] * len(head)]
    lines += [
        (
            one.name,
            f"{one.seconds:.1f} s",
            f"{one.cpu:.1f} s",
            f"{one.ratio:.2f}",
            f"{one.cpu_ratio:.2f}",
            f"{one.readings:.0f}",
            f"{one.megabytes:,.0f} MB",
        )
        for one in rows
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1, metavar="N", help=f"times {RECORDS:,} records")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    options = parser.parse_args(arguments)
    records = round(RECORDS * options.scale)
    with tempfile.TemporaryDirectory(prefix="masktron-bench-") as name:
        data, rules = Path(name) / "people.csv", Path(name) / "people.sch"
        write_people(data, records)
        rules.write_text(_RULES, encoding="utf-8")
        size = data.stat().st_size
        bare = process([sys.executable, "-c", _READ, data], data.with_name("bare.txt"))
        rows = rows_of({way: masked(way, data, rules, records) for way in WAYS}, bare)
    print(f"{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, {os.cpu_count()} cores, ", end="")
    print(f"{records:,} records, {size / 1e6:,.1f} MB of CSV; bare reading takes {bare.cpu:.2f} s of CPU\n")
    print(table(rows))
    if options.json:
        content = {"records": records, "bytes": size, "bare": asdict(bare), "runs": [asdict(one) for one in rows]}
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
