"""Progress for another program: lines of JSON in a file, one for each stage now and then."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from masktron.errors import UsageError
from masktron.progress import PROGRESS_FILE, RECORDS, Expecting, Progress
from masktron.report.watch import seconds_left

BETWEEN = 0.5
"""Seconds between two lines about a stage, at least; its first and its last line come at once."""


@dataclass(slots=True)
class _Written:
    began: float
    said: float
    done: int


class ProgressLines:
    """Passes progress on, and writes it: stage, done, size, unit, seconds so far and seconds left.

    A line has ``at``, the seconds since the command began, so that a reader can tell which stages have been left;
    ``size`` and ``left`` are null where nobody knows them.

    Parameters
    ----------
    write : callable
        Takes a line, without its end.
    shown : Progress
        Who hears it as well.
    clock : callable
    """

    def __init__(
        self, write: Callable[[str], None], shown: Progress, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._write = write
        self._shown = shown
        self._clock = clock
        self._began = clock()
        self._lock = threading.Lock()
        self._stages: dict[str, _Written] = {}
        self._expected: dict[str, tuple[int, str]] = {}

    def expect(self, stage: str, size: int, /, unit: str = RECORDS) -> None:
        """Take the size of a stage, and what it is counted in."""
        with self._lock:
            self._expected[stage] = (size, unit)
        if isinstance(self._shown, Expecting):
            self._shown.expect(stage, size, unit)

    def __call__(self, stage: str, done: int, /) -> None:
        """Take what is done of a stage."""
        with self._lock:
            self._take(stage, done)
        self._shown(stage, done)

    def _take(self, stage: str, done: int) -> None:
        now = self._clock()
        size, unit = self._expected.get(stage, (None, RECORDS))
        own = self._stages.get(stage)
        if own is None or done < own.done:  # a stage that begins once more is another one
            own = self._stages[stage] = _Written(now, -BETWEEN + now, done)
        over = size is not None and done >= size > own.done
        own.done = done
        if now - own.said < BETWEEN and not over:
            return
        own.said = now
        elapsed = now - own.began
        left = seconds_left(done, size, elapsed)
        self._write(
            json.dumps(
                {
                    "at": round(now - self._began, 3),
                    "stage": stage,
                    "done": done,
                    "size": size,
                    "unit": unit,
                    "seconds": round(elapsed, 3),
                    "left": None if left is None else round(left, 3),
                }
            )
        )


@contextmanager
def also_written(path: Path, shown: Progress) -> Iterator[ProgressLines]:
    """Show progress as before, and write it to the end of a file as lines of JSON.

    Raises
    ------
    UsageError
        The file cannot be written.
    """
    try:
        stream = path.open("a", encoding="utf-8", buffering=1)
    except OSError as error:
        place = f"{PROGRESS_FILE}={path}"
        raise UsageError.of("cannot-write", place, file="the progress", reason=error.strerror) from error
    with stream:
        yield ProgressLines(lambda line: _say(stream.write, line), shown)


def _say(write: Callable[[str], int], line: str) -> None:
    write(f"{line}\n")
