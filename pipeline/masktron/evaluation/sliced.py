"""A flat file evaluated slice by slice, by whoever an executor has for it, and put together in the order of the file.

Theorem: checks that look only inside their record say the same of a record in whichever slice it is evaluated. Counts
are sums over records, and findings are kept and handed on in the order of the file, so that the result is that of one
walk through the file. What a slice has beyond what is wanted of a check is left out here, as no slice knows how many
the others have found.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.evaluation.conversions import Reads
from masktron.evaluation.deferral import ColumnCounter, DocumentFrame
from masktron.evaluation.findings import Finding
from masktron.evaluation.outcome_cache import OutcomeCache
from masktron.evaluation.programs import Documents
from masktron.evaluation.recommended import reads_of
from masktron.evaluation.request import EvaluationRequest
from masktron.evaluation.runner import Runner, runs_of
from masktron.evaluation.tally import VerdictTally
from masktron.evaluation.tiers import Assigned, ColumnCompiler, CompiledColumns, Tier, assign
from masktron.evaluation.walk import Lane, Walk
from masktron.executor.contract import Executor
from masktron.rulebook.schema import Rulebook
from masktron.scratch import name_to_be
from masktron.sources.flat_records import FlatRecords, RecordSlice
from masktron.sources.records import Layout


@dataclass(frozen=True, slots=True, eq=False)
class SliceVerdicts:
    """What is found in a slice.

    Attributes
    ----------
    records : int
    counts : ndarray of int64, shape (3, checks)
    departures : ndarray of int64, shape (2, checks), or None
    findings : tuple of Finding
        In the order of the file.
    verdicts : ndarray of uint8, shape (records, checks), or None
    remarks : object
        What the slice tells of the whole file (`FlatRecords.settle`).
    """

    records: int
    counts: NDArray[np.int64]
    departures: NDArray[np.int64] | None
    findings: tuple[Finding, ...]
    verdicts: NDArray[np.uint8] | None
    remarks: object


class SliceEvaluation:
    """Evaluates slices of a file: compiled where it is used, at the first slice.

    Parameters
    ----------
    request : EvaluationRequest
    frame : DocumentFrame
    flat : FlatRecords
        That has slices.
    compiler : callable
    memo : int
        As for `masktron.evaluation.tiered.evaluate_columns`.
    known : bool
        Whether the original is known to be well-formed.
    """

    def __init__(
        self,
        request: EvaluationRequest,
        frame: DocumentFrame,
        flat: FlatRecords,
        compiler: ColumnCompiler,
        *,
        memo: int,
        known: bool,
    ) -> None:
        self._sunk = request.sunk if request.sink is not None else 0
        self._request = replace(request, flat=None, sink=None, progress=None, write=None, executor=None)
        self._frame, self._flat, self._compiler, self._memo, self._known = frame, flat, compiler, memo, known

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_lane"}

    @cached_property
    def _lane(self) -> Lane:
        request = self._request
        rulebook, layout = request.rulebook, request.layout
        program, tiers = assign(rulebook, layout, request.engines, self._frame.outside, self._compiler)
        documents = request.documents(known=self._known)
        lane = own_lane(request, program, tiers, self._compiler, documents, self._memo)
        if lane is None:
            raise ValueError("no check looks only inside its record")
        return lane

    def __call__(self, piece: RecordSlice) -> SliceVerdicts:
        """Evaluate a slice.

        Raises
        ------
        RulebookError, DocumentError, ResourceError
            As `masktron.evaluation.tiered.evaluate`.
        """
        request, found = self._request, list[Finding]()
        checks = len(request.rulebook.checks)
        tally = VerdictTally(
            checks, request.limit, found.append, keep_verdicts=request.keep_verdicts, sunk=self._sunk
        )
        begins = ColumnCounter(self._frame.path, piece.begin, piece.column)
        walk = Walk(self._frame, [self._lane], tally, request.shown, begins)
        with closing(self._flat.batches_in(piece)) as source:
            for batch in source:
                for _ in walk.batch(batch):
                    pass
        departures = tally.departures if tally.departed else None
        return SliceVerdicts(
            tally.records,
            tally.counts,
            departures,
            tuple(found),
            tally.judged_all(tally.records),
            self._flat.remarks(),
        )


def walk_slices(
    executor: Executor, evaluation: SliceEvaluation, flat: FlatRecords, request: EvaluationRequest
) -> VerdictTally:
    """Evaluate all slices of a file, and return what was found in all of them."""
    tally = request.tally()
    stage = f"judging {name_to_be(request.path)}"
    remarks: list[object] = []
    with executor, closing(executor.map(evaluation, flat.slices(), stage=stage)) as results:
        for found in results:
            tally.counts += found.counts
            if found.departures is not None:
                tally.depart(found.departures)
            tally.judged(found.records, found.verdicts)
            tally.add_wanted(found.findings)
            remarks.append(found.remarks)
            request.tell(tally.records)
    flat.settle(remarks)
    return tally


def runners_of(
    request: EvaluationRequest,
    tiers: Sequence[Assigned],
    tier: Tier,
    documents: Documents | None,
    without: frozenset[int] = frozenset(),
) -> list[Runner]:
    """Compile the checks of a tier, but for some."""
    selected = [i for i, own in enumerate(tiers) if own.tier is tier and i not in without]
    reasons = ["whole" if tier is Tier.DOCUMENT else ""] * len(tiers)
    runs = runs_of(request.engines, reasons, selected)
    return [Runner(run, request.rulebook, request.layout, documents) for run in runs]


def own_lane(
    request: EvaluationRequest,
    program: CompiledColumns,
    tiers: Sequence[Assigned],
    compiler: ColumnCompiler,
    documents: Documents | None,
    memo: int,
    without: frozenset[int] = frozenset(),
) -> Lane | None:
    """Return the lane of the checks that look only inside their record; None where there is none."""
    columns = runners_of(request, tiers, Tier.COLUMNS, documents)
    records = runners_of(request, tiers, Tier.RECORDS, documents, without)
    numeric = _numeric(request.rulebook, request.layout, tiers, compiler)
    if not columns and not records:
        return None
    return Lane(program, columns, records, OutcomeCache(program.reads, memo), numeric=numeric)


def _numeric(
    rulebook: Rulebook, layout: Layout, tiers: Sequence[Assigned], compiler: ColumnCompiler
) -> tuple[CompiledColumns, tuple[int, ...]] | None:
    """Compile the checks over columns of which it is known what libxml2 alone says."""
    if rulebook.version != "1.0":
        return None
    reads = reads_of(rulebook)
    checks = tuple(i for i, own in enumerate(tiers) if own.tier is Tier.COLUMNS and reads[i] is Reads.NODES)
    return (compiler(rulebook, layout, checks)[0], checks) if checks else None
