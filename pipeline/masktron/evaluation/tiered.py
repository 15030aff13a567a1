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
from dataclasses import replace
from pathlib import Path

from masktron.evaluation import exact
from masktron.evaluation.across.plan import Across
from masktron.evaluation.columns.program import compile_program
from masktron.evaluation.conversions import Reads
from masktron.evaluation.deferral import Frame
from masktron.evaluation.engines import Documents
from masktron.evaluation.findings import Evaluation
from masktron.evaluation.memo import Memo
from masktron.evaluation.passes import Batches, Passes, Table, plan_passes
from masktron.evaluation.recommended import reads_of
from masktron.evaluation.report_reader import Shown, outside_names
from masktron.evaluation.runner import EngineChoice, Runner, described, engines_of, runs_of
from masktron.evaluation.stylesheet import EngineName
from masktron.evaluation.tally import Sink, Tally
from masktron.evaluation.tiers import Assigned, Compiler, Program, Tier, assign, without_columns
from masktron.evaluation.walk import Lane, Walk
from masktron.rulebook.locality import locality
from masktron.rulebook.schema import Rulebook
from masktron.sources.columns import Batch
from masktron.sources.records import Layout
from masktron.sources.source import Source
from masktron.sources.xml.plain import iter_batches, survey_plain

MEMO = 100_000
"""Outcomes of equal cells that are remembered."""

type Beside = Callable[[], Table | None]
"""Returns the original as a table, where it is one and another file."""


