"""Which executor a run gets."""

from __future__ import annotations

from masktron.errors import UsageError
from masktron.executor.contract import Executor
from masktron.executor.local_processes import LocalProcesses
from masktron.executor.serial import Serial
from masktron.processes import interpreter

EXECUTORS = ("local", "dask")
"""Those that can be asked for by name."""


def executor_of(name: str = "local", *, workers: int, scheduler: str | None = None) -> Executor:
    """Return an executor, which starts nothing before it is entered.

    Parameters
    ----------
    name : str
        One of `EXECUTORS`.
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
        raise UsageError(f"no executor is called {name!r}", hint=f"one of {', '.join(EXECUTORS)}")
    if name == "dask":
        from masktron.executor.dask_cluster import DaskExecutor  # noqa: PLC0415 -- an extra

        return DaskExecutor(scheduler, workers=workers)
    if scheduler is not None:
        raise UsageError("local processes have no scheduler", hint="--executor dask, or leave the scheduler out")
    if workers == 1 or interpreter() is None:  # a program that holds an interpreter cannot start another one
        return Serial()
    return LocalProcesses(workers)
