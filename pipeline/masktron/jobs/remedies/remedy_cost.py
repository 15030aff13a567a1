"""What remedies give up, by their kinds."""

from __future__ import annotations

from typing import get_args

from masktron.results.refusal import RemedyKind, RemedyResult

_COST: tuple[RemedyKind, ...] = get_args(RemedyKind.__value__)
"""From what leaves the protection as it was to what gives most up."""


def cost_of(remedy: RemedyResult) -> int:
    """Return the place of a remedy among the kinds of remedies, from those that give nothing up."""
    return _COST.index(remedy.kind)
