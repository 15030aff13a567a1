"""Temporary files and folders: for their owner alone, and found again by a later run where a run was killed.

Each is locked while its process lives. The lock goes with the process, however that ends, so what has the name of a
temporary file of masktron and no lock belongs to nobody any more. Windows has no such locks, and nothing is removed
there.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from masktron.errors import DocumentError
from masktron.supervisor import tell_folder

if sys.platform != "win32":
    import fcntl

_FILE = re.compile(r"\.masktron-(.*)\.[0-9a-f]{16}\.part", re.DOTALL)
_FOLDER = re.compile(r"masktron-[a-z0-9_]{8}\.scratch")
_MOUNTS = Path("/proc/self/mountinfo")
_OCTAL = re.compile(r"\\([0-7]{3})")
_MEMORY = ("tmpfs", "ramfs")
_NAMING = ("TMPDIR", "TEMP", "TMP")
"""Variables by which somebody names a folder for temporary files, in the order of `tempfile`."""
_KEPT = Path("/var/tmp")  # noqa: S108 - made by `tempfile`, for its owner alone
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_NONBLOCK = getattr(os, "O_NONBLOCK", 0)


def create_private(path: str | Path) -> int:
    """Create a file that only its owner may read, whatever the umask, and return its descriptor.

    Raises
    ------
    OSError
        It cannot be created, or there is something of this name, if only a link to nowhere.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _NOFOLLOW, 0o600)
    if sys.platform != "win32":
        os.fchmod(descriptor, 0o600)  # a umask that takes rights from the owner, too
    return descriptor


def name_to_be(path: Path) -> str:
    """Return the end of the name that a temporary file is going to have; the name of any other file."""
    found = _FILE.fullmatch(path.name)
    return path.name if found is None else found[1]


def locked_file(final: Path) -> tuple[Path, int | None]:
    """Create an empty file beside another, for its owner alone.

    Parameters
    ----------
    final : Path
        What the file is going to be.

    Returns
    -------
    Path
    int or None
        A descriptor that holds the lock until it is closed; None on Windows, where an open file cannot be renamed.

    Raises
    ------
    OSError
        It cannot be created.
    """
    while True:
        path = final.with_name(f".masktron-{final.name[-40:]}.{secrets.token_hex(8)}.part")
        descriptor = create_private(path)
        if sys.platform == "win32":
            os.close(descriptor)
            return path, None
        # whoever found the file before it had its lock has taken it for abandoned
        if lock(descriptor) is not False and is_at(descriptor, path):
            return path, descriptor
        os.close(descriptor)


@contextmanager
def unnamed_file(beside: Path) -> Iterator[BinaryIO]:
    """Give an empty file in the folder of another one, to write and read: nobody else can open it.

    It has no name, so that it is gone when it is closed, and when its process ends, however that ends. Windows
    knows no such files: there it has a name until it is closed.

    Raises
    ------
    OSError
        It cannot be created.
    """
    path, descriptor = locked_file(beside)
    try:
        if descriptor is None:
            descriptor = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))
        else:
            path.unlink()
        with os.fdopen(descriptor, "w+b", buffering=0) as stream:
            yield stream
    finally:
        path.unlink(missing_ok=True)


@contextmanager
def private_folder(above: Path | None = None) -> Iterator[Path]:
    """Give a temporary folder, for its owner alone, and remove it afterwards.

    Those that killed runs have left are removed before.

    Parameters
    ----------
    above : Path, optional
        A folder of the system for temporary files; the usual one when not given.
    """
    above = Path(tempfile.gettempdir()) if above is None else above
    remove_abandoned(above, folders=True)
    tell_folder(above, folders=True)
    while True:
        with tempfile.TemporaryDirectory(prefix="masktron-", suffix=".scratch", dir=above) as name:
            folder = Path(name)
            try:
                descriptor = _open(folder) if sys.platform != "win32" else None
            except FileNotFoundError:  # whoever found it before it had its lock has taken it for abandoned
                continue
            try:
                if descriptor is None or (lock(descriptor) is not False and is_at(descriptor, folder)):
                    yield folder
                    return
            finally:
                if descriptor is not None:
                    os.close(descriptor)


