"""Candidates for a prototype: points of the grid near the aggregate, nearest first, that solve the equalities."""

from __future__ import annotations

import functools
import heapq
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import FloatColumns
from masktron.settle.grid import Grid, readable
from masktron.settle.residual_rules import ResidualRule, satisfied_columns, satisfies
from masktron.settle.system import Recipe
from masktron.sources.lexical import reads_alike

type Lexemes = Mapping[str, str | None]
"""Lexemes by field name; None where a field is absent."""

type SettleExit = Literal[
    "rounded", "lattice", "projected", "finer", "median", "medoid", "mode", "observed", "redrawn", "prototype"
]
"""How a group can be settled; *observed* by values that an aggregator chose which was asked for by name, *redrawn*
and *prototype* where a record has a group of its own: by another draw, or as microaggregation does."""

FEW_LOOKED = 50
"""Points of the lattice that are looked at first: most groups need no more."""
MAX_LOOKED = 1000
"""Points of the lattice whose solved variables are computed for one recipe and grid, in doubles."""
MAX_POINTS = 600
"""Of these, points that are offered."""
CLOSE = 0.01
"""Squared distance, in units of the fields' spreads, at which a rounded point is not compared with others."""
FINER = 2
"""Fraction digits that a decimal field may gain."""


@dataclass(frozen=True, slots=True)
class Prototype:
    """A prototype to try: a point of the grids, or values that records hold.

    Attributes
    ----------
    lexemes : Lexemes
    stage : SettleExit
        What it took to find it.
    alike : bool
        Every engine reads the same doubles from the fields that stand in equalities.
    """

    lexemes: Lexemes
    stage: SettleExit
    alike: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """What the candidates of a group depend on besides the aggregate.

    Attributes
    ----------
    grids : mapping of field name to Grid
    scale : mapping of field name to float
        Unit of distance.
    tied : frozenset of str
        Fields whose doubles have to be read alike by all engines, since an equality depends on them.
    codes : mapping of field name to frozenset of Fraction
        Numbers that mean 'missing', which no prototype may have.
    rules : sequence of ResidualRule
        What the rules ask of the numbers; a necessary condition only.
    ways : sequence of Recipe
        How the equalities are solved.
    """

    grids: Mapping[str, Grid]
    scale: Mapping[str, float]
    tied: frozenset[str]
    codes: Mapping[str, frozenset[Fraction]]
    rules: Sequence[ResidualRule] = ()
    ways: Sequence[Recipe] = ()

    def near(self, target: Mapping[str, float], within: tuple[float, float] = (0.0, math.inf)) -> Iterator[Prototype]:
        """Yield the rounded points of all recipes, then the lattices around them, each nearest first.

        Parameters
        ----------
        target : mapping of field name to float
            The aggregate of the group; only fields that have a value in it.
        within : (float, float)
            Squared distances to yield, the first not included unless it is 0.
        """
        seen: set[tuple[str | None, ...]] = set()  # recipes share points
        walks = self._walks(target)
        for candidate in itertools.chain(
            self._rounded(walks, target, within),
            self._around(walks, "lattice", within, FEW_LOOKED),
            self._around(walks, "lattice", within, MAX_LOOKED),
        ):
            key = tuple(candidate.lexemes[name] for name in target)
            if key not in seen:
                seen.add(key)
                yield candidate

    def distances(self, points: FloatColumns, targets: FloatColumns) -> NDArray[np.float64]:
        """Return the squared distances of points from targets, in units of the fields' spreads; all of shape (m,)."""
        shifts = [(values - targets[name]) / self.scale[name] for name, values in points.items()]
        return np.asarray(np.square(shifts).sum(axis=0))

    def finer(self, target: Mapping[str, float]) -> Iterator[Prototype]:
        """Yield the points of finer grids, as far as there are any."""
        for digits in range(1, FINER + 1):
            grids = {name: grid.finer(digits) for name, grid in self.grids.items()}
            if grids == self.grids:
                break
            within = 0.0, math.inf
            finer = replace(self, grids=grids)
            yield from finer._around(finer._walks(target), "finer", within, MAX_LOOKED)

    def coarser(self) -> Search:
        """Return the search on numbers that doubles hold exactly, for the fields that stand in equalities."""
        return replace(self, grids={n: g.coarser() if n in self.tied else g for n, g in self.grids.items()})

    def _walks(self, target: Mapping[str, float]) -> list[_Walk]:
        """Return the walk of each recipe; recipes share the points of their fields."""
        known: dict[str, Callable[[int], Fraction | None]] = {}
        return [_Walk(self.grids, recipe, target, known) for recipe in self.ways]

    def _rounded(
        self, walks: Sequence[_Walk], target: Mapping[str, float], within: tuple[float, float]
    ) -> Iterator[Prototype]:
        """Yield what is close enough at once, in the order of the recipes, and then the rest, nearest first."""
        later: list[tuple[float, dict[str, Fraction]]] = []
        for walk in walks:
            point = walk.point((0,) * len(walk.recipe.free))
            distance = math.inf if point is None else self._distance(point, target)
            if point is None or not _inside(distance, within):
                continue
            if distance <= CLOSE:
                yield from self._written(point, "rounded")
            else:
                later.append((distance, point))
        for _, point in sorted(later, key=lambda entry: entry[0]):
            yield from self._written(point, "rounded")

    def _around(
        self,
        walks: Sequence[_Walk],
        stage: SettleExit,
        within: tuple[float, float],
        looked: int,
    ) -> Iterator[Prototype]:
        """Yield what the rules admit of the lattices of all recipes; those rounded before come again if finer."""
        found = heapq.merge(*(self._sorted(walk, at, within, looked) for at, walk in enumerate(walks)))
        for _, at, offsets in itertools.islice(found, MAX_POINTS):
            if any(offsets) or stage == "finer":
                yield from self._written(walks[at].point(offsets), stage)

    def _distance(self, point: Mapping[str, Fraction], target: Mapping[str, float]) -> float:
        try:
            return sum(((float(value) - target[name]) / self.scale[name]) ** 2 for name, value in point.items())
        except OverflowError:
            return math.inf

    def _sorted(
        self, walk: _Walk, at: int, within: tuple[float, float], looked: int
    ) -> Iterator[tuple[float, int, tuple[int, ...]]]:
        """Yield distance, number of the recipe, and offsets of the points that the rules seem to admit."""
        offsets = ball(len(walk.recipe.free), looked)
        with np.errstate(all="ignore"):
            columns, fine = walk.columns(offsets)
            distance = sum(
                ((columns[name] - walk.target[name]) / self.scale[name]) ** 2 for name in columns
            ) * np.ones(len(offsets))
            fine &= np.isfinite(distance) & _inside(distance, within)
            fine[fine] = satisfied_columns(
                self.rules, {name: column[fine] for name, column in columns.items()}, int(fine.sum())
            )
        rows = np.flatnonzero(fine)
        for row in rows[np.argsort(distance[rows], kind="stable")][:MAX_POINTS].tolist():
            yield float(distance[row]), at, tuple(offsets[row].tolist())

    def _written(self, values: Mapping[str, Fraction] | None, stage: SettleExit) -> Iterator[Prototype]:
        if values is None or not all(self.grids[name].holds(value) for name, value in values.items()):
            return
        if any(value in self.codes.get(name, ()) for name, value in values.items()):
            return
        if not satisfies(self.rules, values):
            return
        lexemes = {
            name: self.grids[name].lexeme(value) if name in self.tied else readable(self.grids[name], value)
            for name, value in values.items()
        }
        yield Prototype(lexemes, stage, all(reads_alike(lexemes[name]) for name in self.tied if name in lexemes))


