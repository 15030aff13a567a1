"""Candidates for the prototypes of many groups at once: what `Search.near` finds first, over columns.

Groups of one kind share what is asked of them and differ in their aggregates alone. Their rounded aggregates, and the
points of the lattice around them, are then columns of exact decimals. Grids that are lists of values are left to the
search of single groups; so is every group for which nothing here is accepted. So are recipes whose quotients have to
be exact on a long field: where there is one, only what is so close is offered here that it need not be compared.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import FloatColumns
from masktron.settle.candidate_search import NEAR
from masktron.settle.decimals import Decimals, total
from masktron.settle.grid import Grid
from masktron.settle.lattice import CLOSE, FEW_LOOKED, Search, ball
from masktron.settle.residual_rules import satisfied_columns
from masktron.settle.system import Equality, Recipe

CHUNK = 2_000
"""Groups whose lattices are in memory at a time."""
STEPPED = 9
"""Steps by which the last digit of a free long fraction is moved so that engines read it alike."""


@dataclass(frozen=True, slots=True, eq=False)
class Offers:
    """Candidates, the better ones of a group first.

    Attributes
    ----------
    owners : ndarray of intp, shape (r,)
        The group of each, ascending.
    numbers : mapping of field name to Decimals, each of shape (r,)
    """

    owners: NDArray[np.intp]
    numbers: Mapping[str, Decimals]


type _Term = tuple[Decimals, Sequence[tuple[str, int]]]
"""A product with its coefficient."""


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """A solved variable as a sum of products, divided by a product."""

    pivot: str
    terms: Sequence[_Term]
    divisor: _Term | None
    approximate: bool

    @classmethod
    def of(cls, pivot: str, equality: Equality, grid: Grid) -> _Step | None:
        """Solve an equality for a variable; None where columns of decimals do not hold what comes out."""
        (factor,) = (m for m in equality.monomials if any(name == pivot for name, _ in m.powers))
        terms = []
        for monomial in equality.monomials:
            if monomial is factor:
                continue
            constant = Decimals.constant(-monomial.coefficient / factor.coefficient)
            if constant is None or any(power < 0 for _, power in monomial.powers):
                return None
            terms.append((constant, monomial.powers))
        others = [(name, power) for name, power in factor.powers if name != pivot]
        one = Decimals.constant(Fraction(1))
        if not terms or one is None or any(power < 0 for _, power in others):
            return None
        if others and grid.digits is not None and not equality.approximate:
            return None
        return cls(pivot, terms, (one, others) if others else None, equality.approximate)

    def solve(self, numbers: Mapping[str, Decimals], grid: Grid) -> Decimals:
        """Return the solved variable where its grid holds it."""
        solved = total([_product(term, numbers) for term in self.terms])
        if self.divisor is not None:
            return solved.over(_product(self.divisor, numbers), grid, near=self.approximate)
        return (solved.rounded(grid) if self.approximate else solved).on(grid)


def _product(term: _Term, numbers: Mapping[str, Decimals]) -> Decimals:
    product, powers = term
    for name, power in powers:
        for _ in range(power):
            product = product * numbers[name]
    return product


@dataclass(frozen=True, slots=True, eq=False)
class Bulk:
    """The search for the prototypes of groups of one kind.

    Attributes
    ----------
    search : Search
    recipes : sequence of (Recipe, sequence of _Step)
        Those that columns of decimals can follow.
    within : float
        Squared distance, in units of the fields' spreads, to which points are offered.
    """

    search: Search
    recipes: Sequence[tuple[Recipe, Sequence[_Step]]]
    within: float

    @classmethod
    def of(cls, search: Search) -> Bulk | None:
        """Prepare a search; None where it has to be made group by group."""
        names = {name for way in search.ways for name in (*way.free, *(pivot for pivot, _ in way.steps))}
        if any(search.grids[name].among or search.grids[name].binary for name in names):
            return None
        found = []
        for way in search.ways:
            steps = [_Step.of(pivot, equality, search.grids[pivot]) for pivot, equality in way.steps]
            if None not in steps:
                found.append((way, [step for step in steps if step is not None]))
        # What is left out may come nearer.
        return cls(search, found, NEAR if len(found) == len(search.ways) else CLOSE) if found else None

    def rounded(self, targets: FloatColumns) -> Offers:
        """Return the rounded aggregates of groups, one for each recipe; what is close comes first.

        Parameters
        ----------
        targets : mapping of field name to ndarray of float64, shape (m,)
        """
        return _joined([self._best(own, start, 1, 0, len(self.recipes)) for start, own in _chunks(targets)])

    def around(self, targets: FloatColumns, first: int, most: int) -> Offers:
        """Return points of the lattices around the aggregates, without the rounded ones.

        Parameters
        ----------
        targets : mapping of field name to ndarray of float64, shape (m,)
        first, most : int
            How many of the nearest are left out, and how many are then returned for each group.
        """
        return _joined([self._best(own, start, FEW_LOOKED, first, most) for start, own in _chunks(targets)])

    def _best(self, targets: FloatColumns, start: int, looked: int, first: int, most: int) -> Offers:
        with np.errstate(all="ignore"):
            made = [self._points(targets, recipe, steps, looked) for recipe, steps in self.recipes]
        distances = np.concatenate([distance for _, distance in made], axis=1)
        widths = np.array([distance.shape[1] for _, distance in made])
        rank = distances
        if looked == 1:  # what is close is taken in the order of the recipes
            rank = np.where(distances <= CLOSE, np.arange(len(made)) - float(len(made)), distances)
        order = np.argsort(rank, axis=1, kind="stable")[:, first : first + most]
        there = np.isfinite(np.take_along_axis(distances, order, axis=1))
        rows, places = np.nonzero(there)
        chosen = order[rows, places]
        edges = np.cumsum(widths) - widths
        which = np.searchsorted(edges, chosen, side="right") - 1
        columns = chosen - edges[which]
        numbers = {
            name: _gathered([(points[name], own.shape) for points, own in made], which, rows, columns)
            for name in targets
        }
        return Offers((rows + start).astype(np.intp), self._readable(numbers))

    def _points(
        self, targets: FloatColumns, recipe: Recipe, steps: Sequence[_Step], looked: int
    ) -> tuple[dict[str, Decimals], NDArray[np.float64]]:
        """Return points of all groups, shape (m, q), and their distances: infinite where a rule says no."""
        offsets = ball(len(recipe.free), looked)
        count = len(next(iter(targets.values())))
        shape = (count, len(offsets))
        numbers: dict[str, Decimals] = {}
        for position, name in enumerate(recipe.free):
            numbers[name] = Decimals.near(targets[name][:, None], self.search.grids[name], offsets[:, position])
        for step in steps:
            numbers[step.pivot] = step.solve(numbers, self.search.grids[step.pivot])
        doubles = {name: np.broadcast_to(number.doubles(), shape) for name, number in numbers.items()}
        distance = np.zeros(shape)
        for name, values in doubles.items():
            distance += ((values - targets[name][:, None]) / self.search.scale[name]) ** 2
        fine = np.isfinite(distance) & (distance <= self.within)
        if looked > 1:
            fine &= offsets.any(axis=1)
        for name, number in numbers.items():
            fine &= number.fits(self.search.grids[name])
            if name in self.search.tied:
                fine &= number.alike()
            for code in self.search.codes.get(name, ()):
                fine &= ~number.equals(code)
        fine[fine] = satisfied_columns(
            self.search.rules, {name: values[fine] for name, values in doubles.items()}, int(fine.sum())
        )
        return numbers, np.where(fine, distance, np.inf)

    def _readable(self, numbers: Mapping[str, Decimals]) -> dict[str, Decimals]:
        """Step the last digit of free long fractions until engines read them alike, as far as that is near."""
        return {
            name: number if name in self.search.tied or self.search.grids[name].digits is None else _stepped(number)
            for name, number in numbers.items()
        }


def _stepped(number: Decimals) -> Decimals:
    mantissa = number.mantissa.copy()
    left = np.flatnonzero(number.known & ~number.alike())
    for step in itertools.chain.from_iterable((size, -size) for size in range(1, STEPPED + 1)):
        moved = Decimals(number.mantissa[left] + step, number.places[left], number.known[left])
        fits = moved.alike()
        mantissa[left[fits]] = moved.mantissa[fits]
        left = left[~fits]
    return Decimals(mantissa, number.places, number.known)


def _gathered(
    tables: Sequence[tuple[Decimals, tuple[int, ...]]],
    which: NDArray[np.intp],
    rows: NDArray[np.intp],
    columns: NDArray[np.intp],
) -> Decimals:
    """Take numbers out of the tables of several recipes, each of the given shape or what broadcasts to it."""
    mantissa = np.zeros(len(rows), dtype=np.int64)
    places = np.zeros(len(rows), dtype=np.int64)
    known = np.zeros(len(rows), dtype=np.bool_)
    for at, (table, shape) in enumerate(tables):
        own = which == at
        where = rows[own], columns[own]
        mantissa[own] = np.broadcast_to(table.mantissa, shape)[where]
        places[own] = np.broadcast_to(table.places, shape)[where]
        known[own] = np.broadcast_to(table.known, shape)[where]
    return Decimals(mantissa, places, known)


def _chunks(targets: FloatColumns) -> Iterator[tuple[int, dict[str, NDArray[np.float64]]]]:
    count = len(next(iter(targets.values())))
    for start in range(0, count, CHUNK):
        yield start, {name: values[start : start + CHUNK] for name, values in targets.items()}


def _joined(parts: Sequence[Offers]) -> Offers:
    numbers = {name: Decimals.joined([part.numbers[name] for part in parts]) for name in parts[0].numbers}
    return Offers(np.concatenate([part.owners for part in parts]), numbers)


def aimed(
    targets: FloatColumns,
    centres: FloatColumns,
    search: Search,
) -> dict[str, NDArray[np.float64]]:
    """Move the targets of many groups as `masktron.settle.aim.aim` does that of one, in doubles."""
    if all(equality.linear for recipe in search.ways for _, equality in recipe.steps):
        return dict(targets)
    count = len(next(iter(targets.values())))
    best = np.full(count, np.inf)
    moved = {name: values.copy() for name, values in targets.items()}
    for recipe in search.ways:
        with np.errstate(all="ignore"):
            values = {name: targets[name] for name in recipe.free}
            for pivot, equality in recipe.steps:
                values[pivot] = np.broadcast_to(equality.solve_columns(pivot, values), (count,))
            distance = np.sqrt(sum(((values[n] - centres[n]) / search.scale[n]) ** 2 for n in values))
            fine = np.isfinite(distance) & (distance < best)
            fine[fine] = satisfied_columns(search.rules, {n: v[fine] for n, v in values.items()}, int(fine.sum()))
        best[fine] = distance[fine]
        for name, own in values.items():
            moved[name][fine] = own[fine]
    return moved