def folder_on_disk() -> tuple[Path, bool]:
    """Return a folder for temporary files, and whether it is on a disk and not memory itself.

    It is the usual one. Where that is memory, as ``/tmp`` is on many systems, and nobody has named it, it is
    ``/var/tmp``, which the Filesystem Hierarchy Standard keeps when the machine is started anew.
    """
    usual = Path(tempfile.gettempdir())
    if not in_memory(usual):
        return usual, True
    named = any(os.environ.get(name) for name in _NAMING)
    if named or not os.access(_KEPT, os.W_OK | os.X_OK) or in_memory(_KEPT):
        return usual, False
    return _KEPT, True


def in_memory(folder: Path) -> bool:
    """Tell whether a folder is on a file system that is memory; False where the system does not tell (not Linux)."""
    try:
        lines = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return False
    there = Path(os.path.realpath(folder))
    found = ("", "")
    for line in lines:  # the last of several at one place is the one that is seen
        fields = line.split(" ")
        place = _OCTAL.sub(lambda one: chr(int(one[1], 8)), fields[4])
        if len(place) >= len(found[0]) and there.is_relative_to(place):
            found = (place, fields[fields.index("-") + 1])
    return found[1] in _MEMORY


def remove_abandoned(folder: Path, *, folders: bool = False) -> None:
    """Remove the temporary files and folders that killed runs of this user have left in a folder.

    Folders only where we make some: elsewhere, what is called so is somebody's own. A link is never followed, and
    nothing is removed that has a lock, another owner, or lies where there are no locks.
    """
    if sys.platform == "win32":
        return
    with suppress(OSError):  # what cannot be listed is no reason not to write there
        with os.scandir(folder) as entries:
            names = [
                entry.name
                for entry in entries
                if _FILE.fullmatch(entry.name) or (folders and _FOLDER.fullmatch(entry.name))
            ]
        for name in names:
            _remove(folder / name)


def _remove(path: Path) -> None:
    if sys.platform == "win32":
        return
    try:
        descriptor = _open(path)
    except OSError:  # a link, of somebody else, or gone by now
        return
    try:
        found = os.fstat(descriptor)
        wanted = stat.S_ISREG if _FILE.fullmatch(path.name) else stat.S_ISDIR
        if found.st_uid != os.geteuid() or not wanted(found.st_mode):
            return
        if lock(descriptor) and is_at(descriptor, path):
            if stat.S_ISDIR(found.st_mode):
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    """Open a file, or a folder, that is no link; never wait for who writes to a pipe."""
    how = os.O_RDONLY if _FOLDER.fullmatch(path.name) else os.O_RDWR
    return os.open(path, how | _NOFOLLOW | _NONBLOCK)


def lock(descriptor: int) -> bool | None:
    """Lock a file or folder; False where another process has the lock, None where the file system knows none."""
    if sys.platform == "win32":
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def is_at(descriptor: int, path: Path) -> bool:
    """Tell whether a path, itself and not what it links to, is the file that is open."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False


def require_room(folder: Path, size: int, *, what: str = "the run") -> None:
    """Require so many bytes of free disk, before anything is written.

    Parameters
    ----------
    folder : Path
        It need not be there yet: then it is the nearest folder above it.
    size : int
        In bytes.
    what : str
        For the message.

    Raises
    ------
    DocumentError
        There is less.
    """
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(there).free
    if free < size:
        reason = f"{what} needs {_written(size)} of disk, and {_written(free)} are free"
        raise DocumentError.of("cannot-write", folder, file="the output", reason=reason)


def _written(size: int) -> str:
    """Write a number of bytes, rounded."""
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.1f} MB"
