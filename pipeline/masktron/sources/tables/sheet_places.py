"""Where the table is in a workbook: the sheet, and the cells of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from masktron.errors import DocumentError, UsageError
from masktron.problems.problem import Known
from masktron.sources.tables.office_files import (
    NamedRange,
    SheetName,
    SheetOutline,
    letters,
)
from masktron.sources.tables.table_format import Options

_CELLS = re.compile(r"([A-Za-z]{1,3})([0-9]{1,7}):([A-Za-z]{1,3})([0-9]{1,7})")


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


def place_of_table(book: SheetOutline, options: Options, where: str) -> CellPlace:
    """Read what the user says of where the table is."""
    if not book.sheets:
        raise DocumentError.of("file-damaged", where, format="a workbook", detail="it has no sheet of cells")
    names = [sheet.name for sheet in book.sheets]
    said, wanted, header = options.get("sheet", ""), options.get("range", ""), options.get("header", "")
    position = 0
    before: tuple[str, ...] = ()
    if said in names:
        position = names.index(said)
    elif said:
        if not said.isdecimal() or not 1 <= int(said) <= len(names):
            raise UsageError.of("unknown-name", where, kind="sheet", name=said, known=Known(said, tuple(names)))
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
        raise UsageError.of("bad-value", where, name="header", expected="the number of a row, or none", given=header)
    row: int | bool = header != "none" if header in {"", "none"} else int(header)
    if area is not None and row is not True and row is not False and row - 1 > area.bottom:
        raise UsageError.of("bad-value", where, name="header", expected=f"at most {area.bottom + 1}", given=row)
    return CellPlace(book.sheets[position], before, area, name, row)


def _range_called(book: SheetOutline, wanted: str, said: str, position: int, where: str) -> tuple[Area, str, int]:
    names = [sheet.name for sheet in book.sheets]
    ranges: list[NamedRange] = [one for one in book.names if one.name == wanted and one.sheet in names]
    if said:
        ranges = [one for one in ranges if one.sheet == names[position]]
    found = _CELLS.fullmatch(ranges[0].cells) if len(ranges) == 1 else None
    if found is None:
        known = sorted({one.name for one in book.names if _CELLS.fullmatch(one.cells)})
        forms = " or ".join(["cells such as A1:F200", *known])
        raise UsageError.of("bad-value", where, name="range", expected=forms, given=wanted)
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


def used_area(filled: Sequence[tuple[int, int]], place: CellPlace, here: str) -> Area:
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
        raise DocumentError.of("sheet-unclear", here, detail="no cell has a value", range="A1:F200")
    rows, columns = {row for row, _ in inside}, [column for _, column in inside]
    area = Area(min(rows), min(columns), max(rows), max(columns))
    if whole is not None:
        return Area(max(top, whole.top), whole.left, area.bottom, area.right)
    area = Area(max(top, area.top), area.left, area.bottom, area.right)
    gap = next((row for row in range(area.top, area.bottom) if row not in rows), None)
    if gap is not None:
        detail = f"row {gap + 1} is empty, and rows below it have values"
        raise DocumentError.of("sheet-unclear", here, detail=detail, range=_largest(inside))
    return area


def _largest(filled: Sequence[tuple[int, int]]) -> str:
    """Return the rows, without an empty one between, that have most cells with a value; a title is one row."""
    blocks: list[list[tuple[int, int]]] = []
    for cell in sorted(filled):
        if not blocks or cell[0] > blocks[-1][-1][0] + 1:
            blocks.append([])
        blocks[-1].append(cell)
    found = max(blocks, key=lambda cells: (cells[0][0] < cells[-1][0], len(cells)))
    columns = [column for _, column in found]
    first, last = f"{letters(min(columns))}{found[0][0] + 1}", f"{letters(max(columns))}{found[-1][0] + 1}"
    return f"{first}:{last}"
