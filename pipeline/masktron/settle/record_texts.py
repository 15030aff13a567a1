"""Texts of single records, which searches ask for again and again: those of long columns are decoded once."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from masktron.sources.records import Column

MAX_TEXTS = 1 << 16
"""Distinct texts of a column that are remembered."""


class RecordTexts:
    """The texts of some columns.

    Parameters
    ----------
    columns : mapping of field name to Column
    """

    def __init__(self, columns: Mapping[str, Column]) -> None:
        self._columns = columns
        self._known: dict[str, dict[int, str | None]] = {name: {} for name in columns}
        self._last: tuple[int, dict[str, str | None]] | None = None

    def of(self, name: str, records: NDArray[np.intp]) -> list[str | None]:
        """Return the texts of a field in some records; None where it is absent."""
        return [self._text(name, code) for code in self._columns[name].codes[records].tolist()]

    def row(self, record: int) -> dict[str, str | None]:
        """Return the texts of all fields of a record, as a dictionary of the caller's own."""
        if self._last is None or self._last[0] != record:
            found = {name: self._text(name, int(column.codes[record])) for name, column in self._columns.items()}
            self._last = record, found
        return dict(self._last[1])

    def _text(self, name: str, code: int) -> str | None:
        known = self._known[name]
        if code not in known:
            if len(known) >= MAX_TEXTS:
                known.clear()
            known[code] = self._columns[name].lexicon[code]
        return known[code]
