"""Workbooks of spreadsheet programs: .xlsx and .ods. One sheet, or a range of it, is the table."""

from __future__ import annotations

import datetime
import io
import re
import zipfile
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from masktron.errors import DocumentError, UsageError
from masktron.sources.lexical import parse_number
from masktron.sources.records import UNTYPED, Typed
from masktron.sources.tables import ods_parts, xlsx_parts
from masktron.sources.tables.arrow_lexemes import lexemes_of, plain
from masktron.sources.tables.column_names import xml_names
from masktron.sources.tables.ods_writer import OdsCell, write_ods
from masktron.sources.tables.office_files import (
    AroundSheet,
    NamedRange,
    SheetName,
    SheetOutline,
    XmlCell,
    letters,
    package,
)
from masktron.sources.tables.table_format import LexemeRow, Options, SecondReading, TableFormat, library
from masktron.sources.tables.table_model import Table, TableRelease
from masktron.sources.variables import Variable

MOST_ROWS, MOST_COLUMNS, MOST_CHARACTERS = 1_048_576, 16_384, 32_767
"""Of a sheet, and of the text of a cell."""
NUMBER, TEXT, TRUTH, DATE, NOTHING = "n", "t", "b", "d", ""
_CELLS = re.compile(r"([A-Za-z]{1,3})([0-9]{1,7}):([A-Za-z]{1,3})([0-9]{1,7})")
_FIRST_DATE = "1900-03-01"
"""Before it spreadsheet programs do not agree which day a number is."""
_TIME = re.compile(r"[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,3})?")

type CellKinds = NDArray[np.str_]
"""The type of each cell of a column."""


