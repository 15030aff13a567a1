"""Sheets as tables: types, formats and notes of their columns, and what no sheet can hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from masktron.errors import DocumentError, UsageError
from masktron.problems.problem import Sentence
from masktron.sources.records import UNTYPED, Typed
from masktron.sources.tables.column_names import xml_names
from masktron.sources.tables.office_files import (
    AroundSheet,
    SheetOutline,
    address,
    letters,
)
from masktron.sources.tables.sheet_cells import (
    DATE,
    NOTHING,
    NUMBER,
    TEXT,
    TRUTH,
    CellKinds,
)
from masktron.sources.tables.sheet_places import Area, CellPlace
from masktron.sources.tables.table_model import Table
from masktron.sources.variables import Variable

MOST_ROWS, MOST_COLUMNS, MOST_CHARACTERS = 1_048_576, 16_384, 32_767
"""Of a sheet, and of the text of a cell."""


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


def table_of_cells(
    texts: NDArray[np.object_],
    kinds: CellKinds,
    area: Area,
    place: CellPlace,
    book: SheetOutline,
    styles: Mapping[int, Mapping[str, Counter[str]]],
    here: str,
    notes: tuple[Sentence, ...],
) -> Table:
    """Return the cells of an area as a table.

    Parameters
    ----------
    texts, kinds : ndarray, shape (rows, columns)
        Of the area: lexemes, and types of cells.
    area : Area
    place : CellPlace
    book : SheetOutline
    styles : mapping of int to mapping of str to Counter
        Styles of the cells of each column of the sheet, by their type.
    here : str
        File and sheet, for messages.
    notes : tuple of str

    Raises
    ------
    DocumentError
        A name is missing or comes twice, or a row between others is empty.
    """
    span = range(area.left, area.right + 1)
    first = 0
    if place.header is False:
        heads = list(map(letters, span))
    else:
        first = 1
        for at, (kind, head) in enumerate(zip(kinds[0], texts[0], strict=True)):
            if kind not in {TEXT, NOTHING} or head is None:
                said = "is empty" if kind in {TEXT, NOTHING} else "holds no text"
                detail = f"cell {address(area.top, area.left + at)} {said}, and should name its column"
                raise DocumentError.of("sheet-unclear", here, detail=detail, range="A1:F200")
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


def sheet_notes(
    book: SheetOutline, place: CellPlace, beside: AroundSheet, formulas: set[int], outside: int
) -> tuple[str, ...]:
    """Say what of a workbook is not written again.

    Parameters
    ----------
    book : SheetOutline
    place : CellPlace
    beside : AroundSheet
    formulas : set of int
        Columns that have some.
    outside : int
        Cells with a value that are not of the table.
    """
    notes = []
    others = [sheet.name for sheet in book.sheets if sheet != place.sheet]
    if others:
        notes.append(f"other sheets are not written: {', '.join(others)}")
    if outside:
        notes.append(f"cells outside the table are not written: {outside:,}")
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


def require_room(sheet: Sheet, records: int, *, inner: bool) -> None:
    """Refuse what no sheet can hold, before anything is written."""
    require_size(sheet.top + bool(sheet.header) + records, sheet.left + len(sheet.columns))
    filled, first = np.zeros(records, dtype=np.bool_), sheet.top + bool(sheet.header)
    for at, (lexemes, kinds) in enumerate(sheet.columns):
        filled |= kinds != NOTHING
        long = next(
            (row for row, text in enumerate(lexemes) if text is not None and len(text) > MOST_CHARACTERS), None
        )
        if long is not None:
            raise _no_sheet(
                f"more than {MOST_CHARACTERS:,} characters in cell {address(first + long, sheet.left + at)}"
            )
    if records and not (filled[-1] and (inner or filled.all())):
        raise _no_sheet("a record without any value: its row would be empty, where a table ends")


def require_size(rows: int, columns: int) -> None:
    """Refuse more rows or columns than a sheet has.

    Raises
    ------
    UsageError
    """
    if rows > MOST_ROWS:
        raise _no_sheet(f"{rows:,} rows: it ends at row {MOST_ROWS:,}")
    if columns > MOST_COLUMNS:
        raise _no_sheet(f"{columns:,} columns: it ends at column {MOST_COLUMNS:,}")


def _no_sheet(detail: str) -> UsageError:
    return UsageError.of("cannot-hold", format="a sheet", detail=detail)
