"""Evaluation of flat files over columns; what columns cannot decide goes to the engine, record by record.

The columns say of each record and check whether it holds, fails, or is left to the engine. Findings are made by the
engine alone, on the records that fail; that it finds there what the columns said is checked each time.

Checks across records come to that in two passes where they can: what they read of other records is gathered in a
first one, and in the second they are checks on one record that carries it. The rest needs the whole document.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.executor.contract import Executor
from masktron.files import same_file
from masktron.judge import exact
from masktron.judge.across.two_passes import Across, Batches, FlatTable, TwoPasses, plan_passes
from masktron.judge.columns.program import compile_program
from masktron.judge.conversions import Reads
from masktron.judge.deferral import ColumnCounter, DocumentFrame, OutcomeCache
from masktron.judge.document import evaluate_document
from masktron.judge.findings import Evaluation, Finding
from masktron.judge.programs import Documents
from masktron.judge.recommended import reads_of
from masktron.judge.report_reader import outside_names
from masktron.judge.request import EvaluationRequest, VerdictTally
from masktron.judge.runner import Runner, engine_name, engines_of, runs_of
from masktron.judge.stylesheet import EngineName
from masktron.judge.walk import (
    Assigned,
    ColumnCompiler,
    CompiledColumns,
    Lane,
    Tier,
    Walk,
    assign,
    without_columns,
)
from masktron.rulebook.analysis import once
from masktron.rulebook.locality import locality_within
from masktron.rulebook.schema import Rulebook
from masktron.scratch import name_to_be
from masktron.sources.columns import Batch
from masktron.sources.flat_records import FlatRecords, RecordSlice, UnitRecords
from masktron.sources.level_tree import Tree
from masktron.sources.record_layout import Layout
from masktron.sources.xml.plain import PlainRecords, survey_plain

MEMO = 100_000
"""Outcomes of equal cells that are remembered."""

type Beside = Callable[[], FlatTable | None]
"""Returns the original as a table, where it is one and another file."""


def evaluate(request: EvaluationRequest) -> Evaluation:
    """Evaluate every check of a rulebook on a file, over columns where that can be done.

    The result is that of `masktron.judge.exact.evaluate`, but for the name of the engine.

    Raises
    ------
    RulebookError, DocumentError, UsageError
        As there.
    """
    if request.layout.is_document:
        return evaluate_document(request)
    if request.nested is not None:
        return _evaluate_units(request, request.nested)
    layout, flat, original = request.layout, request.flat, request.original
    frame = None if flat is None else DocumentFrame.around(flat)
    if flat is None or frame is None:
        return exact.evaluate(request)

    def batches() -> Generator[Batch]:
        return _prefetched(flat.batches())

    beside = None if original is None else lambda: _table(original, layout.record_tag.rpartition("}")[2])
    sliced = flat if request.executor is not None and len(flat.slices()) > 1 else None
    evaluation = evaluate_columns(request, frame, batches, compile_program, beside=beside, sliced=sliced)
    flat.require_unchanged()
    return evaluation


def _evaluate_units(request: EvaluationRequest, nested: UnitRecords) -> Evaluation:
    """Evaluate every check on a nested file: over wide records, where its units are composed alike."""
    from masktron.judge.nested.unit_program import UnitCompiler  # noqa: PLC0415 -- flat files do without

    frame = DocumentFrame.of(request.path, request.layout)
    if frame is None:
        return exact.evaluate(request)

    def batches() -> Generator[Batch]:
        return _prefetched(nested.batches())

    # what decides a check stands in several levels: equal cells of a unit say nothing
    evaluation = evaluate_columns(request, frame, batches, UnitCompiler(nested.tree), memo=0, across=False)
    nested.require_unchanged()
    return evaluation


@once
def tiers_inside(rulebook: Rulebook, layout: Layout, outside: frozenset[str]) -> tuple[Assigned, ...]:
    """Say which tier each check gets in a flat file, where nothing is gathered across records.

    Parameters
    ----------
    outside : frozenset of str
        As for `masktron.rulebook.locality.locality`.
    """
    return assign(rulebook, layout, engines_of(rulebook, layout, "auto"), outside, compile_program)[1]


@once
def tiers_of_units(rulebook: Rulebook, layout: Layout, tree: Tree, outside: frozenset[str]) -> tuple[Assigned, ...]:
    """Say which tier each check gets in a nested file.

    Parameters
    ----------
    layout, tree
        Of the file.
    outside : frozenset of str
        As for `masktron.rulebook.locality.locality`.
    """
    from masktron.judge.nested.unit_program import UnitCompiler  # noqa: PLC0415 -- flat files do without

    return assign(rulebook, layout, engines_of(rulebook, layout, "auto"), outside, UnitCompiler(tree))[1]


def tiers_of(request: EvaluationRequest, reason: str = "") -> tuple[Assigned, ...]:
    """Say which tier each check of a rulebook gets on a file.

    Parameters
    ----------
    request : EvaluationRequest
    reason : str
        Why the file is not plain, if it is not.
    """
    rulebook, layout = request.rulebook, request.layout
    if request.nested is not None and (around := DocumentFrame.of(request.path, layout)) is not None:
        return tiers_of_units(rulebook, layout, request.nested.tree, around.outside)
    frame = None if request.flat is None else DocumentFrame.around(request.flat)
    if frame is None:
        path = request.on_document().path
        return without_columns(locality_within(rulebook, layout, lambda: outside_names(path, layout)), reason)
    tiers = tiers_inside(rulebook, layout, frame.outside)
    # an original of the file's own kind is taken for granted here
    return plan_passes(rulebook, layout, frame.outside, tiers, request.engines, (layout, frame.outside))[1]


def _table(path: Path, record: str | None = None) -> FlatTable | None:
    """Return a file as a table, if it is one."""
    found = survey_plain(path, record=record)
    frame = None if found is None else DocumentFrame.of(path, found[0])
    if found is None or frame is None:
        return None
    layout, _, plain = found
    records = PlainRecords(path, layout, plain)
    return FlatTable(lambda: path, layout, frame, lambda: _prefetched(records.batches()))


def _prefetched[B: Batch](batches: Generator[B]) -> Generator[B]:
    """Yield batches; the next one is scanned in a thread, as the kernel needs no lock, while one is worked on."""
    with closing(batches) as source, ThreadPoolExecutor(max_workers=1) as helper:
        coming = helper.submit(next, source, None)
        while (batch := coming.result()) is not None:
            coming = helper.submit(next, source, None)
            yield batch


def evaluate_columns(
    request: EvaluationRequest,
    frame: DocumentFrame,
    batches: Batches,
    compiler: ColumnCompiler,
    *,
    beside: Beside | None = None,
    memo: int = MEMO,
    sliced: FlatRecords | None = None,
    across: bool = True,
) -> Evaluation:
    """Evaluate every check of a rulebook on a flat file; the same as `masktron.judge.exact.evaluate`, faster.

    Parameters
    ----------
    request : EvaluationRequest
    frame : DocumentFrame
        Of the file.
    batches : callable
        Returns the records of the file, each time in the same batches.
    compiler : callable
        `masktron.judge.columns.program.compile_program`.
    beside : callable, optional
        Returns the original as a table; asked only where another file than this one is read across records.
    memo : int
        Outcomes of equal cells that are remembered at most; 0 asks the engine each time.
    sliced : FlatRecords, optional
        The same records, in more than one slice; they go to the executor of the request, if it has one.
    across : bool
        Whether two passes can tell what checks read of other records; else they see the whole document.
    """
    rulebook, layout, original = request.rulebook, request.layout, request.original
    engines = request.engines

    def document() -> Path:
        return request.on_document().path

    program, tiers = assign(rulebook, layout, engines, frame.outside, compiler)
    plan, other = _planned(request, frame, tiers, engines, beside) if across else (None, None)
    # a table has been read by then
    known = original is None or other is not None or same_file(original, request.path)
    documents = request.documents(known=known)
    passes = None
    if plan is not None:
        table = FlatTable(document, layout, frame, batches)
        passes = TwoPasses(plan, table, other, compiler, documents, plan.checks)

    tally = request.tally()
    done = frozenset[int]()
    extra: list[Lane] = []
    gathered = None
    if passes is not None:
        # what no engine takes is refused as it is written, before anything is read
        for tier in (Tier.COLUMNS, Tier.RECORDS, Tier.DOCUMENT):
            runners_of(request, tiers, tier, documents if tier is Tier.COLUMNS else None)
        gathered = passes.gather(request.tell)
        extra, done = passes.lanes(engines, memo), passes.across.checks
    own = own_lane(request, program, tiers, compiler, documents, memo, done)
    whole = runners_of(request, tiers, Tier.DOCUMENT, documents, done)
    if own is not None and passes is None and sliced is not None and request.executor is not None:
        evaluation = SliceEvaluation(request, frame, sliced, compiler, memo=memo, known=known)
        tally = walk_slices(request.executor, evaluation, sliced, request)
    elif own is not None or extra or not tiers or (passes is not None and gathered is None):
        _walk(Walk(frame, [*([own] if own else []), *extra], tally, request.shown), batches, request.tell)
    elif gathered is not None:
        tally.judged(gathered, tally.blank(gathered))
    if passes is not None:
        passes.around(engines, tally, request.shown)
    if whole:
        exact.evaluate_whole(document(), whole, tally, request.shown)
        request.tell(tally.records)
    used = engine_name(rulebook, layout, request.engine)
    # what an engine sees of records that our reader cut is not its own reading of the file
    result = tally.evaluation(f"masktron's columns with {used}" if own or done else used)
    return replace(result, handed_back=() if passes is None else passes.handed_back(tiers))


def _planned(
    request: EvaluationRequest,
    frame: DocumentFrame,
    tiers: Sequence[Assigned],
    engines: Sequence[EngineName],
    beside: Beside | None,
) -> tuple[Across | None, FlatTable | None]:
    """Plan what can be evaluated across records, if anything can; with the original, where it is another file."""
    rulebook, original, own = request.rulebook, request.original, (request.layout, frame.outside)
    across, _ = plan_passes(rulebook, *own, tiers, engines, own)
    if across is None or not across.reads_original or original is None or same_file(original, request.path):
        return across, None
    other = None if beside is None else beside()
    seen = None if other is None else (other.layout, other.frame.outside)
    return plan_passes(rulebook, *own, tiers, engines, seen)[0], other


def _walk(walk: Walk, batches: Batches, progress: Callable[[int], None]) -> None:
    # closed at once also when it is interrupted: the reader has a thread and the file
    with closing(batches()) as source:
        for batch in source:
            for done in walk.batch(batch):
                progress(done)


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
        As for `masktron.judge.tiered.evaluate_columns`.
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
            As `masktron.judge.tiered.evaluate`.
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
    reads = reads_of(rulebook)
    checks = tuple(i for i, own in enumerate(tiers) if own.tier is Tier.COLUMNS and reads[i] is Reads.NODES)
    return (compiler(rulebook, layout, checks)[0], checks) if checks else None