@dataclass(frozen=True, slots=True)
class Area:
    """Cells of a sheet, from 0, both ends among them."""

    top: int
    left: int
    bottom: int
    right: int


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
        LexemeRow with the names of the columns, from 1, the first when True; False where there is none.
    """

    sheet: SheetName
    before: tuple[str, ...] = ()
    area: Area | None = None
    name: str = ""
    header: int | bool = True


@dataclass(frozen=True, slots=True, eq=False)
class WorkbookCarried:
    """What is kept of a workbook to write one like it.

    Attributes
    ----------
    place : CellPlace
    top, left : int
        Where the names of the columns stand, or the first record where they have none.
    kinds : mapping of str to CellKinds
        By the names of variables.
    formats : mapping of (str, str) to str
        Number format of the numbers, or the dates, of a variable.
    since_1904 : bool
    """

    place: CellPlace
    top: int
    left: int
    kinds: Mapping[str, CellKinds]
    formats: Mapping[tuple[str, str], str]
    since_1904: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """What is to be written.

    Attributes
    ----------
    place : CellPlace
    top, left : int
    header : tuple of str
        Names of the columns; nothing where they have none.
    columns : sequence of (list of str or None, CellKinds)
        Lexemes with the type that each shall have.
    formats : sequence of mapping of str to str
        Number formats of a column, by type.
    since_1904 : bool
    """

    place: CellPlace
    top: int
    left: int
    header: tuple[str, ...]
    columns: Sequence[tuple[list[str | None], CellKinds]]
    formats: Sequence[Mapping[str, str]]
    since_1904: bool = False


class _Workbook(TableFormat):
    """A format of workbooks."""

    options: ClassVar[Mapping[str, str]] = {
        "sheet": "name of the sheet, or its number from 1; the first by default",
        "range": "cells that are read, as A1:F200, or the name of a range; all that are not empty by default",
        "header": "row with the names of the columns, from 1; none where there is none; the first by default",
    }
    exact_digits: ClassVar[int | None] = 0
    what: ClassVar[str]

    def read(self, path: Path, options: Options) -> Table:
        """Read a sheet."""
        where = str(path)
        with package(path, self.what) as archive:
            book = self._outline(archive, where)
            place = _place(book, options, where)
            beside = AroundSheet()
            styles: dict[int, dict[str, Counter[str]]] = {}
            formulas: set[int] = set()
            for cell in self._cells(archive, place.sheet, book, where, beside):
                if cell.formula:
                    formulas.add(cell.column)
                styles.setdefault(cell.column, {}).setdefault(cell.kind, Counter())[cell.style] += 1
        texts, kinds, left = _values(path, book, place, self.what)
        here = f"{where}, sheet {place.sheet.name!r}"
        area = _used([(row, column + left) for row, column in np.argwhere(kinds != NOTHING)], place, here)
        inside = (slice(area.top, area.bottom + 1), slice(area.left - left, area.right + 1 - left))
        return _table(
            texts[inside], kinds[inside], area, place, book, styles, here, _notes(book, place, beside, formulas)
        )

    def read_again(self, path: Path, table: Table) -> SecondReading:
        """Read the XML of the sheet with the standard library and lxml."""
        carried: WorkbookCarried = table.carried
        where, place = str(path), carried.place
        rows: dict[int, dict[int, XmlCell]] = {}
        with package(path, self.what) as archive:
            book = self._outline(archive, where)
            for cell in self._cells(archive, place.sheet, book, where, AroundSheet()):
                rows.setdefault(cell.row, {})[cell.column] = cell
        here = f"{where}, sheet {place.sheet.name!r}"
        area = _used([(row, column) for row, found in rows.items() for column in found], place, here)
        span = range(area.left, area.right + 1)
        if place.header is False:
            first, names = area.top, tuple(map(letters, span))
        else:
            first = (area.top if place.header is True else place.header - 1) + 1
            head = rows.get(first - 1, {})
            names = tuple(head[column].text if column in head else "" for column in span)
        if names != tuple(variable.column for variable in table.variables):
            raise DocumentError("two readers do not agree on the names of the columns", where=here)

        def records() -> Iterator[LexemeRow]:
            for row in range(first, area.bottom + 1):
                found = rows.get(row, {})
                yield [found[column].text if column in found else None for column in span]

        return SecondReading(names, records())

    def write(self, target: Path, release: TableRelease) -> None:
        """Write a workbook with this sheet alone; cells that have not changed have the type that they had."""
        carried: WorkbookCarried = release.original.carried
        columns, formats = [], []
        for variable in release.variables:
            kinds = carried.kinds[variable.name][release.rows].copy()
            lexemes = release.cells[variable.name].to_pylist()
            there = set(carried.kinds[variable.name].tolist()) - {NOTHING}
            for at in np.flatnonzero(release.changed(variable.name)):
                kinds[at] = self._kind_of(lexemes[at], there, variable.column)
            columns.append((_as_read(lexemes, kinds), kinds))
            formats.append({kind: code for (name, kind), code in carried.formats.items() if name == variable.name})
        header = () if carried.place.header is False else tuple(variable.column for variable in release.variables)
        sheet = Sheet(carried.place, carried.top, carried.left, header, columns, formats, carried.since_1904)
        _require_room(sheet, len(release.cells), inner=carried.place.area is not None)
        self._save(target, sheet)

    def create(self, target: Path, table: Table, options: Options) -> None:
        """Write a new workbook."""
        wanted = options.get("sheet", "Data")
        for name in options:
            if name != "sheet":
                raise UsageError(f"{name!r} says nothing of a workbook that is new", hint="leave the option out")
        _require_size(len(table) + 1, len(table.variables))
        columns = []
        for variable in table.variables:
            lexemes = table.cells[variable.name].to_pylist()
            kinds = self._kinds_of(lexemes, variable)
            columns.append(([text or None for text in lexemes], kinds))
        header = tuple(variable.column for variable in table.variables)
        sheet = Sheet(CellPlace(SheetName(wanted)), 0, 0, header, columns, [{} for _ in columns])
        _require_room(sheet, len(table), inner=False)
        self._save(target, sheet)

    def losses(self, table: Table) -> Iterator[str]:
        """Say what of a table a workbook does not hold."""
        yield from super().losses(table)
        texts = [
            variable.column
            for variable in table.variables
            if variable.stored is not None
            and not variable.typed.text
            and TEXT in self._kinds_of(table.cells[variable.name].to_pylist(), variable)
        ]
        if texts:
            yield f"the types of columns with values that no cell of that type can hold: {', '.join(texts)}"
        blank = [v.column for v in table.variables if pc.any(pc.equal(table.cells[v.name], "")).as_py()]
        if blank:
            yield f"that a text of no characters is more than no value: {', '.join(blank)}"

    def line_of(self, table: Table, record: int) -> int:
        """Return the row of a record."""
        carried: WorkbookCarried = table.carried
        return carried.top + (carried.place.header is not False) + record + 1

    def _kind_of(self, lexeme: str | None, there: set[str], column: str) -> str:
        """Return the type of a cell with a masked value: one that its column has."""
        if lexeme is None:
            return NOTHING
        if (NUMBER in there or not there) and is_number(lexeme):
            return NUMBER
        if DATE in there and self._is_date(lexeme):
            return DATE
        if TRUTH in there and lexeme in {"true", "false"}:
            return TRUTH
        if TEXT in there or not there:
            return TEXT
        raise UsageError(
            f"column {column!r} cannot hold a masked value: a spreadsheet has no number, truth or date that is it",
            hint="write the column as text before it is masked",
        )

    def _kinds_of(self, lexemes: list[str | None], variable: Variable) -> CellKinds:
        """Return the type of the cells of a new column: that of the column, if all values come back the same."""
        stored = variable.stored
        fits: Callable[[str], bool] | None = None
        kind = TEXT
        if variable.typed.text or (stored is not None and pa.types.is_dictionary(stored)):
            fits = None
        elif (
            stored is None
            or pa.types.is_integer(stored)
            or pa.types.is_floating(stored)
            or pa.types.is_decimal(stored)
        ):
            kind, fits = NUMBER, is_canonical
        elif pa.types.is_boolean(stored):
            kind, fits = TRUTH, {"true", "false"}.__contains__
        elif pa.types.is_date(stored) or pa.types.is_timestamp(stored):
            kind, fits = DATE, self._is_date
        if fits is not None and not all(fits(text) for text in lexemes if text):
            kind = TEXT
        return np.array([kind if text else NOTHING for text in lexemes], dtype="U1")

    def _is_date(self, lexeme: str) -> bool:
        return _date_of(lexeme) is not None

    @abstractmethod
    def _outline(self, archive: zipfile.ZipFile, where: str) -> SheetOutline:
        """Return what a workbook says of itself."""

    @abstractmethod
    def _cells(
        self, archive: zipfile.ZipFile, sheet: SheetName, book: SheetOutline, where: str, beside: AroundSheet
    ) -> Iterator[XmlCell]:
        """Give the cells of a sheet from its XML."""

    @abstractmethod
    def _save(self, target: Path, sheet: Sheet) -> None:
        """Write a workbook."""


class XlsxFormat(_Workbook):
    """Excel's workbooks since 2007."""

    name: ClassVar[str] = "xlsx"
    what: ClassVar[str] = "an Excel workbook"

    def _outline(self, archive: zipfile.ZipFile, where: str) -> SheetOutline:
        return xlsx_parts.outline(archive, where)

    def _cells(
        self, archive: zipfile.ZipFile, sheet: SheetName, book: SheetOutline, where: str, beside: AroundSheet
    ) -> Iterator[XmlCell]:
        return xlsx_parts.cells(archive, sheet, book, where, beside)

    def _save(self, target: Path, sheet: Sheet) -> None:
        xlsxwriter = library("xlsxwriter", "excel", "an Excel workbook")
        held = io.BytesIO()
        how = {"in_memory": True, "strings_to_numbers": False, "strings_to_formulas": False, "strings_to_urls": False}
        try:
            book = xlsxwriter.Workbook(held, {**how, "date_1904": sheet.since_1904})
            book.set_properties({"created": datetime.datetime(2000, 1, 1)})
            for name in sheet.place.before:
                book.add_worksheet(name)
            page = book.add_worksheet(sheet.place.sheet.name)
        except (xlsxwriter.exceptions.XlsxWriterException, ValueError) as error:
            raise UsageError(f"no workbook can have this sheet: {error}", hint="give it another name") from None
        page.activate()
        made: dict[str, Any] = {}

        def styled(code: str | None) -> Any:
            if code is None:
                return None
            if code not in made:
                made[code] = book.add_format({"num_format": code})
            return made[code]

        for at, name in enumerate(sheet.header):
            page.write_string(sheet.top, sheet.left + at, name)
        first = sheet.top + bool(sheet.header)
        for at, ((lexemes, kinds), formats) in enumerate(zip(sheet.columns, sheet.formats, strict=True)):
            column = sheet.left + at
            for row, (text, kind) in enumerate(zip(lexemes, kinds.tolist(), strict=True), start=first):
                if text is None:
                    continue
                if kind == NUMBER:
                    page.write_number(row, column, _Exact(text), styled(formats.get(NUMBER)))
                elif kind == TEXT:
                    page.write_string(row, column, text, styled(formats.get(TEXT)))
                elif kind == TRUTH:
                    page.write_boolean(row, column, text == "true")
                else:
                    code = formats.get(DATE) or _date_code(text)
                    page.write_number(row, column, _Exact(_serial(text, sheet.since_1904)), styled(code))
        if sheet.place.name:
            rows = len(sheet.columns[0][0]) if sheet.columns else 0
            named = sheet.place.sheet.name.replace("'", "''")
            last = f"${letters(sheet.left + max(1, len(sheet.columns)) - 1)}${max(first, first + rows - 1) + 1}"
            book.define_name(sheet.place.name, f"='{named}'!${letters(sheet.left)}${sheet.top + 1}:{last}")
        book.close()
        target.write_bytes(held.getvalue())


