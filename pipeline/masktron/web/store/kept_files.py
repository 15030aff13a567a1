"""What was made of files and folders, kept in memory for as long as nobody has written them anew."""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

_SETTLED = 2_000_000_000
"""Nanoseconds after the last change of a file from which on it is kept: clocks of file systems have ticks, and of two
changes within one tick the second leaves no trace."""


class KeptFiles[T]:
    """Makes something of a file or a folder, and keeps it with the stamp that this had before.

    Parameters
    ----------
    make : callable
        Takes the path. What it returns is never changed by anybody.
    room : int
        Bytes of the files of which something is kept; those that nobody has asked for longest go. A folder counts
        with the bytes of its entry.
    """

    def __init__(self, make: Callable[[str], T], *, room: int) -> None:
        self._make = make
        self._room = room
        self._taken = 0
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[tuple[int, ...], T]] = OrderedDict()

    def of(self, path: Path | str) -> T | None:
        """Return what is made of a file; None where there is none."""
        name = str(path)
        now = time.time_ns()
        try:
            found = os.stat(name)  # noqa: PTH116 -- pages ask for hundreds
            # nobody can set the time of the last change of an inode
            stamp = (found.st_size, found.st_ctime_ns, found.st_mtime_ns, found.st_ino, found.st_dev)
            with self._lock:
                if (kept := self._kept.get(name)) is not None and kept[0] == stamp:
                    self._kept.move_to_end(name)
                    return kept[1]
            made = self._make(name)
        except (FileNotFoundError, NotADirectoryError):
            self._forget(name)
            return None
        self._forget(name)
        if found.st_ctime_ns < now - _SETTLED and found.st_size <= self._room:
            self._keep(name, stamp, made)
        return made

    @property
    def taken(self) -> int:
        """Bytes of the files of which something is kept."""
        return self._taken

    def _keep(self, name: str, stamp: tuple[int, ...], made: T) -> None:
        with self._lock:
            if name in self._kept:  # another thread was quicker
                return
            self._kept[name] = stamp, made
            self._taken += stamp[0]
            while self._taken > self._room:
                _, (gone, _) = self._kept.popitem(last=False)
                self._taken -= gone[0]

    def _forget(self, name: str) -> None:
        with self._lock:
            if (kept := self._kept.pop(name, None)) is not None:
                self._taken -= kept[0][0]
