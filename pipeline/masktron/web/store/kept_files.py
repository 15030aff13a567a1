"""What was made of files and folders, kept in memory for as long as nobody has written them anew."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

_SETTLED = 2_000_000_000
"""Nanoseconds after the last change of a file from which on it is kept: clocks of file systems have ticks, and of two
changes within one tick the second leaves no trace."""
_MOST = 1_000_000
"""Bytes of a file of which something is kept: what is made of one takes up to ten times as much."""


def kept_by_stamp[T](make: Callable[[str], T], *, files: int) -> Callable[[Path | str], T | None]:
    """Return what makes something of a file or a folder, and keeps it with the stamp that this had before.

    Parameters
    ----------
    make : callable
        Takes the path. What it returns is never changed by anybody.
    files : int
        Of so many files something is kept; those that nobody has asked for longest go.

    Returns
    -------
    callable
        Takes the path; gives None where there is no such file.
    """

    @lru_cache(files)
    def made(name: str, stamp: tuple[int, ...]) -> T:
        return make(name)

    def of(path: Path | str) -> T | None:
        name, now = str(path), time.time_ns()
        try:
            found = os.stat(name)  # noqa: PTH116 -- pages ask for hundreds
            if found.st_ctime_ns >= now - _SETTLED or found.st_size > _MOST:
                return make(name)
            # nobody can set the time of the last change of an inode
            return made(name, (found.st_size, found.st_ctime_ns, found.st_mtime_ns, found.st_ino, found.st_dev))
        except (FileNotFoundError, NotADirectoryError):
            return None

    return of
