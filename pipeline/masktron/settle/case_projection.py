"""The points nearest to many targets that satisfy the conditions of one case, before they are put on the grids.

The linear conditions of a case are a polyhedron, on which each target is projected, every field in its own unit. What
follows is rounded to the grids, and its solved variables are computed again, so that inequalities have to leave room
for that. Conditions with products are linearised where the search stands, and again where it got to: a point that
stays where it is, is stationary for the true conditions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import FloatColumns
from masktron.constraints import Monomial
from masktron.kernels.nearest_point import ProjectionOutcome, nearest_points
from masktron.settle.grid import Grid, common_measure
from masktron.settle.lattice import Search
from masktron.settle.residual_rules import Condition, NumberComparison
from masktron.settle.system import Recipe

ROUNDS = 12
"""Linearisations of products at most."""
STILL = 1e-9
"""A point that moves less than this, in units of the fields' spreads, has arrived."""
NEARLY = 0.01
"""One that moves less in the last round is near enough: its solved variables are computed anyway."""
ROUNDING = 2.0**-48
"""Slack of a condition as a share of its terms, above the rounding error of their sum."""
SLACK = 1e-11
"""The same in units of distance."""
CLOSE_TO = 4
"""A projection heeds what a column can hold where that is less than this times the largest target."""
SHORT_OF = 0.99
"""A sum of numbers of a grid that is less than one step of the sums beyond a bound is not beyond it."""


@dataclass(frozen=True, slots=True)
class _Room:
    """What an inequality has to leave for the grids, as amounts of its left side.

    Attributes
    ----------
    unit : float
        Distance between the values that the left side can have on the grids; 0 where that is not known.
    constant : float
        What stands without variables once the solved ones are put in.
    cost : float
        By how much rounding the free variables can raise the left side.
    strict : float
        By how much the left side has to stay below the bound.
    """

    unit: float
    constant: float
    cost: float
    strict: float

    def shift(self, others: NDArray[np.float64], *, wide: bool) -> NDArray[np.float64]:
        """Return by how much the bound is moved inside, shape (m,), given what other fields add to the left side.

        With `wide`, so far that no rounding of the point can break the condition.
        """
        if not self.unit:
            return np.full(len(others), self.strict + (self.cost if wide else 0.0))
        bound = -(self.constant + others)
        steps = np.floor(bound / self.unit + 1e-9)
        if self.strict:
            steps = np.ceil(bound / self.unit - 1e-9) - 1
        room = max(0.0, self.cost - SHORT_OF * self.unit) if wide else 0.0
        return np.asarray(bound - steps * self.unit + room)


