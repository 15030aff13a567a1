"""What a run may take of the machine: time, and memory of all its processes together."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class RunLimits:
    """What a run may take.

    Attributes
    ----------
    seconds : float
        From its beginning; 0 for no limit.
    memory : int
        Bytes that its processes hold at the same time; 0 for no limit.
    """

    seconds: float = 0.0
    memory: int = 0


def is_memory_seen() -> bool:
    """Tell whether the system says what processes hold: Linux does."""
    return Path("/proc/self/smaps_rollup").exists()


def memory_of_machine() -> int:
    """Return the bytes of memory that the machine has; 0 where nobody can see what a run holds of it."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if is_memory_seen() else 0
