"""Convert a CSV file with a header to plain microdata XML.

    python sample_xml/convert_csv.py census.csv census.xml
    python sample_xml/convert_csv.py census.csv census16.xml --census-paper

``--census-paper`` names the 13 variables of the Census file as the edit paper does, V1 to V13 in alphabetical
order, and adds V14 = V9 + V10, V15 = 1 / V11 and V16 = V5 * V15, computed in doubles.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path

from survey import Record, Shape, to_xml

PAPER_ORDER = (
    "AFNLWGT", "AGI", "EMCONTRB", "ERNVAL", "FEDTAX", "FICA", "INTVAL", "PEARNVAL", "POTHVAL", "PTOTVAL",
    "STATETAX", "TAXINC", "WSALVAL",
)  # fmt: skip


def read_csv(path: Path) -> Iterator[Record]:
    """Yield the rows, texts unchanged; an empty text is an empty element."""
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file, strict=True):
            yield dict(row)


def as_in_the_paper(row: Mapping[str, str | None]) -> Record:
    """Return V1 to V16 of one record of the Census file."""
    record: Record = {f"V{i}": row[name] for i, name in enumerate(PAPER_ORDER, 1)}
    inverse = 1 / _number(record, "V11")
    return record | {
        "V14": _plain(_number(record, "V9") + _number(record, "V10")),
        "V15": _plain(inverse),
        "V16": _plain(_number(record, "V5") * inverse),
    }


def _number(record: Mapping[str, str | None], name: str) -> float:
    return float(record[name] or "nan")


def _plain(number: float) -> str:
    """Write the shortest text that reads back as this double, without an exponent: XPath 1.0 has none."""
    return str(int(number)) if number.is_integer() else f"{Decimal(repr(number)):f}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line and convert one file."""
    parser = argparse.ArgumentParser(description="Convert a CSV file to microdata XML.")
    parser.add_argument("csv", type=Path)
    parser.add_argument("xml", type=Path)
    parser.add_argument("--census-paper", action="store_true", help="build V1 to V16 of the edit paper")
    options = parser.parse_args(arguments)
    rows: Iterator[Record] = read_csv(options.csv)
    if options.census_paper:
        rows = map(as_in_the_paper, rows)
    options.xml.write_bytes(to_xml(Shape("Data", "Record"), rows).encode())


if __name__ == "__main__":
    main()
