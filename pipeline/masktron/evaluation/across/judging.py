"""The second pass: what the rewritten checks say of each record."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from masktron.evaluation.across.closed import closed_checks
from masktron.evaluation.across.derived import DerivedBatch
from masktron.evaluation.across.engine import Documents, EngineJudge, Frame
from masktron.evaluation.across.plan import Across
from masktron.evaluation.columns.outcome import Outcome
from masktron.evaluation.exact import BatchEvaluator
from masktron.evaluation.findings import Verdict
from masktron.read.columns import Batch


class AcrossJudge:
    """Verdicts of the checks of an `Across` that has been finished, by the engine that decides.

    A check that reads nothing but aggregates is asked about once for each combination of their values; the others
    for every record.

    Parameters
    ----------
    across : Across
    original : Path, optional
        What ``document()`` returns.
    documents : Documents, optional
        Knows what stands around the records of the file; only what the layout knows by default.
    """

    def __init__(self, across: Across, original: Path | None = None, documents: Documents | None = None) -> None:
        self.across = across
        self._original = original
        self._documents = documents or Frame(across.layout)
        inside = across.checks - across.outside
        self._closed = closed_checks(across.rulebook, across.layout, inside, across.names)
        self._open = inside - self._closed
        self._known: dict[tuple[int, ...], NDArray[np.uint8]] = {}
        self._engines: dict[frozenset[int], EngineJudge] = {}

    def _engine(self, checks: frozenset[int]) -> EngineJudge:
        if checks not in self._engines:
            book, layout = self.across.rulebook, self.across.layout
            evaluator = BatchEvaluator(book, layout, checks=checks, original=self._original)
            self._engines[checks] = EngineJudge(evaluator, self._documents)
        return self._engines[checks]

    def outcome(self, batch: Batch) -> Outcome:
        """Judge the records of a batch of the file.

        Returns
        -------
        Outcome
            Of the checks inside records. An error is unsure: the engine says it on the record with its attributes.
        """
        verdicts = self.verdicts(self.across.extend(batch))
        failed = (verdicts == Verdict.FAILS).astype(np.uint8)
        fired = failed + (verdicts == Verdict.HOLDS).astype(np.uint8)
        return Outcome(fired, failed, verdicts == Verdict.ERROR)

    def verdicts(self, batch: DerivedBatch) -> NDArray[np.uint8]:
        """Return `Verdict` codes, shape (n, checks), of the checks inside records."""
        result = np.zeros((len(batch), len(self.across.rulebook.checks)), dtype=np.uint8)
        if not len(batch):
            return result
        if self._closed:
            result |= self._by_values(batch)
        if self._open:
            result |= self._engine(self._open)(batch)
        return result

    def _by_values(self, batch: DerivedBatch) -> NDArray[np.uint8]:
        """Ask the engine about one record of each combination of values that is new."""
        combined, first, which = combinations(batch)
        new = [k for k, values in enumerate(combined) if values not in self._known]
        for k, row in zip(new, self._engine(self._closed).rows(batch, first[new]), strict=True):
            self._known[combined[k]] = row
        table: NDArray[np.uint8] = np.stack([self._known[values] for values in combined])
        return table[which]


def combinations(batch: DerivedBatch) -> tuple[list[tuple[int, ...]], NDArray[np.intp], NDArray[np.intp]]:
    """Return the combinations of values that records carry, the first record of each, and which each record has."""
    which = np.zeros(len(batch), dtype=np.intp)
    for derived in batch.added:
        _, which = np.unique(which * len(derived.values) + derived.codes, return_inverse=True)
    _, first = np.unique(which, return_index=True)
    return [tuple(int(d.values[d.codes[row]]) for d in batch.added) for row in first], first, which