class _Exact(float):
    """A double that XlsxWriter writes with all its digits; it would write 16."""

    def __format__(self, spec: str) -> str:
        del spec
        return repr(float(self)).removesuffix(".0")


class OdsFormat(_Workbook):
    """OpenDocument spreadsheets."""

    name: ClassVar[str] = "ods"
    what: ClassVar[str] = "an OpenDocument spreadsheet"

    def _outline(self, archive: zipfile.ZipFile, where: str) -> SheetOutline:
        return ods_parts.outline(archive, where)

    def _cells(
        self, archive: zipfile.ZipFile, sheet: SheetName, book: SheetOutline, where: str, beside: AroundSheet
    ) -> Iterator[XmlCell]:
        return ods_parts.cells(archive, sheet, book, where, beside)

    def _is_date(self, lexeme: str) -> bool:
        return super()._is_date(lexeme) and not _TIME.fullmatch(lexeme)

    def _save(self, target: Path, sheet: Sheet) -> None:
        styles: list[tuple[str, str]] = []
        named: list[dict[str, str]] = []
        for at, formats in enumerate(sheet.formats):
            named.append({kind: f"c{at}{kind}" for kind in formats})
            styles += [(f"c{at}{kind}", data) for kind, data in formats.items()]
        lists = [(texts, kinds.tolist(), style) for (texts, kinds), style in zip(sheet.columns, named, strict=True)]
        records = len(lists[0][0]) if lists else 0

        def rows() -> Iterator[list[OdsCell]]:
            if sheet.header:
                yield [(name, TEXT, "") for name in sheet.header]
            for row in range(records):
                yield [(texts[row], kinds[row], style.get(kinds[row], "")) for texts, kinds, style in lists]

        write_ods(
            target,
            sheet.place.sheet.name,
            rows(),
            before=sheet.place.before,
            top=sheet.top,
            left=sheet.left,
            styles=styles,
            named=(sheet.place.name, max(1, records + bool(sheet.header)), max(1, len(lists)))
            if sheet.place.name
            else None,
        )


