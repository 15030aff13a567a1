"""Which masked fields a method drew and which are masked by groups, in words."""

from __future__ import annotations

from collections.abc import Sequence

from masktron.problems.problem import Field, Term
from masktron.problems.wording import spelled
from masktron.results import BlockResult

_NAMED = 6
"""Fields that are named; more are counted."""


def listed(names: Sequence[str]) -> str:
    """Return names of rules with commas, the last of many as their number."""
    shown = ", ".join(names[:_NAMED])
    return shown if len(names) <= _NAMED else f"{shown} and {len(names) - _NAMED} more"


def listed_fields(names: Sequence[str]) -> str:
    """Return names of fields as `listed` does, in the words of whoever reads."""
    return listed([spelled("{field}", field=Field(name)) for name in names])


def figure_word(name: str) -> str:
    """Return the name of a figure, in the words of whoever reads."""
    return spelled("{figure}", figure=Term(name))


def drawn_fields(blocks: Sequence[BlockResult]) -> tuple[str, ...]:
    """Fields that the method drew record by record."""
    return tuple(name for block in blocks if block.drawn for name in block.variables)


def in_groups(blocks: Sequence[BlockResult]) -> str:
    """Say which fields are masked by groups, with the smallest of these as written; nothing where all are drawn."""
    grouped = [block for block in blocks if not block.drawn]
    if not grouped:
        return ""
    names = [name for block in grouped for name in block.variables]
    apart = ", solved fields apart" if any(block.solved for block in grouped) else ""
    least = min(block.min_group for block in grouped)
    return f"{listed_fields(names)} {are(names)} masked in groups of at least {least} records{apart}"


def both_parts(blocks: Sequence[BlockResult]) -> str:
    """Say which fields are drawn and which masked by groups, where there are both."""
    drawn, grouped = drawn_fields(blocks), in_groups(blocks)
    return f"{listed_fields(drawn)} {are(drawn)} drawn, and {grouped}" if drawn and grouped else ""


def are(names: Sequence[str]) -> str:
    """The verb of a list of names."""
    return "is" if len(names) == 1 else "are"
