"""Why `mask` was refused, and what helps, for the eye."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType

from masktron.counts import counted
from masktron.problems.wording import sentence
from masktron.report.level_figures_table import LEVEL_COLUMNS, level_rows, short_figure, titled
from masktron.report.tables.cells import headed, noted
from masktron.report.text import number, plain
from masktron.results import RefusalResult, RemedyResult


def tables(result: RefusalResult) -> list[RenderableType]:
    """One row for each remedy that works, and what to paste; what does not help; what was not tried."""
    working = result.working
    names = list(dict.fromkeys(name for one in working for name in one.figures))
    parts: list[RenderableType] = []
    if working:
        table = headed("works", *map(titled, names), "concerns", "fields masked", "records")
        for at, one in enumerate(working, 1):
            table.add_row(
                str(at),
                *(short_figure(one.figures.get(name)) for name in names),
                number(len(one.concerns)),
                number(one.masked),
                number(one.records),
            )
        parts.append(table)
        if rows := list(level_rows((str(at), one.levels) for at, one in enumerate(working, 1))):
            parts.append(of_levels := headed("works", *LEVEL_COLUMNS))
            for row in rows:
                of_levels.add_row(*map(plain, row))
        parts += [plain(_described(at, one)) for at, one in enumerate(working, 1)]
    parts += noted("does not help", list(_others(result, ("refused", "ended"))))
    parts += noted("not tried", list(_others(result, ("untried",))))
    parts += noted("note", result.notes)
    tried = sum(one.state != "untried" for one in result.remedies)
    parts.append(
        f"{plain(result.data)}: {counted(tried, 'remedy', 'remedies')} tried, {len(working)} of them "
        f"{'works' if len(working) == 1 else 'work'}; nothing was written"
    )
    return parts


def _described(at: int, one: RemedyResult) -> str:
    given_up = f"; gives up: {one.reveals}" if one.reveals else ""
    return f"{at}: {sentence(one.change)}  ({one.what}{given_up})"


def _others(result: RefusalResult, states: tuple[str, ...]) -> Iterator[str]:
    for one in result.remedies:
        if one.state in states:
            yield f"{sentence(one.change)} ({one.what})" + (f": {one.reason}" if one.reason else "")