def is_number(lexeme: str) -> bool:
    """Whether a double is exactly what a lexeme says."""
    text = lexeme.strip()
    number = parse_number(text)
    return bool(np.isfinite(number)) and Decimal(repr(float(number))) == Decimal(text)


def is_canonical(lexeme: str) -> bool:
    """Whether a number comes back from a spreadsheet with the same characters."""
    return is_number(lexeme) and plain(Decimal(repr(float(parse_number(lexeme))))) == lexeme


def _as_read(lexemes: list[str | None], kinds: CellKinds) -> list[str | None]:
    return [
        text.strip() if text is not None and kind == NUMBER else text
        for text, kind in zip(lexemes, kinds, strict=True)
    ]


def _date_of(lexeme: str) -> datetime.date | datetime.datetime | datetime.time | None:
    """Return a date or time whose lexeme is this one; None where there is none."""
    try:
        if _TIME.fullmatch(lexeme):
            return datetime.time.fromisoformat(lexeme)
        if len(lexeme) == 10:
            found: datetime.date = datetime.date.fromisoformat(lexeme)
            return found if found.isoformat() == lexeme >= _FIRST_DATE else None
        moment = datetime.datetime.fromisoformat(lexeme)
    except ValueError:
        return None
    head, point, fraction = moment.isoformat().partition(".")
    same = head + (f".{fraction.rstrip('0')}" if point else "") == lexeme
    fits = moment.time() != datetime.time() and moment.microsecond % 1000 == 0 and moment.tzinfo is None
    return moment if same and fits and lexeme >= _FIRST_DATE else None


