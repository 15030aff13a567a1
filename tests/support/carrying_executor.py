"""An executor in this process, to and from which everything travels as it does between processes."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Generator, Iterable

from masktron.executor.which import Serial
from masktron.progress import Told, untold


class CarryingExecutor(Serial):
    """Says which stages it had, and how many slices of each.

    Attributes
    ----------
    stages : dict of str to int
    """

    def __init__(self) -> None:
        self.stages: dict[str, int] = {}

    def rest(self) -> None:
        """End workers, of which there are none."""

    def map[S, R](
        self, function: Callable[[S], R], slices: Iterable[S], *, stage: str, told: Told = untold
    ) -> Generator[R]:
        """Yield the result for each slice."""
        there = pickle.loads(pickle.dumps(function))  # noqa: S301 -- our own
        for piece in slices:
            self.stages[stage] = self.stages.get(stage, 0) + 1
            yield pickle.loads(pickle.dumps(there(pickle.loads(pickle.dumps(piece)))))  # noqa: S301 -- our own
