"""The pre-flight of a rulebook for the eye: findings first, then what is allowed, then what was not looked at."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table

from masktron.preflight.conclusions import AllowedValues, Contradiction, Preflight, Redundancy, RulePart
from masktron.report.tables.cells import noted, table_of
from masktron.report.text import plain
from masktron.results import ExplainResult

COMPLETE = "where all numbers are there"


def preflight_lines(result: ExplainResult) -> list[RenderableType]:
    """Write what the rules say about each other, and what the file tests of them."""
    found = result.preflight
    return [
        *_contradictions(found.contradictions, frozenset(rule.id for rule in result.rules if rule.soft)),
        *noted("redundant", [_redundancy(each) for each in found.redundant]),
        *noted("the same", [", ".join(ids) for ids in found.duplicates]),
        *noted("can never hold", [_part(each) for each in found.impossible]),
        *noted("always true", found.always),
        *noted("untested", list(_untested(result))),
        *([_allowed(found.allowed)] if found.allowed else []),
        *noted(
            "ties", [f"{t.rule}: {', '.join(t.masked)} to {', '.join(t.unmasked)}, {t.meaning}" for t in result.ties]
        ),
        *noted("not looked at", [f"{rule}: {why}" for rule, why in found.skipped]),
        *noted("not decided", found.undecided),
        *_summary(found),
    ]


def _contradictions(found: Sequence[Contradiction], soft: Collection[str]) -> Iterator[str]:
    """Say which rules no record satisfies together; a record need not satisfy a soft one."""
    for each in found:
        ids = plain(", ".join(f"{rule} (soft)" if rule in soft else rule for rule in each.rules))
        if len(each.rules) == 1:
            says = f"no record satisfies {ids}"
        else:
            says = f"no record satisfies all of {ids}; without any one of them, some record might"
        if each.numbers_only:
            says += f" ({COMPLETE})"
        yield f"[red]contradiction[/]: {says}"


def _redundancy(found: Redundancy) -> str:
    by = f"follows from {', '.join(found.by)}" if found.by else "holds for every record"
    text = f"{found.rule} {by}"
    if found.through is not None:
        text += f": {found.through} always holds, so the rest of it is never asked"
    return f"{text} {COMPLETE}, which it asks for as well" if found.numbers_only else text


def _part(found: RulePart) -> str:
    return f"{found.part} in {found.rule}" + (f", because of {', '.join(found.by)}" if found.by else "")


def _untested(result: ExplainResult) -> Iterator[str]:
    """Say of which rules the records of the file test nothing, or not all."""
    reasons = dict.fromkeys(each.untested for each in result.coverage if each.untested is not None)
    for reason in reasons:
        yield f"{', '.join(each.rule for each in result.coverage if each.untested == reason)}: {reason}"


def _allowed(found: Sequence[AllowedValues]) -> Table:
    table = table_of()
    table.add_column("field", overflow="fold")
    table.add_column(f"what all rules leave to it, {COMPLETE}", overflow="fold")
    for each in found:
        table.add_row(plain(each.field), plain(_limits(each)))
    return table


def _limits(found: AllowedValues) -> str:
    if found.fixed is not None:
        return f"only {found.fixed}"
    if found.values is not None:
        return f"one of {', '.join(found.values)}" if found.values else "no text"
    low = "" if found.low is None else f"{found.low} {'<' if found.low_open else '<='} "
    high = "" if found.high is None else f" {'<' if found.high_open else '<='} {found.high}"
    return f"{low}{found.field}{high}"


def _summary(found: Preflight) -> Iterator[str]:
    if found.in_part:
        yield plain(
            "looked at as a whole, so that less may be found than there is: conditions that are not linear in "
            + ", ".join(found.in_part)
        )
    yield plain(f"pre-flight by {found.solver}")
