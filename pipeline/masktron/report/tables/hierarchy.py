"""A hierarchy for the eye."""

from __future__ import annotations

from rich.console import RenderableType

from masktron.counts import counted
from masktron.report.tables.cells import headed
from masktron.report.text import number, plain
from masktron.results import HierarchyResult


def tables(result: HierarchyResult) -> list[RenderableType]:
    """How many labels each level has, and how the file is used."""
    table = headed("level", "labels")
    for level, labels in enumerate((result.values, *result.classes)):
        table.add_row(str(level), number(labels))
    return [
        table,
        "note: look through it before you use it; level 0 is the values themselves",
        f"{plain(result.output)}: {counted(result.values, 'value')} of {plain(result.field)}",
    ]
