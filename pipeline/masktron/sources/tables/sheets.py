"""A sheet of a workbook: where its table is, what calamine reads its cells as, and what is written for a lexeme."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from masktron.errors import DocumentError, UsageError
from masktron.problems.problem import Known
from masktron.sources.lexical import parse_number
from masktron.sources.tables.arrow_lexemes import lexemes_of, plain
from masktron.sources.tables.office_files import AroundSheet, address, column_number
from masktron.sources.tables.table_format import Options
from masktron.sources.variables import UNTYPED, Typed, Variable

_CELLS = re.compile(r"([A-Za-z]{1,3})([0-9]{1,7}):([A-Za-z]{1,3})([0-9]{1,7})")
_NAMED = re.compile(r"\$?(?:'((?:[^']|'')*)'|([^'!.]*))[!.]([$A-Z0-9]+:\.?[$A-Z0-9]+)")
NUMBER, TEXT, TRUTH, DATE, NOTHING, UNREAD = "n", "t", "b", "d", "", "?"
_FIRST_DATE = "1900-03-01"
"""Before it spreadsheet programs do not agree which day a number is."""
_LEAP_DAY = 60
"""The number of 29 February 1900, a day that never was."""
_KINDS = {"Float": NUMBER, "Int": NUMBER, "String": TEXT, "Bool": TRUTH, "DateTimeIso": DATE}
_LENGTH = "a length of time, which is neither a date nor a time of day"
_KIND = re.compile(r"Expected \w+ but got '(\w+)\(")
_DATE_OR_TIME = re.compile(r"Expected \w+ but got 'DateTime\(.* value: ([^,]+), datetime_type: DateTime, ")
_TIME = "[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,3})?"
_MOMENT = re.compile(f"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}(T{_TIME})?|{_TIME}")

_ISO = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?)?")
"""Dates as XML has them; Python reads weeks, too."""

type CellKinds = NDArray[np.str_]
"""The type of each cell of a column."""
type Moment = datetime.date | datetime.datetime | datetime.time


@dataclass(frozen=True, slots=True)
class Area:
    """Cells of a sheet, from 0, both ends among them."""

    top: int
    left: int
    bottom: int
    right: int

    def __str__(self) -> str:
        return f"{address(self.top, self.left)}:{address(self.bottom, self.right)}"


@dataclass(frozen=True, slots=True)
class CellPlace:
    """What a user says of where a table is.

    Attributes
    ----------
    sheet : str
        Name of the sheet.
    before : tuple of str
        Names of the sheets that stand before one that is chosen by number.
    area : Area or None
        What is read; all cells that are not empty when None.
    name : str
        Of a named range.
    header : bool or int
        Row with the names of the columns, from 1, the first when True; False where there is none.
    """

    sheet: str
    before: tuple[str, ...] = ()
    area: Area | None = None
    name: str = ""
    header: int | bool = True


def place_of_table(
    sheets: Sequence[str], named: Iterable[tuple[str, str]], options: Options, where: str
) -> CellPlace:
    """Read what the user says of where the table is.

    Parameters
    ----------
    sheets : sequence of str
        Names of the sheets of the workbook.
    named : iterable of (str, str)
        Names of ranges, and what they stand for.
    options : mapping of str to str
    where : str
        The file, for messages.
    """
    if not sheets:
        raise DocumentError.of("file-damaged", where, format="a workbook", detail="it has no sheet of cells")
    said, wanted, header = options.get("sheet", ""), options.get("range", ""), options.get("header", "")
    sheet, before = said or sheets[0], tuple[str, ...]()
    if sheet not in sheets:
        if not said.isdecimal() or not 1 <= int(said) <= len(sheets):
            raise UsageError.of("unknown-name", where, kind="sheet", name=said, known=Known(said, tuple(sheets)))
        *before_, sheet = sheets[: int(said)]
        before = tuple(before_)
    area, name = None, ""
    if wanted and (area := _area(wanted)) is None:
        ranges = [(one, *_sheet_and_cells(formula)) for one, formula in named]
        found = [(its, cells) for one, its, cells in ranges if one == wanted and its in ([sheet] if said else sheets)]
        if len(found) != 1 or (area := _area(found[0][1])) is None:
            forms = " or ".join(["cells such as A1:F200", *sorted({one for one, _, cells in ranges if cells})])
            raise UsageError.of("bad-value", where, name="range", expected=forms, given=wanted)
        name, sheet = wanted, found[0][0]
    if header not in {"", "none"} and not (header.isdecimal() and int(header) >= 1):
        raise UsageError.of("bad-value", where, name="header", expected="the number of a row, or none", given=header)
    row: int | bool = header != "none" if header in {"", "none"} else int(header)
    if area is not None and row > area.bottom + 1:
        raise UsageError.of("bad-value", where, name="header", expected=f"at most {area.bottom + 1}", given=row)
    return CellPlace(sheet, before, area, name, row)


def _area(text: str) -> Area | None:
    found = _CELLS.fullmatch(text)
    if found is None:
        return None
    columns = sorted((column_number(found[1]), column_number(found[3])))
    rows = sorted((int(found[2]) - 1, int(found[4]) - 1))
    return Area(rows[0], columns[0], rows[1], columns[1])


def _sheet_and_cells(formula: str) -> tuple[str, str]:
    """Return what a name of cells stands for, as both kinds of workbooks write it; nothing where it is no range."""
    found = _NAMED.fullmatch(formula.removeprefix("="))
    if found is None or _area(cells := re.sub(r"[$.]", "", found[3])) is None:
        return "", ""
    return (found[1] or found[2] or "").replace("''", "'"), cells


def header_row(cells: CellKinds, area: Area) -> int | None:
    """Return the first row of some cells in which each is a text, as names of columns are; None where none is."""
    texts = (cells[area.top : area.bottom + 1, area.left : area.right + 1] == TEXT).all(axis=1)
    return area.top + int(texts.argmax()) if texts.any() else None


def used_area(cells: CellKinds, place: CellPlace, here: str) -> Area:
    """Return the cells from the first to the last that is not empty, of those that are wanted."""
    filled = cells != NOTHING
    top = 0 if place.header is True or place.header is False else place.header - 1
    whole = place.area or Area(0, 0, *filled.shape)
    inside = np.zeros_like(filled)
    wanted = (slice(max(top, whole.top), whole.bottom + 1), slice(whole.left, whole.right + 1))
    inside[wanted] = filled[wanted]
    rows, columns = np.flatnonzero(inside.any(axis=1)), np.flatnonzero(inside.any(axis=0))
    if not rows.size:
        raise DocumentError.of("sheet-empty", here)
    bottom, right = int(rows[-1]), int(columns[-1])
    if place.area is not None:
        return Area(max(top, whole.top), whole.left, bottom, right)
    blocks = np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1)
    if len(blocks) > 1:
        # a title is one row
        largest = max(blocks, key=lambda block: (len(block) > 1, inside[block].sum()))
        across = np.flatnonzero(inside[largest].any(axis=0))
        table = Area(int(largest[0]), int(across[0]), int(largest[-1]), int(across[-1]))
        header = header_row(cells, table)
        table = table if header is None else replace(table, top=header)
        raise DocumentError.of(
            "row-empty",
            here,
            row=int(blocks[0][-1]) + 2,
            range=str(table),
            header="none" if header is None else header + 1,
        )
    return Area(top or int(rows[0]), int(columns[0]), bottom, right)


def kind_of(lexeme: str | None, there: Collection[str]) -> str:
    """Return which of some types a cell with a lexeme has; ``?`` where none of them can hold it."""
    if lexeme is None:
        return NOTHING
    return next((kind for kind, fits in _FITS.items() if kind in there and fits(lexeme)), UNREAD)


def kinds_of(lexemes: Sequence[str | None], variable: Variable) -> CellKinds:
    """Return the type of the cells of a new column: that of the column, if all values come back the same."""
    stored, kind = variable.stored, TEXT
    if not variable.typed.text:
        tests = _TYPES.items()
        kind = NUMBER if stored is None else next((one for one, test in tests if test(stored)), TEXT)
    fits = _is_canonical if kind == NUMBER else _FITS[kind]
    kind = kind if all(fits(text) for text in lexemes if text) else TEXT
    return np.array([kind if text else NOTHING for text in lexemes], dtype="U1")


def types_of(lexemes: NDArray[np.object_], kinds: CellKinds) -> tuple[Typed, pa.DataType | None]:
    """Return what a column can hold, and the type that holds it elsewhere."""
    values = [text for text in lexemes if text is not None]
    match sorted(set(kinds.tolist()) - {NOTHING}):
        case ["t"]:
            return Typed(text=True), pa.string()
        case ["n"]:
            whole = all(text.lstrip("-").isdecimal() and len(text) < 16 and text != "-0" for text in values)
            return Typed(bits=53), pa.int64() if whole else pa.float64()
        case ["b"]:
            return UNTYPED, pa.bool_()
        case ["d"] if all(len(text) == 10 for text in values):
            return UNTYPED, pa.date32()
        case ["d"] if all("T" in text for text in values):
            return UNTYPED, pa.timestamp("ms")
        case _:
            return UNTYPED, None


def _is_number(lexeme: str) -> bool:
    """Whether a double is exactly what a lexeme says."""
    number = parse_number(lexeme)
    return not math.isnan(number) and Decimal(repr(number)) == Decimal(lexeme.strip())


def _is_canonical(lexeme: str) -> bool:
    """Whether a number comes back from a spreadsheet with the same characters."""
    return _is_number(lexeme) and plain(Decimal(repr(parse_number(lexeme)))) == lexeme


def moment_of(lexeme: str) -> Moment:
    """Return the date or time that a cell of dates holds."""
    kind = datetime.datetime if "T" in lexeme else datetime.time if ":" in lexeme else datetime.date
    return kind.fromisoformat(lexeme)


def _is_moment(lexeme: str) -> bool:
    """Whether a cell can hold a date or time that comes back with the same characters."""
    try:
        same = _MOMENT.fullmatch(lexeme) is not None and _text_of(moment_of(lexeme)) == lexeme
    except ValueError:
        return False
    return same and (lexeme[2] == ":" or lexeme >= _FIRST_DATE)


def _text_of(moment: Moment) -> str:
    """Return the lexeme of a date or time; midnight is that of a date alone."""
    if isinstance(moment, datetime.datetime) and moment.time() == datetime.time():
        moment = moment.date()
    head, point, fraction = moment.isoformat().partition(".")
    return f"{head}.{fraction.rstrip('0')}" if point else head


def read_cells(book: Any, sheet: str, around: AroundSheet) -> tuple[NDArray[np.object_], CellKinds]:
    """Read the cells of a sheet; those that have no value are added to what is known of them.

    fastexcel gives columns of one type, and of each cell that has another type says which one: numbers, texts and
    counts of days are asked for, and the types are taken from what could not be given. Dates of Excel are numbers of
    days; whether a number is a date or a length of time is said where numbers were asked for.

    Returns
    -------
    ndarray of object, shape (rows, columns)
        Lexemes, None where there is none, from the first row and column of the sheet on.
    CellKinds, shape (rows, columns)
        The types of cells; ``?`` of those that have no value.
    """
    read, errors, left = {}, {}, 0
    for kind in ("string", "float", "duration"):
        loaded = book.load_sheet(sheet, header_row=None, skip_rows=0, dtypes=kind)
        left = loaded.selected_columns[0].absolute_index if loaded.selected_columns else 0
        read[kind], told = loaded.to_arrow_with_errors()
        errors[kind] = told.errors if told else []
    height, width = read["string"].num_rows, read["string"].num_columns
    kinds = np.full((max(height, around.rows), max(left + width, around.columns)), NOTHING, dtype="U1")
    lexemes = np.full(kinds.shape, None, dtype=np.object_)
    for error in errors["duration"]:
        row, column = error.position
        word = _KIND.match(error.detail)
        kinds[row, left + column] = kind = _KINDS.get(word[1] if word else "", UNREAD)
        if kind == UNREAD:
            around.unread[row, left + column] = _LENGTH if word and word[1] == "DurationIso" else "an error"
    matches = ((error.position, _DATE_OR_TIME.match(error.detail)) for error in errors["float"])
    dates = {position: float(match[1]) for position, match in matches if match}
    for at, column in enumerate(range(left, left + width)):
        found, own = lexemes[:height, column], kinds[:height, column]
        texts, numbers, serials = (read[kind].column(at) for kind in ("string", "float", "duration"))
        found[:] = texts.to_pylist()
        own[found == ""] = NOTHING
        doubles = numbers.to_numpy(zero_copy_only=False)
        for row in np.flatnonzero((own == NUMBER) & ~np.isfinite(doubles)).tolist():
            around.unread[row, column] = "no number, though it is one of numbers"
        counted = np.flatnonzero((own == NUMBER) & np.isfinite(doubles))
        found[counted] = lexemes_of(pa.chunked_array([pa.array(doubles[counted])]), "", "").to_pylist()
        own[np.asarray(serials.is_valid())] = DATE
        for row in np.flatnonzero(own == DATE).tolist():
            serial = serials[row].as_py()
            try:
                found[row] = _text_of(_moment_of_text(found[row]) if serial is None else _moment(serial, around))
            except (ValueError, OverflowError):
                around.unread[row, column] = "a number or text that is not a date, in a date format"
            if serial is not None and (row, at) not in dates:
                around.unread[row, column] = _LENGTH
            elif serial is not None and serial.days == 1 and dates[row, at] < 1:
                around.unread[row, column] = "a time of day that rounds to 24:00:00"
    for place in around.unread:
        kinds[place] = UNREAD
    lexemes[np.isin(kinds, [NOTHING, UNREAD])] = None
    return lexemes, kinds


def _moment(serial: datetime.timedelta, around: AroundSheet) -> Moment:
    """Return the date or time that a number of days is."""
    if serial < datetime.timedelta(0) or (serial.days == _LEAP_DAY and not around.since_1904):
        raise ValueError
    if serial.days == 0:
        return (datetime.datetime.min + serial).time()
    if around.since_1904:
        return datetime.datetime(1904, 1, 1) + serial
    return datetime.datetime(1899, 12, 30 if serial.days > _LEAP_DAY else 31) + serial


def _moment_of_text(text: str) -> Moment:
    """Read a date as OpenDocument has it."""
    if not _ISO.fullmatch(text):
        raise ValueError
    return datetime.datetime.fromisoformat(text)


_FITS: dict[str, Callable[[str], bool]] = {
    NUMBER: _is_number,
    DATE: _is_moment,
    TRUTH: {"true", "false"}.__contains__,
    TEXT: lambda _: True,
}
"""Whether a cell of a type can hold a lexeme."""
_TYPES: dict[str, Callable[[pa.DataType], bool]] = {
    NUMBER: lambda kind: pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind),
    TRUTH: pa.types.is_boolean,
    DATE: lambda kind: pa.types.is_date(kind) or pa.types.is_timestamp(kind),
}
"""Whether columns of a type of other formats have cells of a type."""
