"""Where the table is in a workbook: the sheet, and the cells of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from masktron.errors import DocumentError, UsageError
from masktron.problems.problem import Known
from masktron.sources.tables.table_format import Options

MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384
_CELLS = re.compile(r"([A-Za-z]{1,3})([0-9]{1,7}):([A-Za-z]{1,3})([0-9]{1,7})")
_NAMED = re.compile(r"\$?(?:'((?:[^']|'')*)'|([^'!.]*))[!.]([$A-Z0-9]+:\.?[$A-Z0-9]+)")


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


def used_area(filled: NDArray[np.bool_], place: CellPlace, here: str) -> Area:
    """Return the cells from the first to the last that is not empty, of those that are wanted."""
    top = 0 if place.header is True or place.header is False else place.header - 1
    whole = place.area or Area(0, 0, *filled.shape)
    inside = np.zeros_like(filled)
    wanted = (slice(max(top, whole.top), whole.bottom + 1), slice(whole.left, whole.right + 1))
    inside[wanted] = filled[wanted]
    rows, columns = np.flatnonzero(inside.any(axis=1)), np.flatnonzero(inside.any(axis=0))
    if not rows.size:
        raise DocumentError.of("sheet-unclear", here, detail="no cell has a value", range="A1:F200")
    bottom, right = int(rows[-1]), int(columns[-1])
    if place.area is not None:
        return Area(max(top, whole.top), whole.left, bottom, right)
    blocks = np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1)
    if len(blocks) > 1:
        # a title is one row
        largest = max(blocks, key=lambda block: (len(block) > 1, inside[block].sum()))
        across = np.flatnonzero(inside[largest].any(axis=0))
        table = Area(int(largest[0]), int(across[0]), int(largest[-1]), int(across[-1]))
        detail = f"row {blocks[0][-1] + 2} is empty, and rows below it have values"
        raise DocumentError.of("sheet-unclear", here, detail=detail, range=str(table))
    return Area(top or int(rows[0]), int(columns[0]), bottom, right)


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
