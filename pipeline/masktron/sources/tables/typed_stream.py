"""Files with Arrow's types that are not in memory: some rows at a time, as texts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from masktron.errors import DocumentError
from masktron.problems.problem import Sentence
from masktron.sources.flat_records import RecordSlice
from masktron.sources.tables.arrow_lexemes import has_text, lexemes_of, require_sound, variable_of
from masktron.sources.tables.column_names import xml_names
from masktron.sources.tables.table_stream import StampedStream, TableStream, places_of_values
from masktron.sources.xml.wellformed import Stamp, stamp_of_file

_NUMBER = 8
"""Bytes of a number as text, roughly."""


class TypedStream(StampedStream):
    """A file of typed columns.

    Parameters
    ----------
    path : Path
    schema : pyarrow.Schema
    notes : tuple of str
    stamp : Stamp
    count : int
        Number of records.
    size : int
        Bytes of all values, unpacked.

    Attributes
    ----------
    schema : pyarrow.Schema
        With the metadata of the file.
    """

    def __init__(
        self, path: Path, schema: pa.Schema, notes: tuple[Sentence, ...], stamp: Stamp, count: int, size: int
    ) -> None:
        self.path, self.names, self.schema, self._stamp = path, xml_names(schema.names, str(path)), schema, stamp
        self.variables = tuple(map(variable_of, self.names, schema.names, schema.types))
        self.notes, self.count = notes, count
        self.text = max(size, _NUMBER * count * len(self.names))
        self.first = places_of_values(self._own(), len(self.names))

    @abstractmethod
    def typed_batches(self, piece: RecordSlice | None = None) -> Generator[pa.RecordBatch]:
        """Yield the rows, or those of a slice, as they are in the file.

        Raises
        ------
        DocumentError
            They cannot be read.
        """

    def unreadable(self, name: str, error: Exception) -> DocumentError:
        """Return the error of what a library says of the file, unless the file has changed: then that is raised."""
        self.require_unchanged()
        reason = getattr(error, "strerror", None) or str(error).partition("\n")[0]
        return DocumentError.of("file-damaged", self.path, format=name.capitalize(), detail=reason)

    def read_blocks(self) -> Generator[Sequence[pa.Array]]:
        """Yield the rows as texts."""
        return self._unchanged(None)

    def blocks_of(self, piece: RecordSlice) -> Generator[Sequence[pa.Array]]:
        """Yield the rows of a slice as texts."""
        return self._unchanged(piece)

    def lines(self, first: int, size: int) -> NDArray[np.int64]:
        """Return the rows."""
        return np.arange(first + 1, first + size + 1, dtype=np.int64)

    def _unchanged(self, piece: RecordSlice | None) -> Generator[Sequence[pa.Array]]:
        self.require_unchanged()
        yield from self._own(piece)
        self.require_unchanged()

    def _own(self, piece: RecordSlice | None = None) -> Generator[Sequence[pa.Array]]:
        done, where = 0 if piece is None else piece.first, str(self.path)
        for batch in self.typed_batches(piece):
            block = []
            for label, column in zip(batch.schema.names, batch.columns, strict=True):
                require_sound(column, label, where)
                chunk = lexemes_of(pa.chunked_array([column]), label, where, done)
                block.append(chunk.chunk(0))
            yield block
            done += batch.num_rows


def streams(schema: pa.Schema) -> bool:
    """Tell whether each column of a file says what it means without the rest of the file: no categories do."""
    return bool(schema.names) and not any(pa.types.is_dictionary(kind) or not has_text(kind) for kind in schema.types)


_MAGIC = b"ARROW1\0\0"
_FRAMES = {b"\x04\x22\x4d\x18": "lz4", b"\x28\xb5\x2f\xfd": "zstd"}
"""How compressed buffers begin, behind eight bytes for their size."""


def compression_of(path: Path) -> str | None:
    """Return the codec of the first buffer in a file or a stream of Arrow's; None where it has none.

    pyarrow does not tell it. What is cut off or is no message has no codec: whoever reads the file then says what is
    wrong with it.
    """
    with suppress(OSError, pa.ArrowException), pa.OSFile(str(path)) as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            file.seek(0)
        for message in pa.ipc.MessageReader.open_stream(file):
            if message.type == "record batch" and message.body.size:
                return _FRAMES.get(message.body[8:12].to_pybytes())
    return None


_ROWS = 1 << 15
"""Rows that are made into texts at a time."""


class _ArrowStream(TypedStream):
    def typed_batches(self, piece: RecordSlice | None = None) -> Generator[pa.RecordBatch]:
        """Yield the rows, as they are in the file."""
        if piece is not None:
            raise ValueError(f"{self.path} is read from the beginning to the end")
        try:
            with opened_arrow(self.path) as reader:
                for batch in batches_of(reader):
                    for start in range(0, batch.num_rows, _ROWS):
                        yield batch.slice(start, _ROWS)
        except (OSError, pa.ArrowException) as error:
            raise self.unreadable("arrow", error) from error


def arrow_stream(path: Path, notes: tuple[Sentence, ...]) -> TableStream | None:
    """Open a file; None where it has no columns, or one of categories or of what has no text form.

    Raises
    ------
    DocumentError
        Two columns have one name, a value has no text form, or the file is damaged.
    OSError, pyarrow.ArrowException
        It cannot be opened.
    """
    stamp = stamp_of_file(path)
    with opened_arrow(path) as reader:
        schema = reader.schema
        if not streams(schema):
            return None
        sizes = [(batch.num_rows, batch.nbytes) for batch in batches_of(reader)]
    return _ArrowStream(path, schema, notes, stamp, sum(rows for rows, _ in sizes), sum(size for _, size in sizes))


def opened_arrow(path: Path) -> Any:
    """Open a file with blocks, or a stream in a file."""
    file = pa.OSFile(str(path))
    try:
        return pa.ipc.open_file(file)
    except pa.ArrowInvalid:
        file.seek(0)
        return pa.ipc.open_stream(file)


def batches_of(reader: Any) -> Iterator[pa.RecordBatch]:
    """Yield the record batches of an open file."""
    if isinstance(reader, pa.ipc.RecordBatchStreamReader):
        yield from reader
    else:
        yield from (reader.get_batch(at) for at in range(reader.num_record_batches))


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
