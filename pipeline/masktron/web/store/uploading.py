"""Uploads: from the connection to the disk piece by piece, never whole in memory; whole or not kept."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Self

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from masktron.errors import DocumentError, UsageError
from masktron.scratch import create_private
from masktron.web.store.file_names import harmless_name

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks

FIELD_BYTES = 4096
"""Of a field of the form that is no file."""
_HEADER_BYTES = 8192
_ENVELOPE = 1 << 16
"""What a form may have around its file."""


class UploadRefusedError(UsageError):
    """A file that is not kept, with the status of the answer."""

    status = 400

    def answered(self, status: int) -> Self:
        """Return it with another status."""
        self.status = status
        return self


@dataclass(frozen=True, slots=True)
class UploadLimits:
    """What an upload may take.

    Attributes
    ----------
    file : int
        Bytes.
    room : int
        Bytes that are free on the disk.
    """

    file: int
    room: int


@dataclass(frozen=True, slots=True)
class Uploaded:
    """A file that has come whole: where it is, and the name under which it may be kept."""

    half: Path
    name: str
    size: int


@dataclass(slots=True)
class _Part:
    headers: dict[str, bytes] = field(default_factory=dict)
    name: bytearray = field(default_factory=bytearray)
    value: bytearray = field(default_factory=bytearray)


class _Form:
    """What the parser has found so far: the token of the form first, and then one file."""

    def __init__(self, folder: Path, limits: UploadLimits, is_token: Callable[[str], bool]) -> None:
        self._limits = limits
        self._is_token = is_token
        self._folder = folder
        self._part = _Part()
        self._text: bytearray | None = None
        self._stream: BinaryIO | None = None
        self._field = ""
        self._trusted = False
        self._whole = False
        self._name = ""
        self._size = 0
        self.half: Path | None = None

    def callbacks(self) -> MultipartCallbacks:
        return {
            "on_part_begin": self._begin,
            "on_header_field": lambda data, start, end: self._add(self._part.name, data[start:end]),
            "on_header_value": lambda data, start, end: self._add(self._part.value, data[start:end]),
            "on_header_end": self._header,
            "on_headers_finished": self._headers,
            "on_part_data": lambda data, start, end: self._data(data[start:end]),
            "on_part_end": self._end,
            "on_end": self._ended,
        }

    def found(self) -> Uploaded:
        if not self._whole:
            raise _refused("it ended before the file did")
        if self.half is None:
            raise UploadRefusedError.of("wrong-upload", reason="no file was chosen")
        if not self._size:
            raise UploadRefusedError.of("wrong-upload", reason="the file is empty")
        return Uploaded(self.half, self._name, self._size)

    def close(self) -> None:
        if self._stream is not None:
            self._stream.close()

    def _begin(self) -> None:
        self._part, self._text = _Part(), None

    def _add(self, place: bytearray, data: bytes) -> None:
        place += data
        if len(place) > _HEADER_BYTES:
            raise _refused("its headers are too long")

    def _header(self) -> None:
        self._part.headers[self._part.name.decode("latin-1").lower()] = bytes(self._part.value)
        self._part.name, self._part.value = bytearray(), bytearray()

    def _headers(self) -> None:
        _, options = parse_options_header(self._part.headers.get("content-disposition", b""))
        said = options.get(b"filename")
        if said is None:
            self._text = bytearray()
            self._field = options.get(b"name", b"").decode("utf-8", "replace")
            return
        if not self._trusted:
            raise _refused("it is older than your session").answered(403)
        if self.half is not None:
            raise UploadRefusedError.of("wrong-upload", reason="only one file can be uploaded at a time")
        self._name = harmless_name(said.decode("utf-8", "replace"))
        self.half = self._folder / f".{secrets.token_hex(8)}.upload"
        self._stream = os.fdopen(create_private(self.half), "wb")

    def _data(self, data: bytes) -> None:
        if self._text is not None:
            self._text += data
            if len(self._text) > FIELD_BYTES:
                raise _refused("a field of it is too long")
            return
        if self._stream is None:
            raise _refused("it has no file")
        self._size += len(data)
        if self._size > self._limits.file:
            raise too_large(self._limits.file)
        self._stream.write(data)

    def _end(self) -> None:
        if self._text is not None:
            if self._field == "csrf":
                self._trusted = self._is_token(self._text.decode("utf-8", "replace"))
        elif self._stream is not None:
            self._stream.close()

    def _ended(self) -> None:
        self._whole = True


async def uploaded(
    body: AsyncIterator[bytes],
    content_type: str,
    folder: Path,
    *,
    limits: UploadLimits,
    is_token: Callable[[str], bool],
    length: int | None = None,
) -> Uploaded:
    """Write the file of a form to a folder, under a name that nobody else has.

    Parameters
    ----------
    body : async iterator of bytes
        As it comes from the connection.
    content_type : str
        Of the request, with the boundary.
    folder : Path
        Of the uploads of a project.
    limits : UploadLimits
    is_token : callable
        Whether the token of the form, which comes before the file, is that of the session.
    length : int, optional
        What the request says of its own length: to refuse early, never to believe.

    Raises
    ------
    UploadRefusedError
        Nothing is kept: no form with a token and a file, too large, cut short.
    DocumentError
        The disk is full.
    """
    kind, options = parse_options_header(content_type)
    if kind != b"multipart/form-data" or not options.get(b"boundary"):
        raise _refused("it has no file")
    most = min(limits.file, limits.room)
    if length is not None and length > most + _ENVELOPE:
        raise too_large(most)
    form = _Form(folder, limits, is_token)
    try:
        parser = MultipartParser(options[b"boundary"], form.callbacks())
        async for piece in body:
            # a slow disk holds up this upload, and no page
            await asyncio.to_thread(parser.write, piece)
        return form.found()
    except BaseException as error:
        form.close()
        if form.half is not None:
            form.half.unlink(missing_ok=True)
        if isinstance(error, FormParserError):
            raise _refused("it has no file") from error
        if isinstance(error, OSError):
            raise DocumentError.of("disk-not-writable", reason=error.strerror) from error
        raise


def too_large(most: int) -> UploadRefusedError:
    """Return the refusal of a file that has more than so many bytes."""
    return UploadRefusedError.of("upload-too-large", most=most // 1_000_000).answered(413)


def _refused(reason: str) -> UploadRefusedError:
    return UploadRefusedError.of("form-refused", reason=reason)


def remove_halves(folder: Path) -> None:
    """Remove what uploads have left that a killed server did not end."""
    for half in folder.glob(".*.upload"):
        half.unlink(missing_ok=True)
