"""How the blocks of an Arrow file are compressed, which pyarrow reads and does not tell."""

from __future__ import annotations

import struct
from typing import IO

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
