"""Linear edits (EC-LC): equalities, inequalities and balances with tolerance."""

from __future__ import annotations

from fractions import Fraction

from masktron.classify.conjunctions import Conjunction, Terms, terms_of
from masktron.classify.polynomial import Polynomial
from masktron.constraints import Form, Linear, LinearEdit, Product, Range, Relation, Untranslated


def as_linear(polynomial: Polynomial, relation: Relation) -> Linear | Range | None:
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
    expressions = {_expressions(conjunction) for conjunction in without_poles(core)}
    if len(expressions) != 1 or not next(iter(expressions)):
        return None
    atoms = [atom for conjunction in core for atom in conjunction]
    if any(isinstance(atom, Product | Untranslated) for atom in atoms):
        return None
    return None if all(is_order(atom) for atom in atoms if isinstance(atom, Linear)) else LinearEdit(form)


def _expressions(conjunction: Conjunction) -> frozenset[Terms]:
    return frozenset(terms_of(atom) for atom in conjunction if isinstance(atom, Linear))


def without_poles(core: Form) -> Form:
    """Leave out the alternatives that a division adds where its divisor is zero.

    The mark of a division is a variable that is zero there and either positive or negative in all other alternatives.
    """
    for conjunction in core:
        for atom in conjunction:
            if isinstance(atom, Range) and atom.low == atom.high == 0:
                others = tuple(c for c in core if atom not in c)
                if others and all(_one_signed(c, atom.variable) for c in others):
                    return others
    return core


def _one_signed(conjunction: Conjunction, variable: str) -> bool:
    for atom in conjunction:
        if isinstance(atom, Range) and atom.variable == variable:
            below = atom.high is not None and (atom.high < 0 or (atom.high == 0 and atom.high_open))
            above = atom.low is not None and (atom.low > 0 or (atom.low == 0 and atom.low_open))
            return below or above
    return False
