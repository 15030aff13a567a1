"""Files of folders of the server from which data may be picked: they are listed, and copied into a project.

Whoever may write into such a folder can put a link in the place of a file at any time, also between a look at it and
its use. So a file is opened once, folder by folder from the one that is open to picking, and no link is followed on
the way; what is copied is what was opened. No command ever reads in such a folder.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath

from masktron.errors import DocumentError, UsageError
from masktron.scratch import create_private

_PIECE = 1 << 20
_PLAIN = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FOLDER = _PLAIN | getattr(os, "O_DIRECTORY", 0)
_FILE = _PLAIN | getattr(os, "O_NONBLOCK", 0)
"""No waiting for whoever writes into a pipe."""


def listed(folder: Path, relative: str = "") -> tuple[list[str], list[tuple[str, int]]]:
    """Return the folders, and the files with their sizes, of a folder that may be picked from.

    Hidden ones and links are left out.

    Raises
    ------
    UsageError
        There is no such folder inside.
    """
    folders, files = [], []
    try:
        with _opened_folder(folder, _parts(relative)) as here, os.scandir(here) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
                elif entry.is_file(follow_symlinks=False):
                    files.append((entry.name, entry.stat(follow_symlinks=False).st_size))
    except (OSError, ValueError):
        raise UsageError("there is no such folder", hint="pick one from the list") from None
    return sorted(folders), sorted(files)


def copied(folder: Path, relative: str, place: Path, room: int) -> Path:
    """Copy a file of a folder that may be picked from, and return the copy, which has a name of its own as yet.

    Parameters
    ----------
    folder : Path
        From which may be picked.
    relative : str
        The file in it.
    place : Path
        The folder of the copy.
    room : int
        Bytes that it may have.

    Raises
    ------
    UsageError
        There is no plain file of this name inside: it is absent, hidden, or a link is on the way. Or it was changed
        while it was copied, or there is no room for it.
    DocumentError
        The disk is full, or the file cannot be read.
    """
    descriptor = _opened_file(folder, relative)
    half = place / f".{secrets.token_hex(8)}.upload"
    try:
        with os.fdopen(descriptor, "rb", buffering=0) as source:
            before = _state(descriptor)
            _require_room(before[0], room)
            with os.fdopen(create_private(half), "wb") as stream:
                while stream.tell() <= before[0] and (piece := source.read(_PIECE)):
                    stream.write(piece)
            _require_same(descriptor, before)
    except OSError as error:
        half.unlink(missing_ok=True)
        raise DocumentError(f"the file cannot be copied: {error.strerror}", hint="ask who runs the server") from error
    except BaseException:
        half.unlink(missing_ok=True)
        raise
    return half


def _require_room(size: int, room: int) -> None:
    if size > room:
        raise UsageError("there is no room left for this file", hint="delete projects or uploads")


def _state(descriptor: int) -> tuple[int, int, int]:
    found = os.fstat(descriptor)
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _require_same(descriptor: int, before: tuple[int, int, int]) -> None:
    if _state(descriptor) != before:
        raise UsageError("somebody has changed the file while it was copied", hint="pick it once more")


def _parts(relative: str) -> tuple[str, ...]:
    parts = PurePosixPath(relative).parts
    if any(part.startswith((".", "/")) for part in parts):
        raise ValueError("a name outside the folder")
    return parts


def _opened_file(folder: Path, relative: str) -> int:
    try:
        *above, name = _parts(relative)
        with _opened_folder(folder, tuple(above)) as here:
            descriptor = os.open(name, _FILE, dir_fd=here)
    except (OSError, ValueError):
        raise _no_file() from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _no_file()
    return descriptor


def _no_file() -> UsageError:
    return UsageError("there is no such file in the folder", hint="pick one from the list")


@contextmanager
def _opened_folder(folder: Path, parts: tuple[str, ...]) -> Iterator[int]:
    """Open a folder below one that may be picked from, without following a link below that."""
    with ExitStack() as opened:
        # the folder itself is the choice of whoever runs the server
        here = os.open(folder, _FOLDER & ~getattr(os, "O_NOFOLLOW", 0))
        opened.callback(os.close, here)
        for part in parts:
            here = os.open(part, _FOLDER, dir_fd=here)
            opened.callback(os.close, here)
        yield here
