"""Linear edits (EC-LC): equalities, inequalities, balances with tolerance; product edits (EC-NLC): monomials."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from masktron.classify.bounds import terms_of
from masktron.classify.conjunctions import Conjunction
from masktron.classify.forms import NEVER, conjoin, disjoin
from masktron.classify.polynomial import MonomialSum
from masktron.constraints import (
    Atom,
    Form,
    Linear,
    LinearEdit,
    Monomial,
    Polynomial,
    Product,
    ProductEdit,
    Range,
    Relation,
    Untranslated,
)


def is_order(atom: Linear) -> bool:
    """Whether an atom is an order between two variables, like V3 <= V7."""
    return (
        atom.relation != "="
        and atom.bound == 0
        and len(atom.terms) == 2
        and {coefficient for _, coefficient in atom.terms} == {Fraction(1), Fraction(-1)}
    )


def linear_edit(core: Form, form: Form) -> LinearEdit | None:
    """All alternatives bound the same linear expressions, and not only by orders."""
    core = without_poles(core)
    expressions = {
        frozenset(terms_of(atom) for atom in conjunction if isinstance(atom, Linear)) for conjunction in core
    }
    if len(expressions) != 1 or not next(iter(expressions)):
        return None
    atoms = [atom for conjunction in core for atom in conjunction]
    if any(isinstance(atom, Product | Polynomial | Untranslated) for atom in atoms):
        return None
    return None if all(is_order(atom) for atom in atoms if isinstance(atom, Linear)) else LinearEdit(form)


def without_poles(core: Form) -> Form:
    """Leave out the alternatives that a division adds where its divisor is zero.

    The mark of a divisor is that it is zero there, and positive or negative wherever the relation itself is asked.
    """
    relations = [c for c in core if any(isinstance(atom, Linear | Product | Polynomial) for atom in c)]
    kept = tuple(c for c in core if not any(_is_pole(atom, relations) for atom in c))
    return kept or core


def _is_pole(atom: Atom, relations: list[Conjunction]) -> bool:
    if not isinstance(atom, Range) or not atom.low == atom.high == 0:
        return False
    return bool(relations) and all(_one_signed(conjunction, atom.variable) for conjunction in relations)


def _one_signed(conjunction: Conjunction, variable: str) -> bool:
    for atom in conjunction:
        if isinstance(atom, Range) and atom.variable == variable:
            below = atom.high is not None and (atom.high < 0 or (atom.high == 0 and atom.high_open))
            above = atom.low is not None and (atom.low > 0 or (atom.low == 0 and atom.low_open))
            return below or above
    return False


def as_monomial(polynomial: MonomialSum) -> Monomial | None:
    """Return the monomial that a polynomial consists of, if it is one."""
    if len(polynomial.terms) != 1:
        return None
    ((powers, coefficient),) = polynomial.terms
    return Monomial(coefficient, powers)


def signs(polynomial: MonomialSum, relation: Relation) -> Form | None:
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
    monomials = {
        frozenset(_unsigned(atom) for atom in conjunction if isinstance(atom, Product | Polynomial))
        for conjunction in core
    }
    if len(monomials) != 1 or not next(iter(monomials)):
        return None
    if any(isinstance(atom, Untranslated) for conjunction in core for atom in conjunction):
        return None
    return ProductEdit(form)


def _unsigned(atom: Product | Polynomial) -> frozenset[Monomial]:
    monomials = (*atom.left, atom.right) if isinstance(atom, Product) else atom.terms
    return frozenset(replace(monomial, coefficient=abs(monomial.coefficient)) for monomial in monomials)
