"""Numbers of a file that has another decimal point, or groups of digits: as lexemes, and back."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from masktron.sources.tables.separated.csv_dialect import CsvDialect

_SPACE = r"[ \t\r\n]*"
_EXPONENT = r"(?:[eE][+-]?[0-9]+)?"
_NUMBER = rf"^{_SPACE}[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+){_EXPONENT}{_SPACE}$"
_GROUPS = re.compile(r"(?<=[0-9])(?=(?:[0-9]{3})+(?![0-9]))")


def to_lexemes(cells: pa.ChunkedArray, dialect: CsvDialect) -> pa.ChunkedArray:
    """Return cells in which numbers have a point and no groups; what is no number stays as it is."""
    if not dialect.own_numbers:
        return cells
    written = pc.match_substring_regex(cells, _written(dialect))
    plain = pc.replace_substring(cells, dialect.grouping, "") if dialect.grouping else cells
    if dialect.decimal != ".":
        plain = pc.replace_substring(plain, dialect.decimal, ".")
    return pc.if_else(written, plain, cells)


def ambiguous(cells: pa.ChunkedArray, dialect: CsvDialect) -> NDArray[np.bool_]:
    """Mask of cells that are numbers with a point, though the point of this file is another, shape (n,)."""
    point = pc.match_substring_regex(cells, _NUMBER)
    own = pc.match_substring_regex(cells, _written(dialect))
    found: NDArray[np.bool_] = pc.fill_null(pc.and_not(point, own), False).to_numpy().astype(np.bool_)
    return found


def has_groups(cells: pa.ChunkedArray, dialect: CsvDialect) -> bool:
    """Whether a number of a column has groups of digits."""
    if not dialect.grouping:
        return False
    grouped = pc.and_(pc.match_substring(cells, dialect.grouping), pc.match_substring_regex(cells, _written(dialect)))
    return bool(pc.any(grouped).as_py())


def from_lexemes(lexemes: pa.Array, dialect: CsvDialect, *, groups: bool) -> pa.Array:
    """Return lexemes as a file has them: numbers with its decimal point and, where wanted, groups of digits."""
    if not dialect.own_numbers:
        return lexemes
    number = pc.match_substring_regex(lexemes, _NUMBER)
    if not groups:
        own = pc.replace_substring(lexemes, ".", dialect.decimal)
        return pc.if_else(number, own, lexemes)
    texts = [
        _grouped(text, dialect) if is_number else text
        for text, is_number in zip(lexemes.to_pylist(), number.to_pylist(), strict=True)
    ]
    return pa.array(texts, type=pa.string())


def _grouped(text: str, dialect: CsvDialect) -> str:
    whole, point, rest = text.partition(".")
    if not point:
        found = re.match(rf"{_SPACE}[+-]?[0-9]+", text)
        end = 0 if found is None else found.end()
        whole, rest = text[:end], text[end:]
    return _GROUPS.sub(dialect.grouping.replace("\\", r"\\"), whole) + (dialect.decimal if point else "") + rest


def _written(dialect: CsvDialect) -> str:
    """Return the pattern of numbers as the file writes them."""
    point, group = re.escape(dialect.decimal), re.escape(dialect.grouping)
    whole = rf"(?:[0-9]+|[0-9]{{1,3}}(?:{group}[0-9]{{3}})+)" if group else "[0-9]+"
    return rf"^{_SPACE}[+-]?(?:{whole}(?:{point}[0-9]*)?|{point}[0-9]+){_EXPONENT}{_SPACE}$"
