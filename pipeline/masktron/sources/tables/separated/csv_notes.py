"""What of a file in CSV may be meant otherwise than it reads: noted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from masktron.problems.problem import Note, Sentence, format_option
from masktron.sources.missing_codes import texts_beside_numbers
from masktron.sources.tables.separated.csv_dialect import CsvDialect

_TOKENS = ("NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", ".", "-")
_LOOKED_AT = 10_000
"""Records in which numbers are looked for that have commas, or that stand beside a text for 'missing'."""
_COMMA = r"^[+-]?[0-9]+,[0-9]+$"
_GROUPING = {".": "point", ",": "comma", " ": "space"}
"""What stands between groups of digits, as the option `grouping` has it."""
_NUMBER = r"^[+-]?[0-9]*[.,]?[0-9]+$"


def notes_of(table: pa.Table, columns: Sequence[str], dialect: CsvDialect) -> Iterator[Sentence]:
    """Say which columns hold texts that often mean 'missing', and numbers with a comma, beside how to say so."""
    tokens = pa.array([token for token in _TOKENS if token not in dialect.null], type=pa.string())
    commas = dialect.decimal == "." and not dialect.grouping
    for name, column in zip(table.column_names, columns, strict=True):
        there = pc.is_in(table[name], value_set=tokens)
        if pc.any(there).as_py() and _any(table[name].slice(0, _LOOKED_AT), _NUMBER):
            found = pc.unique(table[name].filter(there)).to_pylist()
            yield texts_beside_numbers(column, found)
        looked_at = table[name].slice(0, _LOOKED_AT)
        if commas and _any(looked_at, _COMMA):
            yield Note(
                "column {column!r} has numbers with a comma: texts; if it is their decimal point, give "
                "[[--format-option decimal=comma]], if it stands between groups of digits, "
                "[[--format-option grouping=comma]]",
                column=column,
            )
        elif not dialect.grouping and (
            marks := [mark for mark in _GROUPING if _any(looked_at, _grouped(mark, dialect))]
        ):
            options = [format_option("grouping", _GROUPING[mark]) for mark in marks]
            yield Note(
                "column {column!r} has numbers with groups of digits: texts; to read them as numbers, give "
                "{options:or}",
                column=column,
                options=options,
            )


def _grouped(mark: str, dialect: CsvDialect) -> str:
    """Return the pattern of a number with groups of digits and, unless it has several of them, a fraction."""
    if mark == dialect.decimal:
        return "$^"  # no text
    group, point = re.escape(mark), re.escape(dialect.decimal)
    return rf"^[+-]?[0-9]{{1,3}}(({group}[0-9]{{3}})+{point}[0-9]+|({group}[0-9]{{3}}){{2,}})$"


def _any(values: pa.ChunkedArray, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(values, pattern)).as_py())
