"""What keys tell on one screen: figures before and after, treatments, and what rules become."""

from __future__ import annotations

from rich.console import RenderableType

from masktron.counts import counted
from masktron.report.key_lines import key_lines
from masktron.report.summaries.screenful import Screenful, SummaryLine, brief, further
from masktron.report.summaries.treated_in_brief import treated_in_brief
from masktron.report.tables.cells import headed, valued
from masktron.results import KeysResult


def summary(result: KeysResult) -> list[RenderableType]:
    """Figures, treatments, fates of rules, sentences about the keys; no value of a record."""
    parts: list[RenderableType] = []
    if result.before:
        table = headed("figure", "before", *(("after",) if result.figures else ()))
        after = {one.name: valued(one) for one in result.figures}
        for one in result.before:
            table.add_row(one.name, valued(one), *((after.get(one.name, "-"),) if after else ()))
        parts.append(table)
    told = result.keys if result.treated is None else result.treated
    stops = [] if result.obstacle is None else [SummaryLine("stops", f"mask would stop: {result.obstacle}")]
    lines = [
        *treated_in_brief(result.treatments, result.fates),
        *stops,
        *brief("keys", [] if told is None else key_lines(told.as_dict())),
        *brief("note", result.notes),
        SummaryLine("records", f"{result.data}: {counted(result.records, 'record')}; nothing was written"),
    ]  # fmt: skip
    rest = further("what each figure means, and all notes")
    return [*parts, Screenful(lines, rest, used=len(result.before) + 1)]
