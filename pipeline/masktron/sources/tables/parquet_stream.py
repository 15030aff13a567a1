"""Parquet files that are not in memory: some rows at a time, as texts and again as texts made in another way."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from masktron.problems.problem import Sentence
from masktron.sources.flat_records import RecordSlice
from masktron.sources.tables.stamped_stream import stamp_of_file
from masktron.sources.tables.table_stream import TableStream
from masktron.sources.tables.typed_stream import TypedStream, streams
from masktron.sources.xml.wellformed import Stamp

_ROWS = 1 << 15
"""Rows that are in memory at a time."""
_SLICED = 1 << 17
"""Rows of a slice, whatever the number of workers."""
_BUFFER = 1 << 20
"""Bytes of each column that are read ahead."""


class _ParquetStream(TypedStream):
    def __init__(self, path: Path, schema: pa.Schema, notes: tuple[Sentence, ...], stamp: Stamp) -> None:
        with _opened(path) as file:
            groups = [file.metadata.row_group(at) for at in range(file.metadata.num_row_groups)]
            self._pieces = tuple(_pieces([group.num_rows for group in groups]))
            super().__init__(
                path, schema, notes, stamp, file.metadata.num_rows, sum(group.total_byte_size for group in groups)
            )

    def pieces(self) -> Sequence[RecordSlice]:
        """Return slices of `_SLICED` rows of a row group."""
        return self._pieces

    def typed_batches(self, piece: RecordSlice | None = None) -> Generator[pa.RecordBatch]:
        """Yield the rows, as they are in the file."""
        try:
            with _opened(self.path) as file:
                if piece is None:
                    yield from file.iter_batches(_ROWS)
                else:
                    # what stands before it in its row group is decoded, and left
                    yield from _rows(file.iter_batches(_ROWS, row_groups=[piece.begin]), piece.end, piece.records)
        except (OSError, pa.ArrowException) as error:
            raise self.unreadable("parquet", error) from error


def parquet_stream(path: Path, notes: tuple[Sentence, ...]) -> TableStream | None:
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
    if not streams(schema):
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
