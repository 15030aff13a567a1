"""Batches of a table, made of its columns: no XML is written or parsed, unless an engine asks for a record."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from masktron.sources.columns import Batch, Cell, Cells
from masktron.sources.records import Layout
from masktron.sources.tables.arrow_scalars import positions
from masktron.sources.tables.document import record_lines
from masktron.sources.tables.string_cells import placed_cells

ROWS = 1 << 15
"""Most records of a batch."""
_RETURN = 13


class TableBatch(Batch):
    """Records of a table; an engine gets them as the document of the table has them."""

    __slots__ = ("_columns", "_record", "_tags")
    _columns: Sequence[pa.Array]
    _record: str
    _tags: Sequence[str]

    @classmethod
    def of(
        cls,
        layout: Layout,
        record: str,
        tags: Sequence[str],
        columns: Sequence[pa.Array],
        first: int,
        lines: NDArray[np.int64],
    ) -> TableBatch:
        """Return a batch.

        Parameters
        ----------
        layout : Layout
            Its fields may be fewer than the columns, and in another order.
        record : str
            Local name of the record element.
        tags : sequence of str
            Names of the columns.
        columns : sequence of pyarrow.Array
            Of strings that XML can hold, null where a record has no value.
        first : int
            Position of the first record in the file, from 0.
        lines : ndarray of int64, shape (n,)
            Line or row of each in the file.
        """
        places = {tag: at for at, tag in enumerate(tags)}
        buffer, starts, stops, there = placed_cells([columns[places[field.name]] for field in layout.fields])
        status = np.where(starts == stops, np.uint8(Cell.EMPTY), np.uint8(Cell.TEXT))
        status[~there] = Cell.ABSENT
        for at in np.flatnonzero(buffer == _RETURN).tolist():
            # as in a document: only a parser should read it
            status[(starts <= at) & (at < stops)] = Cell.ODD
        nowhere = np.zeros(len(lines), dtype=np.int64)
        batch = cls(
            layout=layout,
            codec="utf-8",
            buffer=buffer,
            offset=0,
            first=first,
            starts=nowhere,
            stops=nowhere,
            lines=lines,
            odd=np.zeros(len(lines), dtype=np.bool_),
            cells=tuple(map(Cells, starts, stops, status)),
        )
        object.__setattr__(batch, "_columns", columns)
        object.__setattr__(batch, "_record", record)
        object.__setattr__(batch, "_tags", tags)
        return batch

    @property
    def made(self) -> bool:
        """Records are written when they are asked for."""
        return True

    def record(self, row: int) -> bytes:
        """Write one record."""
        return self._written([column.slice(row, 1) for column in self._columns])

    def records(self, rows: NDArray[np.int64]) -> bytes:
        """Write some records."""
        if len(rows) == len(self):
            return self._written(self._columns)
        wanted = positions(rows)
        return self._written([column.take(wanted) for column in self._columns])

    def _written(self, columns: Sequence[pa.Array]) -> bytes:
        return record_lines(self._record, self._tags, columns).rstrip(b"\n")
