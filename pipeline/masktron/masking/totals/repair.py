"""Totals over the file after masking: what rounding and aggregators shift is spread over the groups.

Each group that moves by a step of the grid, its equalities solved anew, moves a total by its number of records times
the step. A small integer program chooses the steps, the least relative change first; the engines judge every moved
prototype as they judged the settled ones. Groups keep one prototype each, so that none becomes smaller.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Never

import numpy as np
from numpy.typing import NDArray

from masktron.constraints import CrossRecordEdit
from masktron.errors import InfeasibleError, RefusalFacts
from masktron.masking.choice import MaskedBlock
from masktron.masking.file_values import FileValues
from masktron.masking.inputs import MaskingInputs
from masktron.masking.judging import RecordRules
from masktron.masking.totals.file_conditions import FileConditions, TextColumns, TotalCondition, step_of
from masktron.masking.totals.group_steps import BlockSteps, GroupStep
from masktron.masking.totals.step_counts import ShiftRange, StepKind, even_steps, whole_steps
from masktron.problems.problem import Rule, fields
from masktron.settle.lattice import FINER, Prototype

ROUNDS = 30
"""Times that steps are chosen and judged, for one fineness of the grids."""
REPEATED = (4, 64)
"""Steps of one kind that a group may take in a round of single steps; more where that is not enough."""
MANY = 10**9
"""Steps of one kind that a group may take together with all others; what the engines refuse lowers it."""
MOST = 240
"""Steps that the integer program is given: the cheapest, of every effect."""
ALIKE = 24
"""Of steps with the same effect, and of groups with the same weight in all conditions, that many."""
SLACK = Fraction(1, 1000)
"""Share of a step by which totals of decimals, and totals below a bound, stay away from it."""


type _Times = tuple[GroupStep, int]
"""A step, and how often it is taken."""


class Spreading:
    """The blocks whose fields stand in totals, while their prototypes are moved."""

    def __init__(self, inputs: MaskingInputs, blocks: Sequence[MaskedBlock], tallies: FileConditions) -> None:
        self._inputs = inputs
        self._tallies = tallies
        self._blocks = list(blocks)
        conditions = tallies.on(columns_of(inputs.file, blocks))
        self._summed = frozenset().union(*(condition.summed for condition in conditions))
        self._moving = {
            position: BlockSteps(inputs, position, masked)
            for position, masked in enumerate(blocks)
            # What is solved in each record would have to be solved anew; such blocks are judged, not moved.
            if not self._summed.isdisjoint(masked.block.variables) and not masked.block.solved
        }
        self._limits: dict[tuple[object, ...], int] = {}
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
                columns = columns_of(self._inputs.file, self._masked)
                conditions = self._tallies.on(columns)
                if all(condition.holds(condition.figure(columns)) for condition in conditions):
                    return self._masked
                if not self._round(conditions, columns, digits):
                    break
        columns = columns_of(self._inputs.file, self._masked)
        for condition in self._tallies.on(columns):
            if not condition.holds(condition.figure(columns)):
                refuse(self._inputs.rules, condition, columns, self._why(condition, columns))
        return self._masked

    def _round(self, conditions: Sequence[TotalCondition], columns: TextColumns, digits: int) -> bool:
        """Choose steps and let the engines judge them; False where there is nothing left to try."""
        wanted = [_interval(condition, columns) for condition in conditions]
        effects = _Effects(self._moving, conditions, columns)
        few, often = REPEATED
        some = self._useful(
            effects, {position: self._largest(position, effects) for position in self._moving}, digits
        )
        if times := _single(some, wanted, few):
            return self._take(times)
        every = {position: range(block.masked.grouping.groups) for position, block in self._moving.items()}
        found = self._useful(effects, every, digits)
        times = _single(found, wanted, few) or _even(found, wanted) or _single(found, wanted, often)
        return bool(times) and self._take(times)

    def _largest(self, position: int, effects: _Effects) -> list[int]:
        """Groups of a block with the largest values, which a step changes least; some of each weight."""
        taken: Counter[tuple[object, ...]] = Counter()
        chosen: list[int] = []
        for group in self._moving[position].by_size(self._summed):
            weights = effects.weights(position, group)
            if taken[weights] < ALIKE:
                taken[weights] += 1
                chosen.append(group)
        return chosen

    def _useful(
        self, effects: _Effects, groups: Mapping[int, Iterable[int]], digits: int
    ) -> list[tuple[GroupStep, StepKind]]:
        """Return the steps of some groups that move a condition, as often as the engines have not refused them."""
        found: list[tuple[GroupStep, StepKind]] = []
        for step in self._steps(groups, digits):
            limit = self._limits.get(step.key, MANY)
            if limit and any(shifts := effects.of(step)):
                found.append((step, StepKind(shifts, step.cost, limit)))
        return found

    def _steps(self, groups: Mapping[int, Iterable[int]], digits: int) -> list[GroupStep]:
        found: list[GroupStep] = []
        for position, block in self._moving.items():
            own = list(groups[position])
            new = [group for group in own if (position, group, digits) not in self._known]
            for group, steps in block.steps(new, self._summed, digits).items():
                self._known[position, group, digits] = steps
            found += [step for group in own for step in self._known[position, group, digits]]
        return found

    def _take(self, chosen: Sequence[_Times]) -> bool:
        """Offer moved prototypes to the engines, smaller moves behind them; what they refuse is not tried again."""
        by_group: dict[tuple[int, int], list[_Times]] = {}
        for step, times in chosen:
            by_group.setdefault((step.block, step.group), []).append((step, times))
        for position, block in self._moving.items():
            own = {group: steps for (at, group), steps in by_group.items() if at == position}
            offers = {group: _offers(block, group, steps) for group, steps in own.items()}
            accepted = block.accept({group: [one for _, one in made] for group, made in offers.items() if made})
            for group, steps in own.items():
                taken = offers[group][accepted[group]][0] if group in accepted else [0] * len(steps)
                if any(taken):
                    self._forget(position, group)
                for (step, times), fine in zip(steps, taken, strict=True):
                    if fine < times:
                        self._limits[step.key] = fine
        return bool(by_group)

    def _forget(self, position: int, group: int) -> None:
        """Drop what was known of the steps of a group that has moved."""
        for digits in range(FINER + 1):
            self._known.pop((position, group, digits), None)
        self._limits = {key: most for key, most in self._limits.items() if key[:2] != (position, group)}

    def _why(self, condition: TotalCondition, columns: TextColumns) -> str:
        """Say why no steps reach a total: with a certificate, where there is one."""
        groupings = {
            name: steps.masked.grouping for steps in self._moving.values() for name in steps.masked.block.variables
        }
        unit = condition.measure(columns, groupings, finer=FINER)
        figure = condition.figure(columns)
        if condition.relation == "=" and unit and figure is not None and (condition.bound - figure) % unit:
            finest = min(step_of(part.decimals or 0, FINER) for part in condition.moving)
            return (
                "the records of a group share one value, so that with groups of these sizes it is always a multiple "
                f"of {float(unit / finest):g} steps of the grid away from where it is, and what is asked for is not"
            )
        return "no steps of the groups that keep their other rules reach it"


class _Effects:
    """By how much a step of a group moves each condition."""

    def __init__(
        self, moving: Mapping[int, BlockSteps], conditions: Sequence[TotalCondition], columns: TextColumns
    ) -> None:
        self._weights: dict[int, list[dict[str, list[Fraction]]]] = {}
        for position, steps in moving.items():
            own, grouping = frozenset(steps.masked.block.variables), steps.masked.grouping
            self._weights[position] = []
            for condition in conditions:
                sums: dict[str, list[Fraction]] = {}
                for part in condition.moving:
                    if (name := part.tally.field) in own:
                        more = part.weights(columns, grouping.labels, grouping.groups)
                        sums[name] = (
                            [old + new for old, new in zip(sums[name], more, strict=True)] if name in sums else more
                        )
                self._weights[position].append(sums)

    def weights(self, position: int, group: int) -> tuple[object, ...]:
        """Return by how much each field of a group moves each condition."""
        return tuple(
            (at, name, weights[group])
            for at, sums in enumerate(self._weights[position])
            for name, weights in sums.items()
        )

    def of(self, step: GroupStep) -> tuple[Fraction, ...]:
        """Return the shift of each condition."""
        return tuple(
            sum(
                (sums[name][step.group] * change for name, change in step.changes.items() if name in sums),
                Fraction(0),
            )
            for sums in self._weights[step.block]
        )


def _interval(condition: TotalCondition, columns: TextColumns) -> ShiftRange:
    """By how much a condition has to move. Bounds of decimals are not touched: sums in doubles would cross them."""
    figure = condition.figure(columns)
    if figure is None:
        return ShiftRange(None, None)
    room = condition.bound - figure
    if condition.relation == "=":
        return ShiftRange(room, room)
    if condition.relation == "<=" and condition.step == 1:
        return ShiftRange(None, room)
    smallest = min(weight for weight in map(abs, _per_record(condition, columns)))
    return ShiftRange(None, room - SLACK * condition.step * min(smallest, Fraction(1)))


def _per_record(condition: TotalCondition, columns: TextColumns) -> Iterator[Fraction]:
    """Yield by how much each part grows when the value of one record grows by 1."""
    for part in condition.parts:
        yield part.coefficient / (len(columns[part.tally.field]) if part.tally.function == "avg" else 1)


def _offers(block: BlockSteps, group: int, steps: Sequence[_Times]) -> list[tuple[list[int], Prototype]]:
    """Prototypes to try for a group: with all of its steps, with one kind of them; with half of all, and so on."""
    found: list[tuple[list[int], Prototype]] = []
    wanted = [times for _, times in steps]
    while any(wanted):
        alone = [[times if at == only else 0 for at, times in enumerate(wanted)] for only in range(len(wanted))]
        for trial in [wanted, *(alone if len(wanted) > 1 else [])]:
            candidate = block.take(group, [(step, times) for (step, _), times in zip(steps, trial, strict=True)])
            if candidate is not None:
                found.append((trial, candidate))
        wanted = [times // 2 for times in wanted]
    return found


def _single(found: Sequence[tuple[GroupStep, StepKind]], wanted: Sequence[ShiftRange], limit: int) -> list[_Times]:
    """Choose single steps that bring all conditions to where they have to be; none where there are no such."""
    few = _cheapest(found)
    steps = [replace(plain, limit=min(plain.limit, limit if step.repeatable else 1)) for step, plain in few]
    times = whole_steps(steps, wanted) or ()
    return [(step, count) for (step, _), count in zip(few, times, strict=False) if count]


def _even(found: Sequence[tuple[GroupStep, StepKind]], wanted: Sequence[ShiftRange]) -> list[_Times]:
    """Choose steps of all groups that bring the conditions near to where they have to be; none where none are due."""
    times = even_steps([plain for _, plain in found], wanted) if found else None
    return [(step, count) for (step, _), count in zip(found, times or (), strict=False) if count]


def _cheapest(found: Sequence[tuple[GroupStep, StepKind]]) -> list[tuple[GroupStep, StepKind]]:
    """Take the cheapest steps of each effect: first the cheapest of all effects, then the next of all effects."""
    taken: Counter[tuple[Fraction, ...]] = Counter()
    ranked: list[tuple[int, float, int]] = []
    for at in sorted(range(len(found)), key=lambda at: found[at][1].cost):
        plain = found[at][1]
        ranked.append((taken[plain.effects], plain.cost, at))
        taken[plain.effects] += 1
    return [found[at] for rank, _, at in sorted(ranked)[:MOST] if rank < ALIKE]


@dataclass(frozen=True, slots=True, eq=False)
class _LexemesNow(Mapping[str, NDArray[np.object_]]):
    """The lexemes of all fields, the masked ones as they are now; made when a field is asked for."""

    texts: Mapping[str, NDArray[np.object_]]
    masked: Mapping[str, tuple[MaskedBlock, int]]

    def __getitem__(self, name: str) -> NDArray[np.object_]:
        if name not in self.masked:
            return self.texts[name]
        block, position = self.masked[name]
        return block.lexemes(position)

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts)

    def __len__(self) -> int:
        return len(self.texts)


def columns_of(file: FileValues, blocks: Sequence[MaskedBlock]) -> Mapping[str, NDArray[np.object_]]:
    """Return the lexemes of all fields, the masked ones as they are now; each is made when it is asked for."""
    masked = {name: (block, position) for block in blocks for position, name in enumerate(block.block.variables)}
    return _LexemesNow(file.texts, masked)


def refuse(rules: RecordRules, condition: TotalCondition, columns: TextColumns, why: str) -> Never:
    """Stop on a condition that masking breaks: its rule, the direction and the reason, and no values."""
    figure = condition.figure(columns)
    edit = rules.edits[condition.rule]
    kind = edit.constraint.kind if isinstance(edit.constraint, CrossRecordEdit) else "figure"
    way = "is not a number" if figure is None else "is not what it asks for"
    if figure is not None and len(condition.parts) == 1:
        high = (figure > condition.bound) == (condition.parts[0].coefficient > 0)
        way = f"is too {'high' if high else 'low'}"
    names = tuple(sorted(rules.file.masked & set(edit.variables)))
    raise InfeasibleError.of(
        "rules-not-kept",
        str(edit.check.origin),
        fields=fields(names),
        rules=(Rule(edit.check.id),),
        reason=f"after masking its {kind} {way}; {why}",
        facts=[RefusalFacts("total", names, rules=(edit.check.id,))],
    )


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
