"""The XML of an .ods workbook (OpenDocument 1.3), read cell by cell with the standard library and lxml."""

from __future__ import annotations

import datetime
import re
import zipfile
from collections.abc import Iterator

from lxml import etree

from masktron.sources.tables.office_files import (
    AroundSheet,
    NamedRange,
    SheetName,
    SheetOutline,
    XmlCell,
    bad_cell,
    elements,
    most_cells,
    part_of,
    require_span,
    too_wide,
)
from masktron.sources.tables.xlsx_parts import number_lexeme

_CONTENT = "content.xml"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_CALCEXT = "{urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0}"
_NUMBERS = {"float", "percentage", "currency"}
_RANGE = re.compile(
    r"\$?(?:'((?:[^']|'')*)'|([^.']*))\.([$A-Z0-9]+)(?::(?:\$?(?:'(?:[^']|'')*'|[^.']*))?\.([$A-Z0-9]+))?"
)
_MOST_COLUMNS, _MOST_ROWS = 16_384, 1_048_576


def outline(archive: zipfile.ZipFile, where: str) -> SheetOutline:
    """Return the sheets and names of a workbook."""
    sheets: list[SheetName] = []
    names: list[NamedRange] = []
    with part_of(archive, _CONTENT, where) as stream:
        wanted = (f"{_TABLE}table", f"{_TABLE}named-range", f"{_TABLE}table-row")
        for element in elements(stream, wanted, where):
            if element.tag == wanted[0]:
                sheets.append(SheetName(element.get(f"{_TABLE}name") or ""))
            elif element.tag == wanted[1]:
                found = _RANGE.fullmatch(element.get(f"{_TABLE}cell-range-address") or "")
                if found:
                    sheet = (found[1] or "").replace("''", "'") or found[2] or ""
                    cells_ = f"{found[3]}:{found[4] or found[3]}".replace("$", "")
                    names.append(NamedRange(element.get(f"{_TABLE}name") or "", sheet, cells_))
    return SheetOutline(tuple(sheets), tuple(names))


def cells(
    archive: zipfile.ZipFile, sheet: SheetName, book: SheetOutline, where: str, beside: AroundSheet
) -> Iterator[XmlCell]:
    """Give the cells of a sheet that have a value, in its order.

    Raises
    ------
    DocumentError
        A cell holds an error or a time; says which.
    """
    del book
    here = f"{where}, sheet {sheet.name!r}"
    wanted = (f"{_TABLE}table-row", f"{_TABLE}table", f"{_TABLE}table-column")
    row, hidden, merged, found, most = 0, 0, 0, list[XmlCell](), most_cells(archive)
    with part_of(archive, _CONTENT, where) as stream:
        for element in elements(stream, wanted, where):
            if element.tag == wanted[1]:
                if element.get(f"{_TABLE}name") == sheet.name:
                    beside.hidden, beside.merged = hidden, merged
                    yield from found
                    return
                row, hidden, merged, found = 0, 0, 0, []
                continue
            hidden += element.get(f"{_TABLE}visibility", "visible") != "visible"
            if element.tag == wanted[2]:
                continue
            times = int(element.get(f"{_TABLE}number-rows-repeated", "1"))
            these = []
            column = 0
            for cell in element:
                wide = int(cell.get(f"{_TABLE}number-columns-repeated", "1"))
                merged += (
                    int(cell.get(f"{_TABLE}number-columns-spanned", "1")) > 1
                    or int(cell.get(f"{_TABLE}number-rows-spanned", "1")) > 1
                )
                one = None if cell.tag != f"{_TABLE}table-cell" else _cell(cell, row, column, here)
                if one is not None:
                    if column + wide > _MOST_COLUMNS:
                        raise too_wide(f"a row of more than {_MOST_COLUMNS:,} columns", here)
                    require_span((row + times) * (column + wide), most, here)
                    these += [one._replace(column=column + at) for at in range(wide)]
                column += wide
            if these and row + times > _MOST_ROWS:
                raise too_wide(f"a sheet of more than {_MOST_ROWS:,} rows", here)
            if these:
                found += [one._replace(row=row + at) for at in range(times) for one in these]
            row += times


def _cell(cell: etree._Element, row: int, column: int, here: str) -> XmlCell | None:
    kind = cell.get(f"{_OFFICE}value-type")
    formula = cell.get(f"{_TABLE}formula") is not None
    if cell.get(f"{_CALCEXT}value-type") == "error":
        raise bad_cell(row, column, here, "an error")
    if kind in _NUMBERS:
        return XmlCell(
            row, column, "n", number_lexeme(cell.get(f"{_OFFICE}value") or "", row, column, here), "", formula
        )
    if kind == "boolean":
        return XmlCell(row, column, "b", cell.get(f"{_OFFICE}boolean-value") or "false", "", formula)
    if kind == "date":
        return XmlCell(
            row, column, "d", _date(cell.get(f"{_OFFICE}date-value") or "", row, column, here), "", formula
        )
    if kind == "time":
        raise bad_cell(row, column, here, "a time")
    if kind == "string":
        said = cell.get(f"{_OFFICE}string-value")
        text = said if said is not None else "\n".join(_paragraph(p) for p in cell.iterfind(f"{_TEXT}p"))
        return XmlCell(row, column, "t", text, "", formula) if text else None
    if kind is None:
        return None
    raise bad_cell(row, column, here, f"a value of the unknown type {kind!r}")


def _date(text: str, row: int, column: int, here: str) -> str:
    try:
        found = datetime.datetime.fromisoformat(text)
    except ValueError:
        found = datetime.datetime.min.replace(tzinfo=datetime.UTC)
    if found.tzinfo is not None:
        raise bad_cell(row, column, here, "a date that cannot be read")
    if found.time() == datetime.time():
        return found.date().isoformat()
    head, _, fraction = found.isoformat().partition(".")
    return f"{head}.{fraction.rstrip('0')}" if fraction else head


def _paragraph(element: etree._Element) -> str:
    """Return the text of a paragraph, in which runs of white space are one blank (OpenDocument 1.3, 6.1.2)."""
    parts: list[str] = []

    def gather(node: etree._Element) -> None:
        parts.append(re.sub("[\t\n\r ]+", " ", node.text or ""))
        for child in node:
            if child.tag == f"{_TEXT}s":
                parts.append(" " * int(child.get(f"{_TEXT}c", "1")))
            elif child.tag == f"{_TEXT}tab":
                parts.append("\t")
            elif child.tag == f"{_TEXT}line-break":
                parts.append("\n")
            elif child.tag != f"{_OFFICE}annotation":
                gather(child)
            parts.append(re.sub("[\t\n\r ]+", " ", child.tail or ""))

    gather(element)
    return "".join(parts)
