"""Who has a part in a run besides this process: as many workers as were asked for, and as the memory holds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import masktron.memory as costs
from masktron.config import Config
from masktron.executor.which import StandingExecutor, asked_executor
from masktron.kernels.compiling import told_of_compiling
from masktron.memory import memory_of_run
from masktron.progress import Progress


@contextmanager
def workers_of_run(config: Config, progress: Progress) -> Iterator[StandingExecutor | None]:
    """Have workers stand ready for a run, and say when kernels are compiled; None where nobody was asked for.

    Raises
    ------
    UsageError
        Dask is not installed.
    """
    executor = executor_of_run(config)
    with told_of_compiling(progress), executor or nullcontext():
        yield executor


def executor_of_run(config: Config) -> StandingExecutor | None:
    """Return who evaluates rules and asks engines in slices; None where that is this process.

    It is worth entering around all that it has to do: its workers are started at the first slices and then stay.

    Parameters
    ----------
    config : Config

    Raises
    ------
    UsageError
        Dask is not installed.
    """
    return asked_executor(config, max(1, (memory_of_run(config.memory) - costs.CLIENT) // costs.WORKER))
