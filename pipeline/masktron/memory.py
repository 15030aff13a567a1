"""How much memory is free for this process and those that it starts, and what says that there was none.

Those of cells are for each field of each record, whatever it holds. `docs/large-files.md` says what was measured.
"""

from __future__ import annotations

import errno
import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from masktron.errors import ResourceError

_INFO = Path("/proc/meminfo")
_CGROUP = Path("/sys/fs/cgroup")
_OWN_CGROUP = Path("/proc/self/cgroup")
_OWN_STATUS = Path("/proc/self/status")
_LEAST = 1 << 30
"""Bytes that reading a file may take however little is free."""
_LEAST_ADDRESSES = 1_000_000_000
"""What the libraries of a command take, of which some end the process where they get less."""
_SHORTAGES = (errno.ENOMEM, errno.EAGAIN)
"""No memory, and none for another thread."""
_WORDS = re.compile(r"out of memory|start new thread|unable to allocate|memory allocation failed", re.IGNORECASE)
"""What libraries say that have no exception for it."""


def address_space() -> int | None:
    """Return the limit of the addresses that this process may use, in bytes; None if there is none."""
    if sys.platform == "win32":
        return None
    import resource  # noqa: PLC0415 -- is not there on Windows

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else limit


def require_addresses() -> None:
    """Refuse to begin where libraries cannot be loaded.

    Raises
    ------
    ResourceError
    """
    limit = address_space()
    if limit is not None and limit < _LEAST_ADDRESSES:
        reason = f"this run may use {limit:,} bytes of addresses, and needs {_LEAST_ADDRESSES:,} to begin"
        raise ResourceError.of("out-of-memory", reason=reason)


def lacks_memory(error: BaseException) -> bool:
    """Tell whether an exception, or one that led to it, means that there was no memory.

    Libraries say it in exceptions of their own, with the words of the system. Where addresses are limited, a library
    that cannot be loaded has not got enough of them.
    """
    limited = address_space() is not None
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, MemoryError) or (isinstance(seen, OSError) and seen.errno in _SHORTAGES):
            return True
        if any(os.strerror(number) in str(seen) for number in _SHORTAGES) or _WORDS.search(str(seen)):
            return True
        if limited and (isinstance(seen, ImportError) or "shared object" in str(seen)):
            return True
        seen = seen.__cause__ or seen.__context__
    return False


def free_memory() -> int:
    """Return how many bytes may be taken before the machine, or the group of processes, has none left.

    On Linux that is what the kernel calls available, and what the limits of version 2 control groups leave, files
    that were read apart; limits of version 1 are not looked at. Elsewhere it is all memory there is, of which others
    have their part.
    """
    found = [_available()]
    for limit, used in _limits():
        found.append(max(limit - used, 0))
    return min(found)


def memory_of_run(memory: int | None) -> int:
    """Return how many bytes a run may take: those that were asked for, or half of what is free."""
    return free_memory() // 2 if memory is None else memory


