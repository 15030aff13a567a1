"""Evaluation of flat files over columns; what columns cannot decide goes to the engine, record by record.

The columns say of each record and check whether it holds, fails, or is left to the engine. Findings are made by the
engine alone, on the records that fail; that it finds there what the columns said is checked each time.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from masktron.evaluation import exact
from masktron.evaluation.columns.program import compile_program
from masktron.evaluation.deferral import Frame
from masktron.evaluation.engines import Original
from masktron.evaluation.findings import Evaluation
from masktron.evaluation.memo import Memo
from masktron.evaluation.report_reader import Shown, outside_names
from masktron.evaluation.runner import EngineChoice, Runner, described, engines_of, runs_of
from masktron.evaluation.tally import Sink, Tally
from masktron.evaluation.tiers import Assigned, Compiler, Tier, assign, without_columns
from masktron.evaluation.walk import Walk
from masktron.read.columns import Batch
from masktron.read.locality import locality
from masktron.read.plain import iter_batches
from masktron.read.records import Layout
from masktron.read.rulebook import Rulebook

if TYPE_CHECKING:
    from masktron.read.blocks import PlainFile

MEMO = 100_000
"""Outcomes of equal cells that are remembered."""

type Batches = Callable[[], Generator[Batch]]


def evaluate(
    path: str | Path,
    rulebook: Rulebook,
    layout: Layout,
    *,
    plain: PlainFile | None = None,
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
    path, rulebook, layout, original, engine, limit, shown, sink, sunk, keep_verdicts, progress
        As `masktron.evaluation.exact.evaluate`, which gives the same result but for the name of the engine.
    plain : PlainFile, optional
        From `masktron.read.plain.survey_file`; without it the engine sees every record.

    Raises
    ------
    RulebookError, DocumentError, UsageError
        As there.
    """
    path = Path(path)
    frame = None if plain is None else Frame.of(path, layout)
    if plain is None or frame is None:
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
        return _ahead(iter_batches(path, layout, plain))

    return evaluate_columns(
        path,
        rulebook,
        layout,
        frame,
        batches,
        compile_program,
        original=original,
        engine=engine,
        limit=limit,
        shown=shown,
        sink=sink,
        sunk=sunk,
        keep_verdicts=keep_verdicts,
        progress=progress,
    )


def tiers_of(
    path: Path, rulebook: Rulebook, layout: Layout, plain: PlainFile | None, reason: str = ""
) -> tuple[Assigned, ...]:
    """Say which tier each check of a rulebook gets on a file.

    Parameters
    ----------
    path, rulebook, layout, plain
        As for `evaluate`.
    reason : str
        Why the file is not plain, if it is not.
    """
    frame = None if plain is None else Frame.of(path, layout)
    if plain is None or frame is None:
        local = locality(rulebook, layout)
        if not all(local):
            local = locality(rulebook, layout, outside_names(path, layout))
        return without_columns(local, reason)
    return assign(rulebook, layout, engines_of(rulebook, layout, "auto"), frame.outside, compile_program)[1]


def _ahead(batches: Iterator[Batch]) -> Generator[Batch]:
    """Yield batches; the next one is scanned in a thread, as the kernel needs no lock, while one is worked on."""
    with closing(batches) as source, ThreadPoolExecutor(max_workers=1) as helper:  # type: ignore[type-var]
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
        Returns the records of the file, in batches.
    compiler : callable
        `masktron.evaluation.columns.program.compile_program`.
    memo : int
        Outcomes of equal cells that are remembered at most; 0 asks the engine each time.
    """
    engines = engines_of(rulebook, layout, engine)
    program, tiers = assign(rulebook, layout, engines, frame.outside, compiler)
    document = Original(original or path) if rulebook.documents else None

    def runners(tier: Tier) -> list[Runner]:
        selected = [index for index, assigned in enumerate(tiers) if assigned.tier is tier]
        reasons = ["whole" if tier is Tier.DOCUMENT else ""] * len(tiers)
        return [Runner(run, rulebook, layout, document) for run in runs_of(engines, reasons, selected)]

    columns, records, whole = (runners(tier) for tier in Tier)
    tally = Tally(len(rulebook.checks), limit, sink, keep_verdicts=keep_verdicts, sunk=sunk)
    shown = shown or Shown()
    if columns or records:
        walk = Walk(program, frame, columns, records, tally, shown, Memo(program.reads, memo))
        # closed at once also when it is interrupted: the reader has a thread and the file
        with closing(batches()) as source:
            for batch in source:
                for done in walk.batch(batch):
                    if progress is not None:
                        progress(done)
    if whole:
        exact.evaluate_whole(path, whole, tally, shown)
        if progress is not None:
            progress(tally.records)
    used = described(dict.fromkeys(engines), rulebook)
    # what an engine sees of records that our reader cut is not its own reading of the file
    return tally.evaluation(f"masktron's columns with {used}" if columns or records else used)
