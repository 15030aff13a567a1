"""A description of variables for the eye."""

from __future__ import annotations

from rich.console import RenderableType

from masktron.counts import counted
from masktron.problems.wording import spelled
from masktron.report.tables.cells import noted
from masktron.report.text import plain
from masktron.results import MetadataResult


def tables(result: MetadataResult) -> list[RenderableType]:
    """What was written, and what little is known."""
    less = result.fields - len(result.described)
    unknown = spelled("note: of {less:field} only the name is known; [[--metadata FILE]] tells more", less=less)
    return [
        *([unknown] if less else []),
        *noted("note", result.notes),
        f"{plain(result.output)}: {counted(result.fields, 'field')}, in {result.standard}",
    ]
