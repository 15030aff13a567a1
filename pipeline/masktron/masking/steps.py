"""Steps that prototypes can take: one field moves a point of its grid, its equalities are solved anew."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from masktron.classify.forms import Value
from masktron.masking.masked import MaskedBlock
from masktron.masking.prototypes import judge_of, task_of
from masktron.masking.views import Views
from masktron.read.lexical import parse_number, reads_alike
from masktron.settle.grid import LONG, Grid
from masktron.settle.lattice import Candidate
from masktron.settle.prototypes import Contexts
from masktron.settle.spread import common_measure
from masktron.settle.system import Recipe

RECIPES = 4
"""Ways to solve the equalities of a group that are looked at."""
SMALL = 0.05
"""A change is measured against the value, and this share of the spread of its field: zeros are not out of reach."""

type Values = dict[str, Fraction]


@dataclass(frozen=True, slots=True, eq=False)
class GroupStep:
    """A step of one group.

    Attributes
    ----------
    name : str
        The field that takes it; the recipe's solved fields follow.
    points : int
        By how many points of its grid it moves, up or down.
    changes : mapping of field name to Fraction
        What one step changes.
    cost : float
        That, relative to the values.
    repeatable : bool
        Whether several steps change proportionally more.
    """

    block: int
    group: int
    recipe: Recipe
    name: str
    points: int
    digits: int
    changes: Mapping[str, Fraction]
    cost: float
    repeatable: bool

    @property
    def key(self) -> tuple[object, ...]:
        """What tells the step from others."""
        return self.block, self.group, self.recipe, self.name, self.points, self.digits


class BlockSteps:
    """The prototypes of a block while they are moved; each group keeps one."""

    def __init__(self, views: Views, position: int, masked: MaskedBlock) -> None:
        self.position = position
        self.masked = masked
        self.moved: set[int] = set()
        self._views = views
        self._task = task_of(views, masked.block, masked.grouping)
        self._contexts = Contexts(self._task, judge_of(views, masked.block))
        self._lexemes = masked.settled.lexemes.copy()
        self._apart: dict[str, int] = {}
        self._exits = masked.settled.exits.copy()

    @property
    def result(self) -> MaskedBlock:
        """The block with its prototypes as they are now."""
        return replace(self.masked, settled=replace(self.masked.settled, lexemes=self._lexemes, exits=self._exits))

    def by_size(self, wanted: frozenset[str]) -> list[int]:
        """Return the groups, those with the largest values of the wanted fields first."""

        def size(group: int) -> float:
            scale = self._task.search(group).scale
            return sum(abs(float(value)) / scale[n] for n, value in self._values(group).items() if n in wanted)

        return sorted(range(len(self._lexemes)), key=size, reverse=True)

    def steps(self, groups: Iterable[int], wanted: frozenset[str], digits: int) -> dict[int, list[GroupStep]]:
        """Return for some groups the steps that change some of the wanted fields and that the engines accept."""
        found = {group: list(self._promising(group, wanted, digits)) for group in groups}
        steps = [step for own in found.values() for step in own]
        candidates = [self.take(step.group, [(step, 1)]) for step in steps]
        offers = [(step, made) for step, made in zip(steps, candidates, strict=True) if made is not None]
        verdicts = self._contexts.judged([(step.group, candidate) for step, candidate in offers])
        fine = {step.key for (step, _), accepted in zip(offers, verdicts, strict=True) if accepted}
        return {group: [step for step in own if step.key in fine] for group, own in found.items()}

    def _promising(self, group: int, wanted: frozenset[str], digits: int) -> Iterator[GroupStep]:
        """Yield the steps of a group that change some of the wanted fields and pass the quick test of the rules."""
        values = self._values(group)
        grids = self._grids(group, digits)
        seen: set[frozenset[tuple[str, Fraction]]] = set()
        for recipe in self._recipes(group, values):
            for name in recipe.free:
                if not _reached(recipe, name) & wanted:
                    continue
                for points in self._strides(name):
                    after = _moved(values, recipe, name, points, grids)
                    if after is None or self._written(group, values, after, grids) is None:
                        continue
                    changes = {n: after[n] - values[n] for n in values if after[n] != values[n]}
                    alike = frozenset(changes.items())
                    if changes.keys() & wanted and alike not in seen:
                        seen.add(alike)
                        yield GroupStep(
                            self.position,
                            group,
                            recipe,
                            name,
                            points,
                            digits,
                            changes,
                            sum(float(abs(c)) / self._size(group, n, values[n]) for n, c in changes.items()),
                            repeatable=not any(grids[n].among for n in changes) and _is_linear(recipe, name),
                        )

    def take(self, group: int, taken: Sequence[tuple[GroupStep, int]]) -> Candidate | None:
        """Return the prototype of a group after some steps, each a number of times; None where there is none."""
        before = self._values(group)
        values: Values | None = before
        grids = self._grids(group, max(step.digits for step, _ in taken))
        for step, times in taken:
            values = (
                _moved(values, step.recipe, step.name, step.points * times, grids) if values and times else values
            )
        if values is None or values == before:
            return None
        texts = self._written(group, before, values, grids)
        finer = self._exits[group] == "finer" or any(step.digits for step, _ in taken)
        return None if texts is None else Candidate(texts, "finer" if finer else "lattice")

    def accept(self, offers: Mapping[int, Sequence[Candidate]]) -> set[int]:
        """Let each group take the first of its candidates that the engines accept; return the groups that did."""
        accepted = self._contexts.accepted(offers)
        for group, candidate in accepted.items():
            self._lexemes[group] = [candidate.lexemes[name] for name in self.masked.block.variables]
            self._exits[group] = candidate.stage
        self.moved.update(accepted)
        return set(accepted)

    def _strides(self, name: str) -> tuple[int, ...]:
        """One point up and down; so many points at a time as all values of the field are apart, if that is more."""
        if name not in self._apart:
            self._apart[name] = _stride(self._views, name)
        stride = self._apart[name]
        return (1, -1) if stride == 1 else (1, -1, stride, -stride)

    def _texts(self, group: int) -> dict[str, str | None]:
        return dict(zip(self.masked.block.variables, self._lexemes[group], strict=True))

    def _values(self, group: int) -> Values:
        """Numbers of the prototype; fields without one, with a missing code or with a category are left out."""
        found: Values = {}
        for name, text in self._texts(group).items():
            if text is None or name not in self._views.numeric or np.isnan(parse_number(text)):
                continue
            value = Fraction(text.strip())
            if value not in self._views.codes.get(name, ()):
                found[name] = value
        return found

    def _recipes(self, group: int, values: Values) -> Iterator[Recipe]:
        for recipe in self._task.ways(group)[:RECIPES]:
            if values.keys() >= {*recipe.free, *(pivot for pivot, _ in recipe.steps)}:
                yield recipe

    def _grids(self, group: int, digits: int) -> Mapping[str, Grid]:
        grids = self._task.search(group).grids
        return {name: grid.finer(digits) for name, grid in grids.items()} if digits else grids

    def _size(self, group: int, name: str, value: Fraction) -> float:
        return float(abs(value)) + SMALL * self._task.search(group).scale[name]

    def _written(
        self, group: int, before: Values, after: Values, grids: Mapping[str, Grid]
    ) -> dict[str, str | None] | None:
        """Write a prototype; None where it is off the grids, a missing code, or breaks a rule in exact numbers.

        Fields that stay keep their lexemes. What engines would read differently is left alone: totals are sums.
        """
        texts = self._texts(group)
        for name, value in after.items():
            if value == before[name]:
                continue
            if not grids[name].holds(value) or value in self._views.codes.get(name, ()):
                return None
            texts[name] = grids[name].lexeme(value)
            if not reads_alike(texts[name] or ""):
                return None
        test: Callable[[Mapping[str, Value]], bool] = self._task.search(group).holds
        return texts if test({**texts, **after}) else None


def _stride(views: Views, name: str) -> int:
    """Return by how many points of the grid all values of a field are apart: 10 for multiples of ten."""
    column = views.columns[name]
    if column.decimals > LONG:
        return 1
    numbers = {Fraction(str(lexeme).strip()) for lexeme in set(column.lexemes[column.is_number].tolist())}
    gaps = [(number - min(numbers)) * 10**column.decimals for number in numbers]
    return int(common_measure(gaps)) or 1


def _moved(values: Values, recipe: Recipe, name: str, steps: int, grids: Mapping[str, Grid]) -> Values | None:
    """Move a free field and solve what depends on it; None where a value does not exist."""
    grid, result = grids[name], dict(values)
    if grid.among:
        point = grid.walk(float(values[name]))(steps)
        if point is None:
            return None
        result[name] = point
    else:
        result[name] += steps * grid.step(float(values[name]))
    changed = {name}
    for pivot, equality in recipe.steps:
        if changed.isdisjoint(equality.variables):
            continue
        value = equality.solve(pivot, result)
        if value is None:
            return None
        if value != result[pivot]:
            result[pivot] = value
            changed.add(pivot)
    return result


def _reached(recipe: Recipe, name: str) -> set[str]:
    """Fields that a step of a free one may change."""
    found = {name}
    for pivot, equality in recipe.steps:
        if not found.isdisjoint(equality.variables):
            found.add(pivot)
    return found


def _is_linear(recipe: Recipe, name: str) -> bool:
    found = _reached(recipe, name)
    return all(equality.linear for pivot, equality in recipe.steps if pivot in found)
