"""The map of a run that goes on."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path

from masktron.results import TuneResult
from masktron.write.manifest import write_json

_BETWEEN = 1.0
"""Seconds between two maps of a run that goes on, at least."""
_COST = 9.0
"""The same, as a multiple of what writing the last one took."""


class MapSoFar:
    """Passes on the map of a run that goes on, not more often than pays."""

    def __init__(self, path: Path | None, heard: Callable[[TuneResult], None] | None) -> None:
        self._path, self._heard = path, heard
        self._next = -math.inf

    def tell(self, made: Callable[[], TuneResult]) -> None:
        """Write the map, and hand it on, unless that was done a moment ago."""
        began = time.monotonic()
        if began < self._next:
            return
        result = made()
        if self._path is not None:
            write_json(self._path, result.as_dict())
        if self._heard is not None:
            self._heard(result)
        now = time.monotonic()
        self._next = now + max(_BETWEEN, _COST * (now - began))
