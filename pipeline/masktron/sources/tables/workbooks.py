"""Workbooks of spreadsheet programs: .xlsx and .ods. One sheet, or a range of it, is the table.

fastexcel (calamine) reads them, XlsxWriter writes .xlsx. What is written is read back and compared.
"""

from __future__ import annotations

import datetime
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from masktron.errors import DocumentError, UsageError
from masktron.extras import library
from masktron.problems.problem import Known, Note, Problem
from masktron.sources.dataset import Dataset
from masktron.sources.tables.arrow_values import no_room
from masktron.sources.tables.column_names import xml_names
from masktron.sources.tables.column_strings import column_of
from masktron.sources.tables.office_files import (
    MOST_COLUMNS,
    MOST_ROWS,
    AroundSheet,
    address,
    letters,
    ods_sheets,
    package,
    xlsx_sheets,
)
from masktron.sources.tables.release import Release
from masktron.sources.tables.sheets import (
    NOTHING,
    NUMBER,
    TEXT,
    TRUTH,
    UNREAD,
    CellKinds,
    CellPlace,
    header_row,
    kind_of,
    kinds_of,
    moment_of,
    place_of_table,
    read_cells,
    types_of,
    used_area,
)
from masktron.sources.tables.table_format import Options, TableFormat
from masktron.sources.variables import NONE, Variable

_MOST_CHARACTERS = 32_767
"""Of the text of a cell."""
_SHOWN = {10: "yyyy-mm-dd", 8: "hh:mm:ss"}
"""Number formats of dates and times, by the length of their lexemes."""

