"""Equalities solved exactly: free variables are chosen, the others follow.

A linear or product equality is a sum of monomials that is zero. A variable that stands in one of them only, to the
first power, can be solved for: it is a *pivot*. One pivot for each equality, in an order in which every equality
finds its other variables known, turns the equalities into a recipe; totals are then recomputed from their rounded
parts, products from their factors.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from masktron.constraints import Atom, Linear, Monomial, Product

MAX_RECIPES = 8
"""Recipes that are tried for one set of equalities."""
MAX_CHOICES = 256
"""Combinations of pivots that are looked at in search of recipes."""


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
            case _:
                pass
    return list(found)


def recipes(variables: Sequence[str], system: Sequence[Equality]) -> list[Recipe]:
    """List the ways to solve a system of equalities, the best first; at least one, if need be without the equalities.

    Equalities that cannot all be solved one after the other (two totals of the same parts, say) are left to the
    search: the recipe then solves as many as it can.
    """
    inside = [equality for equality in system if equality.variables <= set(variables)]
    for solved in range(len(inside), -1, -1):
        found = [
            recipe for subset in itertools.combinations(inside, solved) for recipe in _orderings(variables, subset)
        ]
        if found:
            return found[:MAX_RECIPES]
    return [Recipe(tuple(variables), ())]


def _orderings(variables: Sequence[str], system: Sequence[Equality]) -> list[Recipe]:
    options = [equality.pivots() for equality in system]
    found: list[Recipe] = []
    for pivots in itertools.islice(itertools.product(*options), MAX_CHOICES):
        steps = _order(list(zip(pivots, system, strict=True))) if len(set(pivots)) == len(pivots) else None
        if steps is not None:
            found.append(Recipe(tuple(name for name in variables if name not in pivots), tuple(steps)))
    return found


def _order(pending: list[tuple[str, Equality]]) -> list[tuple[str, Equality]] | None:
    """Sort so that each equality's other variables are free or solved before it; None when they go in circles."""
    steps: list[tuple[str, Equality]] = []
    while pending:
        unsolved = {pivot for pivot, _ in pending}
        ready = [step for step in pending if not (step[1].variables - {step[0]}) & unsolved]
        if not ready:
            return None
        steps += ready
        pending = [step for step in pending if step not in ready]
    return steps
