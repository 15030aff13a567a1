"""Values of the cells of a sheet: what they are read as, and what is written for a lexeme."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from masktron.errors import DocumentError
from masktron.extras import library
from masktron.sources.lexical import parse_number
from masktron.sources.tables.arrow_lexemes import lexemes_of, plain
from masktron.sources.tables.office_files import (
    NO_DATE,
    SheetOutline,
    letters,
)
from masktron.sources.tables.sheet_places import CellPlace

NUMBER, TEXT, TRUTH, DATE, NOTHING = "n", "t", "b", "d", ""
FIRST_DATE = "1900-03-01"
"""Before it spreadsheet programs do not agree which day a number is."""
_TIME = re.compile(r"[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,3})?")

type CellKinds = NDArray[np.str_]
"""The type of each cell of a column."""


def is_number(lexeme: str) -> bool:
    """Whether a double is exactly what a lexeme says."""
    text = lexeme.strip()
    number = parse_number(text)
    return bool(np.isfinite(number)) and Decimal(repr(float(number))) == Decimal(text)


def is_canonical(lexeme: str) -> bool:
    """Whether a number comes back from a spreadsheet with the same characters."""
    return is_number(lexeme) and plain(Decimal(repr(float(parse_number(lexeme))))) == lexeme


def texts_as_read(lexemes: list[str | None], kinds: CellKinds) -> list[str | None]:
    """Return lexemes as the cells give them back: numbers without blanks around them."""
    return [
        text.strip() if text is not None and kind == NUMBER else text
        for text, kind in zip(lexemes, kinds, strict=True)
    ]


def moment_of_cell(lexeme: str) -> datetime.date | datetime.datetime | datetime.time | None:
    """Return a date or time whose lexeme is this one; None where there is none."""
    try:
        if _TIME.fullmatch(lexeme):
            return datetime.time.fromisoformat(lexeme)
        if len(lexeme) == 10:
            found: datetime.date = datetime.date.fromisoformat(lexeme)
            return found if found.isoformat() == lexeme >= FIRST_DATE else None
        moment = datetime.datetime.fromisoformat(lexeme)
    except ValueError:
        return None
    head, point, fraction = moment.isoformat().partition(".")
    same = head + (f".{fraction.rstrip('0')}" if point else "") == lexeme
    fits = moment.time() != datetime.time() and moment.microsecond % 1000 == 0 and moment.tzinfo is None
    return moment if same and fits and lexeme >= FIRST_DATE else None


def code_of_moment(lexeme: str) -> str:
    """Return the number format that shows a date or time as its lexeme does."""
    if _TIME.fullmatch(lexeme):
        return "hh:mm:ss"
    return "yyyy-mm-dd" if len(lexeme) == 10 else "yyyy-mm-dd hh:mm:ss"


def serial_of_moment(lexeme: str, since_1904: bool) -> float:
    """Return the number that a date is in an Excel workbook."""
    start = datetime.datetime(1904, 1, 1) if since_1904 else datetime.datetime(1899, 12, 30)
    if _TIME.fullmatch(lexeme):
        moment = datetime.datetime.combine(start.date(), datetime.time.fromisoformat(lexeme))
    else:
        moment = datetime.datetime.fromisoformat(lexeme)
        if not since_1904 and moment < datetime.datetime(1900, 3, 1):
            start += datetime.timedelta(days=1)
    return (moment - start) / datetime.timedelta(days=1)


def values_of_cells(
    path: Path, book: SheetOutline, place: CellPlace, what: str
) -> tuple[NDArray[np.object_], CellKinds, int]:
    """Return the lexemes and types of all cells from row 1 on, as calamine reads them, and the first column.

    fastexcel gives columns of one type. What a cell is, is told by the types that it can be read as: a number can be
    a truth and a moment, a date only a moment or a duration, a text neither, but for some that are told apart below.
    """
    fastexcel = library("fastexcel", what)
    try:
        reader = fastexcel.read_excel(path.read_bytes())
        loaded = {
            kind: reader.load_sheet(place.sheet.name, header_row=None, skip_rows=0, dtypes=kind)
            for kind in ("string", "float", "boolean", "duration", "datetime", "date")
        }
    except (fastexcel.FastExcelError, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise DocumentError.of("file-damaged", path, format=what, detail=reason) from error
    columns = loaded["string"].selected_columns
    left = columns[0].absolute_index if columns else 0
    height, width = loaded["string"].height, len(columns)
    texts = np.full((height, width), None, dtype=np.object_)
    kinds = np.full((height, width), NOTHING, dtype="U1")
    read = {kind: sheet.to_arrow() for kind, sheet in loaded.items()}
    here = f"{path}, sheet {place.sheet.name!r}"
    for at in range(width):
        parts = {kind: batch.column(at) for kind, batch in read.items()}
        texts[:, at], kinds[:, at] = _column(parts, letters(at + left), here, book.since_1904)
    return texts, kinds, left


def _column(
    parts: Mapping[str, pa.Array], column: str, here: str, since_1904: bool
) -> tuple[NDArray[np.object_], CellKinds]:
    valid = {kind: np.asarray(values.is_valid()) for kind, values in parts.items()}
    text = np.array(parts["string"].to_pylist(), dtype=np.object_)
    numbers = pa.chunked_array([parts["float"]])
    lower = np.array([str(one).lower() for one in text], dtype=np.object_)
    elapsed, moment, number = valid["duration"], valid["datetime"], valid["float"] & valid["boolean"]
    words = np.isin(lower, ["true", "false"])
    truth = number & words & ~moment
    # a text of one digit can be read as a number and as a truth, but never as a moment
    digit = number & ~moment & np.isin(lower, ["0", "1"])
    # OpenDocument has dates in ISO 8601, which are neither
    written = ~elapsed & ~valid["float"] & (moment | valid["date"])
    date = elapsed | written
    number &= ~truth & ~digit & ~date
    kinds = np.full(len(text), TEXT, dtype="U1")
    kinds[number], kinds[truth], kinds[date] = NUMBER, TRUTH, DATE
    kinds[~valid["string"] | (text == "")] = NOTHING
    found = np.where(number, np.array(lexemes_of(numbers, column, here).to_pylist(), dtype=np.object_), text)
    found[truth] = lower[truth]
    for at in np.flatnonzero(date):
        found[at] = _moment(parts, int(at), column, here, since_1904)
    found[kinds == NOTHING] = None
    return found, kinds


def _moment(parts: Mapping[str, pa.Array], at: int, column: str, here: str, since_1904: bool) -> str:
    count, moment, date = (parts[kind][at].as_py() for kind in ("duration", "datetime", "date"))
    if count is not None:
        if (
            count < datetime.timedelta(0) or (count.days == 60 and not since_1904) or moment is None
        ):  # 29 February 1900
            raise DocumentError.of("cell-not-readable", here, cell=f"{column}{at + 1}", detail=NO_DATE)
        if count.days == 0:
            return _iso(moment.time().isoformat())
    if moment is None:
        return str(date.isoformat())
    if moment.time() == datetime.time():
        return str(moment.date().isoformat())
    return _iso(moment.isoformat())


def _iso(text: str) -> str:
    head, point, fraction = text.partition(".")
    return f"{head}.{fraction.rstrip('0')}" if point else head