type SheetColumn = tuple[str, Sequence[str | None], CellKinds]
"""A column that is to be written: its name, lexemes, and the type that each shall have."""


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
    others : tuple of str
        Other sheets.
    """

    place: CellPlace
    top: int = 0
    left: int = 0
    kinds: Mapping[str, CellKinds] | None = None
    others: tuple[str, ...] = ()

    @property
    def first(self) -> int:
        """The row of the first record."""
        return self.top + (self.place.header is not False)


class _Workbook(TableFormat):
    """A format of workbooks."""

    options: ClassVar[Mapping[str, str]] = {
        "sheet": "name of the sheet, or its number from 1; the first by default",
        "range": "cells that are read, as A1:F200, or the name of a range; all that are not empty by default",
        "header": "row with the names of the columns, from 1; none where there is none; the first by default",
    }
    choosing: ClassVar[frozenset[str]] = frozenset({"sheet", "range"})
    exact_digits: ClassVar[int | None] = 0
    what: ClassVar[str]

    def read(self, path: Path, options: Options) -> Dataset:
        """Read a sheet."""
        where = str(path)
        fastexcel = library("fastexcel", self.what)
        with package(path, self.what) as archive:
            try:
                sheets = (ods_sheets if self.name == "ods" else xlsx_sheets)(archive, where)
                book = fastexcel.read_excel(path.read_bytes())
                named = [(one.name, one.formula) for one in book.defined_names()]
                place = place_of_table(list(sheets), named, options, where)
                around = sheets[place.sheet]()
                lexemes, cells = read_cells(book, place.sheet, around)
            except fastexcel.FastExcelError as error:
                reason = str(error).partition("\n")[0]
                raise DocumentError.of("file-damaged", path, format=self.what, detail=reason) from error
        here = f"{where}, sheet {place.sheet!r}"
        filled = cells != NOTHING
        area = used_area(cells, place, here)
        for row, column in sorted(around.unread):
            if area.top <= row <= area.bottom and area.left <= column <= area.right:
                place_, detail = address(row, column), around.unread[row, column]
                raise DocumentError.of("cell-not-readable", here, cell=place_, detail=detail)
        others = tuple(one for one in sheets if one != place.sheet)
        span, carried = range(area.left, area.right + 1), WorkbookCarried(place, area.top, area.left, {}, others)
        texts = [lexemes[area.top : area.bottom + 1, column] for column in span]
        kinds = [cells[area.top : area.bottom + 1, column] for column in span]
        if place.header is not False:
            for column, kind in zip(span, kinds, strict=True):
                if kind[0] != TEXT:
                    said, header = "holds no text" if kind[0] else "is empty", header_row(cells, area)
                    raise DocumentError.of(
                        "column-not-named",
                        here,
                        cell=address(area.top, column),
                        is_not=said,
                        header="none" if header is None else header + 1,
                    )
        heads = list(map(letters, span)) if place.header is False else [str(text[0]) for text in texts]
        first, variables, columns, found = carried.first - area.top, [], [], {}
        for name, head, text, kind in zip(xml_names(heads, here), heads, texts, kinds, strict=True):
            typed, stored = types_of(text[first:], kind[first:])
            variables.append(Variable(name, head, typed=typed, stored=stored))
            columns.append(pa.array(text[first:].tolist(), pa.string()))
            found[name] = kind[first:]
        outside = int(filled.sum()) - sum(int((kind != NOTHING).sum()) for kind in kinds)
        notes = tuple(_notes(others, around, outside))
        rows = carried.first + 1 + np.arange(area.bottom + 1 - carried.first, dtype=np.int64)
        dataset = Dataset.of_columns(path, map(column_of, variables, columns), rows)
        return replace(dataset, format_state=replace(carried, kinds=found), notes=notes)

    def elsewhere(self, table: Dataset) -> Problem | None:
        """Name other sheets of the workbook."""
        carried: WorkbookCarried = table.format_state
        if not carried.others:
            return None
        return Note(
            "the sheet that is read is {sheet}; others are {others:and}: [[--format-option sheet={first}]]",
            sheet=carried.place.sheet,
            others=carried.others,
            first=carried.others[0],
        )

    def read_again(self, path: Path, table: Dataset) -> None:
        """Return nothing: no second library reads both kinds of workbooks."""
        del path, table


class XlsxFormat(_Workbook):
    """Excel's workbooks since 2007."""

    name: ClassVar[str] = "xlsx"
    what: ClassVar[str] = "an Excel workbook"
    compared: ClassVar[bool] = True

    def write(self, target: Path, release: Release, options: Options = NONE) -> None:
        """Write a workbook with this sheet alone; cells that have not changed have the type that they had."""
        like: WorkbookCarried | None = release.original.format_state
        for name in options:
            if name != "sheet":
                known = Known(name, ("sheet",))
                raise UsageError.of("unknown-name", kind="option of a new workbook", name=name, known=known)
        columns = []
        for variable in release.variables:
            lexemes = release.cells(variable.name).to_pylist()
            if like is None or variable.recoded:
                kinds = kinds_of(lexemes, variable)
            else:
                kinds = _kept_kinds(release, variable, lexemes, (like.kinds or {})[variable.name])
            columns.append((variable.column, lexemes, kinds))
        _save(target, like or WorkbookCarried(CellPlace(options.get("sheet", "Data"))), columns)


def _kept_kinds(
    release: Release, variable: Variable, lexemes: Sequence[str | None], original: CellKinds
) -> CellKinds:
    """Return the types of the cells of a column, those of new ones among the types that it has.

    Raises
    ------
    UsageError
        None of them holds a value.
    """
    kinds, there = original[release.rows], set(original.tolist()) - {NOTHING}
    for at in np.flatnonzero(release.changed(variable.name)).tolist():
        kinds[at] = kind_of(lexemes[at], there or {NUMBER, TEXT})
    if UNREAD in kinds:
        detail = "a spreadsheet has no such number, truth value or date"
        raise no_room(variable.column, detail, "the format of texts")
    return kinds


class OdsFormat(_Workbook):
    """OpenDocument spreadsheets, which are only read."""

    name: ClassVar[str] = "ods"
    what: ClassVar[str] = "an OpenDocument spreadsheet"


