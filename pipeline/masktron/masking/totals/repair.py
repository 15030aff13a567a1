"""Totals over the file after masking: what rounding and aggregators shift is spread over the groups.

Each group that moves by a step of the grid, its equalities solved anew, moves a total by its number of records times
the step. A small integer program chooses the steps, the least relative change first; the engines judge every moved
prototype as they judged the settled ones. Groups keep one prototype each, so that none becomes smaller.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from masktron.masking.inputs import MaskingInputs
from masktron.masking.masked import MaskedBlock
from masktron.masking.totals.file_conditions import FileConditions
from masktron.masking.totals.spreading import Spreading, columns_of, refuse
from masktron.masking.totals.total_condition import TextColumns, TotalCondition


@dataclass(frozen=True, slots=True)
class Repair:
    """A rule on totals that masking had broken.

    Attributes
    ----------
    rule : int
        Index of the check.
    before, after : float
        How far the total was off, in steps of the grid, and how far it is now.
    groups : int
        Groups whose prototypes moved, for this rule and the others together.
    """

    rule: int
    before: float
    after: float
    groups: int


def keep_totals(inputs: MaskingInputs, blocks: Sequence[MaskedBlock]) -> tuple[list[MaskedBlock], tuple[Repair, ...]]:
    """Move prototypes until every condition on counts and totals holds, where masking broke one.

    Parameters
    ----------
    inputs : MaskingInputs
    blocks : sequence of MaskedBlock

    Raises
    ------
    InfeasibleError
        A count or a total is not what a rule asks for, and no steps of the groups mend it.
    """
    if not inputs.rules.over_file:
        return list(blocks), ()
    tallies = FileConditions(inputs.rules)
    before = columns_of(inputs.file, blocks)
    broken = [condition for condition in tallies.on(before) if not condition.holds(condition.figure(before))]
    if not broken:
        return list(blocks), ()
    for condition in broken:
        if not condition.moving:
            refuse(inputs.rules, condition, before, "no step of the grid can mend it")
    spreading = Spreading(inputs, blocks, tallies)
    result = spreading.run()
    after = columns_of(inputs.file, result)
    now = {condition.key: condition for condition in tallies.on(after)}
    return result, tuple(
        Repair(
            rule,
            max((_off(one, before) for one in broken if one.rule == rule), key=abs),
            max((_off(now[one.key], after) for one in broken if one.rule == rule), key=abs),
            spreading.moved,
        )
        for rule in dict.fromkeys(condition.rule for condition in broken)
    )


def _off(condition: TotalCondition, columns: TextColumns) -> float:
    """How far a condition is off, in steps of the grid: 0 where it holds."""
    figure = condition.figure(columns)
    if figure is None or condition.holds(figure):
        return 0.0
    return float((figure - condition.bound) / condition.step)
