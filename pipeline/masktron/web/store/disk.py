"""Small files of a project: whole or absent, and readable for their owner alone."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

from masktron.errors import ResourceError
from masktron.scratch import create_private
from masktron.web.store.kept_files import kept_by_stamp

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})


@contextmanager
def told_when_full() -> Iterator[None]:
    """Tell whoever asked for it that the disk is full, or may not be written to.

    Raises
    ------
    ResourceError
        In the place of the `OSError` that says so.
    """
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise ResourceError.of("disk-not-writable", reason=error.strerror) from error


@told_when_full()
def make_private(folder: Path) -> None:
    """Make a folder for its owner alone, and those above it that are missing.

    Raises
    ------
    ResourceError
        The disk is full.
    """
    for one in (*reversed(folder.parents), folder):
        if not one.exists():
            one.mkdir(mode=0o700, exist_ok=True)


@told_when_full()
def write_bytes(path: Path, content: bytes) -> None:
    """Write a file in one go: what was there before stays until all is written.

    Raises
    ------
    ResourceError
        The disk is full.
    """
    half = path.with_name(f".{path.name}.{secrets.token_hex(8)}.half")
    descriptor = create_private(half)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(descriptor)
        half.replace(path)
    except BaseException:
        half.unlink(missing_ok=True)
        raise


def write_plain(path: Path, content: Mapping[str, Any]) -> None:
    """Write plain data as JSON."""
    write_bytes(path, (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode())


def read_plain(path: Path | str) -> Mapping[str, Any] | None:
    """Read plain data, which nobody may change; None where there is no such file."""
    return _PLAIN(path)


def bytes_of(path: Path | str) -> bytes | None:
    """Read a small file; None where there is none."""
    try:
        with open(path, "rb") as stream:  # noqa: PTH123 -- a path is dear where a page asks for hundreds
            return stream.read()
    except FileNotFoundError:
        return None


def digest_of(path: Path | str) -> bytes | None:
    """Return the SHA-256 of a small file; None where there is none."""
    return _DIGESTS(path)


@told_when_full()
def add_line(path: Path, content: Mapping[str, Any]) -> None:
    """Add a line of JSON to a file that only grows.

    Raises
    ------
    ResourceError
        The disk is full.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"  # by a process that was killed
        os.write(descriptor, ("\n" * torn + json.dumps(content, ensure_ascii=False) + "\n").encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def lines_of(path: Path) -> Iterator[dict[str, Any]]:
    """Read lines of JSON; one that a killed process has left half-written is passed over."""
    for line in (bytes_of(path) or b"").split(b"\n"):
        if line.startswith(b"{") and line.endswith(b"}"):
            yield _table(line)


def last_bytes(path: Path, most: int) -> bytes:
    """Read the end of a file that may be long; nothing where there is none."""
    try:
        with path.open("rb") as stream:
            stream.seek(0, os.SEEK_END)
            size = stream.tell()
            stream.seek(max(0, size - most))
            return stream.read(most)
    except FileNotFoundError:
        return b""


def plain_files(folder: Path | str) -> list[os.DirEntry[str]]:
    """Return the plain files of a folder by name: no links, no hidden ones; none where the folder is not there."""
    try:
        with os.scandir(folder) as entries:
            found = [one for one in entries if one.is_file(follow_symlinks=False) and not one.name.startswith(".")]
    except FileNotFoundError:
        return []
    return sorted(found, key=lambda one: one.name)


def _plain(path: str) -> Mapping[str, Any]:
    with open(path, "rb") as stream:  # noqa: PTH123
        return MappingProxyType(_table(stream.read()))


def _digest(path: str) -> bytes:
    with open(path, "rb") as stream:  # noqa: PTH123
        return hashlib.file_digest(stream, "sha256").digest()


def _table(content: bytes) -> dict[str, Any]:
    table = json.loads(content)
    if not isinstance(table, dict):
        raise TypeError("a file of the project holds no table")
    return table


_PLAIN = kept_by_stamp(_plain, files=2000)
_DIGESTS = kept_by_stamp(_digest, files=500)
