"""The rules that stand in a file, for the eye."""

from __future__ import annotations

from rich.console import RenderableType

from masktron.counts import counted
from masktron.report.tables.cells import headed, unbroken
from masktron.report.text import number, plain
from masktron.results import RulesResult


def tables(result: RulesResult) -> list[RenderableType]:
    """One row for each rule; what was written."""
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
    written = [f"written: {plain(result.output)}"] if result.output is not None else []
    return [said, unbroken(table, [one.id for one in result.rules]), *written]
