"""Pages that were written, for the eye."""

from __future__ import annotations

from rich.console import RenderableType

from masktron.counts import counted
from masktron.report.tables.cells import noted, statements
from masktron.report.text import plain
from masktron.results import ReportResult

_EDITIONS = {"internal": ", CONFIDENTIAL", "public": ", for whoever gets the file", "plain": ""}


def tables(result: ReportResult) -> list[RenderableType]:
    """What the pages lack, then one line for each."""
    return [
        *noted("note", result.notes),
        *(
            f"written{_EDITIONS[page.edition]}: {plain(page.path)} ({counted(page.pictures, 'picture')})"
            for page in result.pages
        ),
        *statements(result.verdict),
    ]
