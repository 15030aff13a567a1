"""What of a file in CSV may be meant otherwise than it reads: refused where it is plain, else noted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from masktron.errors import DocumentError
from masktron.sources.lexical import parse_number
from masktron.sources.tables.separated.csv_dialect import CsvDialect
from masktron.sources.tables.separated.csv_outline import CsvOutline
from masktron.sources.tables.separated.number_spellings import ambiguous

_TOKENS = ("NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", ".", "-")
_LOOKED_AT = 10_000
"""Records in which numbers are looked for that have commas, or that stand beside a text for 'missing'."""
_COMMA = r"^[+-]?[0-9]+,[0-9]+$"
_GROUPING = {".": "point", ",": "comma", " ": "space"}
"""What stands between groups of digits, as the option `grouping` has it."""
_NUMBER = r"^[+-]?[0-9]*[.,]?[0-9]+$"
_NOT_NAMES = "if it is a record, say --format-option header=no; if it has names, header=yes"


def refuse_a_record(table: pa.Table, outline: CsvOutline, where: str) -> None:
    """Refuse a first line that seems to be a record, unless the user says that it has names.

    That is so where all names are numbers, or values in their own columns.

    Raises
    ------
    DocumentError
    """
    if outline.dialect.header is not None:
        return
    if only_numbers(outline.columns):
        raise DocumentError("the first line holds numbers, not names", where=f"{where}:1", hint=_NOT_NAMES)
    if len(outline.columns) > 1 and len(table) and all(_like_values(table, outline.columns)):
        raise seems_a_record(where)


def seems_a_record(where: str) -> DocumentError:
    """Return the error of a first line whose cells are numbers, or values of their columns."""
    return DocumentError(
        "the first line seems to be a record: all its cells are values of their columns, too, or numbers",
        where=f"{where}:1",
        hint=_NOT_NAMES,
    )


def only_numbers(names: Sequence[str]) -> bool:
    """Whether all names are numbers."""
    return all(not np.isnan(parse_number(name)) for name in names)


def refuse_ambiguous(table: pa.Table, outline: CsvOutline, where: str) -> None:
    """Refuse numbers with a point where the decimal point is another.

    Raises
    ------
    DocumentError
    """
    dialect = outline.dialect
    if dialect.decimal == ".":
        return
    for name, column in zip(table.column_names, outline.columns, strict=True):
        found = np.flatnonzero(ambiguous(table[name], dialect))
        if found.size:
            hint = "if it stands between groups of digits, say --format-option grouping=point"
            raise DocumentError(
                f"column {column!r} has a number with a point, though the decimal point is {dialect.decimal!r}",
                where=f"{where}:{outline.line(int(found[0]))}",
                hint=hint if not dialect.grouping else "write all numbers alike",
            )


def refuse_decimal_comma(table: pa.Table, outline: CsvOutline, where: str, *, said: bool) -> None:
    """Refuse columns of numbers with a comma where nobody says what the comma is: rules would see texts.

    Parameters
    ----------
    said : bool
        Whether the user says what the decimal point is.

    Raises
    ------
    DocumentError
    """
    if said or outline.dialect.delimiter == "," or outline.dialect.grouping:
        return
    for name, column in zip(table.column_names, outline.columns, strict=True):
        there = pc.unique(table[name]).drop_null()
        if has_decimal_comma(there) and all_decimal_comma(there):
            raise undeclared_comma(column, where)


def has_decimal_comma(cells: pa.Array) -> bool:
    """Whether one of some cells is a number with a comma."""
    return bool(pc.any(pc.match_substring_regex(cells, _COMMA)).as_py())


def all_decimal_comma(cells: pa.Array) -> bool:
    """Whether all cells are integers, or numbers with a comma."""
    return bool(pc.all(pc.match_substring_regex(cells, r"^[+-]?[0-9]+(,[0-9]+)?$")).as_py())


def undeclared_comma(column: str, where: str) -> DocumentError:
    """Return the error of a column of numbers with commas of which nobody says what they are."""
    return DocumentError(
        f"all values of column {column!r} are numbers, some with a comma",
        where=where,
        hint="if the comma is their decimal point, say --format-option decimal=comma; if they are texts, "
        "decimal=point",
    )


def notes_of(table: pa.Table, columns: Sequence[str], dialect: CsvDialect) -> Iterator[str]:
    """Say which columns hold texts that often mean 'missing', and numbers with a comma, beside how to say so."""
    tokens = pa.array([token for token in _TOKENS if token not in dialect.null], type=pa.string())
    commas = dialect.decimal == "." and not dialect.grouping
    for name, column in zip(table.column_names, columns, strict=True):
        there = pc.is_in(table[name], value_set=tokens)
        if pc.any(there).as_py() and _any(table[name].slice(0, _LOOKED_AT), _NUMBER):
            found = pc.unique(table[name].filter(there)).to_pylist()
            yield (
                f"column {column!r} has {' and '.join(map(repr, found))} beside numbers: a text like any other; "
                f"if it means that there is no value, say --format-option null={','.join(found)}"
            )
        looked_at = table[name].slice(0, _LOOKED_AT)
        if commas and _any(looked_at, _COMMA):
            yield (
                f"column {column!r} has numbers with a comma: texts; if it is their decimal point, say "
                "--format-option decimal=comma, if it stands between groups of digits, grouping=comma"
            )
        elif not dialect.grouping and (
            marks := [mark for mark in _GROUPING if _any(looked_at, _grouped(mark, dialect))]
        ):
            yield (
                f"column {column!r} has numbers with groups of digits: texts; say --format-option "
                f"grouping={' or grouping='.join(_GROUPING[mark] for mark in marks)}, and they are numbers"
            )


def _grouped(mark: str, dialect: CsvDialect) -> str:
    """Return the pattern of a number with groups of digits and, unless it has several of them, a fraction."""
    if mark == dialect.decimal:
        return "$^"  # no text
    group, point = re.escape(mark), re.escape(dialect.decimal)
    return rf"^[+-]?[0-9]{{1,3}}(({group}[0-9]{{3}})+{point}[0-9]+|({group}[0-9]{{3}}){{2,}})$"


def _like_values(table: pa.Table, columns: Sequence[str]) -> Iterator[bool]:
    for name, column in zip(table.column_names, columns, strict=True):
        yield not np.isnan(parse_number(column)) or bool(pc.any(pc.equal(table[name], column)).as_py())


def _any(values: pa.ChunkedArray, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(values, pattern)).as_py())
