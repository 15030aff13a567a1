"""Convert a CSV file with a header to plain microdata XML.

    python sample_xml/convert_csv.py survey.csv survey.xml
    python sample_xml/convert_csv.py census.csv census16.xml --census-paper

A name that XML does not allow is changed, and the change is told. Who may read the CSV file, may read the new one.

``--census-paper`` names the 13 variables of the Census file as the edit paper does, V1 to V13 in alphabetical
order, and adds V14 = V9 + V10, V15 = 1 / V11 and V16 = V5 * V15, computed in doubles.
"""

from __future__ import annotations

import argparse
import codecs
import csv
import os
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import count
from pathlib import Path

from survey import Record, Shape, to_xml

PAPER_ORDER = (
    "AFNLWGT", "AGI", "EMCONTRB", "ERNVAL", "FEDTAX", "FICA", "INTVAL", "PEARNVAL", "POTHVAL", "PTOTVAL",
    "STATETAX", "TAXINC", "WSALVAL",
)  # fmt: skip
DELIMITERS = ",;\t|"
_START = "A-Z_a-z\xc0-\xd6\xd8-\xf6\xf8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d\u2070-\u218f\u2c00-\u2fef"
_START += "\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
_OTHERS = re.compile(f"[^{_START}0-9.\xb7\u0300-\u036f\u203f-\u2040-]")
_BEGINS = re.compile(f"[{_START}]")
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


class TableError(Exception):
    """The file is no table that can be converted; the text says where and what to do."""


def valid_names(header: Sequence[str]) -> list[str]:
    """Return a name that XML allows for each column; those that it allows stay, the others are made like them.

    What is not allowed becomes ``_``; a second column of one name gets a number.
    """
    names: list[str] = []
    for position, cell in enumerate(header, 1):
        name = _OTHERS.sub("_", cell.strip()) or f"column_{position}"
        if not _BEGINS.match(name) or name.lower().startswith("xml"):
            name = f"_{name}"
        numbers = count(2)
        single = name
        while single in names or (single != cell and single in header):
            single = f"{name}_{next(numbers)}"
        names.append(single)
    return names


def read_csv(
    path: Path, *, delimiter: str | None = None, encoding: str = "utf-8-sig", header: bool = True
) -> tuple[list[str], list[str], Iterator[Record]]:
    """Return the first line, the names of the columns and the rows, texts unchanged; '' is an empty element.

    Parameters
    ----------
    path : Path
    delimiter : str, optional
        By default what the first line has most of: a comma, a semicolon, a tab or a bar.
    encoding : str
    header : bool
        Whether the first line holds names; else the columns are V1, V2, ...

    Raises
    ------
    TableError
        The file is missing, compressed or in UTF-16 although nobody says so; it is empty, its first line holds
        numbers, or a row has more or fewer cells.
    """
    _refuse_other_bytes(path, encoding)
    with path.open(newline="", encoding=encoding) as file:
        begin = file.readline()
    delimiter = delimiter or max(DELIMITERS, key=begin.count)
    rows = _rows(path, encoding, delimiter)
    first = next(rows, (0, []))[1]
    if not first:
        raise TableError(f"{path} has no line of names")
    cells = [cell.strip() for cell in first]
    if not header:
        names = [f"V{number}" for number in range(1, len(first) + 1)]
        return [], names, _records(path, names, _rows(path, encoding, delimiter))
    if any(cells) and all(_NUMBER.fullmatch(cell) for cell in cells if cell):
        raise TableError(
            f"{path}:1: the first line holds numbers ({delimiter.join(first[:4])} ...), not names\n"
            "  if it is a record, give --no-header: the columns are then called V1, V2, ...; else write names there"
        )
    names = valid_names(first)
    return first, names, _records(path, names, rows)


def _refuse_other_bytes(path: Path, encoding: str) -> None:
    """Say what a file is that is no text in the encoding, where its first bytes tell."""
    try:
        with path.open("rb") as file:
            begin = file.read(2)
    except FileNotFoundError:
        raise TableError(f"{path} does not exist") from None
    except IsADirectoryError:
        raise TableError(f"{path} is a folder, not a CSV file") from None
    if begin == b"\x1f\x8b":
        raise TableError(f"{path} is compressed with gzip\n  decompress it first: gunzip {shlex.quote(path.name)}")
    if begin in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) and codecs.lookup(encoding).name != "utf-16":
        raise TableError(f"{path} is in UTF-16\n  give --encoding utf-16")


def _rows(path: Path, encoding: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each row that is not empty, with its line."""
    with path.open(newline="", encoding=encoding) as file:
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        for row in reader:
            if row:
                yield reader.line_num, row


def _records(path: Path, names: Sequence[str], rows: Iterator[tuple[int, list[str]]]) -> Iterator[Record]:
    for line, row in rows:
        if len(row) != len(names):
            raise TableError(f"{path}:{line}: {len(row)} cells, and there are {len(names)} columns")
        for name, cell in zip(names, row, strict=True):
            if _FORBIDDEN.search(cell):
                raise TableError(f"{path}:{line}: {name} holds a control character, which XML does not allow")
        yield dict(zip(names, row, strict=True))


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


def convert(options: argparse.Namespace) -> None:
    """Convert one file, and tell what was renamed.

    Raises
    ------
    TableError, OSError, UnicodeDecodeError
        Nothing is written.
    """
    first, names, rows = read_csv(
        options.csv, delimiter=options.delimiter, encoding=options.encoding, header=not options.no_header
    )
    text = to_xml(Shape("Data", "Record"), map(as_in_the_paper, rows) if options.census_paper else rows)
    mode = options.csv.stat().st_mode & 0o666
    with open(options.xml, "wb", opener=lambda path, flags: os.open(path, flags, mode)) as file:
        file.write(text.encode())
    for old, new in zip(first, names, strict=False):
        if old != new:
            sys.stderr.write(f"renamed: {old!r} is {new}\n")


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line and convert one file."""
    parser = argparse.ArgumentParser(description="Convert a CSV file to microdata XML.")
    parser.add_argument("csv", type=Path)
    parser.add_argument("xml", type=Path)
    parser.add_argument("--census-paper", action="store_true", help="build V1 to V16 of the edit paper")
    parser.add_argument("--no-header", action="store_true", help="the first line is a record")
    parser.add_argument("--delimiter", help="what stands between cells; by default what the first line has most of")
    parser.add_argument("--encoding", default="utf-8-sig", help="such as cp1252; UTF-8 by default")
    options = parser.parse_args(arguments)
    try:
        convert(options)
    except TableError as error:
        sys.exit(f"error: {error}")
    except csv.Error as error:
        sys.exit(f"error: {options.csv}: {error}")
    except UnicodeDecodeError as error:
        sys.exit(f"error: {options.csv} is not {options.encoding}: {error.reason}\n  try --encoding cp1252")
    except (OSError, LookupError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
