"""The stages of a job: on a terminal in place, with the time that is left; else in lines, where they take long."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console
from rich.progress import Progress, ProgressColumn, SpinnerColumn, Task, TaskID, TextColumn
from rich.table import Column
from rich.text import Text

from masktron.progress import RECORDS
from masktron.report.text import printable

_SILENT = 3.0
"""Seconds without a word after which a stage has been left, if another one begins."""
QUICK = 2.0
"""Seconds for which a stage without a terminal says nothing."""
EVERY = 5.0
"""Seconds between two lines about a stage, at least."""


@dataclass(slots=True)
class _Row:
    task: TaskID
    last: float


class Watch:
    """Shows stages, in one line each: those that run at the same time, one below the other.

    A stage is called by its name with what is done of it, from any thread. How much it has, and in what unit, may be
    told before; then its line has the share that is done and the time left, else the time that it has taken. There
    is no such figure for a job as a whole: what its stages take of the time depends on the data.
    """

    def __init__(self, progress: Progress, clock: Callable[[], float] = time.monotonic) -> None:
        self._progress = progress
        self._clock = clock
        self._lock = threading.Lock()
        self._rows: dict[str, _Row] = {}
        self._expected: dict[str, tuple[int, str]] = {}
        self._first: TaskID | None = progress.add_task("starting", total=None)

    def expect(self, stage: str, size: int, /, unit: str = RECORDS) -> None:
        """Take the size of a stage that may begin, and what it is counted in."""
        with self._lock:
            self._expected[stage] = (size, unit)
            if row := self._rows.get(stage):
                self._progress.update(row.task, total=size, unit=unit)

    def __call__(self, stage: str, done: int, /) -> None:
        """Take what is done of a stage."""
        with self._lock:
            now = self._clock()
            row = self._rows.get(stage)
            if row is None:
                self._leave(now)
                size, unit = self._expected.get(stage, (None, RECORDS))
                task = self._progress.add_task(printable(stage), total=size, completed=done, unit=unit)
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
        size = None if task.total is None else int(task.total)
        unit = task.fields.get("unit", RECORDS)
        return Text(figures(int(task.completed), size, unit, task.elapsed or 0.0, task.time_remaining))


def figures(done: int, size: int | None, unit: str, elapsed: float, left: float | None) -> str:
    """Say how far a stage is: what is done, of how much, and the time that is left or else that it has taken."""
    said = []
    if size:
        said.append(f"{done:,} of {size:,} {unit}, {min(100 * done // size, 100)} %")
    elif done:
        said.append(f"{done:,} {unit}")
    if size and done < size and left is not None and is_foreseeable(done, size):
        said.append(f"{_clock(left)} left")
    elif elapsed >= 1 and not (size and done >= size):
        said.append(f"{_clock(elapsed)} so far")
    return ", ".join(said)


def seconds_left(done: int, size: int | None, elapsed: float) -> float | None:
    """Return the seconds that a stage will take if it goes on as it did; None before a hundredth of it is done."""
    return elapsed * max(size - done, 0) / done if size and is_foreseeable(done, size) else None


def is_foreseeable(done: int, size: int) -> bool:
    """Tell whether so much of a stage is done that its pace says something: what is first is often the slowest."""
    return bool(done and 100 * done >= size)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02d}"


@contextmanager
def watch(console: Console) -> Iterator[Watch]:
    """Show stages on a terminal, ten times a second at most, and take the lines away at the end."""
    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), _Count(Column(no_wrap=True))
    with Progress(*columns, console=console, transient=True, refresh_per_second=10) as progress:
        yield Watch(progress)


@dataclass(slots=True)
class _Stage:
    began: float
    last: float
    told: float | None = None
    done: int = 0
    over: bool = False


class Lines:
    """Says in plain lines how far long stages are: nothing before `QUICK`, and then a line every `EVERY` seconds.

    Parameters
    ----------
    write : callable
        Takes a line.
    clock : callable
    """

    def __init__(self, write: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._write = write
        self._clock = clock
        self._lock = threading.Lock()
        self._stages: dict[str, _Stage] = {}
        self._expected: dict[str, tuple[int, str]] = {}

    def expect(self, stage: str, size: int, /, unit: str = RECORDS) -> None:
        """Take the size of a stage that may begin, and what it is counted in."""
        with self._lock:
            self._expected[stage] = (size, unit)

    def __call__(self, stage: str, done: int, /) -> None:
        """Take what is done of a stage."""
        with self._lock:
            now = self._clock()
            own = self._stages.get(stage)
            if own is None or own.over:
                self._leave(now)
                own = self._stages[stage] = _Stage(now, now)
            own.last, own.done = now, done
            size, _ = self._expected.get(stage, (None, RECORDS))
            own.over = size is not None and done >= size

    def tick(self) -> None:
        """Say how far the stages are whose time has come."""
        with self._lock:
            now = self._clock()
            for name, stage in self._stages.items():
                quiet = now - stage.began < QUICK or (stage.told is not None and now - stage.told < EVERY)
                if not stage.over and not quiet:
                    stage.told = now
                    self._write(f"{printable(name)}: {self._figures(name, stage, now)}")

    def _figures(self, name: str, stage: _Stage, now: float) -> str:
        size, unit = self._expected.get(name, (None, RECORDS))
        elapsed = now - stage.began
        return figures(stage.done, size, unit, elapsed, seconds_left(stage.done, size, elapsed))

    def _leave(self, now: float) -> None:
        """Forget the stages that have ended, as another one begins."""
        for name, stage in self._stages.items():
            known = name in self._expected
            stage.over = stage.over or not known or now - stage.last > _SILENT


@contextmanager
def lines(write: Callable[[str], None]) -> Iterator[Lines]:
    """Say in lines how far long stages are, once a second at most."""
    said = Lines(write)
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(1.0):
            try:
                said.tick()
            except (OSError, ValueError):  # nobody reads any more
                return

    thread = threading.Thread(target=beat, name="masktron-progress", daemon=True)
    thread.start()
    try:
        yield said
    finally:
        ended.set()
        thread.join()