def evaluate(
    source: Source,
    rulebook: Rulebook,
    *,
    original: Path | None = None,
    engine: EngineChoice = "auto",
    limit: int | None = 1000,
    shown: Shown | None = None,
    sink: Sink | None = None,
    sunk: int | None = None,
    keep_verdicts: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Evaluation:
    """Evaluate every check of a rulebook on a file, over columns where that can be done.

    Parameters
    ----------
    source : Source
        Its document is read; the engine sees every record where it is no plain file.
    rulebook, original, engine, limit, shown, sink, sunk, keep_verdicts, progress
        As `masktron.evaluation.exact.evaluate`, which gives the same result but for the name of the engine.

    Raises
    ------
    RulebookError, DocumentError, UsageError
        As there.
    """
    document = source.document
    path, layout = document.path, document.layout
    frame = None if document.plain is None else Frame.of(path, layout)
    if frame is None:
        return exact.evaluate(
            path,
            rulebook,
            layout,
            original=original,
            engine=engine,
            limit=limit,
            shown=shown,
            sink=sink,
            sunk=sunk,
            keep_verdicts=keep_verdicts,
            progress=progress,
        )

    def batches() -> Generator[Batch]:
        return _ahead(document.batches())

    evaluation = evaluate_columns(
        path,
        rulebook,
        layout,
        frame,
        batches,
        compile_program,
        original=original,
        beside=None if original is None else lambda: _table(original, layout.record_tag.rpartition("}")[2]),
        engine=engine,
        limit=limit,
        shown=shown,
        sink=sink,
        sunk=sunk,
        keep_verdicts=keep_verdicts,
        progress=progress,
    )
    document.require_unchanged()
    return evaluation


def tiers_of(source: Source, rulebook: Rulebook, reason: str = "") -> tuple[Assigned, ...]:
    """Say which tier each check of a rulebook gets on a file.

    Parameters
    ----------
    source, rulebook
        As for `evaluate`.
    reason : str
        Why the file is not plain, if it is not.
    """
    document = source.document
    path, layout = document.path, document.layout
    frame = None if document.plain is None else Frame.of(path, layout)
    if frame is None:
        local = locality(rulebook, layout)
        if not all(local):
            local = locality(rulebook, layout, outside_names(path, layout))
        return without_columns(local, reason)
    engines = engines_of(rulebook, layout, "auto")
    _, tiers = assign(rulebook, layout, engines, frame.outside, compile_program)
    # an original of the file's own kind is taken for granted here
    return plan_passes(rulebook, layout, frame.outside, tiers, engines, (layout, frame.outside))[1]


def _table(path: Path, record: str | None = None) -> Table | None:
    """Return a file as a table, if it is one."""
    found = survey_plain(path, record=record)
    frame = None if found is None else Frame.of(path, found[0])
    if found is None or frame is None:
        return None
    layout, _, plain = found
    return Table(path, layout, frame, lambda: _ahead(iter_batches(path, layout, plain)))


def _ahead(batches: Generator[Batch]) -> Generator[Batch]:
    """Yield batches; the next one is scanned in a thread, as the kernel needs no lock, while one is worked on."""
    with closing(batches) as source, ThreadPoolExecutor(max_workers=1) as helper:
        coming = helper.submit(next, source, None)
        while (batch := coming.result()) is not None:
            coming = helper.submit(next, source, None)
            yield batch


def evaluate_columns(
    path: Path,
    rulebook: Rulebook,
    layout: Layout,
    frame: Frame,
    batches: Batches,
    compiler: Compiler,
    *,
    original: Path | None = None,
    beside: Beside | None = None,
    engine: EngineChoice = "auto",
    limit: int | None = 1000,
    shown: Shown | None = None,
    sink: Sink | None = None,
    sunk: int | None = None,
    keep_verdicts: bool = False,
    memo: int = MEMO,
    progress: Callable[[int], None] | None = None,
) -> Evaluation:
    """Evaluate every check of a rulebook on a flat file; the same as `masktron.evaluation.exact.evaluate`, faster.

    Parameters
    ----------
    frame : Frame
        Of the file.
    batches : callable
        Returns the records of the file, each time in the same batches.
    compiler : callable
        `masktron.evaluation.columns.program.compile_program`.
    beside : callable, optional
        Returns the original as a table; asked only where another file than this one is read across records.
    memo : int
        Outcomes of equal cells that are remembered at most; 0 asks the engine each time.
    """
    engines = engines_of(rulebook, layout, engine)
    program, tiers = assign(rulebook, layout, engines, frame.outside, compiler)
    across, other = _planned(path, rulebook, layout, frame, tiers, engines, original, beside)
    # a table has been read by then
    known = original is None or other is not None or original.samefile(path)
    documents = Documents.of(rulebook, original, known=known)
    passes = None
    if across is not None:
        passes = Passes(across, Table(path, layout, frame, batches), other, compiler, documents, across.checks)

    def runners(
        tier: Tier, without: frozenset[int] = frozenset(), documents: Documents | None = documents
    ) -> list[Runner]:
        selected = [i for i, own in enumerate(tiers) if own.tier is tier and i not in without]
        reasons = ["whole" if tier is Tier.DOCUMENT else ""] * len(tiers)
        return [Runner(run, rulebook, layout, documents) for run in runs_of(engines, reasons, selected)]

    tally = Tally(len(rulebook.checks), limit, sink, keep_verdicts=keep_verdicts, sunk=sunk)
    shown = shown or Shown()
    columns, done = runners(Tier.COLUMNS), frozenset[int]()
    extra: list[Lane] = []
    gathered = None
    if passes is not None:
        # what no engine takes is refused as it is written, before anything is read
        for tier in (Tier.RECORDS, Tier.DOCUMENT):
            runners(tier, documents=None)
        gathered = passes.gather(progress)
        extra, done = passes.lanes(engines, memo), passes.across.checks
    records, whole = runners(Tier.RECORDS, done), runners(Tier.DOCUMENT, done)
    numeric = _numeric(rulebook, layout, tiers, compiler)
    own = [Lane(program, columns, records, Memo(program.reads, memo), numeric=numeric)] if columns or records else []
    if own or extra or (passes is not None and gathered is None):
        _walk(Walk(frame, [*own, *extra], tally, shown), batches, progress)
    elif gathered is not None:
        tally.judged(gathered, tally.blank(gathered))
    if passes is not None:
        passes.around(engines, tally, shown)
    if whole:
        exact.evaluate_whole(path, whole, tally, shown)
        if progress is not None:
            progress(tally.records)
    used = described(dict.fromkeys(engines), rulebook)
    # what an engine sees of records that our reader cut is not its own reading of the file
    evaluation = tally.evaluation(f"masktron's columns with {used}" if columns or records or done else used)
    return replace(evaluation, handed_back=() if passes is None else passes.handed_back(tiers))


def _numeric(
    rulebook: Rulebook, layout: Layout, tiers: Sequence[Assigned], compiler: Compiler
) -> tuple[Program, tuple[int, ...]] | None:
    """Compile the checks over columns of which it is known what libxml2 alone says."""
    if rulebook.version != "1.0":
        return None
    reads = reads_of(rulebook)
    checks = tuple(i for i, own in enumerate(tiers) if own.tier is Tier.COLUMNS and reads[i] is Reads.NODES)
    return (compiler(rulebook, layout, checks)[0], checks) if checks else None


def _planned(
    path: Path,
    rulebook: Rulebook,
    layout: Layout,
    frame: Frame,
    tiers: Sequence[Assigned],
    engines: Sequence[EngineName],
    original: Path | None,
    beside: Beside | None,
) -> tuple[Across | None, Table | None]:
    """Plan what can be evaluated across records, if anything can; with the original, where it is another file."""
    own = (layout, frame.outside)
    across, _ = plan_passes(rulebook, *own, tiers, engines, own)
    if across is None or not across.reads_original or original is None or original.samefile(path):
        return across, None
    other = None if beside is None else beside()
    seen = None if other is None else (other.layout, other.frame.outside)
    return plan_passes(rulebook, *own, tiers, engines, seen)[0], other


def _walk(walk: Walk, batches: Batches, progress: Callable[[int], None] | None) -> None:
    # closed at once also when it is interrupted: the reader has a thread and the file
    with closing(batches()) as source:
        for batch in source:
            for done in walk.batch(batch):
                if progress is not None:
                    progress(done)
