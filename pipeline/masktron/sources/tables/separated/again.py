"""The second reading of CSV, with the standard library alone: csv, gzip and codecs (zstandard for what it packed)."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from masktron.errors import DocumentError
from masktron.extras import library
from masktron.problems.problem import Place
from masktron.sources.tables.separated.csv_dialect import CsvDialect
from masktron.sources.tables.table_format import LexemeRow, SecondReading

_SPACE = " \t\r\n"


def second_reading(path: Path, dialect: CsvDialect, longest: int) -> SecondReading:
    """Read a file in a dialect.

    Parameters
    ----------
    path : Path
    dialect : CsvDialect
    longest : int
        How long a cell may be, in characters. Above the limit of the csv module, that is raised, and stays so: it is
        one for the process, and other readings may be under way.

    Raises
    ------
    DocumentError
        What the csv module does not read.
    """
    csv.field_size_limit(max(csv.field_size_limit(), longest + 1))
    with _records(path, dialect) as records:
        first = next(records, [])
    header = dialect.has_names
    columns = tuple(first) if header else tuple(f"V{at + 1}" for at in range(len(first) or 1))

    def rows() -> Iterator[LexemeRow]:
        with _records(path, dialect) as again:
            if header:
                next(again)
            yield from _meant(again, dialect, columns)

    return SecondReading(columns, rows())


def _meant(records: Iterator[list[str]], dialect: CsvDialect, columns: Sequence[str]) -> Iterator[LexemeRow]:
    missing = {"", *dialect.null}
    numbers = dialect.own_numbers
    own = [numbers and name not in dialect.texts for name in columns]
    for cells in records:
        if not cells:
            # an empty line
            if len(columns) == 1:
                yield (None,)
            continue
        if numbers:
            yield [
                None if cell in missing else _lexeme(cell, dialect.decimal, dialect.grouping) if number else cell
                for cell, number in zip(cells, own, strict=True)
            ]
        elif dialect.null:
            yield [None if cell in missing else cell for cell in cells]
        else:
            yield [cell or None for cell in cells]


@contextmanager
def _records(path: Path, dialect: CsvDialect) -> Iterator[Iterator[list[str]]]:
    said: dict[str, Any] = {"quoting": csv.QUOTE_NONE, "quotechar": None}
    if dialect.quote:
        said = {"quotechar": dialect.quote, "doublequote": not dialect.escape}
    with _opened(path, dialect) as stream:
        stream.read(len(dialect.mark))
        text = io.TextIOWrapper(stream, encoding=dialect.codec, newline="")
        reader = csv.reader(text, delimiter=dialect.delimiter, escapechar=dialect.escape or None, strict=True, **said)
        try:
            yield reader
        except (csv.Error, UnicodeError, EOFError, OSError) as error:
            raise DocumentError.of(
                "file-damaged",
                Place(str(path), reader.line_num + 1),
                format="CSV",
                detail="Python's csv module cannot read this line",
            ) from error


@contextmanager
def _opened(path: Path, dialect: CsvDialect) -> Iterator[Any]:
    if dialect.compression == "zstd":
        zstandard = library("zstandard", "CSV that is packed with Zstandard")
        with path.open("rb") as packed:
            unpacker = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
            with io.BufferedReader(unpacker, 1 << 20) as stream:
                yield stream
    elif dialect.compression == "gzip":
        with gzip.open(path) as stream:
            yield stream
    else:
        with path.open("rb") as stream:
            yield stream


def _lexeme(cell: str, decimal: str, grouping: str) -> str:
    """Return a number with a point and without groups; what is no number as it is."""
    core = cell.strip(_SPACE)
    unsigned = core[1:] if core[:1] in ("+", "-") else core
    mantissa, letter, exponent = unsigned.replace("E", "e").partition("e")
    if letter and not _digits(exponent[1:] if exponent[:1] in ("+", "-") else exponent):
        return cell
    whole, point, tail = mantissa.partition(decimal)
    if (tail and not _digits(tail)) or not (whole or tail):
        return cell
    if whole and not _digits(whole):
        first, *groups = whole.split(grouping) if grouping else [whole]
        if not groups or not _digits(first) or len(first) > 3:
            return cell
        if any(len(group) != 3 or not _digits(group) for group in groups):
            return cell
        whole = first + "".join(groups)
    number = whole + ("." if point else "") + tail
    return cell.replace(mantissa, number, 1)


def _digits(text: str) -> bool:
    return text.isascii() and text.isdigit()
