"""Candidates for a prototype: points of the grid near the aggregate, nearest first, that solve the equalities."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from masktron.classify.forms import Value
from masktron.read.lexical import reads_alike
from masktron.settle.grid import Grid, readable
from masktron.settle.system import MAX_RECIPES, Recipe

type Stage = Literal["rounded", "lattice", "finer"]

MAX_POINTS = 600
"""Points of the lattice that are looked at for one recipe and grid."""
MAX_COMPLETED = 3000
"""Points whose solved variables are computed for that: in many dimensions each point has many neighbours."""
FINER = 2
"""Fraction digits that a decimal field may gain."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A prototype to try.

    Attributes
    ----------
    lexemes : mapping of field name to str
        None where the field is absent.
    stage : {"rounded", "lattice", "finer"}
        What it took to find it.
    """

    lexemes: Mapping[str, str | None]
    stage: Stage


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """All that the candidates of one block depend on besides the aggregate.

    Attributes
    ----------
    grids : mapping of field name to Grid
    scale : mapping of field name to float
        Unit of distance.
    tied : frozenset of str
        Fields whose doubles have to be read alike by all engines, since an equality depends on them.
    codes : mapping of field name to frozenset of Fraction
        Numbers that mean 'missing', which no prototype may have.
    holds : callable
        Quick exact test of the block's rules on numbers; a necessary condition only.
    points : int
        Points of the lattice that are looked at for one recipe and grid.
    recipes : int
        Recipes that are tried.
    """

    grids: Mapping[str, Grid]
    scale: Mapping[str, float]
    tied: frozenset[str]
    codes: Mapping[str, frozenset[Fraction]]
    holds: Callable[[Mapping[str, Value]], bool]
    points: int = MAX_POINTS
    recipes: int = MAX_RECIPES

    def candidates(
        self, target: Mapping[str, float], ways: Sequence[Recipe], fixed: Mapping[str, str | None] | None = None
    ) -> Iterator[Candidate]:
        """Yield candidates: each recipe's rounded point, then lattices around them, then finer grids.

        Parameters
        ----------
        target : mapping of field name to float
            The aggregate of the group; only fields that have a value in it.
        ways : sequence of Recipe
        fixed : mapping of field name to str or None
            What the rules see in fields that have no value in the group: a missing code, an empty text, or nothing.
        """
        hunt = replace(self, holds=lambda values: self.holds({**fixed, **values})) if fixed else self
        yield from hunt._stages(target, ways[: self.recipes])

    def _stages(self, target: Mapping[str, float], ways: Sequence[Recipe]) -> Iterator[Candidate]:
        unlike: list[Candidate] = []
        for candidate in self._by_stage(target, ways):
            if all(reads_alike(candidate.lexemes[name] or "") for name in self.tied if name in candidate.lexemes):
                yield candidate
            else:
                unlike.append(candidate)
        yield from unlike

    def _by_stage(self, target: Mapping[str, float], ways: Sequence[Recipe]) -> Iterator[Candidate]:
        for recipe in ways:
            first = next(self._lattice(target, recipe, self.grids), None)
            yield from self._written(first, self.grids, "rounded")
        for recipe in ways:
            for point in itertools.islice(self._lattice(target, recipe, self.grids), 1, None):
                yield from self._written(point, self.grids, "lattice")
        for digits in range(1, FINER + 1):
            finer = {name: grid.finer(digits) for name, grid in self.grids.items()}
            if finer == self.grids:
                break
            for recipe in ways:
                for point in self._lattice(target, recipe, finer):
                    yield from self._written(point, finer, "finer")

    def _written(
        self, values: Mapping[str, Fraction] | None, grids: Mapping[str, Grid], stage: Stage
    ) -> Iterator[Candidate]:
        if values is None or not all(grids[name].holds(value) for name, value in values.items()):
            return
        if any(value in self.codes.get(name, ()) for name, value in values.items()) or not self.holds(values):
            return
        lexemes = {
            name: grids[name].lexeme(value) if name in self.tied else readable(grids[name], value)
            for name, value in values.items()
        }
        yield Candidate(lexemes, stage)

    def _lattice(
        self, target: Mapping[str, float], recipe: Recipe, grids: Mapping[str, Grid]
    ) -> Iterator[Mapping[str, Fraction] | None]:
        """Yield completed points in order of distance from the target; None for one that cannot be completed."""
        free = recipe.free
        walks = {name: grids[name].walk(target[name]) for name in free}
        ticket = itertools.count()
        seen = {(0,) * len(free)}
        heap: list[tuple[float, int, tuple[int, ...], dict[str, Fraction] | None]] = []

        def push(offsets: tuple[int, ...]) -> None:
            chosen = {name: walks[name](offset) for name, offset in zip(free, offsets, strict=True)}
            inside = {name: value for name, value in chosen.items() if value is not None}
            values = recipe.complete(inside) if len(inside) == len(chosen) else None
            heapq.heappush(heap, (self._distance(values, target, offsets), next(ticket), offsets, values))

        push((0,) * len(free))
        for _ in range(self.points):
            if not heap:
                return
            _, _, offsets, values = heapq.heappop(heap)
            yield values
            for neighbour in _neighbours(offsets):
                if neighbour not in seen and len(seen) < MAX_COMPLETED:
                    seen.add(neighbour)
                    push(neighbour)

    def _distance(
        self, values: Mapping[str, Fraction] | None, target: Mapping[str, float], offsets: tuple[int, ...]
    ) -> float:
        if values is None:
            return float(sum(map(abs, offsets)))
        try:
            shifts = [(float(value) - target[name]) / self.scale[name] for name, value in values.items()]
        except OverflowError:
            return math.inf
        return sum(shift * shift for shift in shifts)


def _neighbours(offsets: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for position, offset in enumerate(offsets):
        for step in (1, -1):
            yield (*offsets[:position], offset + step, *offsets[position + 1 :])
