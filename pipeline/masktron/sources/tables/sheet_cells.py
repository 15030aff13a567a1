"""Values of the cells of a sheet: what calamine reads them as, and what is written for a lexeme."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from masktron.errors import DocumentError
from masktron.sources.lexical import parse_number
from masktron.sources.tables.arrow_lexemes import lexemes_of, plain
from masktron.sources.tables.office_files import AroundSheet
from masktron.sources.tables.sheet_places import Area, address, letters

NUMBER, TEXT, TRUTH, DATE, NOTHING = "n", "t", "b", "d", ""
_UNREAD = "?"
_FIRST_DATE = "1900-03-01"
"""Before it spreadsheet programs do not agree which day a number is."""
_LEAP_DAY = 60
"""The number of 29 February 1900, a day that never was."""
_KINDS = {"Float": NUMBER, "Int": NUMBER, "String": TEXT, "Bool": TRUTH, "DateTimeIso": DATE}
_LENGTH = "a length of time, which is neither a date nor a time of day"
_NO_VALUE = {"Error": "an error", "DurationIso": _LENGTH}
_KIND = re.compile(r"Expected \w+ but got '(\w+)\(")
_DATE_OR_TIME = re.compile(r"Expected \w+ but got 'DateTime\(.* datetime_type: DateTime, ")
_TIME = re.compile(r"[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,3})?")

type CellKinds = NDArray[np.str_]
"""The type of each cell of a column."""
type Moment = datetime.date | datetime.datetime | datetime.time


def is_number(lexeme: str) -> bool:
    """Whether a double is exactly what a lexeme says."""
    text = lexeme.strip()
    number = parse_number(text)
    return bool(np.isfinite(number)) and Decimal(repr(float(number))) == Decimal(text)


def is_canonical(lexeme: str) -> bool:
    """Whether a number comes back from a spreadsheet with the same characters."""
    return is_number(lexeme) and plain(Decimal(repr(float(parse_number(lexeme))))) == lexeme


def moment_of(lexeme: str) -> Moment:
    """Return the date or time that a cell of dates holds."""
    if _TIME.fullmatch(lexeme):
        return datetime.time.fromisoformat(lexeme)
    kind = datetime.datetime if "T" in lexeme else datetime.date
    return kind.fromisoformat(lexeme)


def is_moment(lexeme: str) -> bool:
    """Whether a cell can hold a date or time that comes back with the same characters."""
    try:
        moment = moment_of(lexeme)
    except ValueError:
        return False
    if isinstance(moment, datetime.time):
        return True
    exact = not isinstance(moment, datetime.datetime) or (moment.microsecond % 1000 == 0 and moment.tzinfo is None)
    return exact and _text_of(moment) == lexeme >= _FIRST_DATE


def _text_of(moment: Moment) -> str:
    """Return the lexeme of a date or time; midnight is that of a date alone."""
    if isinstance(moment, datetime.datetime) and moment.time() == datetime.time():
        moment = moment.date()
    head, point, fraction = moment.isoformat().partition(".")
    return f"{head}.{fraction.rstrip('0')}" if point else head


@dataclass(frozen=True, slots=True, eq=False)
class SheetCells:
    """Cells of a sheet, from its first row and column on.

    Attributes
    ----------
    kinds : CellKinds, shape (rows, columns)
        Types of cells.
    unread : mapping of (int, int) to str
        What cells hold that have no value.
    """

    kinds: CellKinds
    unread: dict[tuple[int, int], str]
    _left: int
    _read: dict[str, pa.RecordBatch]
    _since_1904: bool

    def require_values(self, area: Area, here: str) -> None:
        """Refuse cells without a value.

        Raises
        ------
        DocumentError
            Naming the first one.
        """
        for row, column in sorted(self.unread):
            if area.top <= row <= area.bottom and area.left <= column <= area.right:
                raise _bad_cell(row, column, here, self.unread[row, column])

    def lexemes(self, column: int, here: str) -> NDArray[np.object_]:
        """Return the lexemes of a column, None where it has none; shape (rows,).

        Raises
        ------
        DocumentError
            A number in a date format is no date.
        """
        kinds, at = self.kinds[:, column], column - self._left
        found = np.full(len(kinds), None, dtype=np.object_)
        if not 0 <= at < self._read["string"].num_columns:
            return found
        texts, numbers, serials = (self._read[kind].column(at) for kind in ("string", "float", "duration"))
        words = np.isin(kinds, [TEXT, TRUTH])
        found[words] = np.array(texts.to_pylist(), dtype=np.object_)[np.flatnonzero(words)]
        places = np.flatnonzero(kinds == NUMBER)
        doubles = pa.chunked_array([numbers.take(pa.array(places))], pa.float64())
        found[places] = lexemes_of(doubles, letters(column), here).to_pylist()
        for row in np.flatnonzero(kinds == DATE):
            serial = serials[row].as_py()
            try:
                moment = self._moment(serial) if serial is not None else _moment_of_text(texts[row].as_py())
            except (ValueError, OverflowError):
                raise _bad_cell(
                    int(row), column, here, "a number or text that is not a date, in a date format"
                ) from None
            found[row] = _text_of(moment)
        return found

    def _moment(self, serial: datetime.timedelta) -> Moment:
        """Return the date or time that a number of days is."""
        if serial < datetime.timedelta(0) or (serial.days == _LEAP_DAY and not self._since_1904):
            raise ValueError
        if serial.days == 0:
            return (datetime.datetime.min + serial).time()
        if self._since_1904:
            return datetime.datetime(1904, 1, 1) + serial
        return datetime.datetime(1899, 12, 30 if serial.days > _LEAP_DAY else 31) + serial


def read_cells(book: Any, sheet: str, around: AroundSheet) -> SheetCells:
    """Read the cells of a sheet.

    fastexcel gives columns of one type, and of each cell that has another type says which one: numbers, texts and
    counts of days are asked for, and the types are taken from what could not be given. Dates of Excel are numbers of
    days; whether a number is a date or a length of time is said where numbers were asked for.
    """
    read, errors, left = {}, {}, 0
    for kind in ("string", "float", "duration"):
        loaded = book.load_sheet(sheet, header_row=None, skip_rows=0, dtypes=kind)
        left = loaded.selected_columns[0].absolute_index if loaded.selected_columns else 0
        read[kind], told = loaded.to_arrow_with_errors()
        errors[kind] = told.errors if told else []
    height, width = read["string"].num_rows, read["string"].num_columns
    unread = dict(around.unread)
    kinds = np.full((max(height, around.rows), max(left + width, around.columns)), NOTHING, dtype="U1")
    for error in errors["duration"]:
        row, column = error.position
        word = _KIND.match(error.detail)
        kind = word[1] if word else "value"
        kinds[row, left + column] = _KINDS.get(kind, NOTHING)
        if kind not in _KINDS:
            unread[row, left + column] = _NO_VALUE.get(kind, f"a {kind}, which masktron does not know")
    dates = {error.position for error in errors["float"] if _DATE_OR_TIME.match(error.detail)}
    for at in range(width):
        own = kinds[:height, left + at]
        texts, numbers, serials = (read[kind].column(at) for kind in ("string", "float", "duration"))
        own[np.array(texts.to_pylist(), dtype=np.object_) == ""] = NOTHING
        for row in np.flatnonzero((own == NUMBER) & ~np.isfinite(numbers.to_numpy(zero_copy_only=False))):
            unread[int(row), left + at] = "no number, though it is one of numbers"
        for row in np.flatnonzero(np.asarray(serials.is_valid())):
            own[row] = DATE
            if (int(row), at) not in dates:
                unread[int(row), left + at] = _LENGTH
    for place in unread:
        kinds[place] = _UNREAD
    return SheetCells(kinds, unread, left, read, around.since_1904)


def _moment_of_text(text: str) -> Moment:
    """Read a date as OpenDocument has it."""
    moment = datetime.datetime.fromisoformat(text)
    if moment.tzinfo is not None:
        raise ValueError
    return moment


def _bad_cell(row: int, column: int, here: str, detail: str) -> DocumentError:
    """Return the error of a cell that has no lexeme."""
    return DocumentError.of("cell-not-readable", here, cell=address(row, column), detail=detail)
