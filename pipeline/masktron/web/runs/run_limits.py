"""What a run may take of the machine: time, and memory of all its processes together."""

from __future__ import annotations

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
