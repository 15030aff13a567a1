"""The records of a table in batches: out of memory, or out of a file that is read block by block."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Generator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from masktron.sources.column import Column
from masktron.sources.columns import Batch, Cell, Cells
from masktron.sources.dataset import Dataset
from masktron.sources.flat_records import FlatRecords, RecordSlice
from masktron.sources.record_layout import Layout
from masktron.sources.tables.column_strings import blocks_of, placed_cells, positions
from masktron.sources.tables.table_stream import TableStream
from masktron.sources.tables.table_view import TwinNames, record_lines, twin_frame


def record_digest(table: Dataset) -> str:
    """Return the SHA-256 of the records of a table, which says what its file or its server is no part of.

    It is that of UTF-8 text: the names of the columns, and then the lexemes of each record in the order of the table,
    each on a line as a JSON array without blanks, in ASCII, with ``null`` for what is missing; every line ends with a
    line feed.

    Parameters
    ----------
    table : Dataset

    Returns
    -------
    str
        In hexadecimal.
    """
    found = hashlib.sha256()
    write = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode
    found.update(f"{write([variable.column for variable in table.variables])}\n".encode())
    for block in blocks_of(table):
        rows = zip(*(column.to_pylist() for column in block), strict=True)
        found.update("".join(f"{write(row)}\n" for row in rows).encode())
    return found.hexdigest()


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


class DatasetStream(TableStream):
    """The records of a table that is in memory, block by block: what is here is nowhere else, and is not cut.

    Parameters
    ----------
    dataset : Dataset
    """

    def __init__(self, dataset: Dataset) -> None:
        columns = dataset.columns.values()
        self.path, self.names, self.count = dataset.path, tuple(dataset.columns), len(dataset)
        self.variables, self.notes = dataset.variables, dataset.notes
        self.first = tuple(map(_first_value, columns))
        self.text = sum(int(np.diff(column.lexicon.ends)[column.codes].sum()) for column in columns)
        self._dataset = dataset

    def read_blocks(self) -> Generator[Sequence[pa.Array]]:
        """Yield the records as they are in memory."""
        yield from blocks_of(self._dataset)

    def lines(self, first: int, size: int) -> NDArray[np.int64]:
        """Return the lines or rows of some records."""
        return self._dataset.lines[first : first + size]

    def require_unchanged(self) -> None:
        """What is in memory does not change."""


def _first_value(column: Column) -> int:
    """Return the first record that has a value; -1 where none has."""
    there = column.where(~column.lexicon.absent())
    return int(np.argmax(there)) if there.any() else -1


class TableRecords(FlatRecords):
    """The records of a table, which has a twin.

    Parameters
    ----------
    path : Path
        The file, for messages.
    layout : Layout
    twin : TwinNames
    held : TableStream
    """

    def __init__(self, path: Path, layout: Layout, twin: TwinNames, held: TableStream) -> None:
        self.path, self.layout = path, layout
        self._twin, self._held = twin, held

    @property
    def around(self) -> tuple[str, str]:
        """Tags of the twin."""
        return twin_frame(self._twin)

    def batches(self) -> Generator[Batch]:
        """Yield the records, of which two readers say the same."""
        return self._batches(self._held.blocks(), 0)

    def slices(self) -> Sequence[RecordSlice]:
        """Return the slices of a file that is not in memory."""
        return self._held.pieces()

    def batches_in(self, piece: RecordSlice) -> Generator[Batch]:
        """Yield the records of a slice, of which two readers say the same."""
        return self._batches(self._held.blocks_in(piece), piece.first)

    def remarks(self) -> object:
        """Return what the slice that was read last tells of the whole file."""
        return self._held.remarks()

    def settle(self, remarks: Sequence[object]) -> None:
        """Refuse what only all slices together tell."""
        self._held.settle(remarks)

    def _batches(self, found: Generator[Sequence[pa.Array]], first: int) -> Generator[Batch]:
        tags = self._held.names
        with closing(found) as blocks:
            for block in blocks:
                for start in range(0, len(block[0]), ROWS):
                    columns = [column.slice(start, ROWS) for column in block]
                    lines = self._held.lines(first, len(columns[0]))
                    yield TableBatch.of(self.layout, self._twin.record, tags, columns, first, lines)
                    first += len(lines)

    def require_unchanged(self) -> None:
        """Refuse a file that is not the one that was surveyed."""
        self._held.require_unchanged()