@dataclass(frozen=True, slots=True, eq=False)
class CaseProjection:
    """The projection of targets on the conditions of a case.

    Attributes
    ----------
    names : tuple of str
        The fields that are moved.
    conditions : tuple of NumberComparison
        The equalities first. They may read further fields, which stay as they are.
    equal : int
        Number of equalities.
    """

    names: tuple[str, ...]
    conditions: tuple[NumberComparison, ...]
    equal: int
    _rooms: tuple[_Room | None, ...]
    _scale: NDArray[np.float64]

    @classmethod
    def of(cls, search: Search, conditions: Iterable[Condition], sizes: Mapping[str, float]) -> CaseProjection | None:
        """Prepare the projection; None where no condition compares numbers.

        Parameters
        ----------
        search : Search
            Its grids, its units, and how equalities are solved; room is left for the rounding of the first way.
        conditions : iterable of Condition
            Of one disjunct of every rule; those that are no comparisons are left to the judge.
        sizes : mapping of field name to float
            The fields that are moved, with their largest magnitudes: long fractions are coarser there.
        """
        comparisons = [c for c in dict.fromkeys(conditions) if isinstance(c, NumberComparison)]
        comparisons = [c for c in comparisons if not c.variables.isdisjoint(sizes)]
        if not comparisons:
            return None
        comparisons += [bound for name, size in sizes.items() for bound in _bounds(name, search.grids[name], size)]
        comparisons.sort(key=lambda c: c.relation != "=")
        equal = sum(c.relation == "=" for c in comparisons)
        steps = {name: search.grids[name].step(size) for name, size in sizes.items()}
        rooms = [_room(c, search.ways[0], steps, search.grids) if c.linear else None for c in comparisons[equal:]]
        scale = np.array([search.scale[name] for name in sizes])
        return cls(tuple(sizes), tuple(comparisons), equal, (*[None] * equal, *rooms), scale)

    def others(self, condition: NumberComparison) -> tuple[tuple[str, float], ...]:
        """Return the fields that a condition reads and that are not moved, with their coefficients."""
        return tuple(
            (name, float(term.coefficient))
            for term in condition.terms
            for name, _ in term.powers
            if name not in self.names
        )

    def project(
        self, targets: FloatColumns, others: Mapping[NumberComparison, NDArray[np.float64]], *, wide: bool
    ) -> tuple[dict[str, NDArray[np.float64]], NDArray[np.bool_]]:
        """Project targets.

        Parameters
        ----------
        targets : mapping of field name to ndarray of float64, shape (m,)
        others : mapping of Comparison to ndarray of float64, shape (m,)
            What fields that are not moved add to the left side, where a condition reads some.
        wide : bool
            Leave room for any rounding, where there may not be any; otherwise the nearest point is found, and
            rounding may break the conditions.

        Returns
        -------
        points : mapping of field name to ndarray of float64, shape (m,)
            NaN where there is no point.
        found : ndarray of bool, shape (m,)
            Where conditions exclude each other, or products lead astray, there is no point.
        """
        origin = np.stack([targets[name] for name in self.names], axis=1)
        added = np.zeros((len(origin), len(self.conditions)))
        for at, condition in enumerate(self.conditions):
            own = others.get(condition, np.zeros(len(origin)))
            room = self._rooms[at]
            added[:, at] = own + (room.shift(own, wide=wide) if room else 0.0)
        with np.errstate(all="ignore"):
            points, found = self._stationary(origin, added)
        return dict(zip(self.names, points.T, strict=True)), found

    def _stationary(
        self, origin: NDArray[np.float64], added: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        points, found = origin.copy(), np.isfinite(origin).all(axis=1) & np.isfinite(added).all(axis=1)
        linear = all(condition.linear for condition in self.conditions)
        open_, shifts = np.flatnonzero(found), np.zeros(len(origin))
        for _ in range(1 if linear else ROUNDS):
            if not open_.size:
                break
            moved, fine = self._once(origin[open_], points[open_], added[open_])
            shifts[open_] = np.abs((moved - points[open_]) / self._scale).max(axis=1)
            points[open_[fine]] = moved[fine]
            found[open_[~fine]] = False
            open_ = open_[fine & (shifts[open_] > STILL)]
        found &= linear | (shifts <= NEARLY)
        points[~found] = np.nan
        return points, found

    def _once(
        self, origin: NDArray[np.float64], points: NDArray[np.float64], added: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Project on the conditions as they are, linearised, at some points."""
        normals, left, size = self._linearised(points, added)
        moves = (origin - points) / self._scale
        # of the plane through the point, what is asked for is the left side at the origin
        left += np.einsum("nmd,nd->nm", np.broadcast_to(normals, (len(points), *normals.shape[1:])), moves)
        lengths = np.linalg.norm(normals, axis=2)
        lengths = np.where(lengths > 0, lengths, 1.0)
        excess, slack = left / lengths, SLACK + ROUNDING * size / lengths
        fine = np.isfinite(excess).all(axis=1) & np.isfinite(normals).all(axis=(1, 2))
        units = normals / lengths[:, :, None]
        units = units if len(units) == 1 else units[fine]
        moved = np.full(points.shape, np.nan)
        shifts, outcomes = nearest_points(units, excess[fine], slack[fine], self.equal)
        moved[fine] = origin[fine] + shifts * self._scale
        fine[fine] = outcomes == ProjectionOutcome.FOUND
        return moved, fine

    def _linearised(
        self, points: NDArray[np.float64], added: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return slopes in units of distance, shape (1 or m, conditions, d), left sides, and magnitudes of these."""
        columns = dict(zip(self.names, points.T, strict=True))
        count = 1 if all(condition.linear for condition in self.conditions) else len(points)
        normals = np.zeros((count, len(self.conditions), len(self.names)))
        left, size = added.copy(), np.abs(added)
        for at, condition in enumerate(self.conditions):
            for term in condition.terms:
                own, slopes = _term(term, columns, set(self.names))
                left[:, at] += own
                size[:, at] += np.abs(own)
                for name, slope in slopes.items():
                    place = self.names.index(name)
                    normals[:, at, place] += np.broadcast_to(slope, len(points))[:count] * self._scale[place]
        return normals, left, size


def _bounds(name: str, grid: Grid, size: float) -> Iterator[NumberComparison]:
    """Yield what a column asks of a field that it can hold, as far as the targets come near its bounds."""
    for bound, sign in ((grid.low, -1), (grid.high, 1)):
        if bound is not None and sign * bound < CLOSE_TO * Fraction(size):
            terms = (Monomial(Fraction(sign), ((name, 1),)), Monomial(-sign * bound, ()))
            yield NumberComparison(terms, "<=")


def _term(
    term: Monomial, columns: FloatColumns, moved: set[str]
) -> tuple[NDArray[np.float64] | float, dict[str, NDArray[np.float64] | float]]:
    """Return the value of a term and its derivatives; nothing of what only other fields make."""
    own = [(name, power) for name, power in term.powers if name in moved]
    coefficient = float(term.coefficient)
    if not own:
        return (0.0 if term.powers else coefficient), {}
    value: NDArray[np.float64] | float = coefficient
    slopes: dict[str, NDArray[np.float64] | float] = dict.fromkeys((name for name, _ in own), coefficient)
    for name, power in own:
        factor = columns[name] ** float(power)
        value = value * factor
        inner = power * columns[name] ** float(power - 1) if power != 1 else 1.0
        slopes = {other: slope * (inner if other == name else factor) for other, slope in slopes.items()}
    return value, slopes


def _room(
    condition: NumberComparison, recipe: Recipe, steps: Mapping[str, Fraction], grids: Mapping[str, Grid]
) -> _Room:
    """Find what a linear inequality has to leave for rounding.

    Theorem: where all free variables have grids of fixed spacing and a sum of them is at most a bound plus some room
    before they are rounded, it is at most the bound after, if rounding raises it by less than the room and one of its
    own steps together. Proof: it then lies less than a step beyond a number of its lattice, and on the lattice.
    """
    slopes = {name: term.coefficient for term in condition.terms for name, _ in term.powers if name in steps}
    constant = sum((term.coefficient for term in condition.terms if not term.powers), Fraction(0))
    cost, exact = Fraction(0), True
    for pivot, equality in reversed(recipe.steps):
        slope = slopes.pop(pivot, Fraction(0))
        if not slope:
            continue
        if equality.approximate or not equality.linear:
            cost, exact = cost + abs(slope) * steps[pivot] / 2, False
        if not equality.linear:
            continue
        factor = next(m.coefficient for m in equality.monomials if m.powers == ((pivot, 1),))
        for monomial in equality.monomials:
            share = -slope * monomial.coefficient / factor
            if not monomial.powers:
                constant += share
            elif monomial.powers[0][0] != pivot:
                name = monomial.powers[0][0]
                slopes[name] = slopes.get(name, Fraction(0)) + share
    paces = [abs(slope) * steps[name] for name, slope in slopes.items() if slope]
    fixed = exact and all(grids[name].digits is None for name, slope in slopes.items() if slope)
    unit = common_measure(paces) if fixed else Fraction(0)
    strict = max(unit, min(paces, default=Fraction(0))) if condition.relation == "<" else Fraction(0)
    return _Room(float(unit), float(constant), float(cost + sum(paces, Fraction(0)) / 2), float(strict))
