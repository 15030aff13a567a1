"""Polynomials in the fields of a record, with exact rational coefficients, and their relations to zero as atoms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm

from masktron.constraints import Atom, Form, Linear, Missing, Monomial, Polynomial, Present, Product, Range, Relation

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


def always_linear(forms: Iterable[Form]) -> tuple[Linear, ...]:
    """Return the equalities and ``<=`` that hold in every record in which their variables have values.

    An alternative that asks one of these variables to be missing is false there, and every other one has the atom.
    """
    found = {
        atom: None
        for form in forms
        for conjunction in form
        for atom in conjunction
        if isinstance(atom, Linear) and atom.relation != "<"
        if all(atom in other or _asks_for_gap(other, atom) for other in form)
    }
    return tuple(found)


def _asks_for_gap(conjunction: tuple[Atom, ...], atom: Linear) -> bool:
    """Whether an alternative is false where all variables of an atom have values."""
    gaps = (
        other.variable
        for other in conjunction
        if isinstance(other, Missing) or (isinstance(other, Present) and other.negated)
    )
    return not {name for name, _ in atom.terms}.isdisjoint(gaps)


def relation_of(polynomial: MonomialSum, relation: Relation) -> Linear | Range | Product | Polynomial:
    """Write ``polynomial relation 0``, which must have a variable, as the simplest kind of atom that says it."""
    return as_linear(polynomial, relation) or as_product(polynomial, relation) or as_polynomial(polynomial, relation)


def as_linear(polynomial: MonomialSum, relation: Relation) -> Linear | Range | None:
    """Write ``polynomial relation 0`` with integer coefficients without common divisor.

    An equality has a positive leading coefficient, so that spelling does not matter. With one variable it is a
    `Range`. None where the polynomial is constant or not linear.
    """
    if polynomial.value is not None or not polynomial.linear:
        return None
    scaled = polynomial.primitive()
    bound = -next((c for powers, c in scaled.terms if not powers), Fraction(0))
    terms = tuple((powers[0][0], c) for powers, c in scaled.terms if powers)
    if relation == "=" and terms[0][1] < 0:
        terms, bound = tuple((name, -c) for name, c in terms), -bound
    if len(terms) > 1:
        return Linear(terms, relation, bound)
    ((name, coefficient),) = terms
    limit, is_open = bound / coefficient, relation == "<"
    if relation == "=":
        return Range(name, limit, limit)
    if coefficient > 0:
        return Range(name, None, limit, high_open=is_open)
    return Range(name, limit, None, low_open=is_open)


def as_product(polynomial: MonomialSum, relation: Relation) -> Product | None:
    """Write ``polynomial relation 0`` as monomials with positive coefficients, one of them alone on the right.

    None where no side is a single monomial, or the right-hand side of an inequality is a sum.
    """
    scaled = polynomial.primitive()
    plus = [Monomial(c, powers) for powers, c in scaled.terms if c > 0]
    minus = [Monomial(-c, powers) for powers, c in scaled.terms if c < 0]
    if not plus or not minus:
        return None
    if relation == "=" and (len(minus) > 1 or (len(plus) == 1 and _simplicity(plus[0]) < _simplicity(minus[0]))):
        plus, minus = minus, plus
    return (
        Product(tuple(sorted(plus, key=_simplicity, reverse=True)), relation, minus[0]) if len(minus) == 1 else None
    )


def as_polynomial(polynomial: MonomialSum, relation: Relation) -> Polynomial:
    """Write ``polynomial relation 0`` as it is, scaled and sorted so that spelling does not matter."""
    scaled = polynomial.primitive()
    ordered = sorted(scaled.terms, key=lambda term: (-sum(power for _, power in term[0]), term[0]))
    sign = -1 if relation == "=" and ordered[0][1] < 0 else 1
    return Polynomial(tuple(Monomial(sign * c, powers) for powers, c in ordered), relation)


def polynomial_of(atom: Range | Linear | Product | Polynomial) -> MonomialSum:
    """Return what a relation compares: left side minus right side. An interval compares its variable."""
    match atom:
        case Range(variable=name):
            return MonomialSum.variable(name)
        case Linear(terms=linear, bound=bound):
            return MonomialSum.of([*((((name, 1),), c) for name, c in linear), ((), -bound)])
        case Product(left=left, right=right):
            return MonomialSum.of([*_pairs(left), (right.powers, -right.coefficient)])
        case Polynomial(terms=terms):
            return MonomialSum.of(_pairs(terms))


def _pairs(monomials: Iterable[Monomial]) -> Iterable[tuple[Powers, Fraction]]:
    return ((monomial.powers, monomial.coefficient) for monomial in monomials)


def divides(atom: Product | Polynomial) -> bool:
    """Whether an atom has negative powers: where it divides by zero, neither it nor its opposite holds."""
    monomials = (*atom.left, atom.right) if isinstance(atom, Product) else atom.terms
    return any(power < 0 for monomial in monomials for _, power in monomial.powers)


def _simplicity(monomial: Monomial) -> tuple[int, Powers, Fraction]:
    return (sum(power for _, power in monomial.powers), monomial.powers, monomial.coefficient)
