"""How much memory is free for this process and those that it starts."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_INFO = Path("/proc/meminfo")
_CGROUP = Path("/sys/fs/cgroup")
_OWN_CGROUP = Path("/proc/self/cgroup")


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
