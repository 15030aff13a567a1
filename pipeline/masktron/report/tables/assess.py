"""An assessment for the eye."""

from __future__ import annotations

import math

from rich.console import RenderableType

from masktron.counts import counted
from masktron.report.sentences import key_lines, level_lines, treatment_lines
from masktron.report.shared_tables import figures_table
from masktron.report.tables.cells import drawn, in_short, noted, statements
from masktron.report.tables.screenful import Screenful, SummaryLine, brief, further, treated_in_brief
from masktron.report.text import plain
from masktron.results import AssessResult


def tables(result: AssessResult) -> list[RenderableType]:
    """One row per figure with what it means, then what was taken for granted."""
    return [
        *drawn(figures_table(result.figures, result.limits)),
        *map(plain, untold(result)),
        *(plain(one) for one in ([] if result.keys is None else key_lines(result.keys))),
        *map(plain, level_lines(result.levels)),
        *map(plain, treatment_lines(result.treatments, result.fates)),
        *noted("note", result.notes),
        compared_told(result),
        *statements(result.verdict),
        *([plain(result.risks)] if result.risks else []),
    ]


def untold(result: AssessResult) -> list[str]:
    """Say which figures have no value, and why."""
    nothing = ", ".join(one.name for one in result.figures if math.isnan(one.value) and not one.field)
    unlike = [figure for figure in result.figures if math.isnan(figure.value) and figure.field]
    said = [f"nothing to tell: {nothing}: the files have too little of what it is about"] if nothing else []
    return said + [f"no figure: {one.name}: {one.field} had nothing before, or has nothing after" for one in unlike]


def compared_told(result: AssessResult) -> str:
    """Say what was compared with what."""
    compared = (
        f"{counted(len(result.numeric), 'number')} and {counted(len(result.categorical), 'field')} of categories"
    )
    earlier = f"; earlier: {', '.join(map(plain, result.against))}" if result.against else ""
    return (
        f"{plain(result.masked)} against {plain(result.original)}: {counted(result.records, 'record')}, "
        f"{compared}{earlier}"
    )


def summary(result: AssessResult) -> list[RenderableType]:
    """Figures with values, a paragraph for each group; what they mean is in the tables."""
    told = [one for one in result.figures if not math.isnan(one.value)]
    lines = [
        *(SummaryLine(label, text) for label, _, text in (one.partition(": ") for one in in_short(told))),
        *treated_in_brief(result.treatments, result.fates),
        *brief("keys", [] if result.keys is None else key_lines(result.keys)),
        *brief("levels", level_lines(result.levels)),
        *brief("note", result.notes),
        *brief("no figure", untold(result)),
    ]
    rest = further("what each figure means, and all notes")
    return [Screenful(lines, rest, used=7), compared_told(result), *statements(result.verdict)]
