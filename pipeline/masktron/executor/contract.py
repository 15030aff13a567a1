"""What an executor promises, whatever its workers are."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sized
from types import TracebackType
from typing import Protocol, Self

from masktron.errors import ResourceError
from masktron.progress import Told, untold

AHEAD = 4
"""Slices for each worker that may be in flight, or done and not yet asked for."""


class SliceFailedError(RuntimeError):
    """A slice failed by an error that cannot travel between processes; the text is its traceback."""


class Executor(Protocol):
    """Applies a function to slices, and gives the results in the order of the slices.

    Results depend on the function and its slice alone, never on which worker had it, how many there are, or which was
    done first. So a function draws from the seed of its slice, not from one of a worker.

    Attributes
    ----------
    name : str
        As in ``--executor``.
    workers : int
        How many slices are worked on at a time, as far as that is known before a map.
    elsewhere : bool
        Whether workers may be on other machines, which see no temporary file of this one.
    """

    name: str
    workers: int
    elsewhere: bool

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user has to know of how workers were reached; it is known when there were any."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...

    def map[S, R](
        self, function: Callable[[S], R], slices: Iterable[S], *, stage: str, told: Told = untold
    ) -> Generator[R]:
        """Yield the result for each slice, in the order of the slices.

        Parameters
        ----------
        function : callable
            Pure, and picklable: a function of a module, `functools.partial` of one, or an object of a class of a
            module with ``__call__``. It is sent once to each worker for a map, so an object may keep what it has
            compiled. What it needs of BLAS has one thread, if its modules import BLAS when they are loaded.
        slices : iterable
            Small and picklable: places of records, not records. They are taken as they are needed.
        stage : str
            What is being done, in words; Dask's dashboard shows it.
        told : callable
            Called here with the number of slices that are done and given, and of how many, where `slices` has a
            length.

        Yields
        ------
        object
            Small too, or what says where a part lies (`masktron.executor.run_parts`). At most `AHEAD` slices for each
            worker are in flight or wait to be asked for.

        Raises
        ------
        MasktronError, Exception
            What the function raised on a slice, when it is the turn of this slice: with all fields, and a note of
            where it happened if it is no error of masktron's.
        SliceFailedError
            Of an error that cannot be pickled.
        ResourceError
            A slice has ended its worker twice, workers cannot be started, or the scheduler is gone.
        """
        ...


def number_of(slices: Iterable[object]) -> int | None:
    """Return how many slices there are, where that is known."""
    return len(slices) if isinstance(slices, Sized) else None


def ended_twice(stage: str, number: int, how: str = "") -> ResourceError:
    """Return the error where a slice ends whoever works on it."""
    reason = f"slice {number + 1:,} has ended every worker that it was given to{how}"
    return ResourceError.of("worker-lost", stage, reason=reason)
