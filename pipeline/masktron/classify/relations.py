"""``polynomial relation 0`` as an atom in its one canonical spelling; the linear ones that always hold."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from masktron.classify.polynomial import MonomialSum, Powers
from masktron.constraints import Atom, Form, Linear, Missing, Monomial, Polynomial, Present, Product, Range, Relation


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
