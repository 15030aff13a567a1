"""Steps that prototypes can take: one field moves a point of its grid, its equalities are solved anew."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from masktron.masking.block.group_searches import GroupSearches
from masktron.masking.disclosure.exposure import exposure_of
from masktron.masking.inputs import MaskingInputs
from masktron.masking.judging import Judging
from masktron.masking.masked import MaskedBlock
from masktron.masking.totals.grid_moves import ExactValues, GridMove, companions_of, moves_of, stride_of
from masktron.settle.grid import LONG, Grid
from masktron.settle.lattice import Prototype, Search
from masktron.settle.prototypes import ContextJudge, Settled
from masktron.settle.residual_rules import satisfies
from masktron.settle.system import Recipe
from masktron.sources.lexical import parse_number, reads_alike

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