def _notes(others: Sequence[str], around: AroundSheet, outside: int) -> Iterator[str]:
    """Say what of a workbook is not written again."""
    if others:
        yield f"other sheets are not written: {', '.join(others)}"
    if outside:
        yield f"cells outside the table are not written: {outside:,}"
    if around.formulas:
        columns = ", ".join(map(letters, sorted(around.formulas)))
        yield f"formulas are written as the values that they had, in columns {columns}"
    if around.merged:
        yield f"{around.merged} merged cells of the sheet are not merged any more"
    if around.hidden:
        yield f"{around.hidden} hidden rows or columns of the sheet are read like others, and not hidden any more"
    yield "number formats, colours, widths and whatever else a sheet has beside values are not written"


def _save(target: Path, like: WorkbookCarried, columns: Sequence[SheetColumn]) -> None:
    """Write a workbook of one sheet, and of empty ones before it where it was chosen by its number."""
    records = len(columns[0][1]) if columns else 0
    _require_room(like, columns, records)
    xlsxwriter = library("xlsxwriter", "an Excel workbook")
    held, place = io.BytesIO(), like.place
    try:
        book = xlsxwriter.Workbook(held, {"in_memory": True})
        # the time of writing would make other bytes of the same release
        book.set_properties({"created": datetime.datetime(2000, 1, 1)})
        for name in place.before:
            book.add_worksheet(name)
        page = book.add_worksheet(place.sheet)
    except (xlsxwriter.exceptions.XlsxWriterException, ValueError) as error:
        wanted = f"a name that workbooks allow ({error})"
        raise UsageError.of("bad-value", name="the sheet", expected=wanted, given=place.sheet) from None
    page.activate()
    shown: dict[str, Any] = {}
    for at, (name, lexemes, kinds) in enumerate(columns, start=like.left):
        if place.header is not False:
            page.write_string(like.top, at, name)
        for row, (text, kind) in enumerate(zip(lexemes, kinds.tolist(), strict=True), start=like.first):
            if not text:
                continue
            if kind == NUMBER:
                page.write_number(row, at, _Exact(text))
            elif kind == TEXT:
                page.write_string(row, at, text)
            elif kind == TRUTH:
                page.write_boolean(row, at, text == "true")
            else:
                code = _SHOWN.get(len(text), "yyyy-mm-dd hh:mm:ss" if "T" in text else "hh:mm:ss")
                if code not in shown:
                    shown[code] = book.add_format({"num_format": code})
                page.write_datetime(row, at, moment_of(text), shown[code])
    if place.name:
        named = place.sheet.replace("'", "''")
        last = f"${letters(like.left + max(1, len(columns)) - 1)}${like.first + max(1, records)}"
        book.define_name(place.name, f"='{named}'!${letters(like.left)}${like.top + 1}:{last}")
    book.close()
    target.write_bytes(held.getvalue())


def _require_room(like: WorkbookCarried, columns: Sequence[SheetColumn], records: int) -> None:
    """Refuse what no sheet can hold, before anything is written.

    Raises
    ------
    UsageError
    """
    detail = ""
    if (rows := like.first + records) > MOST_ROWS:
        detail = f"{rows:,} rows: it ends at row {MOST_ROWS:,}"
    elif (width := like.left + len(columns)) > MOST_COLUMNS:
        detail = f"{width:,} columns: it ends at column {MOST_COLUMNS:,}"
    else:
        filled = np.zeros(records, dtype=np.bool_)
        for at, (_, lexemes, kinds) in enumerate(columns, start=like.left):
            filled |= kinds != NOTHING
            for row, text in enumerate(lexemes, start=like.first):
                if text is not None and len(text) > _MOST_CHARACTERS:
                    detail = f"more than {_MOST_CHARACTERS:,} characters in cell {address(row, at)}"
        if records and not (filled[-1] and (like.place.area is not None or filled.all())):
            detail = "a record without any value: its row would be empty, where a table ends"
    if detail:
        raise UsageError.of("cannot-hold", format="a sheet", detail=detail)


class _Exact(float):
    """A double that XlsxWriter writes with all its digits; it would write 16."""

    def __format__(self, spec: str) -> str:
        del spec
        return repr(float(self)).removesuffix(".0")
