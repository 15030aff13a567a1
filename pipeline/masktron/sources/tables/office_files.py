"""Packages of XML files, as workbooks are: zip archives that are opened with care, and what is found in a sheet."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NamedTuple

from lxml import etree

from masktron.errors import DocumentError, MasktronError
from masktron.files import most_unpacked, refuse_special, require_unpacked
from masktron.sources.other_formats import format_of, other_format
from masktron.sources.xml.encoding import HEAD

_HARDENED: dict[str, Any] = {"resolve_entities": False, "load_dtd": False, "no_network": True, "huge_tree": False}


class XmlCell(NamedTuple):
    """A cell as it stands in the XML of a sheet; positions from 0.

    `kind` is ``n`` for numbers, ``t`` texts, ``b`` truths, ``d`` dates and times.
    """

    row: int
    column: int
    kind: str
    text: str
    style: str
    formula: bool


@dataclass(slots=True)
class AroundSheet:
    """What a sheet has beside cells, counted while it is read."""

    merged: int = 0
    hidden: int = 0


@dataclass(frozen=True, slots=True)
class SheetName:
    """A sheet of a workbook, and where it is."""

    name: str
    part: str = ""


@dataclass(frozen=True, slots=True)
class NamedRange:
    """A name for cells: of a sheet, if that is the only one that it leads to."""

    name: str
    sheet: str
    cells: str


@dataclass(frozen=True, slots=True)
class SheetOutline:
    """What a workbook says of itself.

    Attributes
    ----------
    sheets : tuple of SheetName
        In their order, sheets of cells alone.
    names : tuple of NamedRange
    since_1904 : bool
        Its dates count from 1904.
    formats : mapping of str to str
        The number format of a style.
    """

    sheets: tuple[SheetName, ...]
    names: tuple[NamedRange, ...]
    since_1904: bool = False
    formats: dict[str, str] = field(default_factory=dict)


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
                if part.flag_bits & 1:
                    detail = "an encrypted workbook"
                    raise DocumentError.of("file-not-supported", path, detail=detail, instead="without a password")
                require_unpacked(part.file_size, part.compress_size, f"{part.filename!r} in it", str(path))
            yield archive
    except MasktronError:
        raise
    except (OSError, zipfile.BadZipFile, NotImplementedError, EOFError, ValueError, IndexError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DocumentError.of("file-damaged", path, format=what, detail=reason) from error


_CELL = 16
"""Bytes in memory of a cell, at the very least."""


def most_cells(archive: zipfile.ZipFile) -> int:
    """Return how many places the cells of a sheet in this workbook may span."""
    return most_unpacked(sum(part.compress_size for part in archive.infolist())) // _CELL


def require_span(cells: int, most: int, here: str) -> None:
    """Refuse a sheet of a few cells that names, or repeats, so many that they fill the memory.

    Parameters
    ----------
    cells : int
        Rows times columns from the first cell to the last, all of which the first reader makes.
    most : int
        From `most_cells`.
    here : str
        For the message.

    Raises
    ------
    DocumentError
    """
    if cells > most:
        raise too_wide(f"a sheet whose cells span {cells:,} places, far more than a file of its size fills", here)


NO_DATE = "a number that is not a date, in a date format"


def too_wide(detail: str, here: str) -> DocumentError:
    """Return the error of a sheet with more rows or columns than a table."""
    instead = "without cells far outside the table, and without rows or columns that are repeated to the end"
    return DocumentError.of("file-not-supported", here, detail=detail, instead=instead)


def bad_cell(row: int, column: int, here: str, detail: str) -> DocumentError:
    """Return the error of a cell, counted from 0, that has no lexeme."""
    return DocumentError.of("cell-not-readable", here, cell=address(row, column), detail=detail)


def part_of(archive: zipfile.ZipFile, name: str, where: str) -> IO[bytes]:
    """Open a part of a workbook.

    Raises
    ------
    DocumentError
        There is none.
    """
    try:
        return archive.open(name)
    except KeyError:
        raise DocumentError.of(
            "file-damaged", where, format="a workbook", detail=f"it has no part {name!r}"
        ) from None


def elements(stream: IO[bytes], tags: Sequence[str], where: str) -> Iterator[etree._Element]:
    """Give the elements with these names, in Clark notation, as they end; each is emptied afterwards.

    Raises
    ------
    DocumentError
        The XML is not well-formed, or has a document type.
    """
    try:
        for at, (_, element) in enumerate(etree.iterparse(stream, events=("end",), tag=tags, **_HARDENED)):
            if at == 0 and element.getroottree().docinfo.doctype:
                detail = "a part of it has a document type, which no workbook has"
                raise DocumentError.of("file-damaged", where, format="a workbook", detail=detail)
            yield element
            element.clear()
            parent = element.getparent()
            while parent is not None and element.getprevious() is not None:
                del parent[0]
    except etree.XMLSyntaxError as error:
        raise DocumentError.of("file-damaged", where, format="a workbook", detail=str(error.msg)) from None


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
