"""Moves of a prototype: a free field goes some points along its grid, and what depends on it follows."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from masktron.constraints import Atom, Form, Linear, Monomial, Polynomial, Product
from masktron.settle.grid import LONG, Grid, common_measure
from masktron.settle.system import Equality, Recipe
from masktron.sources.records import Column

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
