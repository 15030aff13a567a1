"""Records of a batch as small documents, for the engine that decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from masktron.evaluation.exact import BatchEvaluator
from masktron.evaluation.findings import Verdict
from masktron.evaluation.tiers import CompiledColumns
from masktron.sources.columns import Batch

_CHUNK = 5000


type BatchJudge = Callable[[Batch], NDArray[np.uint8]]
"""Returns `Verdict` codes of checks that look at one record only, shape (n, checks)."""


class DocumentMaker(Protocol):
    """Makes documents of records."""

    def document(self, batch: Batch, rows: NDArray[np.int64]) -> etree._Element:
        """Return the root of a document with some records of a batch."""
        ...


class EngineJudge:
    """Verdicts of the engine, a few thousand records at a time."""

    def __init__(self, evaluator: BatchEvaluator, documents: DocumentMaker) -> None:
        self._evaluator = evaluator
        self._documents = documents

    def __call__(self, batch: Batch) -> NDArray[np.uint8]:
        """Return `Verdict` codes, shape (n, checks)."""
        return self.rows(batch, np.arange(len(batch)))

    def rows(self, batch: Batch, rows: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return the verdicts of some records."""
        parts = [self._evaluator.verdicts(self._documents.document(batch, part)) for part in _parts(rows)]
        return np.concatenate(parts) if parts else self._evaluator.verdicts(self._documents.document(batch, rows))


class ColumnJudge:
    """Verdicts of checks that have all been compiled to columns; the engine says what these leave open."""

    def __init__(self, columns: CompiledColumns, engine: EngineJudge) -> None:
        self._columns = columns
        self._engine = engine

    def __call__(self, batch: Batch) -> NDArray[np.uint8]:
        """Return `Verdict` codes, shape (n, checks)."""
        outcome = self._columns.evaluate(batch)
        held = np.where(outcome.fired > 0, np.uint8(Verdict.HOLDS), np.uint8(Verdict.NOT_FIRED))
        verdicts: NDArray[np.uint8] = np.where(outcome.failed > 0, np.uint8(Verdict.FAILS), held)
        rows = np.flatnonzero(outcome.unsure.any(axis=1) | batch.odd)
        if len(rows):
            verdicts[rows] = self._engine.rows(batch, rows)
        return verdicts


def _parts(rows: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    for at in range(0, len(rows), _CHUNK):
        yield rows[at : at + _CHUNK]
