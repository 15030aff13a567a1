"""Equalities solved exactly: free variables are chosen, the others follow.

A linear or product equality is a sum of monomials that is zero. A variable that stands in one of them only, to the
first power, can be solved for: it is a *pivot*. One pivot for each equality, in an order in which every equality
finds its other variables known, turns the equalities into a recipe; totals are then recomputed from their rounded
parts, products from their factors.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from masktron.constraints import Atom, Linear, Monomial, Polynomial, Product

MAX_RECIPES = 8
"""Recipes that are tried for one set of equalities."""
MAX_CHOICES = 256
"""Orders of pivots that are looked at in search of recipes."""


@dataclass(frozen=True, slots=True)
class Equality:
    """``sum(monomials) = 0``."""

    monomials: tuple[Monomial, ...]

    @property
    def variables(self) -> frozenset[str]:
        """All variables of the equality."""
        return frozenset(name for monomial in self.monomials for name, _ in monomial.powers)

    def given(self, constants: Mapping[str, Fraction]) -> Equality:
        """Return the equality with numbers in the place of some variables, unless it would divide by zero."""
        monomials = []
        for monomial in self.monomials:
            coefficient, powers = monomial.coefficient, []
            for name, power in monomial.powers:
                if name in constants and (constants[name] or power > 0):
                    coefficient *= constants[name] ** power
                else:
                    powers.append((name, power))
            monomials.append(Monomial(coefficient, tuple(powers)))
        return Equality(tuple(monomials))

    @property
    def linear(self) -> bool:
        """Whether no monomial has several variables or a power."""
        return all(not m.powers or (len(m.powers) == 1 and m.powers[0][1] == 1) for m in self.monomials)

    def without(self, pivot: str, other: Equality) -> Equality:
        """Eliminate a variable from a linear equality with the help of another linear one; unchanged without it."""
        mine, theirs = self._coefficients(), other._coefficients()
        if ((pivot, 1),) not in mine:
            return self
        factor = mine[((pivot, 1),)] / theirs[((pivot, 1),)]
        for powers, coefficient in theirs.items():
            mine[powers] = mine.get(powers, Fraction(0)) - factor * coefficient
        return Equality(tuple(Monomial(coefficient, powers) for powers, coefficient in mine.items() if coefficient))

    def _coefficients(self) -> dict[tuple[tuple[str, int], ...], Fraction]:
        sums: dict[tuple[tuple[str, int], ...], Fraction] = {}
        for monomial in self.monomials:
            sums[monomial.powers] = sums.get(monomial.powers, Fraction(0)) + monomial.coefficient
        return sums

    def pivots(self) -> list[str]:
        """Variables that can be solved for, the best first.

        Best is a variable that needs no division and stands alone on its side, as a total does.
        """
        options: list[tuple[bool, bool, int, str]] = []
        for position, monomial in enumerate(self.monomials):
            for name, power in monomial.powers:
                occurrences = sum(name == other for m in self.monomials for other, _ in m.powers)
                if power == 1 and occurrences == 1:
                    same_side = sum((m.coefficient > 0) == (monomial.coefficient > 0) for m in self.monomials)
                    options.append((len(monomial.powers) > 1, same_side > 1, -position, name))
        return [name for *_, name in sorted(options)]

    def solve(self, pivot: str, values: Mapping[str, Fraction]) -> Fraction | None:
        """Return the value of the pivot that makes the equality true; None where it takes a division by zero."""
        rest, factor = Fraction(0), Fraction(0)
        for monomial in self.monomials:
            others = monomial.coefficient
            for name, power in monomial.powers:
                if name == pivot:
                    continue
                if power < 0 and values[name] == 0:
                    return None
                others *= values[name] ** power
            if any(name == pivot for name, _ in monomial.powers):
                factor = others
            else:
                rest += others
        return -rest / factor if factor else None


@dataclass(frozen=True, slots=True)
class Recipe:
    """Free variables, and the equalities in the order in which they give the solved ones."""

    free: tuple[str, ...]
    steps: tuple[tuple[str, Equality], ...]

    def complete(self, free: Mapping[str, Fraction]) -> dict[str, Fraction] | None:
        """Return the values of all variables; None where a solved variable does not exist."""
        values = dict(free)
        for pivot, equality in self.steps:
            value = equality.solve(pivot, values)
            if value is None:
                return None
            values[pivot] = value
        return values


def equalities(atoms: Sequence[Atom]) -> list[Equality]:
    """Pick the equalities between variables out of a conjunction, without repetitions."""
    found: dict[Equality, None] = {}
    for atom in atoms:
        match atom:
            case Linear(terms, "=", bound):
                monomials = [Monomial(coefficient, ((name, 1),)) for name, coefficient in terms]
                constant = [Monomial(-bound, ())] if bound else []
                found[Equality((*monomials, *constant))] = None
            case Product(left, "=", right):
                found[Equality((*left, Monomial(-right.coefficient, right.powers)))] = None
            case Polynomial(monomials, "="):
                found[Equality(monomials)] = None
            case _:
                pass
    return list(found)


def recipes(variables: Sequence[str], system: Sequence[Equality]) -> list[Recipe]:
    """List the ways to solve a system of equalities, the best first; at least one, if need be without the equalities.

    The equality that is solved last has a pivot that stands in no other; without it, the one before it has, and so
    on. Taking such equalities away in any order leaves the same ones over in the end, so none is missed. Where the
    others go in circles, a variable is eliminated from linear ones; products are thinned out until they can be
    solved, and the search then looks for points that satisfy the rest.
    """
    inside = tuple(equality for equality in system if equality.variables <= set(variables))
    found: dict[frozenset[str], Recipe] = {}
    for steps in itertools.islice(_orders(inside, ()), MAX_CHOICES):
        pivots = frozenset(pivot for pivot, _ in steps)
        found.setdefault(pivots, Recipe(tuple(name for name in variables if name not in pivots), steps))
        if len(found) == MAX_RECIPES:
            break
    return list(found.values())


def _orders(
    pending: tuple[Equality, ...], solved: tuple[tuple[str, Equality], ...]
) -> Iterator[tuple[tuple[str, Equality], ...]]:
    """Put equalities that can be solved after all others before those that are already placed; best pivots first."""
    if not pending:
        yield solved
        return
    readers = Counter(name for equality in pending for name in equality.variables)
    options = [
        (rank, position, pivot)
        for position, equality in enumerate(pending)
        for rank, pivot in enumerate(equality.pivots())
        if readers[pivot] == 1
    ]
    if not options:
        yield from _unwound(pending, solved)
    for _, position, pivot in sorted(options):
        rest = (*pending[:position], *pending[position + 1 :])
        yield from _orders(rest, ((pivot, pending[position]), *solved))


def _unwound(
    pending: tuple[Equality, ...], solved: tuple[tuple[str, Equality], ...]
) -> Iterator[tuple[tuple[str, Equality], ...]]:
    """Place an equality after the others by eliminating its pivot from them, or else go on without the last one."""
    for position, equality in enumerate(pending):
        others = (*pending[:position], *pending[position + 1 :])
        for pivot in equality.pivots() if equality.linear else ():
            if all(other.linear for other in others if pivot in other.variables):
                freed = (other.without(pivot, equality) for other in others)
                yield from _orders(tuple(other for other in freed if other.variables), ((pivot, equality), *solved))
                return
    yield from _orders(pending[:-1], solved)