def _date_code(lexeme: str) -> str:
    if _TIME.fullmatch(lexeme):
        return "hh:mm:ss"
    return "yyyy-mm-dd" if len(lexeme) == 10 else "yyyy-mm-dd hh:mm:ss"


def _serial(lexeme: str, since_1904: bool) -> float:
    """Return the number that a date is in an Excel workbook."""
    start = datetime.datetime(1904, 1, 1) if since_1904 else datetime.datetime(1899, 12, 30)
    if _TIME.fullmatch(lexeme):
        moment = datetime.datetime.combine(start.date(), datetime.time.fromisoformat(lexeme))
    else:
        moment = datetime.datetime.fromisoformat(lexeme)
        if not since_1904 and moment < datetime.datetime(1900, 3, 1):
            start += datetime.timedelta(days=1)
    return (moment - start) / datetime.timedelta(days=1)


def _place(book: SheetOutline, options: Options, where: str) -> CellPlace:
    """Read what the user says of where the table is."""
    if not book.sheets:
        raise DocumentError("the workbook has no sheet of cells", where=where)
    names = [sheet.name for sheet in book.sheets]
    said, wanted, header = options.get("sheet", ""), options.get("range", ""), options.get("header", "")
    position = 0
    before: tuple[str, ...] = ()
    if said in names:
        position = names.index(said)
    elif said:
        if not said.isdecimal() or not 1 <= int(said) <= len(names):
            raise UsageError(f"there is no sheet {said!r}", where=where, hint=f"it has {', '.join(names)}")
        position = int(said) - 1
        before = tuple(names[:position])
    area, name = None, ""
    if wanted:
        found = _CELLS.fullmatch(wanted)
        if found is None:
            area, name, position = _range_called(book, wanted, said, position, where)
        else:
            area = _area(found)
    if header and header != "none" and not (header.isdecimal() and int(header) >= 1):
        raise UsageError(f"header is the number of a row or none, not {header!r}", where=where)
    row: int | bool = header != "none" if header in {"", "none"} else int(header)
    if area is not None and row is not True and row is not False and row - 1 > area.bottom:
        raise UsageError(f"the header row {row} is below the range", where=where)
    return CellPlace(book.sheets[position], before, area, name, row)


def _range_called(book: SheetOutline, wanted: str, said: str, position: int, where: str) -> tuple[Area, str, int]:
    names = [sheet.name for sheet in book.sheets]
    ranges: list[NamedRange] = [one for one in book.names if one.name == wanted and one.sheet in names]
    if said:
        ranges = [one for one in ranges if one.sheet == names[position]]
    found = _CELLS.fullmatch(ranges[0].cells) if len(ranges) == 1 else None
    if found is None:
        known = ", ".join(sorted({one.name for one in book.names if _CELLS.fullmatch(one.cells)}))
        raise UsageError(
            f"range {wanted!r} is neither cells, as A1:F200, nor the name of one range of cells",
            where=where,
            hint=f"the workbook has {known}" if known else "the workbook has no names of ranges",
        )
    return _area(found), wanted, names.index(ranges[0].sheet)


