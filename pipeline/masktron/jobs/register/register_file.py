"""The file of the register of releases: lines that are added and never changed, for several runs at a time.

A line is JSON with a hash of itself and of all before it, keyed by the salt. Whoever reads or adds holds the lock of
the file, which ends with its process. A line is on the disk before it counts. What a killed run has left of one has
no line end; it never counted, and goes when the next line is added, which says so.

A file beside it, the count, has the number of lines and the hash of the last one, and is written after each line: a
register that was cut shorter is refused. A run that is killed between the two leaves a count that is one line behind,
which the next one makes good. The count is made before the salt, so whoever finds the salt finds a count.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from masktron.errors import DocumentError, UsageError
from masktron.files import read_text, refuse_special
from masktron.problems.problem import Place, Problem
from masktron.setting_values import Register
from masktron.write.atomic import atomic_path, written_in_place

if sys.platform != "win32":
    import fcntl

VERSION = 1
NOTICE = (
    "CONFIDENTIAL: with its salt, this register tells whether a record that somebody tries is among those released."
)
PATIENCE = 60.0
"""Seconds to wait for another run that holds the lock; it needs milliseconds."""
_SALT_BYTES = 32
_SALT = re.compile(r"[0-9a-f]{64}\s*")
_COUNT = re.compile(r"(?:0|([1-9][0-9]{0,17}) ([0-9a-f]{32}))\s*")


class OpenRegister:
    """A register whose lock this run holds.

    Attributes
    ----------
    secret : bytes
        Its salt.
    entries : list of dict
        All that was added, in order; of what each line holds.
    torn : int
        Bytes of a last line that was cut off, which the next line takes the place of.
    """

    def __init__(self, register: Register, descriptor: int) -> None:
        self._register, self._descriptor = register, descriptor
        content = _content(descriptor)
        whole = content.rfind(b"\n") + 1
        self._end, self.torn = whole, len(content) - whole
        lines = content[:whole].splitlines()
        counted, last = _counted(register, new=not content)
        # before a salt is made: no line of a copy that is given back would be known with another one
        short = _damaged(register.path, f"it has {len(lines)} whole lines, and had {counted}")
        if counted and not lines:
            raise short
        self.secret = _salt(register, new=not lines)
        self._chain = ""
        self.entries: list[dict[str, Any]] = []
        for number, line in enumerate(lines, 1):
            self.entries.append(self._checked(line, number))
            if number == counted and self._chain != last:
                raise self._wrong(number, f"it is not the line that {register.count} has counted")
        if len(lines) < counted:
            raise short
        if not lines:
            self.add({"kind": "header", "version": VERSION, "notice": NOTICE})
        elif self.entries[0].get("kind") != "header" or self.entries[0].get("version") != VERSION:
            raise self._wrong(1, f"it is of no register of version {VERSION}")
        elif counted < len(lines):
            self._count()

    def add(self, entry: Mapping[str, Any]) -> None:
        """Add a line, and return when it is on the disk.

        Raises
        ------
        DocumentError
            The disk takes no more; the register is as it was.
        """
        torn, self.torn = self.torn, 0
        before = self._end, self._chain, len(self.entries)
        try:
            written_in_place(self._register.path)
            if torn:
                os.ftruncate(self._descriptor, self._end)
            if torn and self.entries:
                self._append({"kind": "torn", "bytes": torn})
            self._append(dict(entry))
            self._count()
        except (OSError, DocumentError) as problem:
            self._end, self._chain, kept = before
            del self.entries[kept:]
            with suppress(OSError):
                os.ftruncate(self._descriptor, self._end)
            why = problem.problem if isinstance(problem, DocumentError) else problem.strerror
            raise _unusable(self._register.path, why) from None

    def _append(self, entry: dict[str, Any]) -> None:
        chain = self._hashed(entry, self._chain)
        line = (json.dumps({"chain": chain, "entry": entry}, sort_keys=True) + "\n").encode()
        os.lseek(self._descriptor, self._end, os.SEEK_SET)
        left = memoryview(line)
        while left:
            left = left[os.write(self._descriptor, left) :]
        os.fsync(self._descriptor)
        self._end += len(line)
        self._chain = chain
        self.entries.append(entry)

    def _count(self) -> None:
        """Say in the file beside how many lines there are, once they are on the disk."""
        _write_count(self._register, f"{len(self.entries)} {self._chain}\n")

    def _checked(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            read = json.loads(line)
            chain, entry = read["chain"].encode("utf-8", "replace"), read["entry"]
            own = self._hashed(dict(entry), self._chain)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise self._wrong(number, "it is no line of a register") from None
        if hmac.compare_digest(own.encode(), chain):
            self._chain = own
            return dict(entry)
        if number == 1:
            raise _damaged(self._register.salt, "it is another salt than that of the register, or line 1 was changed")
        raise self._wrong(number, "it was changed, or a line before it is gone")

    def _hashed(self, entry: Mapping[str, Any], before: str) -> str:
        text = json.dumps({"after": before, "entry": entry}, sort_keys=True).encode()
        return hashlib.blake2b(text, key=self.secret, digest_size=16, person=b"masktron chain").hexdigest()

    def _wrong(self, line: int, how: str) -> DocumentError:
        return _damaged(Place(str(self._register.path), line), how)


@contextmanager
def opened_register(register: Register) -> Iterator[OpenRegister]:
    """Open a register and hold its lock; a new one is made where there is none, with a new salt.

    Raises
    ------
    DocumentError
        It cannot be opened, locked or read, is damaged or shorter than it was, or its salt or its count is gone or
        another one.
    UsageError
        The system has no locks.
    """
    # the register is made before its count and its salt, so who finds one of these finds the register
    left = [path for path in (register.salt, register.count) if path.exists()]
    if left and not register.path.exists():
        there = "salt" if register.salt in left else "count"
        raise _damaged(register.path, f"it is gone, and its {there} is there")
    descriptor = _opened(register.path)
    try:
        _lock(descriptor, register.path)
        yield OpenRegister(register, descriptor)
    finally:
        os.close(descriptor)


def _opened(path: Path) -> int:
    refuse_special(path, DocumentError)
    try:
        created = not path.exists()
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except (OSError, ValueError) as problem:
        raise _unusable(path, getattr(problem, "strerror", None) or str(problem)) from None
    if created:
        written_in_place(path)
        with suppress(OSError):  # some file systems cannot sync a folder
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
    return descriptor


def _lock(descriptor: int, path: Path) -> None:
    if sys.platform == "win32":
        reason = "this system has no locks of files; run masktron on Linux or macOS, or without a register"
        raise UsageError.of("register-unusable", path, reason=reason)
    until = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise _unusable(path, f"another run has held it for {PATIENCE:g} seconds") from None
            time.sleep(0.02)
        except OSError as problem:
            raise _unusable(path, f"its file system has no locks ({problem.strerror})") from None
        else:
            return


def _content(descriptor: int) -> bytes:
    os.lseek(descriptor, 0, os.SEEK_SET)
    parts = []
    while part := os.read(descriptor, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def _counted(register: Register, *, new: bool) -> tuple[int, str]:
    """How many lines the register had, and the hash of the last one; (0, "") where none is known to have been."""
    if new and not register.count.exists() and not register.salt.exists():
        _write_count(register, "0\n")
    found = _COUNT.fullmatch(_text(register.count, "count of the register"))
    if found is None:
        raise _damaged(register.count, "it is not a number of lines and a hash")
    return int(found[1] or 0), found[2] or ""


def _write_count(register: Register, text: str) -> None:
    with atomic_path(register.count) as temporary:
        temporary.write_text(text, encoding="ascii")


def _salt(register: Register, *, new: bool) -> bytes:
    """Read the salt; a new register gets one, unless a run that was killed before its first line has left one."""
    if new and not register.salt.exists():
        with atomic_path(register.salt) as temporary:
            temporary.write_text(secrets.token_bytes(_SALT_BYTES).hex() + "\n", encoding="ascii")
    text = _text(register.salt, "salt of the register")
    if _SALT.fullmatch(text) is None:
        raise _damaged(register.salt, f"its salt is not {2 * _SALT_BYTES} hexadecimal digits")
    return bytes.fromhex(text)


def _text(path: Path, what: str) -> str:
    try:
        return read_text(path, what)
    except UsageError as error:
        raise _damaged(path, error.problem) from None


def _damaged(where: Path | Place, reason: Problem | str) -> DocumentError:
    return DocumentError.of("register-damaged", where, reason=reason)


def _unusable(path: Path, reason: Problem | str | None) -> DocumentError:
    return DocumentError.of("register-unusable", path, reason=reason)