class _Bound:
    """The limit on memory while files are read: the first reader sets it, the last one takes it back."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._readers = 0
        self._former = (0, 0)

    def enter(self) -> None:
        """Set the limit, unless another reader has."""
        import resource  # noqa: PLC0415 -- not on Windows

        with self._lock:
            self._readers += 1
            if self._readers > 1:
                return
            self._former = soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
            taken = _taken()
            bound = taken + max(_LEAST, free_memory())
            if taken and (soft == resource.RLIM_INFINITY or bound < soft):
                resource.setrlimit(resource.RLIMIT_DATA, (bound, hard))

    def leave(self) -> None:
        """Set the former limit where nobody reads any more."""
        import resource  # noqa: PLC0415 -- not on Windows

        with self._lock:
            self._readers -= 1
            if not self._readers:
                resource.setrlimit(resource.RLIMIT_DATA, self._former)


_BOUND = _Bound()


@contextmanager
def bounded_memory() -> Iterator[None]:
    """Let the system refuse memory beyond what is free at the beginning, while this lasts.

    A length in a file may lie, and libraries believe it. The limit holds for the whole process, C libraries included.
    It counts data of the process, not files that are mapped. Only Linux has such a limit.
    """
    if not sys.platform.startswith("linux"):
        yield
        return
    _BOUND.enter()
    try:
        yield
    finally:
        _BOUND.leave()


@contextmanager
def told_of_memory(where: str) -> Iterator[None]:
    """Say of a file that reading it was refused memory, or a thread, whatever a reader makes of that.

    Raises
    ------
    ResourceError
    """
    try:
        yield
    except Exception as error:
        if not lacks_memory(error):
            raise
        raise ResourceError.of("out-of-memory", where, reason="this file asks for more than is free") from error


def _taken() -> int:
    """Return the bytes that count for the limit; 0 where the system does not say."""
    with suppress(OSError, ValueError, IndexError):
        for line in _OWN_STATUS.read_text().splitlines():
            if line.startswith("VmData:"):
                return int(line.split()[1]) * 1024
    return 0


def _available() -> int:
    with suppress(OSError, ValueError, IndexError):
        for line in _INFO.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _limits() -> list[tuple[int, int]]:
    """Return limit and use of each control group that this process is in, where there is a limit."""
    found: list[tuple[int, int]] = []
    with suppress(OSError):
        own = next((line[3:] for line in _OWN_CGROUP.read_text().splitlines() if line.startswith("0::")), None)
        folder = None if own is None else _CGROUP / own.lstrip("/")
        while folder is not None and folder != _CGROUP.parent:
            with suppress(OSError, ValueError):
                limit, used = (int((folder / f"memory.{name}").read_text()) for name in ("max", "current"))
                found.append((limit, used - _files(folder)))
            folder = folder.parent
    return found


def _files(folder: Path) -> int:
    """Return how many bytes of a control group are pages of files that may be taken back."""
    with suppress(OSError, ValueError):
        for line in (folder / "memory.stat").read_text().splitlines():
            if line.startswith("inactive_file "):
                return int(line.split()[1])
    return 0


BASE = 300_000_000
"""Bytes that a run takes with few records."""
WORKER = 300_000_000
"""Bytes that a worker takes with nothing to do: libraries and compiled code, and most often a process of Saxon."""
CLIENT = 2 * BASE
"""Bytes that are left to the process of a run that has workers, besides what grows with the records."""

WHOLE_CELL = 150
"""Bytes of a run that masks all records at once."""
HELD_CELL = 12
"""Bytes of a run in units while units are masked, besides these and pages of files that the system may take back."""
LATER_CELL = 18
"""Bytes of a run in units when the file is read back and measured."""
UNIT_CELL = 250
"""Bytes of a worker for each cell of its unit: the points, groups and candidates of one partition."""
UNIT_SHARE = 6
"""Part of the memory, as a divisor, that one unit may take: a few are worked on at once."""

COLUMN_CELL = 20
"""Bytes of a column, where one cell in three has a text that no other has."""
COLUMN_SHARE = 8
"""Part of the memory, as a divisor, that the columns of a file may take, or a table that is read at once."""
TABLE_CELL = 20
"""Bytes of a table, beside its texts."""
TABLE_UNPACKED = 25
"""Times the bytes of a file that its table has, at most."""

PART_CELL = 40
"""Bytes on the disk in parts of a run: in those of a partition, of its groups and of its prototypes."""
TABLE_DOCUMENTS, TABLE_COPIES = 2, 2
"""On the disk, for a table that is read in blocks: documents that engines read, of the file and of the one that is
written; copies of its columns meanwhile."""


_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8  # of malloc.h
_LARGE_BLOCK = 1 << 20
"""Bytes from which on a block is mapped by itself, and given back when it is freed; smaller ones, as the arrays of a
batch, would be mapped so often that a run of 100,000 records takes a fifth more of the processor."""
_SPARE = 1 << 24
"""Bytes that are kept at the end of a heap."""
_ARENAS = 2


def give_back_freed() -> None:
    """Have large blocks given back to the system when they are freed; for the whole process, and not undone.

    glibc raises its threshold of 128 KiB to the size of each mapped block that is freed, up to 32 MiB: arrays of
    a column then come from heaps, which keep their holes. A threshold that is set is not raised any more. Threads
    have a heap each, eight for each core, and few of them is enough: numpy allocates little while threads compute.
    Another C library is left as it is.
    """
    if not sys.platform.startswith("linux"):
        return
    import ctypes  # noqa: PLC0415 -- not for help

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None and hasattr(ctypes.CDLL(None), "gnu_get_libc_version"):
        mallopt(_MMAP_THRESHOLD, _LARGE_BLOCK)
        mallopt(_TRIM_THRESHOLD, _SPARE)
        mallopt(_ARENA_MAX, _ARENAS)