def _area(found: re.Match[str]) -> Area:
    columns = []
    for text in (found[1], found[3]):
        column = 0
        for letter in text.upper():
            column = column * 26 + ord(letter) - 64
        columns.append(column - 1)
    rows = (int(found[2]) - 1, int(found[4]) - 1)
    return Area(min(rows), min(columns), max(rows), max(columns))


def _used(filled: Sequence[tuple[int, int]], place: CellPlace, here: str) -> Area:
    """Return the cells from the first to the last that is not empty, of those that are wanted."""
    top, whole = 0, place.area
    if place.header is not True and place.header is not False:
        top = place.header - 1
    inside = [
        (row, column)
        for row, column in filled
        if row >= top
        and (whole is None or (whole.top <= row <= whole.bottom and whole.left <= column <= whole.right))
    ]
    if not inside:
        raise DocumentError("there is no cell with a value here", where=here, hint="choose another sheet or range")
    rows, columns = {row for row, _ in inside}, [column for _, column in inside]
    area = Area(min(rows), min(columns), max(rows), max(columns))
    if whole is not None:
        return Area(max(top, whole.top), whole.left, area.bottom, area.right)
    area = Area(max(top, area.top), area.left, area.bottom, area.right)
    gap = next((row for row in range(area.top, area.bottom) if row not in rows), None)
    if gap is not None:
        raise DocumentError(
            f"row {gap + 1} is empty, and there is more below it: is that of the table?",
            where=here,
            hint=f"say which cells are, such as --format-option range={letters(area.left)}{area.top + 1}:"
            f"{letters(area.right)}{gap}",
        )
    return area


