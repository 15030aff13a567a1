"""How much memory is free for this process and those that it starts, and what says that there was none."""

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
