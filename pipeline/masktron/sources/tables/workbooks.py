"""Workbooks of spreadsheet programs: .xlsx and .ods. One sheet, or a range of it, is the table."""

from __future__ import annotations

import datetime
import io
import zipfile
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from masktron.errors import UsageError
from masktron.extras import library
from masktron.problems.problem import Known
from masktron.sources.column_forms import ColumnForm, all_numbers
from masktron.sources.tables import ods_parts, xlsx_parts
from masktron.sources.tables.arrow_values import no_room
from masktron.sources.tables.office_files import (
    AroundSheet,
    SheetName,
    SheetOutline,
    XmlCell,
    letters,
    most_cells,
    package,
    require_span,
)
from masktron.sources.tables.read_only import ReadOnlyFormat
from masktron.sources.tables.sheet_cells import (
    DATE,
    NOTHING,
    NUMBER,
    TEXT,
    TRUTH,
    CellKinds,
    code_of_moment,
    is_canonical,
    is_number,
    moment_of_cell,
    serial_of_moment,
    texts_as_read,
    values_of_cells,
)
from masktron.sources.tables.sheet_places import CellPlace, place_of_table, used_area
from masktron.sources.tables.sheet_tables import (
    Sheet,
    WorkbookCarried,
    require_room,
    require_size,
    sheet_notes,
    table_of_cells,
)
from masktron.sources.tables.table_format import LexemeRow, Options, SecondReading, TableFormat
from masktron.sources.tables.table_model import Table, TableRelease, losses_by_column
from masktron.sources.tables.two_readings import unlike_names
from masktron.sources.variables import Variable


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

    def read(self, path: Path, options: Options) -> Table:
        """Read a sheet."""
        where = str(path)
        with package(path, self.what) as archive:
            book = self._outline(archive, where)
            place = place_of_table(book, options, where)
            beside = AroundSheet()
            styles: dict[int, dict[str, Counter[str]]] = {}
            formulas: set[int] = set()
            last_row = last_column = 0
            for cell in self._cells(archive, place.sheet, book, where, beside):
                last_row, last_column = max(last_row, cell.row), max(last_column, cell.column)
                if cell.formula:
                    formulas.add(cell.column)
                styles.setdefault(cell.column, {}).setdefault(cell.kind, Counter())[cell.style] += 1
            require_span(
                (last_row + 1) * (last_column + 1), most_cells(archive), f"{where}, sheet {place.sheet.name!r}"
            )
        texts, kinds, left = values_of_cells(path, book, place, self.what)
        here = f"{where}, sheet {place.sheet.name!r}"
        area = used_area([(row, column + left) for row, column in np.argwhere(kinds != NOTHING)], place, here)
        if (before := left - area.left) > 0:  # a range may begin with columns in which nothing stands
            texts = np.hstack([np.full((len(texts), before), None, dtype=np.object_), texts])
            kinds = np.hstack([np.full((len(kinds), before), NOTHING, dtype=kinds.dtype), kinds])
            left = area.left
        inside = (slice(area.top, area.bottom + 1), slice(area.left - left, area.right + 1 - left))
        outside = int((kinds != NOTHING).sum() - (kinds[inside] != NOTHING).sum())
        notes = sheet_notes(book, place, beside, formulas, outside)
        return table_of_cells(texts[inside], kinds[inside], area, place, book, styles, here, notes)

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
        area = used_area([(row, column) for row, found in rows.items() for column in found], place, here)
        span = range(area.left, area.right + 1)
        if place.header is False:
            first, names = area.top, tuple(map(letters, span))
        else:
            first = (area.top if place.header is True else place.header - 1) + 1
            head = rows.get(first - 1, {})
            names = tuple(head[column].text if column in head else "" for column in span)
        if names != tuple(variable.column for variable in table.variables):
            raise unlike_names(here)

        def records() -> Iterator[LexemeRow]:
            for row in range(first, area.bottom + 1):
                found = rows.get(row, {})
                yield [found[column].text if column in found else None for column in span]

        return SecondReading(names, records())

    def reshaped(self, table: Table, forms: Mapping[str, ColumnForm]) -> Table:
        """Return a table in which all cells of some columns are texts, as not all that is written is a number."""
        carried: WorkbookCarried = table.carried
        kinds = dict(carried.kinds)
        for name, form in forms.items():
            if form.values and not all_numbers(form.values):
                kinds[name] = np.full(len(table), TEXT, dtype=kinds[name].dtype)
        return replace(table, carried=replace(carried, kinds=kinds))

    def line_of(self, table: Table, record: int) -> int:
        """Return the row of a record."""
        carried: WorkbookCarried = table.carried
        return carried.top + (carried.place.header is not False) + record + 1

    @abstractmethod
    def _outline(self, archive: zipfile.ZipFile, where: str) -> SheetOutline:
        """Return what a workbook says of itself."""

    @abstractmethod
    def _cells(
        self, archive: zipfile.ZipFile, sheet: SheetName, book: SheetOutline, where: str, beside: AroundSheet
    ) -> Iterator[XmlCell]:
        """Give the cells of a sheet from its XML."""