def _values(
    path: Path, book: SheetOutline, place: CellPlace, what: str
) -> tuple[NDArray[np.object_], CellKinds, int]:
    """Return the lexemes and types of all cells from row 1 on, as calamine reads them, and the first column.

    fastexcel gives columns of one type. What a cell is, is told by the types that it can be read as: a number can be
    a truth and a moment, a date only a moment or a duration, a text neither, but for some that are told apart below.
    """
    fastexcel = library("fastexcel", "excel", what)
    try:
        reader = fastexcel.read_excel(path.read_bytes())
        loaded = {
            kind: reader.load_sheet(place.sheet.name, header_row=None, skip_rows=0, dtypes=kind)
            for kind in ("string", "float", "boolean", "duration", "datetime", "date")
        }
    except (fastexcel.FastExcelError, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise DocumentError(f"cannot read this as {what}: {reason}", where=str(path)) from error
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
            raise DocumentError(
                f"cell {column}{at + 1} has a date format, and a number that is no date",
                where=here,
                hint="correct the cell, or give it another number format",
            )
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


def _table(
    texts: NDArray[np.object_],
    kinds: CellKinds,
    area: Area,
    place: CellPlace,
    book: SheetOutline,
    styles: Mapping[int, Mapping[str, Counter[str]]],
    here: str,
    notes: tuple[str, ...],
) -> Table:
    span = range(area.left, area.right + 1)
    first = 0
    if place.header is False:
        heads = list(map(letters, span))
    else:
        first = 1
        for at, (kind, head) in enumerate(zip(kinds[0], texts[0], strict=True)):
            if kind not in {TEXT, NOTHING}:
                raise DocumentError(
                    f"cell {letters(area.left + at)}{area.top + 1} should be the name of a column, and is no text",
                    where=here,
                    hint="say which row has the names, as --format-option header=3, or header=none where none has",
                )
            if head is None:
                raise DocumentError(
                    f"cell {letters(area.left + at)}{area.top + 1} is empty: its column has no name",
                    where=here,
                    hint="give every column a name, or say which cells are the table: --format-option range=A1:F200",
                )
        heads = [str(head) for head in texts[0]]
    names = xml_names(heads, here)
    variables, cells, found, formats = [], {}, {}, {}
    for at, (name, head) in enumerate(zip(names, heads, strict=True)):
        lexemes, these = texts[first:, at], kinds[first:, at]
        typed, stored = _types(lexemes, these)
        variables.append(Variable(name, head, typed=typed, stored=stored))
        cells[name] = pa.array(lexemes.tolist(), type=pa.string())
        found[name] = these
        for kind, counted in styles.get(area.left + at, {}).items():
            code = _usual(kind, counted, book)
            if code:
                formats[name, kind] = code
    carried = WorkbookCarried(place, area.top, area.left, found, formats, book.since_1904)
    return Table(tuple(variables), pa.table(cells), carried=carried, notes=notes)


def _usual(kind: str, counted: Counter[str], book: SheetOutline) -> str:
    """Return the number format that most cells of a type have; nothing where that is the general one."""
    codes: Counter[str] = Counter()
    for style, times in counted.items():
        code = book.formats.get(style, "")
        codes["" if code == "General" or kind == TRUTH else code] += times
    return codes.most_common(1)[0][0]


def _types(lexemes: NDArray[np.object_], kinds: CellKinds) -> tuple[Typed, pa.DataType | None]:
    """Return what a column can hold, and the type that holds it elsewhere."""
    there = set(kinds.tolist()) - {NOTHING}
    if there == {TEXT}:
        return Typed(text=True), pa.string()
    values = [text for text in lexemes if text is not None]
    if there == {NUMBER}:
        whole = all(text.lstrip("-").isdecimal() and len(text) < 16 and text != "-0" for text in values)
        return Typed(bits=53), pa.int64() if whole else pa.float64()
    if there == {TRUTH}:
        return UNTYPED, pa.bool_()
    if there == {DATE}:
        if all(len(text) == 10 for text in values):
            return UNTYPED, pa.date32()
        if all("T" in text for text in values):
            return UNTYPED, pa.timestamp("ms")
    return UNTYPED, None


def _notes(book: SheetOutline, place: CellPlace, beside: AroundSheet, formulas: set[int]) -> tuple[str, ...]:
    notes = []
    others = [sheet.name for sheet in book.sheets if sheet != place.sheet]
    if others:
        notes.append(f"other sheets are not written: {', '.join(others)}")
    if formulas:
        columns = ", ".join(map(letters, sorted(formulas)))
        notes.append(f"formulas are written as the values that they had, in columns {columns}")
    if beside.merged:
        notes.append(f"{beside.merged} merged cells of the sheet are not merged any more")
    if beside.hidden:
        notes.append(
            f"{beside.hidden} hidden rows or columns of the sheet are read like others, and not hidden any more"
        )
    notes.append("colours, widths and whatever else a sheet has beside values and number formats are not written")
    return tuple(notes)


def _require_room(sheet: Sheet, records: int, *, inner: bool) -> None:
    """Refuse what no sheet can hold, before anything is written."""
    _require_size(sheet.top + bool(sheet.header) + records, sheet.left + len(sheet.columns))
    filled = np.zeros(records, dtype=np.bool_)
    for at, (lexemes, kinds) in enumerate(sheet.columns):
        filled |= kinds != NOTHING
        long = next(
            (row for row, text in enumerate(lexemes) if text is not None and len(text) > MOST_CHARACTERS), None
        )
        if long is not None:
            raise UsageError(
                f"the text of record {long + 1} in column {letters(sheet.left + at)} is longer than "
                f"{MOST_CHARACTERS:,} characters, the most that a cell can hold",
                hint="choose another format, such as CSV or Parquet",
            )
    if records and not (filled[-1] and (inner or filled.all())):
        raise UsageError(
            "a record without any value would be an empty row, where a table ends", hint="leave such records out"
        )


def _require_size(rows: int, columns: int) -> None:
    if rows > MOST_ROWS:
        raise UsageError(
            f"a sheet ends at row {MOST_ROWS:,}; these are {rows:,} rows",
            hint="choose another format, such as CSV or Parquet",
        )
    if columns > MOST_COLUMNS:
        raise UsageError(
            f"a sheet ends at column {MOST_COLUMNS:,}; these are {columns:,} columns",
            hint="choose another format, such as CSV or Parquet",
        )
