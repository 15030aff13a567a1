"""Solved variables of one record: recomputed from the prototype's grouped variables and its own unmasked fields."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from masktron.classify.elimination import SolvedEquality
from masktron.classify.forms import number_of
from masktron.settle.grid import SOLVED_DIGITS, Grid, significant_digits
from masktron.settle.lattice import FINER, Lexemes
from masktron.sources.lexical import reads_alike


@dataclass(frozen=True, slots=True, eq=False)
class Completion:
    """Completes the records of a group.

    Attributes
    ----------
    steps : sequence of SolvedEquality
        In the order in which they are computed.
    grids : mapping of field name to Grid
        Of the solved variables.
    codes : mapping of field name to frozenset of Fraction
        Numbers that mean 'missing', which no solved variable may take.
    """

    steps: Sequence[SolvedEquality]
    grids: Mapping[str, Grid]
    codes: Mapping[str, frozenset[Fraction]]

    @property
    def variables(self) -> frozenset[str]:
        """The solved variables."""
        return frozenset(step.variable for step in self.steps)

    def __call__(self, record: Lexemes) -> dict[str, str] | None:
        """Return the lexemes of the solved variables.

        Parameters
        ----------
        record : mapping of field name to str or None
            The record with the prototype in it; what it has of the solved variables is not looked at.

        Returns
        -------
        dict of str to str, or None
            None where a solved variable does not exist, cannot be written on its grid, or is a missing code.
        """
        values: dict[str, Fraction] = {}
        lexemes: dict[str, str] = {}
        for step in self.steps:
            for name in step.polynomial.variables - values.keys() - {step.variable}:
                number = number_of(record.get(name))
                if number is None:
                    return None
                values[name] = number
            value = self._written(step, values)
            if value is None or value in self.codes.get(step.variable, ()):
                return None
            values[step.variable] = value
            lexemes[step.variable] = self.grids[step.variable].lexeme(value)
        return lexemes

    def _written(self, step: SolvedEquality, values: dict[str, Fraction]) -> Fraction | None:
        """Solve a step for a number that can be written.

        Integers keep their grid. A sum of decimals has a few digits more where the prototype has. A quotient that
        has no place on the grid of a decimal field is written with as many digits as a double has: no shorter number
        makes the product true.
        """
        value, grid = step.solve(values), self.grids[step.variable]
        if value is None or grid.holds(value) or grid.finer(FINER).holds(value):
            return value
        if grid.among or grid.whole or (step.linear and grid.digits is None) or not grid.decimals:
            return None
        try:
            near = [Fraction(repr(double)) for double in _doubles(float(value))]
            fitting = [one for one in near if significant_digits(one) <= SOLVED_DIGITS and grid.admits(one)]
            return min(fitting, key=lambda one: _flaws(step, values, one, grid.lexeme(one)), default=None)
        except OverflowError:
            return None  # it is too large for a double


def _doubles(value: float) -> tuple[float, float, float]:
    return value, math.nextafter(value, math.inf), math.nextafter(value, -math.inf)


def _flaws(step: SolvedEquality, values: dict[str, Fraction], value: Fraction, lexeme: str) -> int:
    """Count what may make an engine refuse a number: the equality is not true in doubles, or engines read it unlike.

    A hint only, since a rule computes in an order of its own.
    """
    numbers = {name: float(number) for name, number in (values | {step.variable: value}).items()}
    residual = sum(
        float(c) * math.prod(numbers[name] ** p for name, p in powers) for powers, c in step.polynomial.terms
    )
    return (residual != 0.0) + (not reads_alike(lexeme))
