"""A masked file on one screen: what was done, what is promised and what not, loss, risk, and where the files are."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rich.console import RenderableType

from masktron.counts import counted
from masktron.report.concern_lines import concern_lines
from masktron.report.key_lines import estimate_lines
from masktron.report.level_lines import level_lines
from masktron.report.summaries.screenful import Screenful, SummaryLine, brief
from masktron.report.summaries.treated_in_brief import treated_in_brief
from masktron.report.tables.cells import figure_text, statements, valued
from masktron.report.tables.mask import cuts_told, groups_told, repair_told, solved_told
from masktron.report.text import number
from masktron.results import EngineResult, MaskResult
from masktron.serialised import plain_data

_RISK = ("disclosure_risk", "strongest_linkage", "key_k", "key_uniques", "global_risk")
"""Figures of risk that are named, where they are known; the verdict has others."""
_ENDS = 4
"""Lines that the two statements take."""


def summary(result: MaskResult) -> list[RenderableType]:
    """What was done and promised, loss, risk, warnings, notes as far as they fit, files, and the verdict."""
    lines = [*_done(result), *_told(result), *_dangers(result), *_files(result)]
    said = statements(result.verdict)
    return [Screenful([*lines, SummaryLine("details", result.verdict.details)], used=_ENDS), *said]


def _done(result: MaskResult) -> Iterator[SummaryLine]:
    left_out = f", {counted(len(result.excluded), 'record')} left out" if result.excluded else ""
    fields = [name for block in result.blocks for name in block.variables]
    many = f"{counted(len(dict.fromkeys(fields)), 'field')} in {counted(len(result.blocks), 'block')}"
    yield SummaryLine(
        "masked",
        f"{counted(result.records_in, 'record')} in, {number(result.records_out)} out{left_out}; "
        f"{many} by {result.method}; "
        f"{groups_told(result)}",
    )
    yield from treated_in_brief(result.treatments, result.fates)
    yield SummaryLine("judged by", "; ".join(_engine(one, result) for one in result.engines))


def _engine(engine: EngineResult, result: MaskResult) -> str:
    """Say what an engine judged, and whether it agrees."""
    said = [f"{engine.rules} of {result.engines[0].rules} rules"]
    said += [] if engine.records == result.records_out else [f"{number(engine.records)} records"]
    said += [] if engine.agrees else ["DOES NOT AGREE"]
    return f"{engine.engine}: {', '.join(said)}"


def _told(result: MaskResult) -> Iterator[SummaryLine]:
    yield SummaryLine("promised", result.promise)
    less = result.draw is None and result.whole_record_k < result.k
    apart = "; k is promised of each block, not of whole records" if less else ""
    yield SummaryLine("alike", f"in ALL masked fields: at least {counted(result.whole_record_k, 'record')}{apart}")
    moved = max(result.totals, key=lambda one: _size(one.change), default=None)
    total = "" if moved is None else f"; weighted totals moved by {_size(moved.change):.3f} % at most ({moved.name})"
    yield SummaryLine("loss", f"information loss {figure_text(result.information_loss)} % (SSE/SST){total}")
    known = {one.name: one for one in result.figures}
    earlier = {one.name: f" ({valued(one)} before)" for one in result.before}
    risks = [f"{name} {valued(known[name])}{earlier.get(name, '')}" for name in _RISK if name in known]
    if risks:
        yield SummaryLine("risk", ", ".join(risks))
    yield from brief("keys", [] if result.keys is None else estimate_lines(result.keys.as_dict())[:1])
    yield from brief("levels", level_lines(plain_data(result.levels)))


def _size(change: float) -> float:
    return 0.0 if math.isnan(change) else abs(change)


def _dangers(result: MaskResult) -> Iterator[SummaryLine]:
    """Yield what somebody has to look at first, then what is good to know."""
    yield from brief("look at", concern_lines([one.as_dict() for one in result.concerns]), "yellow")
    unasked = (f"{one.engine}: {left}" for one in result.engines for left in one.not_judged)
    yield from brief("not judged", unasked, "yellow")
    yield from brief("not asked", (f"{rule}: {why}" for rule, why in result.not_applicable.items()), "yellow")
    yield from brief("let go", result.allowed, "yellow")
    yield from brief("note", result.notes)
    yield from brief("mended", map(repair_told, result.repairs))
    yield from brief("per record", (solved_told(block) for block in result.blocks if block.solved))
    yield from brief("cut", cuts_told(result.blocks))
    yield from brief("note", (note for engine in result.engines for note in engine.notes))


def _files(result: MaskResult) -> Iterator[SummaryLine]:
    if result.output:
        yield SummaryLine("files", f"masked file: {result.output}")
        for name, place in result.tables.items():
            yield SummaryLine("files", f"table of {name}: {place}")
        if result.rules_file:
            yield SummaryLine("files", f"rules for the masked file: {result.rules_file}")
        yield SummaryLine("files", f"manifest (confidential): {result.manifest}")
