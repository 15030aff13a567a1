"""An executor for all stages of a run: workers are started for the first slices, and end with the run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import ExitStack
from typing import Self

from masktron.executor.contract import Executor
from masktron.progress import Told, untold


class StandingExecutor:
    """An `Executor` that may be entered again while it is open, and stages of which may run at the same time.

    Parameters
    ----------
    made : Executor
        May be entered again after it was left. It is entered with the first map, and left where this one is left as
        often as it was entered, or rests.
    """

    def __init__(self, made: Executor) -> None:
        self.name = made.name
        self.workers = made.workers
        self.elsewhere = made.elsewhere
        self._made = made
        self._entered = 0
        self._open = False
        self._lock = threading.Lock()
        self._stack = ExitStack()

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user has to know of how workers were reached; it is known when there were any."""
        return self._made.notes

    def __enter__(self) -> Self:
        with self._lock:
            self._entered += 1
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._entered -= 1
            last = self._entered == 0
        if last:
            self.rest()

    def rest(self) -> None:
        """End the workers, so that others may have their memory; the next map starts new ones.

        No map is under way.
        """
        with self._lock:
            self._open = False
            self._stack.close()

    def map[S, R](
        self, function: Callable[[S], R], slices: Iterable[S], *, stage: str, told: Told = untold
    ) -> Generator[R]:
        """Yield the result for each slice: `masktron.executor.contract.Executor.map`."""
        with self._lock:
            if not self._open:
                if not self._entered:
                    raise RuntimeError("an executor that is not open")
                self._stack.enter_context(self._made)
                self._open = True
        yield from self._made.map(function, slices, stage=stage, told=told)
