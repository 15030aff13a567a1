"""Linear edits (EC-LC): equalities, inequalities and balances with tolerance."""

from __future__ import annotations

from fractions import Fraction

from masktron.classify.bounds import Terms, terms_of
from masktron.classify.conjunctions import Conjunction
from masktron.constraints import Atom, Form, Linear, LinearEdit, Polynomial, Product, Range, Untranslated


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
    expressions = {_expressions(conjunction) for conjunction in core}
    if len(expressions) != 1 or not next(iter(expressions)):
        return None
    atoms = [atom for conjunction in core for atom in conjunction]
    if any(isinstance(atom, Product | Polynomial | Untranslated) for atom in atoms):
        return None
    return None if all(is_order(atom) for atom in atoms if isinstance(atom, Linear)) else LinearEdit(form)


def _expressions(conjunction: Conjunction) -> frozenset[Terms]:
    return frozenset(terms_of(atom) for atom in conjunction if isinstance(atom, Linear))


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
