"""Which executor a run gets, this process, local processes or a Dask cluster, and one for all stages of a run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import ExitStack
from typing import Self

from masktron.config import EXECUTORS, Config, ExecutorName
from masktron.errors import UsageError
from masktron.executor.contract import Executor, number_of
from masktron.kernels.cores import blas_alone, usable_cores
from masktron.problems.problem import Known, Setting
from masktron.processes import interpreter
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


def asked_executor(config: Config, most: int | None = None) -> StandingExecutor | None:
    """Return the executor that settings ask for; None where they are content with this process.

    Parameters
    ----------
    config : Config
    most : int, optional
        Workers that this machine has the memory for; without effect on those of a scheduler.

    Raises
    ------
    UsageError
        Dask is not installed.
    """
    workers = config.workers if config.executor == "local" else config.workers or usable_cores()
    if most is not None and workers is not None and config.scheduler is None:
        workers = min(workers, most)
    if config.executor == "local" and workers in (None, 1):
        return None
    return StandingExecutor(executor_of(config.executor, workers=workers or 1, scheduler=config.scheduler))


def executor_of(name: ExecutorName = "local", *, workers: int, scheduler: str | None = None) -> Executor:
    """Return an executor, which starts nothing before it is entered.

    Parameters
    ----------
    name : {"local", "dask"}
        One of `masktron.config.EXECUTORS`.
    workers : int
        Processes; one local worker is this process.
    scheduler : str, optional
        Address of a Dask scheduler, whose workers there are.

    Raises
    ------
    UsageError
        There is no such executor, or one has no scheduler; Dask is not installed.
    """
    if name not in EXECUTORS:
        raise UsageError.of("unknown-name", kind="executor", name=name, known=Known(name, tuple(EXECUTORS)))
    if name == "dask":
        from masktron.executor.dask_cluster import DaskExecutor  # noqa: PLC0415 -- an extra

        return DaskExecutor(scheduler, workers=workers)
    if scheduler is not None:
        raise UsageError.of(
            "needs-setting",
            name=Setting("--scheduler"),
            setting=Setting("--executor", ("dask",)),
            needed="another option",
        )
    if workers == 1 or interpreter() is None:  # a program that holds an interpreter cannot start another one
        return Serial()
    from masktron.executor.local_processes import LocalProcesses  # noqa: PLC0415

    return LocalProcesses(workers)


class Serial:
    """An `Executor` that has no workers but this process."""

    name = "serial"
    workers = 1
    elsewhere = False
    notes: tuple[str, ...] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing."""

    def map[S, R](
        self,
        function: Callable[[S], R],
        slices: Iterable[S],
        *,
        stage: str,
        told: Told = untold,
    ) -> Generator[R]:
        """Yield the result for each slice: `masktron.executor.contract.Executor.map`."""
        size = number_of(slices)
        for done, piece in enumerate(slices, 1):
            with blas_alone():
                result = function(piece)
            if size is not None:
                told(done, size)
            yield result
