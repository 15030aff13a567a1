"""The second pass: what the rewritten checks say of each record, and the findings of those that fail."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from masktron.evaluation.across.closed import closed_checks
from masktron.evaluation.across.derived import DerivedBatch
from masktron.evaluation.across.engine import EngineJudge, Frame
from masktron.evaluation.across.plan import Across
from masktron.evaluation.columns.outcome import Outcome
from masktron.evaluation.engines import Original
from masktron.evaluation.exact import BatchEvaluator, WholeDocument
from masktron.evaluation.findings import Finding, Verdict
from masktron.evaluation.report_reader import Place, records_of
from masktron.read.columns import Batch


class AcrossJudge:
    """Verdicts and findings of the checks of an `Across` that has been finished.

    Parameters
    ----------
    across : Across
    original : Path, optional
        What ``document()`` returns.
    """

    def __init__(self, across: Across, original: Path | None = None) -> None:
        self.across = across
        self._original = original
        self._inside = across.checks - across.outside
        self._closed = closed_checks(across.rulebook, across.layout, self._inside, across.names)
        self._known: dict[tuple[int, ...], NDArray[np.uint8]] = {}
        self._engines: dict[frozenset[int], EngineJudge] = {}
        self._whole: WholeDocument | None = None

    def _engine(self, checks: frozenset[int]) -> EngineJudge:
        if checks not in self._engines:
            evaluator = BatchEvaluator(
                self.across.rulebook, self.across.layout, checks=checks, original=self._original
            )
            self._engines[checks] = EngineJudge(evaluator, self.across.layout)
        return self._engines[checks]

    def outcome(self, batch: Batch) -> Outcome:
        """Judge the records of a batch of the file.

        Returns
        -------
        Outcome
            Of the checks inside records. An error is unsure: the engine says it on the record with its attributes,
            which `findings` gives it.
        """
        verdicts = self.verdicts(self.across.extend(batch))
        unsure = verdicts == Verdict.ERROR
        failed = (verdicts == Verdict.FAILS).astype(np.uint8)
        fired = failed + (verdicts == Verdict.HOLDS).astype(np.uint8)
        return Outcome(fired, failed, unsure)

    def verdicts(self, batch: DerivedBatch) -> NDArray[np.uint8]:
        """Return `Verdict` codes, shape (n, checks), of the checks inside records."""
        result = np.zeros((len(batch), len(self.across.rulebook.checks)), dtype=np.uint8)
        if self._closed:
            result |= self._by_values(batch)
        open_ = self._inside - self._closed
        if open_:
            result |= self._engine(open_)(batch)
        return result

    def _by_values(self, batch: DerivedBatch) -> NDArray[np.uint8]:
        """Ask the engine about one record of each combination of values that is new."""
        if not len(batch):
            return np.zeros((0, len(self.across.rulebook.checks)), dtype=np.uint8)
        combined, first, which = combinations(batch)
        new = [k for k, values in enumerate(combined) if values not in self._known]
        for k, row in zip(new, self._engine(self._closed).rows(batch, first[new]), strict=True):
            self._known[combined[k]] = row
        table: NDArray[np.uint8] = np.stack([self._known[values] for values in combined])
        return table[which]

    def findings(self, batch: Batch, rows: NDArray[np.intp], checks: Collection[int] | None = None) -> list[Finding]:
        """Return the findings of some records: as those of a run over the whole document.

        Parameters
        ----------
        batch : Batch
            Of the file, not extended.
        rows : ndarray of intp
        checks : collection of int, optional
            All that are inside records by default.
        """
        if not len(rows):
            return []
        chosen = self._inside if checks is None else self._inside & frozenset(checks)
        derived = self.across.extend(batch)
        root = Frame(self.across.layout).document((derived.record(int(row)) for row in rows), batch.codec)
        elements = records_of(root, self.across.layout)
        places = [
            Place(element, batch.first + int(row), int(batch.lines[row]))
            for element, row in zip(elements, rows, strict=True)
        ]
        return list(self._engine(chosen).evaluator.findings(root, places))

    def outside(
        self, skeleton: etree._Element
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], list[Finding]]:
        """Evaluate the checks on nodes outside the records.

        Parameters
        ----------
        skeleton : Element
            The root of the document without its records.

        Returns
        -------
        fired, failed, errors : ndarray of int64, shape (checks,)
        findings : list of Finding
        """
        document = Original(self._original) if self._original and self.across.rulebook.documents else None
        self._whole = self._whole or WholeDocument(
            self.across.rulebook, self.across.layout, self.across.outside, document
        )
        return self._whole.evaluate(skeleton)


def combinations(batch: DerivedBatch) -> tuple[list[tuple[int, ...]], NDArray[np.intp], NDArray[np.intp]]:
    """Return the combinations of values that records carry, the first record of each, and which each record has."""
    which = np.zeros(len(batch), dtype=np.intp)
    for derived in batch.added:
        which = which * len(derived.values) + derived.codes
        _, which = np.unique(which, return_inverse=True)
    _, first = np.unique(which, return_index=True)
    return [tuple(int(d.values[d.codes[row]]) for d in batch.added) for row in first], first, which
