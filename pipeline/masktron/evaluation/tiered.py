"""Evaluation of flat files over columns; what columns cannot decide goes to the engine, record by record.

The columns say of each record and check whether it holds, fails, or is left to the engine. Findings are made by the
engine alone, on the records that fail; that it finds there what the columns said is checked each time.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path

from masktron.evaluation.deferral import Frame
from masktron.evaluation.engines import Original
from masktron.evaluation.exact import evaluate_whole
from masktron.evaluation.findings import Evaluation
from masktron.evaluation.memo import Memo
from masktron.evaluation.report_reader import Shown
from masktron.evaluation.runner import EngineChoice, Runner, described, engines_of, runs_of
from masktron.evaluation.tally import Sink, Tally
from masktron.evaluation.tiers import Compiler, Tier, assign
from masktron.evaluation.walk import Walk
from masktron.read.columns import Batch
from masktron.read.records import Layout
from masktron.read.rulebook import Rulebook

MEMO = 100_000
"""Outcomes of equal cells that are remembered."""

type Batches = Callable[[], Generator[Batch]]


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
    tally = Tally(len(rulebook.checks), limit, sink, keep_verdicts=keep_verdicts)
    shown = shown or Shown()
    if columns or records:
        walk = Walk(program, frame, columns, records, tally, shown, Memo(program.reads, memo))
        with closing(batches()) as source:
            for batch in source:
                for done in walk.batch(batch):
                    if progress is not None:
                        progress(done)
    if whole:
        evaluate_whole(path, whole, tally, shown)
        if progress is not None:
            progress(tally.records)
    used = described(dict.fromkeys(engines), rulebook)
    return tally.evaluation(f"masktron's columns with {used}" if columns else used)