class XlsxFormat(_Workbook):
    """Excel's workbooks since 2007."""

    name: ClassVar[str] = "xlsx"
    what: ClassVar[str] = "an Excel workbook"

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
            columns.append((texts_as_read(lexemes, kinds), kinds))
            formats.append({kind: code for (name, kind), code in carried.formats.items() if name == variable.name})
        header = () if carried.place.header is False else tuple(variable.column for variable in release.variables)
        sheet = Sheet(carried.place, carried.top, carried.left, header, columns, formats, carried.since_1904)
        require_room(sheet, len(release.cells), inner=carried.place.area is not None)
        self._save(target, sheet)

    def create(self, target: Path, table: Table, options: Options) -> None:
        """Write a new workbook."""
        wanted = options.get("sheet", "Data")
        for name in options:
            if name != "sheet":
                known = Known(name, ("sheet",))
                raise UsageError.of("unknown-name", kind="option of a new workbook", name=name, known=known)
        require_size(len(table) + 1, len(table.variables))
        columns = []
        for variable in table.variables:
            lexemes = table.cells[variable.name].to_pylist()
            kinds = self._kinds_of(lexemes, variable)
            columns.append(([text or None for text in lexemes], kinds))
        header = tuple(variable.column for variable in table.variables)
        sheet = Sheet(CellPlace(SheetName(wanted)), 0, 0, header, columns, [{} for _ in columns])
        require_room(sheet, len(table), inner=False)
        self._save(target, sheet)

    def losses(self, table: Table) -> Iterator[str]:
        """Say what of a table a workbook does not hold."""
        yield from losses_by_column(
            table,
            (
                "the types of columns with values that no cell of that type can hold",
                lambda v: (
                    v.stored is not None
                    and not v.typed.text
                    and TEXT in self._kinds_of(table.cells[v.name].to_pylist(), v)
                ),
            ),
            (
                "that a text of no characters is more than no value",
                lambda v: pc.any(pc.equal(table.cells[v.name], "")).as_py(),
            ),
        )

    def _outline(self, archive: zipfile.ZipFile, where: str) -> SheetOutline:
        return xlsx_parts.outline(archive, where)

    def _cells(
        self, archive: zipfile.ZipFile, sheet: SheetName, book: SheetOutline, where: str, beside: AroundSheet
    ) -> Iterator[XmlCell]:
        return xlsx_parts.cells(archive, sheet, book, where, beside)

    def _kind_of(self, lexeme: str | None, there: set[str], column: str) -> str:
        """Return the type of a cell with a masked value: one that its column has."""
        if lexeme is None:
            return NOTHING
        if (NUMBER in there or not there) and is_number(lexeme):
            return NUMBER
        if DATE in there and moment_of_cell(lexeme) is not None:
            return DATE
        if TRUTH in there and lexeme in {"true", "false"}:
            return TRUTH
        if TEXT in there or not there:
            return TEXT
        raise no_room(column, "a spreadsheet has no such number, truth value or date", "the format of texts")

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
            kind, fits = DATE, lambda text: moment_of_cell(text) is not None
        if fits is not None and not all(fits(text) for text in lexemes if text):
            kind = TEXT
        return np.array([kind if text else NOTHING for text in lexemes], dtype="U1")

    def _save(self, target: Path, sheet: Sheet) -> None:
        xlsxwriter = library("xlsxwriter", "an Excel workbook")
        held = io.BytesIO()
        how = {"in_memory": True, "strings_to_numbers": False, "strings_to_formulas": False, "strings_to_urls": False}
        try:
            book = xlsxwriter.Workbook(held, {**how, "date_1904": sheet.since_1904})
            book.set_properties({"created": datetime.datetime(2000, 1, 1)})
            for name in sheet.place.before:
                book.add_worksheet(name)
            page = book.add_worksheet(sheet.place.sheet.name)
        except (xlsxwriter.exceptions.XlsxWriterException, ValueError) as error:
            wanted, given = f"a name that workbooks allow ({error})", sheet.place.sheet.name
            raise UsageError.of("bad-value", name="the sheet", expected=wanted, given=given) from None
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
                    code = formats.get(DATE) or code_of_moment(text)
                    page.write_number(row, column, _Exact(serial_of_moment(text, sheet.since_1904)), styled(code))
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


class OdsFormat(_Workbook, ReadOnlyFormat):
    """OpenDocument spreadsheets, which are only read."""

    name: ClassVar[str] = "ods"
    what: ClassVar[str] = "an OpenDocument spreadsheet"

    def _outline(self, archive: zipfile.ZipFile, where: str) -> SheetOutline:
        return ods_parts.outline(archive, where)

    def _cells(
        self, archive: zipfile.ZipFile, sheet: SheetName, book: SheetOutline, where: str, beside: AroundSheet
    ) -> Iterator[XmlCell]:
        return ods_parts.cells(archive, sheet, book, where, beside)
