"""Arrow files that are not in memory: a record batch at a time, as it is in the file."""

from __future__ import annotations

import struct
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.ipc

from masktron.problems.problem import Sentence
from masktron.sources.flat_records import RecordSlice
from masktron.sources.tables.stamped_stream import stamp_of_file
from masktron.sources.tables.table_stream import TableStream
from masktron.sources.tables.typed_stream import TypedStream, streams

_MAGIC = b"ARROW1\0\0"
_CONTINUATION = b"\xff\xff\xff\xff"
_RECORD_BATCH = 3
"""Of the union ``MessageHeader`` in Arrow's Message.fbs."""
_HEADER_TYPE, _HEADER, _BODY_LENGTH = 1, 2, 3
_COMPRESSION, _CODEC = 3, 0
_CODECS = {0: "lz4", 1: "zstd"}


def compression_of(stream: IO[bytes]) -> str | None:
    """Return the codec of the first record batch of a file or a stream of Arrow's; None where it has none.

    Notes
    -----
    A message is its length and a FlatBuffers table, https://arrow.apache.org/docs/format/Columnar.html. What is cut
    off or is no message has no codec: whoever reads the file then says what is wrong with it.
    """
    if stream.read(len(_MAGIC)) != _MAGIC:
        stream.seek(0)
    try:
        while True:
            head = stream.read(4)
            size = _int(stream.read(4) if head == _CONTINUATION else head, 0)
            if size <= 0:
                return None
            message = stream.read(size)
            root = _int(message, 0)
            header = _place(message, root, _HEADER)
            kind = _place(message, root, _HEADER_TYPE)
            if header is not None and kind is not None and message[kind] == _RECORD_BATCH:
                return _codec(message, header + _int(message, header))
            body = _place(message, root, _BODY_LENGTH)
            stream.seek(0 if body is None else struct.unpack_from("<q", message, body)[0], 1)
    except (struct.error, IndexError, OSError):
        return None


def _codec(message: bytes, batch: int) -> str | None:
    found = _place(message, batch, _COMPRESSION)
    if found is None:
        return None
    codec = _place(message, found + _int(message, found), _CODEC)
    return _CODECS.get(0 if codec is None else message[codec])


def _int(data: bytes, at: int) -> int:
    found: int = struct.unpack_from("<i", data, at)[0]
    return found


def _place(data: bytes, table: int, field: int) -> int | None:
    """Return where a field of a table stands; None where it has its default."""
    fields = table - _int(data, table)
    (size,) = struct.unpack_from("<H", data, fields)
    if 4 + 2 * field >= size:
        return None
    (offset,) = struct.unpack_from("<H", data, fields + 4 + 2 * field)
    return table + offset if offset else None


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
