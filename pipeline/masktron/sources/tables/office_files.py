"""Packages of XML files, as workbooks are: zip archives that are opened with care, and what surrounds values in them.

calamine alone reads values. It takes formulas that were never computed, and errors in OpenDocument, for empty cells
or numbers, and makes room for all places up to the last cell: so the XML of a sheet is looked through before.
"""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from lxml import etree

from masktron.errors import DocumentError, MasktronError
from masktron.files import most_unpacked, refuse_special, require_unpacked
from masktron.sources.other_formats import format_of, other_format
from masktron.sources.xml.parser import HEAD

MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_CALCEXT = "{urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0}"
_KINDS = {None, "float", "percentage", "currency", "boolean", "date", "time", "string", "void"}
_TRUTHS = {"true", "false"}
_NO_TRUTH = "a value that is neither true nor false, in a cell of truth values"
_ERROR = re.compile(r"#(N/A|NULL!|DIV/0!|VALUE!|REF!|NAME\?|NUM!)|Err:[0-9]+")
"""What cells with errors show; Excel writes them into .ods as 0."""
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_LEFT_OUT = [f"{_TEXT}{name}" for name in ("tab", "line-break", "note", "ruby")]
_MANIFEST = "META-INF/manifest.xml"
_REFERENCE = re.compile("([A-Z]+)([0-9]+)")
_TRUE = {"1", "true", "on"}
_UNCOMPUTED = "a formula whose value was never computed"
_CELL = 16
"""Bytes in memory of a cell, at the very least."""


@dataclass(slots=True)
class AroundSheet:
    """What a sheet has beside values; positions from 0.

    Attributes
    ----------
    since_1904 : bool
        Dates of the workbook count from 1904; fastexcel does not see that in every file.
    rows, columns : int
        Up to the last cell that is not empty.
    formulas : set of int
        Columns that have some.
    merged, hidden : int
        Merged ranges of cells; hidden rows and columns.
    unread : mapping of (int, int) to str
        What a cell holds that has no value.
    """

    since_1904: bool = False
    rows: int = 0
    columns: int = 0
    formulas: set[int] = field(default_factory=set)
    merged: int = 0
    hidden: int = 0
    unread: dict[tuple[int, int], str] = field(default_factory=dict)

    def add(self, row: int, column: int, *, formula: bool = False, unread: str = "") -> None:
        """Add a cell that is not empty."""
        self.rows, self.columns = max(self.rows, row + 1), max(self.columns, column + 1)
        if formula:
            self.formulas.add(column)
        if unread:
            self.unread[row, column] = unread

    def require_span(self, archive: zipfile.ZipFile, where: str) -> None:
        """Refuse a sheet of a few cells that names, or repeats, so many that they fill the memory.

        Raises
        ------
        DocumentError
        """
        span = self.rows * self.columns
        most = most_unpacked(sum(part.compress_size for part in archive.infolist())) // _CELL
        if span > most or self.rows > MOST_ROWS or self.columns > MOST_COLUMNS:
            detail = f"a sheet whose cells span {span:,} places, far more than a file of its size fills"
            instead = "without cells far outside the table, and without rows or columns that are repeated to the end"
            raise DocumentError.of("file-not-supported", where, detail=detail, instead=instead)


type Sheets = dict[str, Callable[[], AroundSheet]]
"""The sheets of a workbook by name, in their order; each is looked through when that is asked for."""


