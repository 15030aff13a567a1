"""Equalities solved exactly: free variables are chosen, the others follow.

A linear or product equality is a sum of monomials that is zero. A variable that stands in one of them only, to the
first power, can be solved for: it is a *pivot*. One pivot for each equality, in an order in which every equality
finds its other variables known, turns the equalities into a recipe; totals are then recomputed from their rounded
parts, products from their factors. A product that has to be met within a tolerance is an *approximate* equality:
its pivot is solved and then rounded to its grid.
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from masktron.classify.polynomial import solved_value
from masktron.constraints import Monomial
from masktron.settle.grid import Grid
from masktron.settle.residual_rules import Condition, NumberComparison

MAX_RECIPES = 8
"""Recipes that are tried for one set of equalities."""
MAX_CHOICES = 256
"""Choices of pivots that are looked at in search of recipes."""


@dataclass(frozen=True)  # no slots: what follows from the monomials is found out once
class Equality:
    """``sum(monomials) = 0``, or, where it is approximate, as near to it as the grid of the pivot allows."""

    monomials: tuple[Monomial, ...]
    approximate: bool = False

    def __hash__(self) -> int:
        return self._hash

    @functools.cached_property
    def _hash(self) -> int:
        return hash((self.monomials, self.approximate))

    @functools.cached_property
    def variables(self) -> frozenset[str]:
        """All variables of the equality."""
        return frozenset(name for monomial in self.monomials for name, _ in monomial.powers)

    @functools.cached_property
    def linear(self) -> bool:
        """Whether no monomial has several variables or a power."""
        return all(monomial.linear for monomial in self.monomials)

    def without(self, pivot: str, other: Equality) -> Equality:
        """Eliminate a variable from a linear equality with the help of another linear one; unchanged without it."""
        mine, theirs = self._coefficients(), other._coefficients()
        if ((pivot, 1),) not in mine:
            return self
        factor = mine[((pivot, 1),)] / theirs[((pivot, 1),)]
        for powers, coefficient in theirs.items():
            mine[powers] = mine.get(powers, Fraction(0)) - factor * coefficient
        terms = tuple(Monomial(coefficient, powers) for powers, coefficient in mine.items() if coefficient)
        return Equality(terms, self.approximate)

    def _coefficients(self) -> dict[tuple[tuple[str, int], ...], Fraction]:
        sums: dict[tuple[tuple[str, int], ...], Fraction] = {}
        for monomial in self.monomials:
            sums[monomial.powers] = sums.get(monomial.powers, Fraction(0)) + monomial.coefficient
        return sums

    @functools.cached_property
    def pivots(self) -> tuple[str, ...]:
        """Variables that can be solved for, the best first.

        Best is a variable that needs no division and stands alone on its side, as a total does.
        """
        options: list[tuple[bool, bool, int, str]] = []
        occurrences = Counter(name for monomial in self.monomials for name, _ in monomial.powers)
        signs = Counter(monomial.coefficient > 0 for monomial in self.monomials)
        for position, monomial in enumerate(self.monomials):
            for name, power in monomial.powers:
                if power == 1 and occurrences[name] == 1:
                    same_side = signs[monomial.coefficient > 0]
                    options.append((len(monomial.powers) > 1, same_side > 1, -position, name))
        return tuple(name for *_, name in sorted(options))

    def solve(self, pivot: str, values: Mapping[str, Fraction]) -> Fraction | None:
        """Return the value of the pivot that makes the equality true; None where it takes a division by zero."""
        return solved_value(((monomial.powers, monomial.coefficient) for monomial in self.monomials), pivot, values)

    def solve_columns(self, pivot: str, columns: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
        """Return what `solve` gives for each row, in doubles; infinite or NaN where there is no solution."""
        rest, factor = np.zeros(1), np.zeros(1)
        for monomial in self.monomials:
            others = np.full(1, float(monomial.coefficient))
            for name, power in monomial.powers:
                if name != pivot:
                    others = others * columns[name] ** float(power)
            if any(name == pivot for name, _ in monomial.powers):
                factor = others
            else:
                rest = rest + others
        return np.asarray(-rest / factor)


@dataclass(frozen=True, slots=True)
class Recipe:
    """Free variables, and the equalities in the order in which they give the solved ones."""

    free: tuple[str, ...]
    steps: tuple[tuple[str, Equality], ...]

    def complete(
        self, free: Mapping[str, Fraction], grids: Mapping[str, Grid] | None = None
    ) -> dict[str, Fraction] | None:
        """Return the values of all variables; None where a solved variable does not exist.

        With `grids`, solved variables are moved to their grids as far as `Grid.settled` does that.
        """
        values = dict(free)
        for pivot, equality in self.steps:
            value = equality.solve(pivot, values)
            if value is None:
                return None
            values[pivot] = grids[pivot].settled(value, near=equality.approximate) if grids else value
        return values

    def complete_columns(
        self, free: Mapping[str, NDArray[np.float64]], grids: Mapping[str, Grid], count: int
    ) -> tuple[dict[str, NDArray[np.float64]], NDArray[np.bool_]]:
        """Return what `complete` gives for each of `count` rows, in doubles, and which rows lie on the grids."""
        columns, fine = dict(free), np.ones(count, dtype=np.bool_)
        for pivot, equality in self.steps:
            solved = np.broadcast_to(equality.solve_columns(pivot, columns), (count,))
            columns[pivot], on_grid = grids[pivot].fitting(solved, near=equality.approximate)
            fine &= on_grid
        return columns, fine


def equalities(conditions: Sequence[Condition], grids: Mapping[str, Grid] | None = None) -> list[Equality]:
    """Pick the equalities out of a conjunction, without repetitions; the approximate ones come last.

    Approximate are products within a tolerance and, given `grids`, sums within one that is no wider than a grid step.
    """
    comparisons = [condition for condition in conditions if isinstance(condition, NumberComparison)]
    exact = [Equality(comparison.terms) for comparison in comparisons if comparison.relation == "="]
    pairs = itertools.combinations([comparison for comparison in comparisons if comparison.relation != "="], 2)
    near = [equality for one, two in pairs if (equality := _between(one, two, grids or {})) is not None]
    return list(dict.fromkeys([*exact, *near]))


def _between(one: NumberComparison, two: NumberComparison, grids: Mapping[str, Grid]) -> Equality | None:
    """Return the middle of two bounds on the same terms: ``p <= q`` and ``-p <= q`` leave p around zero."""
    if one.variables != two.variables or one.linear != two.linear:
        return None
    total: dict[tuple[tuple[str, int], ...], Fraction] = {}
    middle: dict[tuple[tuple[str, int], ...], Fraction] = {}
    for comparison, sign in ((one, 1), (two, -1)):
        for term in comparison.terms:
            total[term.powers] = total.get(term.powers, Fraction(0)) + term.coefficient
            middle[term.powers] = middle.get(term.powers, Fraction(0)) + sign * term.coefficient / 2
    left = [(sum(power for _, power in powers), c) for powers, c in total.items() if c]
    terms = tuple(Monomial(c, powers) for powers, c in middle.items() if c)
    if one.linear:
        steps = [abs(t.coefficient) * grids[name].step(0.0) for t in terms for name, _ in t.powers if name in grids]
        narrow = all(degree == 0 for degree, _ in left) and len(steps) > 1 and -sum(c for _, c in left) <= max(steps)
    else:
        narrow = all(degree <= 1 for degree, _ in left) and any(t.powers for t in terms)
    return Equality(terms, approximate=True) if narrow else None


def recipes(
    variables: Sequence[str], system: Sequence[Equality], grids: Mapping[str, Grid] | None = None
) -> list[Recipe]:
    """List the ways to solve a system of equalities, the best first; at least one, if need be without the equalities.

    The equality that is solved last has a pivot that stands in no other; without it, the one before it has, and so
    on. Taking such equalities away in any order leaves the same ones over in the end, so none is missed. Where the
    others go in circles, a variable is eliminated from linear ones; products are thinned out until they can be
    solved, and the search then looks for points that satisfy the rest. Approximate equalities are tried with the
    exact ones first; then the exact ones alone are.
    """
    inside = tuple(equality for equality in system if equality.variables <= set(variables))
    exact = tuple(equality for equality in inside if not equality.approximate)
    long = long_fractions(grids or {})
    found: dict[frozenset[str], Recipe] = {}
    for equations in dict.fromkeys((inside, exact)):
        for steps in itertools.islice(_orders(equations, (), long, set()), MAX_CHOICES):
            pivots = frozenset(pivot for pivot, _ in steps)
            found.setdefault(pivots, Recipe(tuple(name for name in variables if name not in pivots), steps))
    return _varied(list(found.values()))


def long_fractions(grids: Mapping[str, Grid]) -> frozenset[str]:
    """Return the fields whose numbers have long fractions: the best pivots. Recipes ask nothing else of grids."""
    return frozenset(name for name, grid in grids.items() if grid.digits is not None and not grid.among)


type _State = tuple[frozenset[tuple[str, Equality]], frozenset[Equality]]


def _varied(ways: Sequence[Recipe]) -> list[Recipe]:
    """Take the best recipe, then each that is the first to solve for some variable, then the next best."""
    chosen: list[Recipe] = []
    met: set[str] = set()
    for way in ways:
        pivots = {pivot for pivot, _ in way.steps}
        if not chosen or pivots - met:
            chosen.append(way)
            met |= pivots
    return [*chosen, *(way for way in ways if way not in chosen)][:MAX_RECIPES]


def _orders(
    pending: tuple[Equality, ...],
    solved: tuple[tuple[str, Equality], ...],
    long: frozenset[str],
    seen: set[_State],
) -> Iterator[tuple[tuple[str, Equality], ...]]:
    """Put equalities that can be solved after all others before those that are already placed; best pivots first.

    What was placed in another order before is left out. A field with a long fraction, where there is one, is the
    best pivot: any number fits it, while an integer is hardly ever a product with a fraction.
    """
    state = frozenset(solved), frozenset(pending)
    if state in seen:
        return
    seen.add(state)
    if not pending:
        yield solved
        return
    readers = Counter(name for equality in pending for name in equality.variables)
    options = [
        (pivot not in long and bool(equality.variables & long), rank, position, pivot)
        for position, equality in enumerate(pending)
        for rank, pivot in enumerate(equality.pivots)
        if readers[pivot] == 1
    ]
    if not options:
        yield from _unwound(pending, solved, long, seen)
    only = [option for option in options if len(pending[option[2]].pivots) == 1]
    if (
        only
    ):  # nothing is chosen there: placed now or later, it is solved the same, so that no subset of them is tried
        options = only[:1]
    for _, _, position, pivot in sorted(options):
        rest = (*pending[:position], *pending[position + 1 :])
        yield from _orders(rest, ((pivot, pending[position]), *solved), long, seen)


def _unwound(
    pending: tuple[Equality, ...],
    solved: tuple[tuple[str, Equality], ...],
    long: frozenset[str],
    seen: set[_State],
) -> Iterator[tuple[tuple[str, Equality], ...]]:
    """Place an equality after the others by eliminating its pivot from them, or else go on without the last one."""
    for position, equality in enumerate(pending):
        others = (*pending[:position], *pending[position + 1 :])
        for pivot in equality.pivots if equality.linear and not equality.approximate else ():
            if all(other.linear for other in others if pivot in other.variables):
                freed = (other.without(pivot, equality) for other in others)
                rest = tuple(other for other in freed if other.variables)
                yield from _orders(rest, ((pivot, equality), *solved), long, seen)
                return
    yield from _orders(pending[:-1], solved, long, seen)
