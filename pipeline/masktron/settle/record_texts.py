"""Texts of single records, which searches ask for again and again: those of long columns are decoded once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from masktron.sources.column import Column

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

    def of(self, name: str, records: NDArray[np.intp]) -> list[str | None]:
        """Return the texts of a field in some records; None where it is absent."""
        return [self._text(name, code) for code in self._columns[name].codes[records].tolist()]

    def rows(self, records: Sequence[int]) -> list[Mapping[str, str | None]]:
        """Return the texts of all fields of some records; one that is asked for twice is the same mapping."""
        asked = list(dict.fromkeys(records))  # several candidates are often tried in one record
        places = np.array(asked, dtype=np.intp)
        fields = [self.of(name, places) for name in self._columns]
        found = {
            record: dict(zip(self._columns, texts, strict=True))
            for record, texts in zip(asked, zip(*fields, strict=True) if fields else [()] * len(asked), strict=True)
        }
        return [found[record] for record in records]

    def _text(self, name: str, code: int) -> str | None:
        known = self._known[name]
        if code not in known:
            if len(known) >= MAX_TEXTS:
                known.clear()
            known[code] = self._columns[name].lexicon[code]
        return known[code]
