"""Steps that prototypes can take: one field moves a point of its grid, its equalities are solved anew."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from masktron.constraints import Atom, Form, Linear, Monomial, Polynomial, Product
from masktron.masking.block.group_searches import GroupSearches
from masktron.masking.choice import MaskedBlock
from masktron.masking.disclosure.exposure import exposure_of
from masktron.masking.inputs import MaskingInputs
from masktron.masking.judging import Judging
from masktron.settle.grid import LONG, Grid, common_measure
from masktron.settle.lattice import Prototype, Search
from masktron.settle.prototypes import ContextJudge, Settled
from masktron.settle.residual_rules import satisfies
from masktron.settle.system import Equality, Recipe
from masktron.sources.column import Column
from masktron.sources.lexical import parse_number, reads_alike

COMPANIONS = 6
"""Fields that are tried together with one."""
NUDGES = (1, -1, 2, -2, 3, -3)
"""Points of the grid by which a long fraction goes along: a product in doubles is exact for some last digits only."""

type ExactValues = dict[str, Fraction]


@dataclass(frozen=True, slots=True)
class GridMove:
    """One field moves, with another one that makes up for it in an inequality, and the solved fields follow.

    Attributes
    ----------
    recipe : Recipe
        All fields that are named are free in it.
    points : int
        By how many points of its grid the field moves, up or down.
    companion : tuple of (str, Equality), or None
        Another field, and the sum that it keeps as it was.
    nudge : tuple of (str, int), or None
        A field that goes so many points along, however often the move is made.
    """

    recipe: Recipe
    name: str
    points: int
    companion: tuple[str, Equality] | None = None
    nudge: tuple[str, int] | None = None

    @property
    def reached(self) -> set[str]:
        """Fields that may change."""
        found = {self.name, *(self.companion or ())[:1], *(self.nudge or ())[:1]}
        for pivot, equality in self.recipe.steps:
            if not found.isdisjoint(equality.variables):
                found.add(pivot)
        return found

    @property
    def linear(self) -> bool:
        """Whether several moves change as much as one, so many times."""
        found = self.reached
        makes_up = self.companion is None or self.companion[1].linear
        return makes_up and all(equality.linear for pivot, equality in self.recipe.steps if pivot in found)

    def after(self, values: ExactValues, times: int, grids: Mapping[str, Grid]) -> ExactValues | None:
        """Return the values after so many moves; None where one of them does not exist."""
        grid, result = grids[self.name], dict(values)
        if grid.among:
            point = grid.walk(float(values[self.name]))(self.points * times)
            if point is None:
                return None
            result[self.name] = point
        else:
            result[self.name] += self.points * times * grid.step(float(values[self.name]))
        changed = {self.name}
        if self.nudge is not None:
            other, points = self.nudge
            result[other] += points * grids[other].step(float(values[other]))
            changed.add(other)
        if self.companion is not None:
            other, total = self.companion
            made_up = _kept(total, other, values, result)
            if made_up is None:
                return None
            result[other] = _on_grid(grids[other], made_up)
            changed.add(other)
        for pivot, equality in self.recipe.steps:
            if changed.isdisjoint(equality.variables):
                continue
            solved = equality.solve(pivot, result)
            value = None if solved is None else _on_grid(grids[pivot], solved)
            if value is None:
                return None
            if value != result[pivot]:
                result[pivot] = value
                changed.add(pivot)
        return result


def _on_grid(grid: Grid, value: Fraction) -> Fraction:
    """Return the nearest number of the grid; whether it still solves what it has to is tested afterwards."""
    if grid.holds(value):
        return value
    if grid.among:
        return min((number for number, _ in grid.among), key=lambda number: abs(number - value))
    step = grid.step(float(value))
    return round(value / step) * step


def _kept(total: Equality, other: str, before: ExactValues, after: ExactValues) -> Fraction | None:
    """Return the value of a field that keeps a sum of monomials as it was; None where there is none."""
    amount = Fraction(0)
    for monomial in total.monomials:
        if any(power < 0 and before[name] == 0 for name, power in monomial.powers):
            return None
        amount += monomial.coefficient * math.prod(before[name] ** power for name, power in monomial.powers)
    return Equality((*total.monomials, Monomial(-amount, ()))).solve(other, after)


def moves_of(
    recipe: Recipe,
    companions: Mapping[str, Sequence[tuple[str, Equality]]],
    strides: Mapping[str, int],
    long: Collection[str],
) -> Iterator[GridMove]:
    """Yield the moves under a recipe: of each free field alone, with each companion, and with nudges.

    Parameters
    ----------
    companions : mapping of field name to sequence of (str, Equality)
    strides : mapping of field name to int
        Points of the grid by which the values of a field are apart.
    long : collection of str
        Fields with long fractions.
    """
    for name in recipe.free:
        stride = strides.get(name, 1)
        mates = [
            (other, total)
            for other, total in companions.get(name, ())
            if other in recipe.free and total.variables <= {*recipe.free}
        ]
        for points in (1, -1) if stride == 1 else (1, -1, stride, -stride):
            alone = GridMove(recipe, name, points)
            yield alone
            yield from (GridMove(recipe, name, points, mate) for mate in mates)
            others = [] if alone.linear else [other for other in recipe.free if other in long and other != name]
            yield from (GridMove(recipe, name, points, None, (other, nudge)) for other in others for nudge in NUDGES)


def companions_of(forms: Iterable[Form]) -> dict[str, list[tuple[str, Equality]]]:
    """Return for each field those that can make up for a change of it in an inequality.

    A balance with a tolerance leaves a single field no room: where the parts move, the total has to move as well.
    """
    atoms = {atom: None for form in forms for conjunction in form for atom in conjunction}
    totals = dict.fromkeys(total for atom in atoms if (total := _sum_of(atom)) is not None)
    found: dict[str, list[tuple[str, Equality]]] = {}
    for total in totals:
        for name in sorted(total.variables):
            mates = found.setdefault(name, [])
            mates += [(other, total) for other in total.pivots if other != name]
            del mates[COMPANIONS:]
    return found


def _sum_of(atom: Atom) -> Equality | None:
    """Return what an inequality bounds, the same for a lower and an upper bound; None for other atoms."""
    match atom:
        case Linear(terms=terms, relation="<=" | "<"):
            sign = 1 if terms[0][1] > 0 else -1
            return Equality(tuple(Monomial(sign * factor, ((name, 1),)) for name, factor in terms))
        case Product(left=left, relation="<=" | "<", right=right) if right.powers:
            return Equality((*left, Monomial(-right.coefficient, right.powers)))
        case Polynomial(terms=terms, relation="<=" | "<"):
            sign = 1 if terms[0].coefficient > 0 else -1
            return Equality(tuple(Monomial(sign * term.coefficient, term.powers) for term in terms if term.powers))
        case _:
            return None


def stride_of(column: Column) -> int:
    """Return by how many points of the grid all values of a field are apart: 10 for multiples of ten."""
    if column.decimals > LONG:
        return 1
    numbers = {Fraction(str(lexeme).strip()) for lexeme in column.written_numbers()}
    gaps = [(number - min(numbers)) * 10**column.decimals for number in numbers]
    return int(common_measure(gaps)) or 1


RECIPES = 4
"""Ways to solve the equalities of a group that are looked at."""
SMALL = 0.05
"""A change is measured against the value, and this share of the spread of its field: zeros are not out of reach."""
UNLIKE = 0.1
"""What it costs besides to step on a number that engines read differently: sums of it differ as well."""


@dataclass(frozen=True, slots=True, eq=False)
class GroupStep:
    """A step of one group.

    Attributes
    ----------
    changes : mapping of field name to Fraction
        What one step changes.
    cost : float
        That, relative to the values.
    repeatable : bool
        Whether several steps change proportionally more.
    """

    block: int
    group: int
    move: GridMove
    digits: int
    changes: Mapping[str, Fraction]
    cost: float
    repeatable: bool

    @property
    def key(self) -> tuple[object, ...]:
        """What tells the step from others."""
        return self.block, self.group, self.move, self.digits


class BlockSteps:
    """The prototypes of a block while they are moved; each group keeps one."""

    def __init__(self, inputs: MaskingInputs, position: int, masked: MaskedBlock) -> None:
        self.position = position
        self.masked = masked
        self.moved: set[int] = set()
        self._inputs = inputs
        self._file = inputs.file
        self._searches = GroupSearches(inputs, masked.block, masked.grouping, masked.aims)
        self._judge = ContextJudge(self._searches.records, Judging(inputs.rules, masked.block))
        self._lexemes = masked.settled.lexemes
        self._companions = companions_of(inputs.rules.forms(masked.block))
        self._strides = {
            name: stride_of(inputs.file.columns[name]) for name in inputs.file.numeric & {*masked.block.variables}
        }
        self._long = {name for name in self._strides if inputs.file.columns[name].decimals > LONG}
        self._known: dict[Recipe, list[GridMove]] = {}
        self._beside: dict[tuple[int, tuple[str | None, ...]], Search] = {}
        self._exits = masked.settled.exits
        variables = masked.block.variables
        self._scale = {name: inputs.file.measured_in(name) for name in variables}

    @property
    def result(self) -> MaskedBlock:
        """The block with its prototypes as they are now."""
        block, grouping = self.masked.block, self.masked.grouping
        settled = Settled.of(self._lexemes, self._exits, self.masked.settled.own)
        exposure = exposure_of(self._inputs, block, grouping, settled)
        if block.drawn:
            # what a prototype copied is still there, unless its record was moved
            before, stay = self.masked.exposure, ~np.isin(np.arange(grouping.groups), list(self.moved))
            exposure = exposure.copying(before.copied & stay)
        return replace(self.masked, settled=settled, exposure=exposure)

    def by_size(self, wanted: frozenset[str]) -> list[int]:
        """Return the groups, those with the largest values of the wanted fields first."""

        def size(group: int) -> float:
            return sum(abs(float(value)) / self._scale[n] for n, value in self._values(group).items() if n in wanted)

        return sorted(range(len(self._lexemes)), key=size, reverse=True)

    def steps(self, groups: Iterable[int], wanted: frozenset[str], digits: int) -> dict[int, list[GroupStep]]:
        """Return for some groups the steps that change some of the wanted fields and that the engines accept."""
        found = {group: list(self._promising(group, wanted, digits)) for group in groups}
        steps = [step for own in found.values() for step in own]
        candidates = [self.take(step.group, [(step, 1)]) for step in steps]
        offers = [(step, made) for step, made in zip(steps, candidates, strict=True) if made is not None]
        verdicts = self._judge.judged([(step.group, candidate) for step, candidate in offers])
        fine = {step.key for (step, _), accepted in zip(offers, verdicts, strict=True) if accepted}
        return {group: [step for step in own if step.key in fine] for group, own in found.items()}

    def _promising(self, group: int, wanted: frozenset[str], digits: int) -> Iterator[GroupStep]:
        """Yield the steps of a group that change some of the wanted fields and pass the quick test of the rules."""
        values = self._values(group)
        grids = self._grids(group, digits)
        seen: set[frozenset[tuple[str, Fraction]]] = set()
        moves = (move for recipe in self._recipes(group, values) for move in self._moves(recipe))
        for move in moves:
            after = move.after(values, 1, grids) if move.reached & wanted else None
            if after is None:
                continue
            changes = {name: after[name] - values[name] for name in values if after[name] != values[name]}
            alike = frozenset(changes.items())
            if alike in seen or not changes.keys() & wanted or self._written(group, values, after, grids) is None:
                continue
            seen.add(alike)
            cost = sum(float(abs(change)) / self._size(group, name, values[name]) for name, change in changes.items())
            cost += UNLIKE * sum(not reads_alike(grids[name].lexeme(after[name])) for name in changes)
            repeatable = move.linear and not any(grids[name].among for name in changes)
            yield GroupStep(self.position, group, move, digits, changes, cost, repeatable)

    def take(self, group: int, taken: Sequence[tuple[GroupStep, int]]) -> Prototype | None:
        """Return the prototype of a group after some steps, each a number of times; None where there is none."""
        before = self._values(group)
        values: ExactValues | None = before
        grids = self._grids(group, max(step.digits for step, _ in taken))
        for step, times in taken:
            values = step.move.after(values, times, grids) if values and times else values
        if values is None or values == before:
            return None
        texts = self._written(group, before, values, grids)
        finer = self._exits[group] == "finer" or any(step.digits for step, _ in taken)
        return None if texts is None else Prototype(texts, "finer" if finer else "lattice")

    def accept(self, offers: Mapping[int, Sequence[Prototype]]) -> dict[int, int]:
        """Let each group take the first of its candidates that the engines accept; return which one that was."""
        accepted = self._judge.accepted(offers)
        for group, candidate in accepted.items():
            self._lexemes[group] = [candidate.lexemes[name] for name in self.masked.block.variables]
            self._exits[group] = candidate.stage
        self.moved.update(accepted)
        return {group: [one is taken for one in offers[group]].index(True) for group, taken in accepted.items()}

    def _moves(self, recipe: Recipe) -> Sequence[GridMove]:
        if recipe not in self._known:
            self._known[recipe] = list(moves_of(recipe, self._companions, self._strides, self._long))
        return self._known[recipe]

    def _texts(self, group: int) -> dict[str, str | None]:
        return dict(zip(self.masked.block.variables, self._lexemes[group], strict=True))

    def _values(self, group: int) -> ExactValues:
        """Numbers of the prototype; fields without one, with a missing code or with a category are left out."""
        found: ExactValues = {}
        for name, text in self._texts(group).items():
            if text is None or name not in self._file.numeric or np.isnan(parse_number(text)):
                continue
            value = Fraction(text.strip())
            if value not in self._file.codes.get(name, ()):
                found[name] = value
        return found

    def _recipes(self, group: int, values: ExactValues) -> Iterator[Recipe]:
        for recipe in self._around(group).ways[:RECIPES]:
            if values.keys() >= {*recipe.free, *(pivot for pivot, _ in recipe.steps)}:
                yield recipe

    def _grids(self, group: int, digits: int) -> Mapping[str, Grid]:
        grids = self._around(group).grids
        return {name: grid.finer(digits) for name, grid in grids.items()} if digits else grids

    def _size(self, group: int, name: str, value: Fraction) -> float:
        return float(abs(value)) + SMALL * self._scale[name]

    def _written(
        self, group: int, before: ExactValues, after: ExactValues, grids: Mapping[str, Grid]
    ) -> dict[str, str | None] | None:
        """Write a prototype; None where it is off the grids, a missing code, or breaks a rule in exact numbers.

        Fields that stay keep their lexemes.
        """
        texts = self._texts(group)
        for name, value in after.items():
            if value == before[name]:
                continue
            if not grids[name].holds(value) or value in self._file.codes.get(name, ()):
                return None
            texts[name] = grids[name].lexeme(value)
        return texts if satisfies(self._around(group).rules, after) else None

    def _around(self, group: int) -> Search:
        """The search beside the prototype of a group, as it is now."""
        texts = tuple(self._lexemes[group])
        if (group, texts) not in self._beside:
            self._beside[group, texts] = self._searches.around(group, self._texts(group), self._values(group))
        return self._beside[group, texts]
