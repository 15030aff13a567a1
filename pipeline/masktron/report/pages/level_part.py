"""The levels of a nested file on a page: a table of figures for each."""

from __future__ import annotations

from masktron.counts import counted
from masktron.report.pages.common_parts import figures_table, said
from masktron.report.pages.page import PagePart
from masktron.report.pages.plain_reader import PlainData


def level_parts(result: PlainData) -> list[PagePart]:
    """Return what is known of each level of a nested file; nothing of other files.

    Parameters
    ----------
    result : PlainData
        Of `mask`, `check` or `assess`.
    """
    parts: list[PagePart] = []
    for level in result.parts("levels") if result.has("levels") else ():
        weight = level.text("weight")
        weighted = f", weighted by {weight}" if weight else ""
        parts += said(f"{level.text('level')}: {counted(level.count('records'), 'record')}{weighted}.")
        parts += figures_table(level.parts("figures"))
    return parts
