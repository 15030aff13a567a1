"""Whether another process still works, for tests of what ends with what."""

from __future__ import annotations

import os
import time
from pathlib import Path


def lives(number: int) -> bool:
    """Tell whether a process is there, and not only its number for a parent that does not ask.

    A process whose first thread has ended holds its files, and their locks, until its other threads have.
    """
    try:
        os.kill(number, 0)
        own = Path(f"/proc/{number}")
        if not own.parent.is_dir():
            return True
        return "(zombie)" not in (own / "status").read_text() or len(list((own / "task").iterdir())) > 1
    except (ProcessLookupError, FileNotFoundError):
        return False


def ends(number: int, within: float = 20.0) -> bool:
    """Tell whether a process ends within so many seconds."""
    limit = time.monotonic() + within
    while lives(number):
        if time.monotonic() > limit:
            return False
        time.sleep(0.05)
    return True
