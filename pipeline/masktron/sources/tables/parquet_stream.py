"""Parquet files that are not in memory: some rows at a time, as texts and again as texts made in another way."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from masktron.errors import DocumentError
from masktron.sources.flat_records import RecordSlice
from masktron.sources.tables.arrow_lexemes import has_text, lexemes_of, require_sound, variable_of
from masktron.sources.tables.arrow_objects import object_columns
from masktron.sources.tables.column_names import xml_names
from masktron.sources.tables.stamped_stream import StampedStream, stamp_of_file
from masktron.sources.tables.table_stream import TableStream, places_of_values
from masktron.sources.xml.wellformed import Stamp

_ROWS = 1 << 15
"""Rows that are in memory at a time."""
_SLICED = 1 << 17
"""Rows of a slice, whatever the number of workers."""
_BUFFER = 1 << 20
"""Bytes of each column that are read ahead."""
_NUMBER = 8
"""Bytes of a number as text, roughly."""


class _ParquetStream(StampedStream):
    def __init__(self, path: Path, schema: pa.Schema, notes: tuple[str, ...], stamp: Stamp) -> None:
        self.path, self.names, self._stamp = path, xml_names(schema.names, str(path)), stamp
        names = self.names
        self.variables, self.notes = tuple(map(variable_of, names, schema.names, schema.types)), notes
        with _opened(path) as file:
            self.count = file.metadata.num_rows
            groups = [file.metadata.row_group(at) for at in range(file.metadata.num_row_groups)]
            self._pieces = tuple(_pieces([group.num_rows for group in groups]))
            self.text = max(sum(group.total_byte_size for group in groups), _NUMBER * self.count * len(names))
        self.first = places_of_values(self._own(), len(names))

    def readings(self) -> Generator[tuple[Sequence[pa.Array], Sequence[pa.Array] | None]]:
        """Yield what both ways make of the same rows, which each reads for itself."""
        return self._both(None)

    def pieces(self) -> Sequence[RecordSlice]:
        """Return slices of `_SLICED` rows of a row group."""
        return self._pieces

    def readings_in(self, piece: RecordSlice) -> Generator[tuple[Sequence[pa.Array], Sequence[pa.Array] | None]]:
        """Yield what both ways make of the same rows of a slice."""
        return self._both(piece)

    def _both(self, piece: RecordSlice | None) -> Generator[tuple[Sequence[pa.Array], Sequence[pa.Array] | None]]:
        self.require_unchanged()
        nothing = [pa.nulls(0, pa.string())] * len(self.names)
        with (
            closing(self._other(piece)) as other,
            closing(self._own(piece)) as own,
            ThreadPoolExecutor(max_workers=1) as helper,
        ):
            coming = helper.submit(next, other, None)
            for block in own:
                again = coming.result()
                coming = helper.submit(next, other, None)
                yield block, nothing if again is None else again
            if (more := coming.result()) is not None:
                yield nothing, more
        self.require_unchanged()

    def lines(self, first: int, size: int) -> NDArray[np.int64]:
        """Return the rows."""
        return np.arange(first + 1, first + size + 1, dtype=np.int64)

    def _own(self, piece: RecordSlice | None = None) -> Generator[Sequence[pa.Array]]:
        done, where = 0 if piece is None else piece.first, str(self.path)
        for batch in self._batches(piece):
            block = []
            for label, column in zip(batch.schema.names, batch.columns, strict=True):
                require_sound(column, label, where)
                chunk = lexemes_of(pa.chunked_array([column]), label, where, done)
                block.append(chunk.chunk(0))
            yield block
            done += batch.num_rows

    def _other(self, piece: RecordSlice | None) -> Generator[Sequence[pa.Array]]:
        for batch in self._batches(piece):
            yield object_columns(batch, compiled=True)

    def _batches(self, piece: RecordSlice | None) -> Generator[pa.RecordBatch]:
        try:
            with _opened(self.path) as file:
                if piece is None:
                    yield from file.iter_batches(_ROWS)
                else:
                    # what stands before it in its row group is decoded, and left
                    yield from _rows(file.iter_batches(_ROWS, row_groups=[piece.begin]), piece.end, piece.records)
        except (OSError, pa.ArrowException) as error:
            self.require_unchanged()
            reason = getattr(error, "strerror", None) or str(error).partition("\n")[0]
            raise DocumentError(f"cannot read this as parquet: {reason}", where=str(self.path)) from error


def parquet_stream(path: Path, notes: tuple[str, ...]) -> TableStream | None:
    """Open a file; None where it has no columns, or one of categories or of what has no text form.

    Raises
    ------
    DocumentError
        Two columns have one name, a value has no text form, or the file is damaged.
    OSError, pyarrow.ArrowException
        It cannot be opened.
    """
    stamp = stamp_of_file(path)
    schema = pq.read_schema(path)
    if not schema.names or any(pa.types.is_dictionary(kind) or not has_text(kind) for kind in schema.types):
        return None
    return _ParquetStream(path, schema, notes, stamp)


def _pieces(groups: Sequence[int]) -> Iterator[RecordSlice]:
    """Yield slices of row groups, each with the row in its group that it begins with."""
    first = 0
    for group, rows in enumerate(groups):
        for begin in range(0, rows, _SLICED):
            size = min(_SLICED, rows - begin)
            yield RecordSlice(first, size, group, begin)
            first += size


def _rows(batches: Iterator[pa.RecordBatch], begin: int, size: int) -> Iterator[pa.RecordBatch]:
    """Yield some rows in a row."""
    done, end = 0, begin + size
    for batch in batches:
        start, stop = max(begin - done, 0), min(end - done, batch.num_rows)
        if start < stop:
            yield batch.slice(start, stop - start)
        done += batch.num_rows
        if done >= end:
            return


def _opened(path: Path) -> pq.ParquetFile:
    return pq.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False)
