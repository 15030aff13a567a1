"""The XML of an .xlsx workbook (ECMA-376), read cell by cell with the standard library and lxml."""

from __future__ import annotations

import datetime
import posixpath
import re
import zipfile
from collections.abc import Iterator
from decimal import Decimal

from lxml import etree

from masktron.errors import DocumentError
from masktron.sources.tables.office_files import (
    NO_DATE,
    AroundSheet,
    NamedRange,
    SheetName,
    SheetOutline,
    XmlCell,
    bad_cell,
    elements,
    part_of,
)

_STRICT = "http://purl.oclc.org/ooxml/spreadsheetml/main"
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_SPACES = (_MAIN, _STRICT)
_RELATION = (
    "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id",
    "{http://purl.oclc.org/ooxml/officeDocument/relationships}id",
)
_BUILT_IN = {
    0: "General", 1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%", 11: "0.00E+00",
    12: "# ?/?", 13: "# ??/??", 14: "mm-dd-yy", 15: "d-mmm-yy", 16: "d-mmm", 17: "mmm-yy", 18: "h:mm AM/PM",
    19: "h:mm:ss AM/PM", 20: "h:mm", 21: "h:mm:ss", 22: "m/d/yy h:mm", 37: "#,##0 ;(#,##0)",
    38: "#,##0 ;[Red](#,##0)", 39: "#,##0.00;(#,##0.00)", 40: "#,##0.00;[Red](#,##0.00)", 45: "mm:ss",
    46: "[h]:mm:ss", 47: "mmss.0", 48: "##0.0E+0", 49: "@",
}  # fmt: skip
"""ECMA-376 part 1, 18.8.30."""
_NO_CODES = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?![hms]+\])[^\]]*\]', re.IGNORECASE)
_ELAPSED = re.compile(r"\[[hms]+\]", re.IGNORECASE)
_REFERENCE = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_DAY = 86_400_000
_LAST_PLAIN, _NO_DAY = 59, 60
_LONG = 40


def outline(archive: zipfile.ZipFile, where: str) -> SheetOutline:
    """Return the sheets, names and number formats of a workbook."""
    book = _workbook_part(archive, where)
    targets = _relations(archive, book, where)
    sheets: list[SheetName] = []
    names: list[tuple[str, str]] = []
    since_1904 = False
    with part_of(archive, book, where) as stream:
        for element in elements(stream, _tags("sheet", "definedName", "workbookPr"), where):
            kind = etree.QName(element).localname
            if kind == "workbookPr":
                since_1904 = element.get("date1904") in {"1", "true", "on"}
            elif kind == "definedName":
                names.append((element.get("name") or "", element.text or ""))
            else:
                relation = next((element.get(name) for name in _RELATION if element.get(name)), "")
                kind_of_sheet, target = targets.get(relation or "", ("", ""))
                if kind_of_sheet == "worksheet":
                    sheets.append(SheetName(element.get("name") or "", target))
    ranges = tuple(found for found in (_named(name, text) for name, text in names) if found is not None)
    styles = next((target for kind, target in targets.values() if kind == "styles"), "")
    return SheetOutline(tuple(sheets), ranges, since_1904, _formats(archive, styles, where))


def cells(
    archive: zipfile.ZipFile, sheet: SheetName, book: SheetOutline, where: str, beside: AroundSheet
) -> Iterator[XmlCell]:
    """Give the cells of a sheet that have a value, in its order.

    Raises
    ------
    DocumentError
        A cell holds an error, an elapsed time, or a formula without a value; says which.
    """
    texts = _shared(archive, where)
    here = f"{where}, sheet {sheet.name!r}"
    last = -1
    wanted = _tags("row", "mergeCell", "col")
    with part_of(archive, sheet.part, where) as stream:
        for element in elements(stream, wanted, where):
            kind = etree.QName(element).localname
            if kind == "mergeCell":
                beside.merged += 1
            elif element.get("hidden") in {"1", "true"}:
                beside.hidden += 1
            if kind != "row":
                continue
            row = int(element.get("r", last + 2)) - 1
            last, column = row, -1
            for cell in element:
                column = _column(cell.get("r"), row, column + 1, here)
                found = _cell(cell, row, column, texts, book, here)
                if found is not None:
                    yield found


def _cell(
    cell: etree._Element, row: int, column: int, texts: list[str], book: SheetOutline, here: str
) -> XmlCell | None:
    kind, style = cell.get("t", "n"), cell.get("s", "0")
    value, formula = None, False
    for part in cell:
        name = etree.QName(part).localname
        if name == "v":
            value = part.text or ""
        elif name == "f":
            formula = True
        elif name == "is":
            value = _text(part)
    if value is None or (value == "" and kind != "str"):
        if formula and value is None and kind != "str":
            raise bad_cell(row, column, here, "a formula whose value was never computed")
        return None
    if kind == "e":
        raise bad_cell(row, column, here, "an error")
    if kind == "b":
        return XmlCell(row, column, "b", "true" if value in {"1", "true"} else "false", style, formula)
    if kind in {"s", "inlineStr", "str"}:
        text = texts[int(value)] if kind == "s" else unescaped(value) if kind == "str" else value
        return XmlCell(row, column, "t", text, style, formula) if text else None
    if kind == "d":
        raise bad_cell(row, column, here, "a date as text of type 'd', which spreadsheets rarely write")
    code = _NO_CODES.sub("", book.formats.get(style, "General"))
    if _ELAPSED.search(code):
        raise bad_cell(row, column, here, f"an elapsed time, by its number format {code}")
    if is_date_format(code):
        return XmlCell(row, column, "d", date_lexeme(value, row, column, here, book.since_1904), style, formula)
    return XmlCell(row, column, "n", number_lexeme(value, row, column, here), style, formula)


