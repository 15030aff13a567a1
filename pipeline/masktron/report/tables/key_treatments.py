"""Keys for the eye: their risk before and after treatments, and what becomes of rules."""

from __future__ import annotations

from rich.console import RenderableType

from masktron.counts import counted
from masktron.report.result_table import NOTHING, ResultTable
from masktron.report.sentences import key_lines, treatment_lines
from masktron.report.tables.cells import drawn, noted, valued
from masktron.report.tables.screenful import Screenful, SummaryLine, brief, further, treated_in_brief
from masktron.report.text import plain
from masktron.results import KeysResult


def tables(result: KeysResult) -> list[RenderableType]:
    """Figures before and after, what was done and what rules became, and what the keys tell; no value of a record."""
    parts: list[RenderableType] = [*drawn(_figures(result))]
    parts += map(plain, treatment_lines(result.treatments, result.fates))
    told = result.keys if result.treated is None else result.treated
    parts += [plain(one) for one in ([] if told is None else key_lines(told))]
    parts += noted("note", result.notes)
    parts.append(f"{plain(result.data)}: {counted(result.records, 'record')}; nothing was written")
    if result.obstacle is not None:
        parts.append(f"[yellow]mask would stop:[/] {plain(result.obstacle)}")
    return parts


def _figures(result: KeysResult) -> ResultTable:
    after = {one.name: valued(one) for one in result.figures}
    rows = tuple((one.name, valued(one), after.get(one.name, NOTHING), one.meaning) for one in result.before)
    columns = ("figure", "before", "after", "what it is")
    table = ResultTable("Figures of keys", columns, rows, frozenset({"before", "after"}))
    return table if after else table.without("after")


def summary(result: KeysResult) -> list[RenderableType]:
    """Figures, treatments, fates of rules, sentences about the keys; no value of a record."""
    told = result.keys if result.treated is None else result.treated
    stops = [] if result.obstacle is None else [SummaryLine("stops", f"mask would stop: {result.obstacle}")]
    lines = [
        *treated_in_brief(result.treatments, result.fates),
        *stops,
        *brief("keys", [] if told is None else key_lines(told)),
        *brief("note", result.notes),
        SummaryLine("records", f"{result.data}: {counted(result.records, 'record')}; nothing was written"),
    ]  # fmt: skip
    rest = further("what each figure means, and all notes")
    return [*drawn(_figures(result).without("what it is")), Screenful(lines, rest, used=len(result.before) + 1)]
