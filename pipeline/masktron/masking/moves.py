"""Moves of a prototype: a free field goes some points along its grid, and what depends on it follows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from masktron.constraints import Form, Linear
from masktron.read.records import Column
from masktron.settle.grid import LONG, Grid
from masktron.settle.spread import common_measure
from masktron.settle.system import Recipe

COMPANIONS = 6
"""Fields that are tried in company with one."""

type Values = dict[str, Fraction]


@dataclass(frozen=True, slots=True)
class Move:
    """One field moves, with another one that makes up for it in an inequality, and the solved fields follow.

    Attributes
    ----------
    recipe : Recipe
        Both fields are free in it.
    points : int
        By how many points of its grid the field moves, up or down.
    companion : tuple of (str, Fraction), or None
        The other field, and how much it moves for 1 of the first.
    """

    recipe: Recipe
    name: str
    points: int
    companion: tuple[str, Fraction] | None = None

    @property
    def reached(self) -> set[str]:
        """Fields that may change."""
        found = {self.name} | ({self.companion[0]} if self.companion else set())
        for pivot, equality in self.recipe.steps:
            if not found.isdisjoint(equality.variables):
                found.add(pivot)
        return found

    @property
    def linear(self) -> bool:
        """Whether several moves change as much as one, so many times."""
        found = self.reached
        return all(equality.linear for pivot, equality in self.recipe.steps if pivot in found)

    def after(self, values: Values, times: int, grids: Mapping[str, Grid]) -> Values | None:
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
        if self.companion is not None:
            other, ratio = self.companion
            result[other] += ratio * (result[self.name] - values[self.name])
            changed.add(other)
        for pivot, equality in self.recipe.steps:
            if changed.isdisjoint(equality.variables):
                continue
            value = equality.solve(pivot, result)
            if value is None:
                return None
            if value != result[pivot]:
                result[pivot] = value
                changed.add(pivot)
        return result


def moves_of(
    recipe: Recipe, companions: Mapping[str, Sequence[tuple[str, Fraction]]], strides: Mapping[str, int]
) -> Iterator[Move]:
    """Yield the moves under a recipe: of each free field alone, and with each companion."""
    for name in recipe.free:
        stride = strides.get(name, 1)
        mates = [mate for mate in companions.get(name, ()) if mate[0] in recipe.free]
        for points in (1, -1) if stride == 1 else (1, -1, stride, -stride):
            yield Move(recipe, name, points)
            yield from (Move(recipe, name, points, mate) for mate in mates)


def companions_of(forms: Iterable[Form]) -> dict[str, list[tuple[str, Fraction]]]:
    """Return for each field those that can make up for a change of it in a linear inequality, and how much they do.

    A balance with a tolerance leaves a single field no room: where the parts move, the total has to move as well.
    """
    found: dict[str, dict[tuple[str, Fraction], None]] = {}
    atoms = {atom for form in forms for conjunction in form for atom in conjunction if isinstance(atom, Linear)}
    for atom in sorted((atom for atom in atoms if atom.relation != "="), key=str):
        for name, own in atom.terms:
            mates = found.setdefault(name, {})
            mates |= {(other, -own / factor): None for other, factor in atom.terms if other != name}
    return {name: list(mates)[:COMPANIONS] for name, mates in found.items()}


def stride_of(column: Column) -> int:
    """Return by how many points of the grid all values of a field are apart: 10 for multiples of ten."""
    if column.decimals > LONG:
        return 1
    numbers = {Fraction(str(lexeme).strip()) for lexeme in set(column.lexemes[column.is_number].tolist())}
    gaps = [(number - min(numbers)) * 10**column.decimals for number in numbers]
    return int(common_measure(gaps)) or 1