@contextmanager
def package(path: Path, what: str) -> Iterator[zipfile.ZipFile]:
    """Open a workbook.

    Raises
    ------
    DocumentError
        It is not there, has another format, is no zip archive, is encrypted, or was made to fill the memory.
    """
    refuse_special(path, DocumentError)
    try:
        with path.open("rb") as stream:
            head = stream.read(HEAD)
        if not head.startswith(b"PK") and (found := format_of(head, path)):
            raise DocumentError(other_format(found, what, path))
        with zipfile.ZipFile(path) as archive:
            for part in archive.infolist():
                require_unpacked(part.file_size, part.compress_size, f"{part.filename!r} in it", str(path))
            if any(part.flag_bits & 1 for part in archive.infolist()) or (
                _MANIFEST in archive.namelist() and b"encryption-data" in archive.read(_MANIFEST)
            ):
                detail = "an encrypted workbook"
                raise DocumentError.of("file-not-supported", path, detail=detail, instead="without a password")
            yield archive
    except MasktronError:
        raise
    except (OSError, zipfile.BadZipFile, NotImplementedError, EOFError, ValueError, IndexError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DocumentError.of("file-damaged", path, format=what, detail=reason) from error


def xlsx_sheets(archive: zipfile.ZipFile, where: str) -> Sheets:
    """Return the worksheets of an .xlsx workbook (ECMA-376) by name, in their order, each to be looked through."""
    book = next((part for kind, part in _relations(archive, "", where).values() if kind == "officeDocument"), "")
    parts = _relations(archive, book, where)
    found: Sheets = {}
    since_1904 = False
    for sheet in _elements(archive, book, ("{*}workbookPr", "{*}sheet"), where):
        since_1904 |= sheet.get("date1904") in _TRUE
        relation = next((str(value) for name, value in sheet.attrib.items() if str(name).endswith("}id")), "")
        kind, part = parts.get(relation, ("", ""))
        if kind == "worksheet":  # a chart is none
            name = sheet.get("name") or ""
            found[name] = partial(_around_xlsx, archive, part, f"{where}, sheet {name!r}", since_1904)
    return found


def _around_xlsx(archive: zipfile.ZipFile, part: str, where: str, since_1904: bool) -> AroundSheet:
    found, row = AroundSheet(since_1904), -1
    for element in _elements(archive, part, ("{*}row", "{*}col", "{*}mergeCell"), where):
        found.merged += element.tag.endswith("}mergeCell")
        found.hidden += element.get("hidden") in _TRUE
        if not element.tag.endswith("}row"):
            continue
        before, row, column = row, int(element.get("r", row + 2)) - 1, -1
        if row <= before:
            detail = f"row {row + 1} follows row {before + 1}"
            raise DocumentError.of("file-damaged", where, format="a workbook", detail=detail)
        for cell in element:
            at = _REFERENCE.fullmatch(cell.get("r", ""))
            row, column = (int(at[2]) - 1, column_number(at[1])) if at else (row, column + 1)
            inside = {one.tag.rpartition("}")[2]: one.text for one in cell}
            computed = inside.get("v") or ("v" in inside and cell.get("t") == "str")
            unread = _UNCOMPUTED if "f" in inside and not computed else ""
            if cell.get("t") == "b" and inside.get("v") not in {None, "0", "1"}:
                unread = _NO_TRUTH
            if inside:
                found.add(row, column, formula="f" in inside, unread=unread)
    found.require_span(archive, where)
    return found


def ods_sheets(archive: zipfile.ZipFile, where: str) -> Sheets:
    """Return the sheets of an .ods workbook (OpenDocument 1.3) by name, in their order, looked through already.

    calamine makes room for all of them as soon as it opens the file.
    """
    sheets: dict[str, AroundSheet] = {}
    row = 0
    for element in _elements(archive, "content.xml", (f"{_TABLE}table-row", f"{_TABLE}table-column"), where):
        name = next(element.iterancestors(f"{_TABLE}table")).get(f"{_TABLE}name") or ""
        if name not in sheets:
            sheets[name], row = AroundSheet(), 0
        found = sheets[name]
        found.hidden += element.get(f"{_TABLE}visibility", "visible") != "visible"
        column, after = 0, row + int(element.get(f"{_TABLE}number-rows-repeated", "1"))
        for cell in element:
            end = column + int(cell.get(f"{_TABLE}number-columns-repeated", "1"))
            spans = {cell.get(f"{_TABLE}number-{what}-spanned", "1") for what in ("columns", "rows")}
            found.merged += spans != {"1"}
            kind, formula = cell.get(f"{_OFFICE}value-type"), cell.get(f"{_TABLE}formula") is not None
            unread = ""
            shown = cell.findtext("{*}p", "") if formula else ""
            if cell.get(f"{_CALCEXT}value-type") == "error" or _ERROR.fullmatch(shown):
                unread = "an error"
            elif formula and not kind:
                unread = _UNCOMPUTED
            elif kind not in _KINDS:
                unread = f"a value of the unknown type {kind!r}"
            elif kind == "boolean" and cell.get(f"{_OFFICE}boolean-value", "true").lower() not in _TRUTHS:
                unread = _NO_TRUTH
            elif any(True for text in cell.iterchildren(f"{_TEXT}p") for _ in text.iter(*_LEFT_OUT)):
                unread = "a tab, a line break or a note within its text, which the library that reads it leaves out"
            if kind or formula:
                found.add(row, column, formula=formula, unread=unread)
                found.add(after - 1, end - 1)
            column = end
        row = after if element.tag == f"{_TABLE}table-row" else row
    for name, found in sheets.items():
        found.require_span(archive, f"{where}, sheet {name!r}")
    return {name: partial(sheets.__getitem__, name) for name in sheets}


def _elements(archive: zipfile.ZipFile, part: str, tags: Sequence[str], where: str) -> Iterator[etree._Element]:
    """Give the elements of a part with these names, in Clark notation, as they end; each is emptied afterwards.

    Raises
    ------
    DocumentError
        There is no such part, its XML is not well-formed, or it has a document type.
    """
    detail = ""
    try:
        with archive.open(part) as stream:
            hardened: dict[str, Any] = {"resolve_entities": False, "load_dtd": False, "no_network": True}
            found = etree.iterparse(stream, tag=tags, remove_comments=True, remove_pis=True, **hardened)
            for at, (_, element) in enumerate(found):
                if at == 0 and element.getroottree().docinfo.doctype:
                    detail = "a part of it has a document type, which no workbook has"
                    break
                yield element
                element.clear()
                parent = element.getparent()
                while parent is not None and element.getprevious() is not None:
                    del parent[0]
    except KeyError:
        detail = f"it has no part {part!r}"
    except etree.XMLSyntaxError as error:
        detail = str(error.msg)
    if detail:
        raise DocumentError.of("file-damaged", where, format="a workbook", detail=detail)


def _relations(archive: zipfile.ZipFile, part: str, where: str) -> dict[str, tuple[str, str]]:
    """Return what a part is related to: the kind and the name of another part, by an id."""
    folder, name = posixpath.split(part)
    found = {}
    for element in _elements(archive, posixpath.join(folder, "_rels", f"{name}.rels"), ["{*}Relationship"], where):
        kind = (element.get("Type") or "").rpartition("/")[2]
        target = posixpath.normpath(posixpath.join("/", folder, element.get("Target") or ""))
        found[element.get("Id") or ""] = (kind, target.lstrip("/"))
    return found


def address(row: int, column: int) -> str:
    """Return what a spreadsheet calls a cell: ``A1`` for (0, 0)."""
    return f"{letters(column)}{row + 1}"


def letters(column: int) -> str:
    """Return what a spreadsheet calls a column: ``A`` for 0, ``AA`` for 26."""
    text, column = "", column + 1
    while column:
        column, rest = divmod(column - 1, 26)
        text = chr(65 + rest) + text
    return text


def column_number(text: str) -> int:
    """Return the column that a spreadsheet calls by these letters: 0 for ``A``."""
    column = 0
    for letter in text.upper():
        column = column * 26 + ord(letter) - 64
    return column - 1
