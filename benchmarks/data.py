"""The file of the benchmarks: 1,080 records with the 16 variables of the edit paper, as often as wanted.

The Census file of the SDC literature, if it is at hand: named by ``MASKTRON_CENSUS`` or in ``../shared/data``. Else a
generated file of the same shape, so that the benchmarks run anywhere.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
RECORDS = 1080
FIELDS = tuple(f"V{i}" for i in range(1, 17))


@dataclass(frozen=True, slots=True)
class Source:
    """The file that is repeated.

    Attributes
    ----------
    name : str
    path : Path
    failures : dict of str to int
        Failures of each rule of ``rules/five.sch`` in it, as double arithmetic has them.
    libxml2 : dict of str to int
        The same where libxml2 reads the numbers, whose last digit it does not always round correctly.
    """

    name: str
    path: Path
    failures: dict[str, int]
    libxml2: dict[str, int]


def source(folder: Path) -> Source:
    """Write the file that is repeated."""
    census = Path(os.environ.get("MASKTRON_CENSUS", ROOT.parent / "shared" / "data" / "census.csv"))
    path = folder / "source.xml"
    none = {"ec-lc": 0, "ec-nlc": 0, "ec-pv": 0, "ec-gv": 0}
    if census.is_file():
        script = ROOT / "sample_xml" / "convert_csv.py"
        subprocess.run([sys.executable, script, census, path, "--census-paper"], check=True)
        counts = none | {"ec-order": 941}
        return Source("Census", path, counts, counts | {"ec-nlc": 177})
    counts = none | {"ec-order": _generate(path)}
    return Source("generated", path, counts, counts)


def _generate(path: Path) -> int:
    """Write records that keep all rules but V3 <= V7, and return how many break that one."""
    values = np.random.default_rng(4).integers(1200, 60_000, size=(RECORDS, 16))
    values[:, 2] %= 7501
    values[:, 6] %= 4000
    values[:, 13] = values[:, 8] + values[:, 9]
    # eighths, so that every engine has the same product to the last bit
    eighths = values[:, 10] % 8 + 1
    rows = [[str(value) for value in row] for row in values.tolist()]
    for row, eighth in zip(rows, eighths.tolist(), strict=True):
        row[14], row[15] = str(eighth / 8), str(int(row[4]) * eighth / 8)
    records = (
        "<Record>\n" + "".join(f"<{n}>{v}</{n}>\n" for n, v in zip(FIELDS, row, strict=True)) + "</Record>\n"
        for row in rows
    )
    path.write_text(f'<?xml version="1.0" encoding="UTF-8"?>\n<Data>\n{"".join(records)}</Data>\n', encoding="utf-8")
    return int((values[:, 2] > values[:, 6]).sum())


def repeated(of: Source, copies: int, path: Path) -> Path:
    """Write the records of a source so many times into one file."""
    text = of.path.read_bytes()
    begin, end = text.index(b"<Record"), text.rindex(b"</Record>") + len(b"</Record>")
    with path.open("wb") as stream:
        stream.write(text[:begin])
        stream.write(text[begin:end])
        for _ in range(copies - 1):
            stream.write(b"\n" + text[begin:end])
        stream.write(text[end:])
    return path
