"""The stages of a job on a terminal, with the time that each has left."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.progress import Progress, ProgressColumn, SpinnerColumn, Task, TaskID, TextColumn
from rich.text import Text

from masktron.report.text import printable

_SILENT = 3.0
"""Seconds without a word after which a stage has been left, if another one begins."""


@dataclass(slots=True)
class _Row:
    task: TaskID
    last: float


class Watch:
    """Shows stages, in one line each: those that run at the same time, one below the other.

    A stage is called by its name with the number of records done, from any thread. How many it has may be told
    before; then its line has the share that is done and the time left. There is no such figure for a job as a whole:
    what its stages take of the time depends on the data.
    """

    def __init__(self, progress: Progress, clock: Callable[[], float] = time.monotonic) -> None:
        self._progress = progress
        self._clock = clock
        self._lock = threading.Lock()
        self._rows: dict[str, _Row] = {}
        self._expected: dict[str, int] = {}
        self._first: TaskID | None = progress.add_task("starting", total=None)

    def expect(self, stage: str, records: int, /) -> None:
        """Take the number of records of a stage that may begin."""
        with self._lock:
            self._expected[stage] = records

    def __call__(self, stage: str, done: int, /) -> None:
        """Take the number of records done in a stage."""
        with self._lock:
            now = self._clock()
            row = self._rows.get(stage)
            if row is None:
                self._leave(now)
                task = self._progress.add_task(printable(stage), total=self._expected.get(stage))
                row = self._rows[stage] = _Row(task, now)
            row.last = now
            self._progress.update(row.task, completed=done)

    def _leave(self, now: float) -> None:
        """Take away the stages that have ended, as another one begins."""
        if self._first is not None:
            self._progress.remove_task(self._first)
            self._first = None
        tasks = {task.id: task for task in self._progress.tasks}
        for stage, row in list(self._rows.items()):
            if tasks[row.task].total is None or tasks[row.task].finished or now - row.last > _SILENT:
                self._progress.remove_task(row.task)
                del self._rows[stage]


class _Count(ProgressColumn):
    """``432,000 of 1,000,080 records, 43 %, 0:12 left``, as far as it is known."""

    max_refresh = None

    def render(self, task: Task) -> Text:
        """Return the figures of a stage."""
        if not task.completed:
            return Text("")
        done = f"{task.completed:,.0f}"
        if not task.total:
            return Text(f"{done} records")
        text = f"{done} of {task.total:,.0f} records, {min(task.percentage, 100):.0f} %"
        if not task.finished and (left := task.time_remaining) is not None:
            minutes, seconds = divmod(int(left), 60)
            text += f", {minutes}:{seconds:02d} left"
        return Text(text)


@contextmanager
def watch(console: Console) -> Iterator[Watch]:
    """Show stages on a terminal, ten times a second at most, and take the lines away at the end."""
    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), _Count()
    with Progress(*columns, console=console, transient=True, refresh_per_second=10) as progress:
        yield Watch(progress)
