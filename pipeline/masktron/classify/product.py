"""Product edits (EC-NLC): monomials, that is products, quotients and powers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from masktron.classify.conjunctions import Conjunction
from masktron.classify.forms import NEVER, conjoin, disjoin
from masktron.classify.linear import without_poles
from masktron.classify.polynomial import Polynomial, Powers
from masktron.constraints import Form, Monomial, Product, ProductEdit, Range, Relation, Untranslated
from masktron.constraints import Polynomial as PolynomialAtom


def as_monomial(polynomial: Polynomial) -> Monomial | None:
    """Return the monomial that a polynomial consists of, if it is one."""
    if len(polynomial.terms) != 1:
        return None
    ((powers, coefficient),) = polynomial.terms
    return Monomial(coefficient, powers)


def as_product(polynomial: Polynomial, relation: Relation) -> Product | None:
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


def as_polynomial(polynomial: Polynomial, relation: Relation) -> PolynomialAtom:
    """Write ``polynomial relation 0`` as it is, scaled and sorted so that spelling does not matter."""
    scaled = polynomial.primitive()
    ordered = sorted(scaled.terms, key=lambda term: (-sum(power for _, power in term[0]), term[0]))
    sign = -1 if relation == "=" and ordered[0][1] < 0 else 1
    return PolynomialAtom(tuple(Monomial(sign * c, powers) for powers, c in ordered), relation)


def _simplicity(monomial: Monomial) -> tuple[int, Powers, Fraction]:
    return (sum(power for _, power in monomial.powers), monomial.powers, monomial.coefficient)


def signs(polynomial: Polynomial, relation: Relation) -> Form | None:
    """Write ``monomial relation 0`` as alternatives of signs; None where the polynomial is not a monomial."""
    monomial = as_monomial(polynomial)
    if monomial is None or not monomial.powers:
        return None
    numbers: Form = (tuple(Range(name, None, None) for name, _ in monomial.powers),)
    if relation == "=":
        return conjoin(numbers, disjoin(*(_sign(name, 0) for name, _ in monomial.powers)))
    negative = conjoin(numbers, _of_sign(monomial, -1))
    return negative if relation == "<" else disjoin(negative, conjoin(numbers, signs(polynomial, "=") or NEVER))


def _sign(name: str, sign: int) -> Form:
    zero = Fraction(0)
    if sign == 0:
        return ((Range(name, zero, zero),),)
    return ((Range(name, None, zero, high_open=True) if sign < 0 else Range(name, zero, None, low_open=True),),)


def _of_sign(monomial: Monomial, sign: int) -> Form:
    """Give the signs of the variables under which the monomial has a sign."""
    wanted: dict[int, Form] = {1: ((),), -1: NEVER}
    for name, power in monomial.powers:
        if power % 2 == 0:
            nonzero = disjoin(_sign(name, -1), _sign(name, 1))
            wanted = {s: conjoin(form, nonzero) for s, form in wanted.items()}
        else:
            wanted = {
                s: disjoin(conjoin(wanted[s], _sign(name, 1)), conjoin(wanted[-s], _sign(name, -1))) for s in (1, -1)
            }
    return wanted[sign if monomial.coefficient > 0 else -sign]


def product_edit(core: Form, form: Form) -> ProductEdit | None:
    """All alternatives relate the same monomials, whatever their signs."""
    core = without_poles(core)
    monomials = {_monomials(conjunction) for conjunction in core}
    if len(monomials) != 1 or not next(iter(monomials)):
        return None
    if any(isinstance(atom, Untranslated) for conjunction in core for atom in conjunction):
        return None
    return ProductEdit(form)


def _monomials(conjunction: Conjunction) -> frozenset[frozenset[Monomial]]:
    return frozenset(_unsigned(atom) for atom in conjunction if isinstance(atom, Product | PolynomialAtom))


def _unsigned(atom: Product | PolynomialAtom) -> frozenset[Monomial]:
    monomials = (*atom.left, atom.right) if isinstance(atom, Product) else atom.terms
    return frozenset(replace(monomial, coefficient=abs(monomial.coefficient)) for monomial in monomials)
