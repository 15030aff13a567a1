"""OpenDocument spreadsheets, written by odfdo: masktron only reads them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import odfdo


def write_ods(path: Path, rows: Sequence[Sequence[object]]) -> None:
    """Write a spreadsheet of one sheet; None is an empty cell."""
    book = odfdo.Document("spreadsheet")
    book.body.clear()
    sheet = odfdo.Table("Data")
    for values in rows:
        row = odfdo.Row()
        for value in values:
            row.append_cell(odfdo.Cell(value))
        sheet.append_row(row)
    book.body.append(sheet)
    book.save(path)
