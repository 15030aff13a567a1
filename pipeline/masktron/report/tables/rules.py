"""The rules that stand in a file, for the eye."""

from __future__ import annotations

from rich.console import RenderableType

from masktron.counts import counted
from masktron.report.tables.cells import headed, noted, unbroken
from masktron.report.text import number, plain
from masktron.results import RulesResult


def tables(result: RulesResult) -> list[RenderableType]:
    """One row for each rule, or all of them in another language; what was written."""
    written = [f"written: {plain(result.output)}"] if result.output is not None else []
    if result.text:
        return [*noted("note", result.notes), *noted("not carried over", result.losses), *written]
    table = headed("", "rule", "severity", "line", "asked of", "test", "message")
    for one in result.rules:
        table.add_row(
            number(one.number),
            plain(one.id),
            ("warning" if one.soft else "hard") if one.kind in ("assert", "report") else "",
            number(one.line),
            plain(one.context),
            plain(one.test or one.locked),
            plain(one.message),
        )
    said = f"{plain(result.rulebook)}: {counted(len(result.rules), 'rule')}"
    return [said, unbroken(table, [one.id for one in result.rules]), *written]