def is_date_format(code: str) -> bool:
    """Whether a number format shows dates or times; ``General`` and texts do not."""
    bare = _NO_CODES.sub("", code).lower()
    return "general" not in bare and any(letter in bare for letter in "ymdhs")


def number_lexeme(value: str, row: int, column: int, here: str) -> str:
    """Return the shortest decimal that is the same double."""
    try:
        number = float(value)
    except ValueError:
        number = float("nan")
    if number != number or number in {float("inf"), float("-inf")}:  # noqa: PLR0124 -- NaN
        raise bad_cell(row, column, here, "no number, though it is one of numbers")
    exact = Decimal(repr(number))
    whole = exact.to_integral_value()
    text = f"{whole:f}" if whole == exact else f"{exact.normalize():f}"
    return text if len(text) <= _LONG else str(exact)


def date_lexeme(value: str, row: int, column: int, here: str, since_1904: bool) -> str:
    """Return a date as ISO 8601 has it, to the millisecond; below one day it is a time of day."""
    day, rest = divmod(round(float(value) * _DAY), _DAY)
    clock = (datetime.datetime.min + datetime.timedelta(milliseconds=rest)).strftime("%H:%M:%S")
    if rest % 1000:
        clock += f".{rest % 1000:03d}".rstrip("0")
    if day == 0:
        return clock
    if since_1904:
        start = datetime.date(1904, 1, 1)
    else:
        start = datetime.date(1899, 12, 31) if day <= _LAST_PLAIN else datetime.date(1899, 12, 30)
    if day < 0 or day > (datetime.date.max - start).days or (day == _NO_DAY and not since_1904):
        raise bad_cell(row, column, here, NO_DATE)
    date = start + datetime.timedelta(days=day)
    return f"{date.isoformat()}T{clock}" if rest else date.isoformat()


def unescaped(text: str) -> str:
    """Read ``_xHHHH_`` as the character that it stands for (ECMA-376 part 1, 22.9.2.19)."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text) if "_x" in text else text


def _tags(*names: str) -> tuple[str, ...]:
    return tuple(f"{{{space}}}{name}" for space in _SPACES for name in names)


def _column(reference: str | None, row: int, following: int, here: str) -> int:
    if reference is None:
        return following
    found = _REFERENCE.fullmatch(reference)
    if found is None or int(found[2]) != row + 1:
        detail = f"row {row + 1} has a cell {reference!r}"
        raise DocumentError.of("file-damaged", here, format="a workbook", detail=detail)
    column = 0
    for letter in found[1]:
        column = column * 26 + ord(letter) - 64
    return column - 1


def _text(element: etree._Element) -> str:
    """Join the runs of a text; phonetic hints are none of it."""
    parts = []
    for part in element:
        name = etree.QName(part).localname
        if name == "t":
            parts.append(part.text or "")
        elif name == "r":
            parts.extend(run.text or "" for run in part if etree.QName(run).localname == "t")
    return unescaped("".join(parts))


def _shared(archive: zipfile.ZipFile, where: str) -> list[str]:
    part = next(
        (target for kind, target in _relations_of_book(archive, where).values() if kind == "sharedStrings"), ""
    )
    if not part:
        return []
    with part_of(archive, part, where) as stream:
        return [_text(element) for element in elements(stream, _tags("si"), where)]


def _relations_of_book(archive: zipfile.ZipFile, where: str) -> dict[str, tuple[str, str]]:
    return _relations(archive, _workbook_part(archive, where), where)


def _workbook_part(archive: zipfile.ZipFile, where: str) -> str:
    found = _relations(archive, "", where)
    part = next((target for kind, target in found.values() if kind == "officeDocument"), "")
    if not part:
        raise DocumentError.of("file-damaged", where, format="a workbook", detail="the archive has no workbook")
    return part


def _relations(archive: zipfile.ZipFile, part: str, where: str) -> dict[str, tuple[str, str]]:
    """Return what a part is related to: the kind and the name of another part, by an id."""
    folder, name = posixpath.split(part)
    found = {}
    with part_of(archive, posixpath.join(folder, "_rels", f"{name}.rels"), where) as stream:
        tags = ("{http://schemas.openxmlformats.org/package/2006/relationships}Relationship",)
        for element in elements(stream, tags, where):
            kind = (element.get("Type") or "").rpartition("/")[2]
            target = element.get("Target") or ""
            place = target.lstrip("/") if target.startswith("/") else posixpath.join(folder, target)
            found[element.get("Id") or ""] = (kind, posixpath.normpath(place))
    return found


def _named(name: str, text: str) -> NamedRange | None:
    sheet, found, cells_ = text.rpartition("!")
    if not found or sheet.startswith("["):
        return None
    if sheet.startswith("'"):
        sheet = sheet[1:-1].replace("''", "'")
    return NamedRange(name, sheet, cells_.replace("$", ""))


def _formats(archive: zipfile.ZipFile, part: str, where: str) -> dict[str, str]:
    if not part:
        return {}
    codes: dict[int, str] = dict(_BUILT_IN)
    formats: dict[str, str] = {}
    with part_of(archive, part, where) as stream:
        for element in elements(stream, _tags("numFmt", "cellXfs"), where):
            if etree.QName(element).localname == "numFmt":
                parent = element.getparent()
                if parent is not None and etree.QName(parent).localname == "numFmts":
                    codes[int(element.get("numFmtId", "0"))] = element.get("formatCode") or "General"
            else:
                for at, style in enumerate(element):
                    formats[str(at)] = codes.get(int(style.get("numFmtId", "0")), "General")
    return formats
