"""What the tables of several results share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from rich.table import Table

from masktron.counts import counted
from masktron.problems.problem import Sentence
from masktron.report.result_table import NOTHING, Mark, Ranged, ResultCell, ResultTable
from masktron.report.shared_tables import rules_table
from masktron.report.text import number, plain
from masktron.results import FigureResult, ReleaseVerdict, RuleResult, Tested


def statements(verdict: ReleaseVerdict | None) -> list[str]:
    """Draw the two statements of a verdict, a line each; nothing where there is none."""
    colours = {"green": "green", "amber": "yellow", "red": "red"}
    named = () if verdict is None else verdict.named
    return [f"[{colours[one.level]}]{name}: {one.level}.[/] {plain(one.reason)}" for name, one in named]


def soft_warnings(warnings: int) -> str:
    """Say how many warnings there are."""
    return f"{counted(warnings, 'warning')} of soft rules"


def tested_line(tested: Tested | None) -> list[str]:
    """Say how many rules were tested; nothing of a file without records."""
    return [] if tested is None else [plain(str(tested))]


def valued(figure: FigureResult) -> str:
    """Value and unit; small values with the digits that count."""
    if math.isnan(figure.value):
        return "-"
    if figure.unit == "records":
        return number(figure.value, ".0f")
    small = 0 < abs(figure.value) < 0.01
    between = "" if figure.interval is None else " ({:.1f} to {:.1f})".format(*figure.interval)
    return f"{number(figure.value, '.2g' if small else '.3f')} {figure.unit}{between}".rstrip()


def in_short(figures: Sequence[FigureResult]) -> list[str]:
    """Figures by group, a line each."""
    groups = dict.fromkeys(figure.group for figure in figures)
    return [
        f"{group}: " + ", ".join(f"{figure.name} {valued(figure)}" for figure in figures if figure.group == group)
        for group in groups
    ]


NUMERIC = {
    "fired",
    "failed",
    "undecided",
    "errors",
    "allowed",
    "groups",
    "min",
    "observed %",
    "coincident",
    "revealed",
    "loss %",
    "records",
    "violations",
} | {
    "before",
    "after",
    "change %",
    "distinct before",
    "distinct after",
    "shares moved %",
}


SHORT = {"class", "kind", "aggregator", "needs", "kept by"}


LONGEST_ID = 24
"""Rule ids up to this length are never broken over lines."""


def table_of(**options: Any) -> Table:
    """Return an empty table as all of them look: no lines, columns two apart."""
    return Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", **options)


def headed(*headers: str) -> Table:
    """Return an empty table with columns; those of numbers to the right."""
    table = table_of()
    for header in headers:
        right = header in NUMERIC
        table.add_column(
            header, justify="right" if right else "left", overflow="fold", no_wrap=right or header in SHORT
        )
    return table


def drawn(*tables: ResultTable) -> list[Table]:
    """Draw tables of results, those that have rows."""
    return [_drawn(one) for one in tables if one.rows]


def rules_shown(rules: Sequence[RuleResult]) -> list[Table]:
    """One row per rule: how often it fired and failed, and what it may."""
    return drawn(rules_table(rules).without("verdict", "what it says"))


def _drawn(result: ResultTable) -> Table:
    table = table_of()
    for name in result.columns:
        right = name in result.numbers
        justify: Literal["left", "right"] = "right" if right else "left"
        table.add_column(name, justify=justify, overflow="fold", no_wrap=right or name in SHORT)
    for row in result.rows:
        table.add_row(*map(_cell, row))
    return unbroken(table, [str(row[0]) for row in result.rows])


def _cell(cell: ResultCell) -> str:
    match cell:
        case Mark():
            told = _cell(cell.text)
            return f"[red]{told}[/]" if cell.tone == "bad" else told
        case Ranged():
            return f"{_cell(cell.text)} ({plain(cell.between)})"
        case tuple():
            return ", ".join(map(_cell, cell))
        case _:
            return "-" if cell == NOTHING else plain(cell)


def unbroken(table: Table, ids: Iterable[str]) -> Table:
    """Keep the ids in the first column on one line, if none is very long."""
    table.columns[0].no_wrap = max(map(len, ids), default=0) <= LONGEST_ID
    return table


def noted(label: str, notes: Sequence[Sentence]) -> list[str]:
    """Put notes behind a label, a line each."""
    return [f"{label}: {plain(note)}" for note in notes]


def optional(many: int | None) -> str:
    """Write a number, or nothing where there is none."""
    return "" if many is None else number(many)


def figure_text(value: float) -> str:
    """Write a figure with three decimals."""
    return "-" if math.isnan(value) else number(round(value, 3) + 0.0, ".3f")  # adding 0.0 turns -0.0 into 0.0
