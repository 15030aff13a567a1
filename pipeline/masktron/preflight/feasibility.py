"""Whether linear inequalities have a solution: asked of an LP solver, believed only with an exact proof.

The solver is HiGHS (Huangfu and Hall 2018) as `scipy.optimize.linprog` calls it, its dual simplex, since a vertex has
few non-zero multipliers. It works in doubles, so its answer is only a hint where to look: a solution is recomputed in
rationals and put into every row; that there is none is proved by multipliers, recomputed in rationals as well. What
cannot be proved is not decided.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from masktron.constraints import Relation


def solve_near[K: Hashable](
    equations: Iterable[tuple[Mapping[K, Fraction], Fraction]], guess: Mapping[K, Fraction]
) -> dict[K, Fraction]:
    """Solve equations exactly; what they leave free takes its value from a guess.

    Parameters
    ----------
    equations : iterable of (coefficients, right-hand side)
        Taken in this order; an equation that contradicts those before it is left out, so the caller has to test the
        result against what it needs.
    guess : mapping of unknown to Fraction
        A value for every unknown.

    Returns
    -------
    dict of unknown to Fraction
    """
    solved: dict[K, tuple[dict[K, Fraction], Fraction]] = {}
    for coefficients, bound in equations:
        right = bound
        left = {name: value for name, value in coefficients.items() if value}
        for pivot, (terms, constant) in solved.items():
            if factor := left.pop(pivot, None):
                _add(left, terms, -factor)
                right = right - factor * constant
        if not left:
            continue
        new = next(iter(left))
        scale = left.pop(new)
        row = {name: value / scale for name, value in left.items()}
        level = right / scale
        for pivot, (terms, constant) in solved.items():
            if factor := terms.pop(new, None):
                _add(terms, row, -factor)
                solved[pivot] = (terms, constant - factor * level)
        solved[new] = (row, level)
    values = dict(guess)
    for pivot, (terms, constant) in solved.items():
        values[pivot] = constant - sum((c * guess[name] for name, c in terms.items()), Fraction(0))
    return values


def _add[K: Hashable](target: dict[K, Fraction], terms: Mapping[K, Fraction], factor: Fraction) -> None:
    """Add a multiple of some terms, in place."""
    for name, value in terms.items():
        total = target.get(name, Fraction(0)) + factor * value
        if total:
            target[name] = total
        else:
            target.pop(name, None)


METHOD: Final = "highs-ds"
NEAR = 1e-6
"""A row with less slack than this, relative to its terms, is taken to hold with equality at a vertex."""
DENOMINATORS = (1, 1000, 10**9)
"""Numbers that no equation fixes are rounded to fractions with denominators up to these, in turn."""
ROUNDS = 4
"""Times that rows and columns are scaled."""


@dataclass(frozen=True, slots=True)
class Row:
    """``sum(coefficient * variable) relation bound``, and the rules that it comes from."""

    terms: tuple[tuple[str, Fraction], ...]
    relation: Relation
    bound: Fraction
    sources: frozenset[int] = frozenset()

    def slack(self, values: Mapping[str, Fraction]) -> Fraction:
        """How far a point is inside; negative outside."""
        return self.bound - sum((c * values[name] for name, c in self.terms), Fraction(0))

    def holds(self, values: Mapping[str, Fraction], *, closed: bool = False) -> bool:
        """Whether a point satisfies the row; ``closed`` takes ``<`` for ``<=``."""
        slack = self.slack(values)
        if self.relation == "=":
            return slack == 0
        return slack > 0 or (slack == 0 and (closed or self.relation == "<="))


@dataclass(frozen=True, slots=True)
class Point:
    """A solution, exact."""

    values: Mapping[str, Fraction]


@dataclass(frozen=True, slots=True)
class Conflict:
    """No solution, proved; ``sources`` are the rules that the proof uses."""

    sources: frozenset[int]


@dataclass(frozen=True, slots=True, eq=False)
class _Solution:
    """What the solver says: a point, its value, and the dual values of inequalities and of equalities."""

    point: NDArray[np.float64]
    value: float
    upper: NDArray[np.float64]
    equal: NDArray[np.float64]


def solver_name() -> str:
    """Name and version of the solver."""
    import scipy  # noqa: PLC0415 -- as for `_solve`

    return f"HiGHS dual simplex in SciPy {scipy.__version__} (linprog, method {METHOD}), proofs in exact rationals"


def decide(rows: Sequence[Row]) -> Point | Conflict | None:
    """Find a solution, or prove that there is none; None where neither succeeds.

    Theorem (Motzkin's transposition): rows ``a_i x <= b_i``, ``<`` or ``=`` have no solution if and only if there are
    multipliers y with ``sum(y_i a_i) = 0``, ``y_i >= 0`` except on equalities, and ``sum(y_i b_i)`` is negative, or
    zero with ``y_i > 0`` for some strict row. Proof of the direction that is used: adding the rows of a solution
    with these weights gives ``0 <= sum(y_i b_i)``, and ``<`` if a strict row takes part, which is false.

    The LP is ``max s`` subject to ``a_i x <= b_i t``, for strict rows ``a_i x + s <= b_i t``, ``s <= t`` and
    ``0 <= s <= 1``: a cone cut off at 1, feasible at 0, so that the optimum is 1 (and x/t a solution) or 0 (and the
    dual values are multipliers as above), with nothing between.
    """
    if all(len(row.terms) == 1 for row in rows):
        return _by_intervals(rows)
    names = sorted({name for row in rows for name, _ in row.terms})
    solution, scales = _cone(rows, names)
    if solution is None:
        return None
    if -solution.value > 0.5:
        raw = solution.point[: len(names)] / solution.point[-2]
        return _exact_point(rows, dict(zip(names, raw.tolist(), strict=True)))
    return _exact_conflict(rows, names, _multipliers(rows, solution, scales))


def least(rows: Sequence[Row], name: str) -> Point | None:
    """Return a point where a variable is least, strict rows taken as closed; None where the solver finds none.

    The point is an exact solution of the closed rows, but not proved to have the least value.
    """
    names = sorted({n for row in rows for n, _ in row.terms})
    if name not in names:
        return None
    if all(len(row.terms) == 1 for row in rows):
        return _least_of_intervals(rows, name)
    matrix = _matrix(rows, names)
    equal = np.array([row.relation == "=" for row in rows], dtype=np.bool_)
    bounds = np.array([float(row.bound) for row in rows])
    goal = np.array([float(n == name) for n in names])
    free = [(None, None)] * len(names)
    solution = _solve(goal, matrix[~equal], bounds[~equal], matrix[equal], bounds[equal], free)
    if solution is None:
        return None
    return _exact_point(rows, dict(zip(names, solution.point.tolist(), strict=True)), closed=True)


def _solve(
    goal: NDArray[np.float64],
    upper: NDArray[np.float64],
    upper_bounds: NDArray[np.float64],
    equal: NDArray[np.float64],
    equal_bounds: NDArray[np.float64],
    bounds: Sequence[tuple[float | None, float | None]],
) -> _Solution | None:
    """Minimise; None where there is no least value, or the solver gives up."""
    from scipy.optimize import linprog  # noqa: PLC0415 -- a rulebook without linear rules needs no solver

    result = linprog(goal, A_ub=upper, b_ub=upper_bounds, A_eq=equal, b_eq=equal_bounds, bounds=bounds, method=METHOD)
    if result.x is None or result.fun is None:
        return None
    return _Solution(result.x, float(result.fun), result.ineqlin.marginals, result.eqlin.marginals)


def _matrix(rows: Sequence[Row], names: Sequence[str]) -> NDArray[np.float64]:
    position = {name: at for at, name in enumerate(names)}
    matrix = np.zeros((len(rows), len(names)))
    for at, row in enumerate(rows):
        for name, coefficient in row.terms:
            matrix[at, position[name]] = float(coefficient)
    return matrix


def _cone(rows: Sequence[Row], names: Sequence[str]) -> tuple[_Solution | None, NDArray[np.float64]]:
    """Solve the LP of `decide`, rows and columns brought to one size; also return the scales of the rows."""
    right = np.array([[float(row.bound)] for row in rows])
    system = np.hstack([_matrix(rows, names), -right])
    row_scales, column_scales = _scales(system)
    system = system * row_scales[:, None] * column_scales
    strict = np.array([[float(row.relation == "<")] for row in rows])
    last = np.zeros((1, len(names) + 2))
    last[0, -2:] = -1.0, 1.0
    full = np.hstack([system, strict])
    equal = np.array([row.relation == "=" for row in rows], dtype=np.bool_)
    upper = np.vstack([full[~equal], last])
    goal = np.zeros(len(names) + 2)
    goal[-1] = -1.0
    bounds: list[tuple[float | None, float | None]] = [(None, None)] * len(names)
    bounds += [(0.0, None), (0.0, 1.0)]
    solution = _solve(goal, upper, np.zeros(len(upper)), full[equal], np.zeros(int(equal.sum())), bounds)
    if solution is not None:
        solution.point[:-1] *= column_scales
    return solution, row_scales


def _scales(system: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Powers of two for rows and columns that bring all entries near 1: by the middle of their sizes, in turn."""
    sizes = np.log2(np.abs(system), where=system != 0, out=np.full_like(system, np.nan))
    rows, columns = np.zeros((len(system), 1)), np.zeros((1, system.shape[1]))
    for _ in range(ROUNDS):
        rows -= _middle(sizes + rows + columns, 1)
        columns -= _middle(sizes + rows + columns, 0)
    return np.exp2(np.round(rows.ravel())), np.exp2(np.round(columns.ravel()))


def _middle(sizes: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    """Half way between the least and the greatest size; 0 where there is none."""
    known = ~np.isnan(sizes)
    least = np.where(known, sizes, np.inf).min(axis=axis, keepdims=True)
    greatest = np.where(known, sizes, -np.inf).max(axis=axis, keepdims=True)
    some = known.any(axis=axis, keepdims=True)
    middle: NDArray[np.float64] = np.where(some, np.where(some, least, 0.0) + np.where(some, greatest, 0.0), 0.0) / 2
    return middle


def _multipliers(rows: Sequence[Row], solution: _Solution, scales: NDArray[np.float64]) -> NDArray[np.float64]:
    equal = np.array([row.relation == "=" for row in rows], dtype=np.bool_)
    found = np.zeros(len(rows))
    found[~equal] = -solution.upper[:-1]
    found[equal] = -solution.equal
    return found * scales


# --- proofs -------------------------------------------------------------------------------------------------------


def _by_intervals(rows: Iterable[Row]) -> Point | Conflict:
    """Decide rows with one variable each, which is exact without a solver."""
    values: dict[str, Fraction] = {}
    by_name: dict[str, list[Row]] = {}
    for row in rows:
        by_name.setdefault(row.terms[0][0], []).append(row)
    for name, own in by_name.items():
        lows = [(row.bound / row.terms[0][1], row.relation == "<", row) for row in own if _bounds_below(row)]
        highs = [(row.bound / row.terms[0][1], row.relation == "<", row) for row in own if _bounds_above(row)]
        low = max(lows, key=lambda entry: entry[:2], default=None)
        high = min(highs, key=lambda entry: (entry[0], not entry[1]), default=None)
        if low and high and (low[0] > high[0] or (low[0] == high[0] and (low[1] or high[1]))):
            return Conflict(low[2].sources | high[2].sources)
        values[name] = _between(low[:2] if low else None, high[:2] if high else None)
    return Point(values)


def _least_of_intervals(rows: Sequence[Row], name: str) -> Point | None:
    found = _by_intervals(rows)
    own = [row for row in rows if row.terms[0][0] == name and _bounds_below(row)]
    lowest = max((row.bound / row.terms[0][1] for row in own), default=None)
    return Point({**found.values, name: lowest}) if isinstance(found, Point) and lowest is not None else None


def _bounds_below(row: Row) -> bool:
    return row.relation == "=" or row.terms[0][1] < 0


def _bounds_above(row: Row) -> bool:
    return row.relation == "=" or row.terms[0][1] > 0


def _between(low: tuple[Fraction, bool] | None, high: tuple[Fraction, bool] | None) -> Fraction:
    """Take a number between two bounds, whole where that is easy; an open bound is left out."""
    if low is None and high is None:
        return Fraction(0)
    if low is None or high is None:
        bound, is_open = low or high or (Fraction(0), False)
        step = (1 if high is None else -1) if is_open else 0
        return Fraction(math.floor(bound) + step if high is None else math.ceil(bound) + step) if is_open else bound
    if not low[1]:
        return low[0]
    if not high[1]:
        return high[0]
    whole = Fraction(math.floor(low[0]) + 1)
    return whole if whole < high[0] else (low[0] + high[0]) / 2


def _exact_point(rows: Sequence[Row], raw: Mapping[str, float], *, closed: bool = False) -> Point | None:
    """Recompute a solution in rationals from the rows that hold with equality, and test it.

    Any solution will do, but of closed rows, where the vertex itself is wanted.
    """
    equalities = [row for row in rows if row.relation == "="]
    tight = [row for row in rows if row.relation != "=" and (closed or row.relation == "<=") and _tight(row, raw)]
    # Short rows first: they fix variables, after which little is left of the long ones.
    corner = sorted([*equalities, *tight], key=lambda row: len(row.terms))
    for denominator in DENOMINATORS:
        guess = {name: Fraction(value).limit_denominator(denominator) for name, value in raw.items()}
        for chosen in (corner,) if closed else ([], corner, equalities):
            values = solve_near(((dict(row.terms), row.bound) for row in chosen), guess)
            if all(row.holds(values, closed=closed) for row in rows):
                return Point(values)
    return None


def _tight(row: Row, raw: Mapping[str, float]) -> bool:
    parts = [float(c) * raw[name] for name, c in row.terms]
    size = max(1.0, abs(float(row.bound)), *map(abs, parts))
    return abs(sum(parts) - float(row.bound)) <= NEAR * size


def _exact_conflict(rows: Sequence[Row], names: Sequence[str], raw: NDArray[np.float64]) -> Conflict | None:
    """Recompute multipliers in rationals from those that are not zero, and test them."""
    largest = float(np.abs(raw).max())
    used = [at for at in range(len(rows)) if abs(raw[at]) > NEAR * largest]
    if not used:
        return None
    guess = {at: Fraction(raw[at] / largest).limit_denominator(DENOMINATORS[-1]) for at in used}
    cancel = [({at: c for at in used for n, c in rows[at].terms if n == name}, Fraction(0)) for name in names]
    cancel.sort(key=lambda equation: len(equation[0]))
    total = ({at: rows[at].bound for at in used}, Fraction(0))
    for equations in (cancel, [*cancel, total]):
        values = solve_near(equations, guess)
        if _proves([rows[at] for at in used], [values[at] for at in used]):
            return Conflict(frozenset(source for at in used if values[at] for source in rows[at].sources))
    return None


def _proves(rows: Sequence[Row], multipliers: Sequence[Fraction]) -> bool:
    """Whether multipliers prove that rows have no solution; see `decide`."""
    sums: dict[str, Fraction] = {}
    for row, weight in zip(rows, multipliers, strict=True):
        if weight < 0 and row.relation != "=":
            return False
        for name, coefficient in row.terms:
            sums[name] = sums.get(name, Fraction(0)) + weight * coefficient
    if any(sums.values()):
        return False
    total = sum((weight * row.bound for row, weight in zip(rows, multipliers, strict=True)), Fraction(0))
    strict = any(weight and row.relation == "<" for row, weight in zip(rows, multipliers, strict=True))
    return total < 0 or (total == 0 and strict)
