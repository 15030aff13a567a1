"""Solved variables of one record: recomputed from the prototype's grouped variables and its own unmasked fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from masktron.classify.elimination import Step
from masktron.classify.forms import number_of
from masktron.settle.grid import SOLVED_DIGITS, Grid, significant_digits

type Lexemes = Mapping[str, str | None]


@dataclass(frozen=True, slots=True, eq=False)
class Completion:
    """Completes the records of a group.

    Attributes
    ----------
    steps : sequence of Step
        In the order in which they are computed.
    grids : mapping of field name to Grid
        Of the solved variables.
    codes : mapping of field name to frozenset of Fraction
        Numbers that mean 'missing', which no solved variable may take.
    """

    steps: Sequence[Step]
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

    def _written(self, step: Step, values: Mapping[str, Fraction]) -> Fraction | None:
        """Solve a step for a number that can be written.

        A quotient that has no place on the grid of a decimal field is written with as many digits as a double has:
        no shorter number makes the product true. Integers and what a sum gives keep their grid.
        """
        value, grid = step.solve(values), self.grids[step.variable]
        if value is None or grid.holds(value):
            return value
        if grid.among or grid.whole or (step.linear and grid.digits is None) or not grid.decimals:
            return None
        try:
            near = Fraction(repr(float(value)))
        except OverflowError:
            return None
        return near if significant_digits(near) <= SOLVED_DIGITS else None
