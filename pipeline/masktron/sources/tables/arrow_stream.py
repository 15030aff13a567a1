"""Arrow files that are not in memory: a record batch at a time, as it is in the file."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc

from masktron.problems.problem import Sentence
from masktron.sources.flat_records import RecordSlice
from masktron.sources.tables.stamped_stream import stamp_of_file
from masktron.sources.tables.table_stream import TableStream
from masktron.sources.tables.typed_stream import TypedStream, streams

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
