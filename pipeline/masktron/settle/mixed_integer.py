"""The mixed-integer program of a projection: columns and rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import assert_never

from masktron.constraints import Lexical, Untranslated, Whole
from masktron.settle.grid import Grid
from masktron.settle.residual_rules import Among, CategoryAmong, Condition, NumberComparison, ResidualRule
from masktron.settle.solver import Infeasible, IntegerModel, Optimum

NODES = 200
"""Nodes of the search tree."""
MAX_VALUES = 40
"""Of a set of values, those nearest to the target that are considered."""
MAX_HOLES = 8
"""Excluded values that are modelled; the exact test looks at all of them."""
MAX_STEPS = 10**8
"""Fields with more grid steps than this inside their box are continuous: the recipes put them on their grid."""
EDGE = 1e-9
"""Distance that stands for a strict inequality between continuous fields, in units of distance."""


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """What a projection depends on.

    Attributes
    ----------
    target : mapping of field name to float
    grids : mapping of field name to Grid
    scale : mapping of field name to float
        Unit of distance.
    box : mapping of field name to (float, float)
        Where numbers are looked for.
    codes : mapping of field name to frozenset of Fraction
        Numbers that are not admitted.
    options : mapping of field name to (mapping of str to float)
        Categories, with what each costs in units of distance.
    rules : sequence of ResidualRule
    """

    target: Mapping[str, float]
    grids: Mapping[str, Grid]
    scale: Mapping[str, float]
    box: Mapping[str, tuple[float, float]]
    codes: Mapping[str, frozenset[Fraction]]
    options: Mapping[str, Mapping[str, float]]
    rules: Sequence[ResidualRule]

    def distance(self, numbers: Mapping[str, Fraction], texts: Mapping[str, str]) -> float:
        """Return how far a point is from the target, summed over fields."""
        shifts = (abs(float(value) - self.target[name]) / self.scale[name] for name, value in numbers.items())
        return sum(shifts) + sum(self.options[name][text] for name, text in texts.items())


@dataclass(frozen=True, slots=True)
class Solution:
    """A point that satisfies the rules of a program, up to the solver's tolerance.

    Attributes
    ----------
    numbers : mapping of field name to Fraction
    texts : mapping of field name to str
    positions : tuple of (int, int)
        For each rule in order its check and the position of the disjunct that was chosen.
    distance : float
        From the target, summed over fields, with the costs of the categories.
    """

    numbers: Mapping[str, Fraction]
    texts: Mapping[str, str]
    positions: tuple[tuple[int, int], ...]
    distance: float


@dataclass(frozen=True, slots=True)
class _Expression:
    """``constant + sum(coefficient * column)``."""

    constant: Fraction
    terms: tuple[tuple[int, Fraction], ...]


class ProjectionProgram:
    """A problem with some factors fixed.

    Parameters
    ----------
    problem : Problem
    fixed : mapping of field name to Fraction
        Fields that are constants here; every product is linear in the others.

    Raises
    ------
    Infeasible
        Some rule cannot hold at all.
    """

    def __init__(self, problem: Problem, fixed: Mapping[str, Fraction]) -> None:
        self._problem = problem
        self._model = IntegerModel()
        self._among: dict[str, list[tuple[Fraction, int]]] = {}
        self._numbers = {
            name: _Expression(fixed[name], ()) if name in fixed else self._number(name) for name in problem.target
        }
        self._texts = {name: self._category(costs) for name, costs in problem.options.items()}
        self._choices = [self._rule(rule) for rule in problem.rules]
        for name, codes in problem.codes.items():
            if name in self._numbers:
                self._none_of(name, codes, None)

    def solve(self) -> Solution | None:
        """Return the nearest point, or the nearest found within the nodes that are allowed; None without one."""
        point = self._minimise(NODES).point
        if point is None:
            return None
        whole = zip(point.tolist(), self._model.whole, strict=True)
        values = [Fraction(round(x)) if steps else Fraction(x) for x, steps in whole]
        numbers = {name: _value(expression, values) for name, expression in self._numbers.items()}
        texts = {name: max(own, key=lambda text: values[own[text]]) for name, own in self._texts.items()}
        chosen = (
            (rule.check, next((p for p, column in choice if column is None or values[column] == 1), choice[0][0]))
            for rule, choice in zip(self._problem.rules, self._choices, strict=True)
        )
        return Solution(numbers, texts, tuple(chosen), self._problem.distance(numbers, texts))

    def impossible(self) -> bool:
        """Whether the solver proves that there is no point."""
        return self._minimise(10 * NODES).infeasible

    def _minimise(self, nodes: int) -> Optimum:
        if not self._model.cost:
            self._model.switch()
        return self._model.minimise(nodes)

    # --- fields -------------------------------------------------------------------------------------------------

    def _number(self, name: str) -> _Expression:
        problem, grid = self._problem, self._problem.grids[name]
        target, unit = problem.target[name], problem.scale[name]
        if grid.among:
            points = sorted(grid.among, key=lambda entry: (abs(float(entry[0]) - target), entry[0]))[:MAX_VALUES]
            own = [(value, self._model.switch(abs(float(value) - target) / unit)) for value, _ in points]
            self._among[name] = own
            self._model.row(dict.fromkeys((column for _, column in own), 1.0), 1, 1)
            return _Expression(Fraction(0), tuple((column, value) for value, column in own))
        base, step, steps = self._base(grid, target, unit)
        low, high = map(Fraction, problem.box[name])
        low = low if grid.low is None else max(low, grid.low)
        high = high if grid.high is None else min(high, grid.high)
        below, above = math.ceil((low - base) / step), math.floor((high - base) / step)
        column = self._model.column(min(below, 0), max(above, 0), whole=steps and above - below <= MAX_STEPS)
        self._distance(column, float(step) / unit, float(Fraction(target) - base) / unit)
        return _Expression(base, ((column, step),))

    def _base(self, grid: Grid, target: float, unit: float) -> tuple[Fraction, Fraction, bool]:
        """Return the origin and the step of a field, and whether it goes by whole steps."""
        if grid.digits is None:
            return grid.round(target), grid.step(target), True
        return Fraction(target), Fraction(unit), False

    def _distance(self, column: int, step: float, shift: float) -> None:
        """Let a column cost its distance from the target: ``d >= abs(step * n - shift)``.

        Columns without an upper bound have made HiGHS 1.12 stop with an error.
        """
        ends = step * self._model.low[column] - shift, step * self._model.high[column] - shift
        distance = self._model.column(0, max(map(abs, ends)), cost=1.0, whole=False)
        self._model.row({column: step, distance: -1.0}, -math.inf, shift)
        self._model.row({column: -step, distance: -1.0}, -math.inf, -shift)

    def _category(self, costs: Mapping[str, float]) -> dict[str, int]:
        own = {text: self._model.switch(cost) for text, cost in costs.items()}
        self._model.row(dict.fromkeys(own.values(), 1.0), 1, 1)
        return own

    # --- rules --------------------------------------------------------------------------------------------------

    def _rule(self, rule: ResidualRule) -> list[tuple[int, int | None]]:
        """Add a rule; return the position of each disjunct with the column that chooses it."""
        if not rule.disjuncts:
            raise Infeasible
        if len(rule.disjuncts) == 1:
            self._conditions(rule.disjuncts[0].conditions, None)
            return [(rule.disjuncts[0].position, None)]
        own: list[tuple[int, int | None]] = []
        row: dict[int, float] = {}
        for disjunct in rule.disjuncts:
            switch = self._model.switch()
            self._conditions(disjunct.conditions, switch)
            own.append((disjunct.position, switch))
            row[switch] = 1.0
        self._model.row(row, 1, math.inf)
        return own

    def _conditions(self, conditions: Iterable[Condition], switch: int | None) -> None:
        for condition in conditions:
            match condition:
                case NumberComparison():
                    self._comparison(condition, switch)
                case Among(variable=name, values=values, negated=True):
                    self._none_of(name, values, switch)
                case Among(variable=name, values=values):
                    self._one_of(name, values, switch)
                case CategoryAmong(variable=name, texts=texts):
                    own = self._texts[name]
                    row = {column: 1.0 for text, column in own.items() if text in texts}
                    self._model.row(row, 1.0, math.inf, switch)
                case Whole(variable=name):
                    self._whole(name, switch)
                case Lexical() | Untranslated():
                    pass  # the engine judges them
                case _:
                    assert_never(condition)

    def _linear(self, comparison: NumberComparison) -> _Expression:
        """Put the expressions of the fields into a comparison that is linear in the fields that are not fixed."""
        constant, terms = Fraction(0), dict[int, Fraction]()
        for monomial in comparison.terms:
            factor, moving = monomial.coefficient, None
            for name, power in monomial.powers:
                expression = self._numbers[name]
                if expression.terms:
                    moving = expression
                elif power < 0 and not expression.constant:
                    raise Infeasible
                else:
                    factor *= expression.constant**power
            if moving is None:
                constant += factor
                continue
            constant += factor * moving.constant
            for column, coefficient in moving.terms:
                terms[column] = terms.get(column, Fraction(0)) + factor * coefficient
        return _Expression(constant, tuple((column, c) for column, c in terms.items() if c))

    def _comparison(self, comparison: NumberComparison, switch: int | None) -> None:
        try:
            expression = self._linear(comparison)
        except Infeasible:
            self._model.refuse(switch)
            return
        if not expression.terms:
            value = expression.constant
            if not (
                value == 0 if comparison.relation == "=" else value <= 0 if comparison.relation == "<=" else value < 0
            ):
                self._model.refuse(switch)
            return
        if all(self._model.whole[column] for column, _ in expression.terms):
            self._integral(expression, comparison.relation, switch)
        else:
            self._continuous(expression, comparison.relation, switch)

    def _integral(self, expression: _Expression, relation: str, switch: int | None) -> None:
        """Add a row over integer columns with coprime integer coefficients, so that its bound can be rounded."""
        denominator = math.lcm(*(c.denominator for _, c in expression.terms))
        divisor = math.gcd(*(int(c * denominator) for _, c in expression.terms))
        row = {column: float(c * denominator / divisor) for column, c in expression.terms}
        bound = -expression.constant * denominator / divisor
        if relation == "=" and bound.denominator != 1:
            self._model.refuse(switch)
            return
        high = math.ceil(bound) - 1 if relation == "<" else math.floor(bound)
        self._model.row(row, float(high) if relation == "=" else -math.inf, float(high), switch)

    def _continuous(self, expression: _Expression, relation: str, switch: int | None) -> None:
        size = float(max(abs(c) for _, c in expression.terms))
        row = {column: float(c) / size for column, c in expression.terms}
        bound = -float(expression.constant) / size - (EDGE if relation == "<" else 0.0)
        self._model.row(row, bound if relation == "=" else -math.inf, bound, switch)

    def _one_of(self, name: str, values: frozenset[Fraction], switch: int | None) -> None:
        expression = self._numbers[name]
        if not expression.terms:
            if expression.constant not in values:
                self._model.refuse(switch)
            return
        if name in self._among:
            row = {column: 1.0 for value, column in self._among[name] if value in values}
            self._model.row(row, 1.0, math.inf, switch)
            return
        target = self._problem.target[name]
        nearest = sorted(values, key=lambda value: (abs(float(value) - target), value))[:MAX_VALUES]
        own = [(value, self._model.switch()) for value in nearest]
        # One of the values is chosen where the switch is on, and none where it is off: then the number is free.
        some = {column: 1.0 for _, column in own} | ({switch: -1.0} if switch is not None else {})
        count = 1.0 if switch is None else 0.0
        self._model.row(some, count, count)
        size = max(abs(c) for _, c in expression.terms)
        moving = {column: float(c / size) for column, c in expression.terms}
        row = moving | {column: -float((value - expression.constant) / size) for value, column in own}
        if switch is None:
            self._model.row(row, 0.0, 0.0)
            return
        least, most = self._model.extent(moving)
        self._model.row({**row, switch: most}, -math.inf, most)
        self._model.row({**row, switch: least}, least, math.inf)

    def _none_of(self, name: str, values: Iterable[Fraction], switch: int | None) -> None:
        """Exclude values: the number is below or above each of them that lies inside its box."""
        expression = self._numbers[name]
        for value in sorted(values)[:MAX_HOLES]:
            if not expression.terms:
                if expression.constant == value:
                    self._model.refuse(switch)
            elif name in self._among:
                row = {column: 1.0 for number, column in self._among[name] if number == value}
                if row:
                    self._model.row(row, -math.inf, 0.0, switch)
            else:
                self._hole(expression, value, switch)

    def _hole(self, expression: _Expression, value: Fraction, switch: int | None) -> None:
        ((column, step),) = expression.terms
        at = (value - expression.constant) / step
        if not self._model.low[column] <= at <= self._model.high[column] or at.denominator != 1:
            return
        sides = self._model.switch(), self._model.switch()
        self._model.row({column: 1.0}, -math.inf, float(at) - 1, sides[0])
        self._model.row({column: 1.0}, float(at) + 1, math.inf, sides[1])
        row = dict.fromkeys(sides, 1.0)
        if switch is None:
            self._model.row(row, 1, math.inf)
        else:
            self._model.row({**row, switch: -1.0}, 0, math.inf)

    def _whole(self, name: str, switch: int | None) -> None:
        expression = self._numbers[name]
        if not expression.terms or name in self._among:
            if not expression.terms and expression.constant.denominator != 1:
                self._model.refuse(switch)
            return
        ((column, step),) = expression.terms
        if step.denominator == 1 and expression.constant.denominator == 1:
            return
        whole = self._model.column(-math.inf, math.inf)
        row, bound = {column: float(step), whole: -1.0}, -float(expression.constant)
        if switch is None:
            self._model.row(row, bound, bound)
        else:
            self._model.row({**row, switch: 1.0}, -math.inf, bound + 1)
            self._model.row({**row, switch: -1.0}, bound - 1, math.inf)


def _value(expression: _Expression, columns: Sequence[Fraction]) -> Fraction:
    return expression.constant + sum((c * columns[column] for column, c in expression.terms), Fraction(0))
