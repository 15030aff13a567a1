"""What the log says of a mistake of ours: its kind and where it is; its message may hold what a user has typed."""

from __future__ import annotations

import logging
import traceback
from pathlib import Path

_LOG = logging.getLogger("masktron.web")
_FRAMES = 6


def note_mistake(error: BaseException) -> None:
    """Write the kind of an exception, and the lines that it came through, the innermost first."""
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    places = " < ".join(f"{Path(one.filename).name}:{one.lineno}" for one in reversed(frames))
    _LOG.error("%s at %s", type(error).__name__, places)
