"""Which executor a run gets: this process, local processes or a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import Self

from masktron.config import EXECUTORS, Config, ExecutorName
from masktron.errors import UsageError
from masktron.executor.contract import Executor, number_of
from masktron.executor.standing import StandingExecutor
from masktron.kernels.blas_threads import blas_alone
from masktron.kernels.cores import usable_cores
from masktron.problems.problem import Known, Setting
from masktron.processes import interpreter
from masktron.progress import Told, untold


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
