"""Evaluation of flat files over columns; what columns cannot decide goes to the engine, record by record.

The columns say of each record and check whether it holds, fails, or is left to the engine. Findings are made by the
engine alone, on the records that fail; whenever one is made, what the engine finds is compared with the columns.

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
from typing import TYPE_CHECKING, Any, Unpack

from masktron.executor.contract import Executor
from masktron.files import same_file
from masktron.judge import exact
from masktron.judge.across.two_passes import Across, Batches, FlatTable, TwoPasses, plan_passes
from masktron.judge.columns.program import compile_program
from masktron.judge.deferral import ColumnCounter, DocumentFrame, OutcomeCache
from masktron.judge.findings import Assigned, Evaluation, Finding, Tier
from masktron.judge.programs import Documents
from masktron.judge.recommended import reads_of
from masktron.judge.report_reader import outside_names
from masktron.judge.request import EvaluationOptions, EvaluationRequest, VerdictTally
from masktron.judge.rewriting import Reads
from masktron.judge.runner import Runner, engine_name, engines_of, runs_of
from masktron.judge.walk import ColumnCompiler, CompiledColumns, Lane, Walk, assign, without_columns
from masktron.rulebook.analysis import once
from masktron.rulebook.locality import locality, locality_within
from masktron.rulebook.schema import Rulebook
from masktron.scratch import name_to_be
from masktron.sources.columns import Batch
from masktron.sources.flat_records import FlatRecords, RecordSlice
from masktron.sources.level_tree import Tree
from masktron.sources.record_layout import Layout
from masktron.sources.xml.plain import PlainRecords, survey_plain
from masktron.sources.xml.wellformed import has_records

if TYPE_CHECKING:
    from masktron.sources.source import Source

MEMO = 100_000
"""Outcomes of equal cells that are remembered."""
MANY_ACROSS = 500
"""Records from which a small file is read in columns, too, if rules read its other records: engines look through all
of them for each."""

type Beside = Callable[[], FlatTable | None]
"""Returns the original as a table, where it is one and another file."""


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """The records of a file in blocks of columns.

    Attributes
    ----------
    frame : DocumentFrame
        Of the file.
    batches : callable
        Returns the records of the file, each time in the same batches.
    compiler : callable
        Compiles checks to columns: `masktron.judge.columns.program.compile_program`, or that of units.
    memo : int
        Outcomes of equal cells that are remembered at most; 0 asks the engine each time.
    across : bool
        Whether two passes can tell what checks read of other records; else they see the whole document.
    beside : callable, optional
        Returns the original as a table; asked only where another file than this one is read across records.
    sliced : FlatRecords, optional
        The same records, in more than one slice; they go to the executor of the request, if it has one.
    """

    frame: DocumentFrame
    batches: Batches
    compiler: ColumnCompiler
    memo: int = MEMO
    across: bool = True
    beside: Beside | None = None
    sliced: FlatRecords | None = None

    @classmethod
    def of(cls, request: EvaluationRequest) -> Blocks | None:
        """Return the records of a file in blocks; None where it cannot be read so."""
        flat, nested, original = request.flat, request.nested, request.original
        if nested is not None:
            from masktron.judge.nested.unit_program import UnitCompiler  # noqa: PLC0415 -- flat files do without

            around, compiler = DocumentFrame.of(request.path, request.layout), UnitCompiler(nested.tree)
            if around is None:
                return None
            # what decides a check stands in several levels: equal cells of a unit say nothing
            return cls(around, lambda: _prefetched(nested.batches()), compiler, memo=0, across=False)
        frame = None if flat is None else DocumentFrame.around(flat)
        if flat is None or frame is None:
            return None
        record = request.layout.record_tag.rpartition("}")[2]
        beside = None if original is None else lambda: _table(original, record)
        sliced = flat if request.executor is not None and len(flat.slices()) > 1 else None
        return cls(frame, lambda: _prefetched(flat.batches()), compile_program, beside=beside, sliced=sliced)


def verdicts(
    rulebook: Rulebook, source: Source, original: Source | None = None, **options: Unpack[EvaluationOptions]
) -> Evaluation:
    """Judge every check of a rulebook on a file.

    Parameters
    ----------
    rulebook : Rulebook
    source : Source
        The file.
    original : Source, optional
        What ``document()`` in the rules means.
    **options
        What is kept of it, and how it is found: see `EvaluationRequest`.

    Raises
    ------
    RulebookError
        An engine cannot evaluate a check at all. (A dynamic error on a node is a finding.)
    DocumentError, UsageError
        The file or the original cannot be read, or a rule reads the original and there is none.
    """
    return evaluate(EvaluationRequest.of(source, rulebook, original, **options))


def evaluate(request: EvaluationRequest) -> Evaluation:
    """Evaluate every check of a rulebook on a file, over columns where that can be done.

    The result is that of `masktron.judge.exact.evaluate`, but for the name of the engine.

    Raises
    ------
    RulebookError, DocumentError, UsageError
        As there.
    """
    request = _in_columns_if_across(request)
    blocks = None if request.layout.is_document else Blocks.of(request)
    if blocks is None:
        return exact.evaluate(request)
    evaluation = over_columns(request, blocks)
    for records in (request.flat, request.nested):
        if records is not None:
            records.require_unchanged()
    return evaluation


def _in_columns_if_across(request: EvaluationRequest) -> EvaluationRequest:
    """Return the request with the records of a small file, where that has rules that two passes judge."""
    path, rulebook, layout = request.path, request.rulebook, request.layout
    known = request.flat is not None or request.nested is not None or layout.is_document
    if known or request.write is not None or not any(locality(rulebook, layout)):
        return request
    if not path.is_file() or not has_records(path, MANY_ACROSS):
        return request
    found = _plain(path, layout.record_tag.rpartition("}")[2])
    if found is None or found[0].layout != layout:
        return request
    records, frame = found
    tiers = tiers_inside(rulebook, layout, frame.outside)
    plan, _ = plan_passes(rulebook, layout, frame.outside, tiers, request.engines, (layout, frame.outside))
    return request if plan is None or not plan.needed else replace(request, flat=records)


def tiers_of(rulebook: Rulebook, source: Source, reason: str = "") -> tuple[Assigned, ...]:
    """Say which tier each check of a rulebook gets on a file.

    Parameters
    ----------
    rulebook : Rulebook
    source : Source
    reason : str
        Why the file is not plain, if it is not.
    """
    return tiers_asked(EvaluationRequest.of(source, rulebook), reason)


def tiers_asked(request: EvaluationRequest, reason: str = "") -> tuple[Assigned, ...]:
    """Say which tier each check gets, as `tiers_of`."""
    request = _in_columns_if_across(request)
    rulebook, layout = request.rulebook, request.layout
    blocks = Blocks.of(request)
    if blocks is None:
        path = request.on_document().path
        return without_columns(locality_within(rulebook, layout, lambda: outside_names(path, layout)), reason)
    outside = blocks.frame.outside
    if request.nested is not None:
        return tiers_inside(rulebook, layout, outside, request.nested.tree)
    # an original of the file's own kind is taken for granted here
    tiers = tiers_inside(rulebook, layout, outside)
    return plan_passes(rulebook, layout, outside, tiers, request.engines, (layout, outside))[1]


@once
def tiers_inside(
    rulebook: Rulebook, layout: Layout, outside: frozenset[str], tree: Tree | None = None
) -> tuple[Assigned, ...]:
    """Say which tier each check gets in a file, where nothing is gathered across records.

    Parameters
    ----------
    outside : frozenset of str
        As for `masktron.rulebook.locality.locality`.
    tree : Tree, optional
        The levels of a nested file.
    """
    compiler: ColumnCompiler = compile_program
    if tree is not None:
        from masktron.judge.nested.unit_program import UnitCompiler  # noqa: PLC0415 -- flat files do without

        compiler = UnitCompiler(tree)
    return assign(rulebook, layout, engines_of(rulebook, layout, "auto"), outside, compiler)[1]


def _plain(path: Path, record: str) -> tuple[PlainRecords, DocumentFrame] | None:
    """Return the records of a file and what stands around them, if it is plain."""
    found = survey_plain(path, record=record)
    frame = None if found is None else DocumentFrame.of(path, found[0])
    return None if found is None or frame is None else (PlainRecords(path, found[0], found[2]), frame)


def _table(path: Path, record: str) -> FlatTable | None:
    """Return a file as a table, if it is one."""
    if (found := _plain(path, record)) is None:
        return None
    records, frame = found
    return FlatTable(lambda: path, records.layout, frame, lambda: _prefetched(records.batches()))


def _prefetched[B: Batch](batches: Generator[B]) -> Generator[B]:
    """Yield batches; the next one is scanned in a thread, as the kernel needs no lock, while one is worked on."""
    with closing(batches) as source, ThreadPoolExecutor(max_workers=1) as helper:
        coming = helper.submit(next, source, None)
        while (batch := coming.result()) is not None:
            coming = helper.submit(next, source, None)
            yield batch


def over_columns(request: EvaluationRequest, blocks: Blocks) -> Evaluation:
    """Evaluate every check of a rulebook over columns; the same as `masktron.judge.exact.evaluate`, faster."""
    rulebook, layout, original = request.rulebook, request.layout, request.original
    engines = request.engines

    def document() -> Path:
        return request.on_document().path

    frame, batches, compiler, memo = blocks.frame, blocks.batches, blocks.compiler, blocks.memo
    program, tiers = assign(rulebook, layout, engines, frame.outside, compiler)
    plan, planned, other = _planned(request, blocks, tiers) if blocks.across else (None, tiers, None)
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
    if own is not None and passes is None and blocks.sliced is not None and request.executor is not None:
        tally = walk_slices(request, blocks, blocks.sliced, request.executor, known=known)
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
    handed_back = () if passes is None else passes.handed_back(tiers)
    given_up = {one.check: Assigned(Tier.DOCUMENT if one.whole else Tier.RECORDS, one.reason) for one in handed_back}
    used_tiers = tuple(given_up.get(check, own) for check, own in enumerate(planned))
    return replace(result, handed_back=handed_back, tiers=used_tiers)


def _planned(
    request: EvaluationRequest, blocks: Blocks, tiers: Sequence[Assigned]
) -> tuple[Across | None, tuple[Assigned, ...], FlatTable | None]:
    """Plan what can be evaluated across records, and say how each check then is; also return the original."""
    rulebook, original, own = request.rulebook, request.original, (request.layout, blocks.frame.outside)
    across, planned = plan_passes(rulebook, *own, tiers, request.engines, own)
    if across is None or not across.reads_original or original is None or same_file(original, request.path):
        return across, planned, None
    other = None if blocks.beside is None else blocks.beside()
    seen = None if other is None else (other.layout, other.frame.outside)
    return *plan_passes(rulebook, *own, tiers, request.engines, seen), other


def _walk(walk: Walk, batches: Batches, progress: Callable[[int], None]) -> None:
    # closed at once also when it is interrupted: the reader has a thread and the file
    with closing(batches()) as source:
        for batch in source:
            for done in walk.batch(batch):
                progress(done)


class SliceEvaluation:
    """Evaluates slices of a file: compiled where it is used, at the first slice.

    Parameters
    ----------
    request : EvaluationRequest
    blocks : Blocks
    flat : FlatRecords
        That has slices.
    known : bool
        Whether the original is known to be well-formed.
    """

    def __init__(self, request: EvaluationRequest, blocks: Blocks, flat: FlatRecords, *, known: bool) -> None:
        self._sunk = request.sunk if request.sink is not None else 0
        self._request = replace(request, flat=None, sink=None, progress=None, write=None, executor=None)
        self._frame, self._compiler, self._memo = blocks.frame, blocks.compiler, blocks.memo
        self._flat, self._known = flat, known

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

    def __call__(self, piece: RecordSlice) -> tuple[Evaluation, object]:
        """Evaluate a slice; also what it tells of the whole file (`FlatRecords.settle`).

        Raises
        ------
        RulebookError, DocumentError, ResourceError
            As `masktron.judge.tiered.evaluate`.
        """
        request, found = self._request, list[Finding]()
        tally = replace(request, sink=found.append, sunk=self._sunk).tally()
        begins = ColumnCounter(self._frame.path, piece.begin, piece.column)
        walk = Walk(self._frame, [self._lane], tally, request.shown, begins)
        _walk(walk, lambda: self._flat.batches_in(piece), lambda _: None)
        return replace(tally.evaluation(""), findings=tuple(found)), self._flat.remarks()


def walk_slices(
    request: EvaluationRequest, blocks: Blocks, flat: FlatRecords, executor: Executor, *, known: bool
) -> VerdictTally:
    """Evaluate all slices of a file, and return what was found in all of them."""
    evaluation, tally, remarks = SliceEvaluation(request, blocks, flat, known=known), request.tally(), list[object]()
    stage = f"judging {name_to_be(request.path)}"
    with executor, closing(executor.map(evaluation, flat.slices(), stage=stage)) as results:
        for found, remark in results:
            tally.take(found)
            tally.add_wanted(found.findings)
            remarks.append(remark)
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
