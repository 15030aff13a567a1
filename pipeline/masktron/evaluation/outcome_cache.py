"""What an engine said of equal cells, so that it is asked once.

Theorem: a check that reads some fields of its record and nothing else does the same on two records whose cells in
these fields are there in both or in neither, and equal byte for byte. Its outcome is a function of what an XML parser
makes of these cells, and that is a function of their bytes, as cells of the statuses EMPTY and TEXT have no markup.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from masktron.sources.columns import Batch, Cell

type CellsKey = tuple[int, tuple[bytes | None, ...]]
type OutcomeCounts = tuple[int, int, int, int, int]
"""Nodes of a record on which a check was evaluated, failed, and raised an error; whether libxml2 alone refuses the
record, and accepts it."""


class OutcomeCache:
    """Outcomes of checks by the cells that they read.

    Parameters
    ----------
    reads : callable
        Returns the fields, by position in the layout, that decide a check and its contexts.
    size : int
        Number of outcomes to keep; later ones are forgotten at once. 0 remembers nothing.
    """

    def __init__(self, reads: Callable[[int], frozenset[int]], size: int) -> None:
        self.size = size
        self._reads = reads
        self._known: dict[CellsKey, OutcomeCounts] = {}

    def keys(self, batch: Batch, check: int, rows: NDArray[np.int64]) -> list[CellsKey | None]:
        """Return under what the outcomes of a check on some records are known; None where they cannot be."""
        if not self.size:
            return [None] * len(rows)
        cells = [batch.cells[at] for at in sorted(self._reads(check))]
        odd = batch.odd[rows].copy()
        for cell in cells:
            odd |= cell.status[rows] == Cell.ODD
        text = memoryview(batch.buffer)
        columns = [
            [
                None if status == Cell.ABSENT else bytes(text[start:stop])
                for status, start, stop in zip(
                    cell.status[rows].tolist(), cell.start[rows].tolist(), cell.stop[rows].tolist(), strict=True
                )
            ]
            for cell in cells
        ]
        contents = zip(*columns, strict=True) if columns else [()] * len(rows)
        return [None if bad else (check, content) for bad, content in zip(odd.tolist(), contents, strict=True)]

    def recall(self, key: CellsKey | None) -> OutcomeCounts | None:
        """Return the outcome, where it is known."""
        return None if key is None else self._known.get(key)

    def store(self, key: CellsKey | None, counts: OutcomeCounts) -> None:
        """Remember an outcome, while there is room."""
        if key is not None and len(self._known) < self.size:
            self._known[key] = counts
