"""Rules that the data suggest, for the eye."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.table import Table

from masktron.counts import counted
from masktron.problems.wording import spelled
from masktron.report.tables.cells import headed, noted, unbroken
from masktron.report.text import number, plain
from masktron.results import CONFIDENTIAL, Proposal, SuggestResult


def tables(result: SuggestResult) -> list[RenderableType]:
    """One row for each proposal; what follows from others apart; what was written."""
    own = [one for one in result.proposals if not one.follows_from]
    others = [one for one in result.proposals if one.follows_from]
    accepted = len(result.accepted)
    return [
        f"[yellow]{CONFIDENTIAL}[/]",
        plain(f"{result.data}: {counted(result.records, 'record')} suggest {counted(len(result.proposals), 'rule')}"),
        *([_proposed(own)] if own else []),
        *([_following(others)] if others else []),
        *noted("note", result.notes),
        f"written: {plain(result.output)}, {counted(accepted, 'rule')}"
        if result.output is not None
        else spelled(
            "nothing is written: accept proposals with [[--accept all]] or [[--accept 1,3,5-8]], "
            "and [[--out edits.rules]]"
        ),
    ]


def _proposed(proposals: Sequence[Proposal]) -> Table:
    table = headed("", "rule", "what it says", "records", "exceptions", "strength", "evidence")
    for one in proposals:
        table.add_row(
            number(one.number),
            plain(one.id),
            plain(one.plain or one.form or one.test),
            number(one.records),
            _exceptions(one),
            one.strength,
            plain(one.evidence),
        )
    return unbroken(table, [one.id for one in proposals])


def _exceptions(one: Proposal) -> str:
    if not one.exceptions:
        return "0"
    first = ", ".join(map(number, one.first))
    return f"{number(one.exceptions)}: record {first}{' ...' if one.exceptions > len(one.first) else ''}"


def _following(proposals: Sequence[Proposal]) -> Table:
    table = headed("", "rule", "what it says", "follows from")
    for one in proposals:
        table.add_row(
            number(one.number),
            plain(one.id),
            plain(one.plain or one.form or one.test),
            plain(", ".join(one.follows_from)),
        )
    return unbroken(table, [one.id for one in proposals])
