"""Totals over the file after masking: what rounding and aggregators shift is spread over the groups.

Each group that moves by a step of the grid, its equalities solved anew, moves a total by its number of records times
the step. A small integer program chooses the steps, the least relative change first; the engines judge every moved
prototype as they judged the settled ones. Groups keep one prototype each, so that none becomes smaller.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Never

import numpy as np
from numpy.typing import NDArray

from masktron.constraints import CrossRecordEdit
from masktron.errors import InfeasibleError
from masktron.masking.masked import MaskedBlock
from masktron.masking.steps import BlockSteps, GroupStep
from masktron.masking.tallies import Columns, Condition, Tallies
from masktron.masking.views import Views
from masktron.methods.grouping import Grouping
from masktron.settle.grid import LONG
from masktron.settle.lattice import FINER, Candidate
from masktron.settle.spread import Interval, Step, common_measure, even_steps, whole_steps

ROUNDS = 30
"""Times that steps are chosen and judged, for one fineness of the grids."""
REPEATED = 4
"""Steps of one kind that a group takes in a round of single steps."""
MOST = 240
"""Steps that the integer program is given: the cheapest, of every effect."""
ALIKE = 16
"""Of steps with the same effect, that many."""
SLACK = Fraction(1, 1000)
"""Share of a step by which totals of decimals, and totals below a bound, stay away from it."""
SUMS = ("sum", "avg")


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


def keep_totals(
    views: Views, blocks: Sequence[MaskedBlock], tallies: Tallies
) -> tuple[list[MaskedBlock], tuple[Repair, ...]]:
    """Move prototypes until every condition on counts and totals holds, where masking broke one.

    Parameters
    ----------
    views : Views
    blocks : sequence of MaskedBlock
    tallies : Tallies
        What the original satisfies.

    Raises
    ------
    InfeasibleError
        A count or a total is not what a rule asks for, and no steps of the groups mend it.
    """
    before = _columns(views, blocks)
    broken = [condition for condition in tallies.on(before) if not condition.holds(condition.figure(before))]
    if not broken:
        return list(blocks), ()
    for condition in broken:
        if not _summed(views, condition):
            _refuse(views, condition, before, "no step of the grid can mend it")
    spreading = _Spreading(views, blocks, tallies)
    result = spreading.run()
    after = _columns(views, result)
    now = {condition.key: condition for condition in tallies.on(after)}
    return result, tuple(
        Repair(
            rule,
            max((_off(views, one, before) for one in broken if one.rule == rule), key=abs),
            max((_off(views, now[one.key], after) for one in broken if one.rule == rule), key=abs),
            spreading.moved,
        )
        for rule in dict.fromkeys(condition.rule for condition in broken)
    )


class _Spreading:
    """The blocks whose fields stand in totals, while their prototypes are moved."""

    def __init__(self, views: Views, blocks: Sequence[MaskedBlock], tallies: Tallies) -> None:
        self._views = views
        self._tallies = tallies
        self._blocks = list(blocks)
        conditions = tallies.on(_columns(views, blocks))
        self._summed = frozenset(name for condition in conditions for name in _summed(views, condition))
        self._moving = {
            position: BlockSteps(views, position, masked)
            for position, masked in enumerate(blocks)
            if not self._summed.isdisjoint(masked.block.variables)
        }
        self._banned: set[tuple[object, ...]] = set()
        self._known: dict[tuple[int, int, int], list[GroupStep]] = {}

    @property
    def moved(self) -> int:
        """Number of groups that have moved."""
        return sum(len(steps.moved) for steps in self._moving.values())

    @property
    def _masked(self) -> list[MaskedBlock]:
        now = {position: steps.result for position, steps in self._moving.items()}
        return [now.get(position, masked) for position, masked in enumerate(self._blocks)]

    def run(self) -> list[MaskedBlock]:
        """Return the blocks with the prototypes moved."""
        for digits in range(FINER + 1):
            for _ in range(ROUNDS):
                columns = _columns(self._views, self._masked)
                conditions = self._tallies.on(columns)
                if all(condition.holds(condition.figure(columns)) for condition in conditions):
                    return self._masked
                if not self._round(conditions, columns, digits):
                    break
        columns = _columns(self._views, self._masked)
        for condition in self._tallies.on(columns):
            if not condition.holds(condition.figure(columns)):
                _refuse(self._views, condition, columns, self._why(condition, columns))
        return self._masked

    def _round(self, conditions: Sequence[Condition], columns: Columns, digits: int) -> bool:
        """Choose steps and let the engines judge them; False where there is nothing left to try."""
        wanted = [_interval(self._views, condition, columns) for condition in conditions]
        own = [step for step in self._steps(digits) if step.key not in self._banned]
        if not own:
            return False
        effects = _Effects(self._moving, conditions, columns)
        steps = [Step(effects.of(step), step.cost, REPEATED if step.repeatable else 1) for step in own]
        useful = [at for at, step in enumerate(steps) if any(step.effects)]
        few = _cheapest([steps[at] for at in useful])
        times = whole_steps([steps[useful[at]] for at in few], wanted)
        if times is not None:
            return self._take([(own[useful[at]], count) for at, count in zip(few, times, strict=True) if count])
        even = even_steps([steps[at] for at in useful], wanted) if useful else None
        if even is None or not any(even):
            return False
        return self._take([(own[at], count) for at, count in zip(useful, even, strict=True) if count])

    def _steps(self, digits: int) -> list[GroupStep]:
        found: list[GroupStep] = []
        for position, block in self._moving.items():
            for group in range(block.masked.grouping.groups):
                key = (position, group, digits)
                if key not in self._known:
                    self._known[key] = list(block.steps(group, self._summed, digits))
                found += self._known[key]
        return found

    def _take(self, taken: Sequence[tuple[GroupStep, int]]) -> bool:
        """Offer moved prototypes to the engines, smaller moves behind them; what they refuse is not tried again."""
        by_group: dict[tuple[int, int], list[tuple[GroupStep, int]]] = {}
        for step, times in taken:
            by_group.setdefault((step.block, step.group), []).append((step, times))
        progress = False
        for position, block in self._moving.items():
            own = {group: steps for (at, group), steps in by_group.items() if at == position}
            offers = {group: _offers(block, group, steps) for group, steps in own.items()}
            accepted = block.accept({group: candidates for group, candidates in offers.items() if candidates})
            for group, steps in own.items():
                if group in accepted:
                    for digits in range(FINER + 1):
                        self._known.pop((position, group, digits), None)
                else:
                    self._banned.update(step.key for step, _ in steps)
                progress = True
        return progress

    def _why(self, condition: Condition, columns: Columns) -> str:
        """Say why no steps reach a total: with a certificate, where there is one."""
        groupings = {
            name: steps.masked.grouping for steps in self._moving.values() for name in steps.masked.block.variables
        }
        unit = measure(self._views, condition, columns, groupings)
        figure = condition.figure(columns)
        if condition.relation == "=" and unit and figure is not None and (condition.bound - figure) % unit:
            sizes = {int(size) for name in _summed(self._views, condition) for size in groupings[name].sizes}
            common = math.gcd(*sizes)
            return (
                f"the records of a group share one value, and the sizes of all groups are multiples of {common}, so "
                "that totals come in such multiples of a step of the grid; the one that is asked for is none of them"
            )
        return "no steps of the groups that keep their other rules reach it"


class _Effects:
    """By how much a step of a group moves each condition."""

    def __init__(self, moving: Mapping[int, BlockSteps], conditions: Sequence[Condition], columns: Columns) -> None:
        self._weights: dict[int, list[dict[str, list[Fraction]]]] = {}
        for position, steps in moving.items():
            own, grouping = frozenset(steps.masked.block.variables), steps.masked.grouping
            self._weights[position] = []
            for condition in conditions:
                sums: dict[str, list[Fraction]] = {}
                for part in condition.parts:
                    if part.tally.function in SUMS and (name := part.tally.field) in own:
                        more = part.weights(columns, grouping.labels, grouping.groups)
                        sums[name] = (
                            [old + new for old, new in zip(sums[name], more, strict=True)] if name in sums else more
                        )
                self._weights[position].append(sums)

    def of(self, step: GroupStep) -> tuple[Fraction, ...]:
        """Return the shift of each condition."""
        return tuple(
            sum(
                (sums[name][step.group] * change for name, change in step.changes.items() if name in sums),
                Fraction(0),
            )
            for sums in self._weights[step.block]
        )


def measure(
    views: Views, condition: Condition, columns: Columns, groupings: Mapping[str, Grouping]
) -> Fraction | None:
    """Return what the masked part of a condition is a multiple of, whatever the groups hold; None where unknown.

    Theorem: in a file whose groups share their values, the masked part is a multiple of the common measure of
    coefficient * (records of the group that count) * (step of the finest grid), over all groups and fields. Proof:
    each group adds its coefficient and count times a multiple of the step.
    """
    numbers: list[Fraction] = []
    for part in condition.parts:
        name = part.tally.field
        if part.tally.function not in SUMS or name not in views.masked:
            continue
        decimals = views.columns[name].decimals
        if name not in groupings or name not in views.numeric or decimals > LONG:
            return None
        step = Fraction(1, 10 ** (decimals + FINER if decimals else 0))
        grouping = groupings[name]
        numbers += [step * weight for weight in part.weights(columns, grouping.labels, grouping.groups)]
    return common_measure(numbers) if numbers else None


def _columns(views: Views, blocks: Sequence[MaskedBlock]) -> dict[str, NDArray[np.object_]]:
    """Lexemes of all fields, the masked ones as they are now."""
    masked = {
        name: block.lexemes(position) for block in blocks for position, name in enumerate(block.block.variables)
    }
    return {**views.texts, **masked}


def _summed(views: Views, condition: Condition) -> list[str]:
    """Masked numbers that a condition sums up."""
    names = (part.tally.field for part in condition.parts if part.tally.function in SUMS)
    return [name for name in names if name in views.masked and name in views.numeric]


def _step(views: Views, condition: Condition) -> Fraction:
    """The smallest step of the grids of the masked fields of a condition."""
    return min(
        (Fraction(1, 10 ** views.columns[name].decimals) for name in _summed(views, condition)), default=Fraction(1)
    )


def _interval(views: Views, condition: Condition, columns: Columns) -> Interval:
    """By how much a condition has to move. Bounds of decimals are not touched: sums in doubles would cross them."""
    figure = condition.figure(columns)
    if figure is None:
        return Interval(None, None)
    room = condition.bound - figure
    if condition.relation == "=":
        return Interval(room, room)
    step = _step(views, condition)
    if condition.relation == "<=" and step == 1:
        return Interval(None, room)
    smallest = min(
        abs(part.coefficient) / (views.n if part.tally.function == "avg" else 1) for part in condition.parts
    )
    return Interval(None, room - SLACK * step * min(smallest, Fraction(1)))


def _off(views: Views, condition: Condition, columns: Columns) -> float:
    """How far a condition is off, in steps of the grid: 0 where it holds."""
    figure = condition.figure(columns)
    if figure is None or condition.holds(figure):
        return 0.0
    return float((figure - condition.bound) / _step(views, condition))


def _offers(block: BlockSteps, group: int, steps: Sequence[tuple[GroupStep, int]]) -> list[Candidate]:
    """Prototypes to try for a group: with all of its steps, with half of them, with a quarter."""
    found: list[Candidate] = []
    while any(times for _, times in steps):
        if (candidate := block.take(group, steps)) is not None:
            found.append(candidate)
        steps = [(step, times // 2) for step, times in steps]
    return found


def _cheapest(steps: Sequence[Step]) -> list[int]:
    """Positions of the cheapest steps, some of each effect."""
    taken: Counter[tuple[Fraction, ...]] = Counter()
    found: list[int] = []
    for at in sorted(range(len(steps)), key=lambda at: steps[at].cost):
        if len(found) < MOST and taken[steps[at].effects] < ALIKE:
            taken[steps[at].effects] += 1
            found.append(at)
    return found


def _refuse(views: Views, condition: Condition, columns: Columns, why: str) -> Never:
    figure = condition.figure(columns)
    edit = views.edits[condition.rule]
    kind = edit.constraint.kind if isinstance(edit.constraint, CrossRecordEdit) else "figure"
    way = "is not a number" if figure is None else "is not what it asks for"
    if figure is not None and len(condition.parts) == 1:
        high = (figure > condition.bound) == (condition.parts[0].coefficient > 0)
        way = f"is too {'high' if high else 'low'}"
    names = ", ".join(sorted(views.masked & set(edit.variables)))
    raise InfeasibleError(
        f"the rule {edit.check.id!r} looks at several records at once and reads the masked {names}: after masking "
        f"its {kind} {way}; {why}",
        where=str(edit.check.origin),
        hint=f"give {names} the role untouched, try another k, or let the rule go: --allow {edit.check.id!r}",
    )
