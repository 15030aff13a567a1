"""How a job says what it is doing: the name of a stage, how far it is, and of how much."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

type Progress = Callable[[str, int], None]
"""Called with the name of a stage and the number of records done in it; stages may run at the same time."""
type Told = Callable[[int, int], None]
"""Called by a part of a stage with how much of it is done, and of how much."""

RECORDS = "records"
PROGRESS_FILE = "MASKTRON_PROGRESS"
"""Variable of the environment: the file to which a command also writes its progress, as lines of JSON."""


@runtime_checkable
class Expecting(Protocol):
    """A `Progress` that also wants to know how much a stage has, as far as that is known."""

    def __call__(self, stage: str, done: int, /) -> None:
        """Take how much is done."""
        ...

    def expect(self, stage: str, size: int, /, unit: str = RECORDS) -> None:
        """Take the size of a stage, before it begins, and what it is counted in."""
        ...


def expect(progress: Progress, stage: str, size: int, unit: str = RECORDS) -> None:
    """Say how much a stage has, where somebody asks for it."""
    if isinstance(progress, Expecting):
        progress.expect(stage, size, unit)


def told_as(progress: Progress, stage: str, unit: str = RECORDS) -> Told:
    """Return what tells a part of a job how far it is: by its name, counted in a unit."""

    def tell(done: int, size: int) -> None:
        expect(progress, stage, size, unit)
        progress(stage, done)

    return tell


def no_progress(stage: str, done: int) -> None:
    """Report to nobody."""


def untold(done: int, size: int) -> None:
    """Tell nobody."""
