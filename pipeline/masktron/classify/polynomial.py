"""Polynomials in the fields of a record, with exact rational coefficients."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm

type Powers = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class MonomialSum:
    """A sum of monomials.

    Attributes
    ----------
    terms : tuple of (powers, coefficient)
        Sorted; powers are positive, coefficients are not zero; the constant has no powers.
    """

    terms: tuple[tuple[Powers, Fraction], ...]

    @classmethod
    def of(cls, terms: Iterable[tuple[Powers, Fraction]]) -> MonomialSum:
        """Collect like terms."""
        total: dict[Powers, Fraction] = {}
        for powers, coefficient in terms:
            total[powers] = total.get(powers, Fraction(0)) + coefficient
        return cls(tuple(sorted((p, c) for p, c in total.items() if c)))

    @classmethod
    def constant(cls, value: Fraction) -> MonomialSum:
        """Make a polynomial without variables."""
        return cls.of([((), value)])

    @classmethod
    def variable(cls, name: str) -> MonomialSum:
        """Make the polynomial that is one variable."""
        return cls((((((name, 1),)), Fraction(1)),))

    @property
    def value(self) -> Fraction | None:
        """The number, where there are no variables."""
        if not self.terms:
            return Fraction(0)
        return self.terms[0][1] if len(self.terms) == 1 and not self.terms[0][0] else None

    @property
    def variables(self) -> frozenset[str]:
        """Names of the variables."""
        return frozenset(name for powers, _ in self.terms for name, _ in powers)

    @property
    def linear(self) -> bool:
        """Whether no term has a product or a power."""
        return all(sum(power for _, power in powers) <= 1 for powers, _ in self.terms)

    def __add__(self, other: MonomialSum) -> MonomialSum:
        return MonomialSum.of((*self.terms, *other.terms))

    def __neg__(self) -> MonomialSum:
        return self.scaled(Fraction(-1))

    def __sub__(self, other: MonomialSum) -> MonomialSum:
        return self + -other

    def __mul__(self, other: MonomialSum) -> MonomialSum:
        return MonomialSum.of((_times(p, q), c * d) for p, c in self.terms for q, d in other.terms)

    def scaled(self, factor: Fraction) -> MonomialSum:
        """Multiply by a number."""
        return MonomialSum.of((powers, coefficient * factor) for powers, coefficient in self.terms)

    def without(self, variable: str) -> MonomialSum:
        """Put zero for a variable."""
        return MonomialSum(tuple(term for term in self.terms if variable not in dict(term[0])))

    def primitive(self) -> MonomialSum:
        """Scale by a positive number: the coefficients of the variables become coprime integers."""
        coefficients = [coefficient for powers, coefficient in self.terms if powers]
        if not coefficients:
            return self
        denominator = lcm(*(c.denominator for c in coefficients))
        divisor = gcd(*(int(c * denominator) for c in coefficients))
        return self.scaled(Fraction(denominator, divisor))


def _times(left: Powers, right: Powers) -> Powers:
    total: dict[str, int] = dict(left)
    for name, power in right:
        total[name] = total.get(name, 0) + power
    return tuple(sorted(total.items()))


def evaluate(powers: Powers, values: Mapping[str, Fraction]) -> Fraction:
    """Multiply out a monomial."""
    result = Fraction(1)
    for name, power in powers:
        result *= values[name] ** power
    return result


def solved_value(
    terms: Iterable[tuple[Powers, Fraction]], variable: str, values: Mapping[str, Fraction]
) -> Fraction | None:
    """Solve ``sum(terms) = 0`` for a variable that one term has, to the first power; None for a division by zero."""
    rest, factor = Fraction(0), Fraction(0)
    for powers, coefficient in terms:
        others = coefficient
        for name, power in powers:
            if name == variable:
                continue
            if power < 0 and not values[name]:
                return None
            others *= values[name] if power == 1 else values[name] ** power
        if any(name == variable for name, _ in powers):
            factor = others
        else:
            rest += others
    return -rest / factor if factor else None
