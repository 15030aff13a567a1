"""The bytes of a file in CSV: unpacked and as UTF-8 without a byte order mark, and back."""

from __future__ import annotations

import codecs
import gzip
import hashlib
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from masktron.errors import DocumentError
from masktron.extras import library
from masktron.files import most_unpacked, refuse_special, require_unpacked
from masktron.problems.problem import Place, Setting, format_option
from masktron.sources.other_formats import magic_of, other_format
from masktron.sources.tables.separated.csv_dialect import CsvDialect

_PACKED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""Byte order marks, a longer one before that with which it begins."""
_LITTLE = {"utf-16": "utf-16-le", "utf-32": "utf-32-le"}
_NAMED = (Setting("--format-option", ("encoding=NAME",)),)
_LEVEL = 6
_BLOCK = 1 << 24
"""Bytes that are unpacked at a time."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a file holds.

    Attributes
    ----------
    data : bytes
        UTF-8, without a byte order mark.
    dialect : CsvDialect
        With the encoding, the mark and the compression of the file.
    digest : bytes
        Of its unpacked bytes.
    """

    data: bytes
    dialect: CsvDialect
    digest: bytes


@dataclass(frozen=True, slots=True)
class Beginning:
    """What the first bytes of a file that is not packed say of the rest.

    Attributes
    ----------
    other : str
        What it is, where it is something else than text with delimiters; else empty.
    mark : bytes
        The byte order mark.
    codec : str
        The encoding of the rest, as Python calls it.
    """

    other: str
    mark: bytes
    codec: str


def beginning_of(head: bytes, path: Path, said: CsvDialect) -> Beginning:
    """Return what a file says by its first bytes, 64 of them or all.

    Parameters
    ----------
    head : bytes
    path : Path
        Its name may say something, too.
    said : CsvDialect
        What the user says.
    """
    other = magic_of(head, path) or ("XML" if head.startswith(b"<?xml") else "")
    for mark, codec in _MARKS:
        if head.startswith(mark) and said.codec in ("", codec, codec[:6]):
            return Beginning(other, mark, codec)
    return Beginning(other, b"", _LITTLE.get(said.codec, said.codec) or "utf-8")


def content_of(path: Path, said: CsvDialect) -> Content:
    """Read a file.

    Raises
    ------
    DocumentError
        It cannot be read or unpacked, is empty, is no text, or not in its encoding.
    UsageError
        It is packed with Zstandard, and the library that reads it a second time is not installed.
    """
    raw, compression = _unpacked(path)
    where = str(path)
    begin = beginning_of(raw[:64], path, said)
    if begin.other:
        raise DocumentError(other_format(begin.other, "CSV", path))
    mark, codec = begin.mark, begin.codec
    body = raw[len(mark) :] if mark else raw
    if not body:
        raise DocumentError.of("empty-file", path)
    try:
        text = body.decode(codec)
        same = codec == "utf-8" or text.encode(codec) == body
    except UnicodeError as error:
        raise _undecodable(body, codec, getattr(error, "start", 0), said, where) from None
    if not same:
        raise DocumentError.of(
            "wrong-encoding", path, codec=codec, detail="it cannot be written in it again", helps=_NAMED
        )
    data = body if codec == "utf-8" else text.encode()
    dialect = replace(said, codec=codec, mark=mark, compression=compression)
    return Content(data, dialect, hashlib.sha256(raw).digest())


class ByteSink:
    """Where UTF-8 is written in the encoding and the compression of a dialect; knows the digest of what it wrote."""

    def __init__(self, stream: IO[bytes], dialect: CsvDialect) -> None:
        self._stream, self._hash = stream, hashlib.sha256()
        self._encoder = None if dialect.codec in ("", "utf-8") else codecs.getincrementalencoder(dialect.codec)()
        self._put(dialect.mark)

    def write(self, data: Any) -> None:
        """Write whole characters.

        Raises
        ------
        UnicodeEncodeError
            The encoding does not have one.
        """
        self._put(data if self._encoder is None else self._encoder.encode(bytes(data).decode()))

    def digest(self) -> bytes:
        """Return the digest of all that was written."""
        if self._encoder is not None:
            self._put(self._encoder.encode("", final=True))
        return self._hash.digest()

    def _put(self, data: Any) -> None:
        self._hash.update(data)
        self._stream.write(data)


@contextmanager
def sink(target: Path, dialect: CsvDialect) -> Iterator[ByteSink]:
    """Open a file to be written in a dialect. The same content gives the same bytes at any time, under any name."""
    with ExitStack() as stack:
        stream: Any = stack.enter_context(target.open("wb"))
        if dialect.compression == "gzip":
            stream = stack.enter_context(
                gzip.GzipFile(filename="", mode="wb", fileobj=stream, compresslevel=_LEVEL, mtime=0)
            )
        elif dialect.compression == "zstd":
            stream = stack.enter_context(pa.CompressedOutputStream(stream, "zstd"))
        yield ByteSink(stream, dialect)


def _unpacked(path: Path) -> tuple[bytes, str]:
    refuse_special(path, DocumentError)
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise DocumentError.of("cannot-read", path, file="file", reason="it does not exist") from None
    except (OSError, ValueError) as problem:
        code = getattr(problem, "errno", None)
        raise DocumentError.of(
            "cannot-read", path, reason=os.strerror(code) if code else str(problem), file="file"
        ) from None
    compression = next((how for begin, how in _PACKED.items() if raw.startswith(begin)), "")
    if not compression:
        return raw, ""
    if compression == "zstd":
        library("zstandard", "CSV that is packed with Zstandard")
    blocks, size = list[bytes](), 0
    try:
        with pa.CompressedInputStream(pa.BufferReader(raw), compression) as stream:
            # a file of some megabytes can hold terabytes; and `read` takes at once all that it is asked for
            while size <= most_unpacked(len(raw)) and (block := stream.read(_BLOCK)):
                blocks.append(block)
                size += len(block)
    except (OSError, pa.ArrowException) as error:
        raise DocumentError.of(
            "file-damaged", path, format=compression, detail=f"it cannot be unpacked ({error})"
        ) from None
    require_unpacked(size, len(raw), "the file", str(path))
    return b"".join(blocks), compression


def _undecodable(body: bytes, codec: str, start: int, said: CsvDialect, where: str) -> DocumentError:
    before = body[:start].decode(codec, errors="replace").replace("\r\n", "\n").replace("\r", "\n")
    line, place = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
    helps = _NAMED if said.codec else (format_option("encoding", "cp1252"),)
    return DocumentError.of(
        "wrong-encoding",
        Place(where, line),
        codec=codec,
        detail=f"character {place} of this line cannot be read",
        helps=helps,
    )