class _Walk:
    """The points around a target that a recipe completes."""

    def __init__(
        self,
        grids: Mapping[str, Grid],
        recipe: Recipe,
        target: Mapping[str, float],
        known: dict[str, Callable[[int], Fraction | None]],
    ) -> None:
        self.grids = grids
        self.recipe = recipe
        self.target = target
        for name in recipe.free:
            if name not in known:
                known[name] = grids[name].walk(target[name])
        self._walks = [known[name] for name in recipe.free]

    def point(self, offsets: Sequence[int]) -> dict[str, Fraction] | None:
        """Return a point, exactly; None where it does not exist."""
        free = {}
        for name, walk, offset in zip(self.recipe.free, self._walks, offsets, strict=True):
            value = walk(offset)
            if value is None:
                return None
            free[name] = value
        return self.recipe.complete(free, self.grids)

    def columns(self, offsets: NDArray[np.int64]) -> tuple[dict[str, NDArray[np.float64]], NDArray[np.bool_]]:
        """Return points in doubles, and which of them exist."""
        free, fine = {}, np.ones(len(offsets), dtype=np.bool_)
        for position, name in enumerate(self.recipe.free):
            free[name], there = self.grids[name].columns(self.target[name], offsets[:, position])
            fine &= there
        columns, on_grid = self.recipe.complete_columns(free, self.grids, len(offsets))
        return columns, fine & on_grid


def _inside(distance: float | NDArray[np.float64], within: tuple[float, float]) -> Any:
    return ((distance > within[0]) | (within[0] == 0)) & (distance <= within[1])


@functools.lru_cache(maxsize=128)
def ball(dimensions: int, count: int) -> NDArray[np.int64]:
    """Return the integer points nearest to the origin, shape (at most count, dimensions), nearest first."""
    if dimensions == 0:
        return np.zeros((1, 0), dtype=np.int64)
    origin = (0,) * dimensions
    heap, seen = [(0, origin)], {origin}
    found: list[tuple[int, ...]] = []
    while heap and len(found) < count:
        norm, point = heapq.heappop(heap)
        found.append(point)
        for position, offset in enumerate(point):
            for step in (1, -1):
                moved = (*point[:position], offset + step, *point[position + 1 :])
                square = norm + 2 * step * offset + 1
                if square > norm and moved not in seen and len(seen) < 3 * count:
                    seen.add(moved)
                    heapq.heappush(heap, (square, moved))
    points = np.array(found, dtype=np.int64)
    points.setflags(write=False)
    return points
