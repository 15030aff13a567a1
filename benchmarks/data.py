"""The file of the benchmarks: 1,080 records with the 16 variables of the edit paper, as often as wanted.

The Census file of the SDC literature, if it is at hand: named by ``MASKTRON_CENSUS`` or in ``../shared/data``. Else a
generated file of the same shape, so that the benchmarks run anywhere.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree
from numpy.typing import NDArray

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


def jittered(of: Source, copies: int, path: Path, seed: int = 5, *, doubles: bool = False) -> Path:
    """Write so many copies of a source, every record of them changed a little, and the four rules of the paper true.

    Copies of a file make it easy for a method that looks for near records. Every integer is multiplied by the
    exponential of a normal deviate (0.1) and moved by another (3); V3 stays within its range, V14 is a sum, V13 is
    lowered to V12 where V8 < 1115, and V15 has nine decimals, stepped until its product V16 comes out the same in
    every engine: V15, V16 and the product of doubles. With `doubles` the deviate is a third as large, V15 is 1 / V10
    (1 where that is 0) and V16 the product, as doubles with all digits that they have; libxml2 misreads many.

    Parameters
    ----------
    of : Source
    copies : int
    path : Path
        Written.
    seed : int
    doubles : bool
    """
    rows = etree.parse(of.path).getroot()
    base = np.array([[float(row.findtext(name, "nan")) for name in FIELDS] for row in rows])
    rng = np.random.default_rng(seed)
    values = np.tile(base[:, :13], (copies, 1))
    spread = 0.03 if doubles else 0.1
    values = values * np.exp(rng.normal(0, spread, values.shape)) + rng.normal(0, 3, values.shape)
    whole = np.maximum(np.rint(values), 0).astype(np.int64)
    whole[:, 2] = np.minimum(whole[:, 2], 7500)
    low = whole[:, 7] < 1115
    whole[low, 12] = np.minimum(whole[low, 12], whole[low, 11])
    total = whole[:, 8] + whole[:, 9]
    if doubles:
        reciprocal = 1.0 / np.maximum(whole[:, 9], 1)
        return _written([*whole.T, total, reciprocal, whole[:, 4] * reciprocal], _plain, path)
    inverse = np.rint(np.tile(base[:, 14], copies) * np.exp(rng.normal(0, 0.1, len(whole))) * 1e9).astype(np.int64)
    inverse = np.maximum(inverse, 1)
    wrong = np.flatnonzero(~_same_product(whole[:, 4], inverse))
    while wrong.size:
        inverse[wrong] += 1
        wrong = wrong[~_same_product(whole[wrong, 4], inverse[wrong])]
    return _written([*whole.T, total, inverse, whole[:, 4] * inverse], _nano, path)


def _written(columns: Sequence[NDArray[Any]], decimals: Callable[[NDArray[Any]], list[str]], path: Path) -> Path:
    """Write records of fourteen integers and two decimals."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        stream.write('<?xml version="1.0" encoding="UTF-8"?>\n<Data>\n')
        for start in range(0, len(columns[0]), 10_000):
            texts = [list(map(str, column[start : start + 10_000].tolist())) for column in columns[:14]]
            texts += [decimals(column[start : start + 10_000]) for column in columns[14:]]
            parts = [
                [f"    <{name}>{text}</{name}>\n" for text in own] for name, own in zip(FIELDS, texts, strict=True)
            ]
            stream.writelines(f"  <Record>\n{''.join(row)}  </Record>\n" for row in zip(*parts, strict=True))
        stream.write("</Data>\n")
    return path


def _plain(numbers: NDArray[np.float64]) -> list[str]:
    """Write doubles with the fewest digits that tell them from all others, without an exponent."""
    return [f"{Decimal(repr(number)):f}" for number in numbers.tolist()]


def _nano(numbers: NDArray[np.int64]) -> list[str]:
    """Write billionths, without zeros at the end."""
    return [f"{n // 10**9}.{n % 10**9:09d}".rstrip("0").rstrip(".") for n in numbers.tolist()]


def _same_product(factor: NDArray[np.int64], billionths: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether a product of an integer and a decimal is true in doubles, read correctly and as libxml2 reads them."""
    product = factor * billionths
    correct = factor * (billionths / 1e9) == product / 1e9
    return correct & (_libxml2(billionths) == billionths / 1e9) & (_libxml2(product) == product / 1e9)


def _libxml2(billionths: NDArray[np.int64]) -> NDArray[np.float64]:
    """Integer part plus fraction, each rounded, then the sum rounded; numbers below 2 ** 53 billionths."""
    return billionths // 10**9 + (billionths % 10**9) / 1e9
