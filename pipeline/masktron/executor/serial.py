"""Slices one after the other, in this process."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import Self

from masktron.executor.contract import number_of
from masktron.kernels.blas_threads import blas_alone
from masktron.progress import Told, untold


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
