"""Forms over figures: what no figure can be is left out, and variables get the names that people read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import assert_never

from masktron.classify.nested_rules.member_figures import MARK, MemberFigure, RuleFigure
from masktron.constraints import (
    Atom,
    Form,
    InDomain,
    Lexical,
    Linear,
    Member,
    Missing,
    Monomial,
    Polynomial,
    Present,
    Product,
    Range,
    Untranslated,
    Whole,
)

_FIGURE = re.compile(rf"number\(({MARK}\d+)\)|({MARK}\d+)")


def without_impossible(form: Form, figures: Mapping[str, RuleFigure]) -> Form:
    """Return a form without what is true or false of every figure: a number of records is always a number.

    Parameters
    ----------
    form : Form
    figures : mapping of str to RuleFigure
    """
    counts = {
        name
        for name, figure in figures.items()
        if isinstance(figure, MemberFigure) and figure.function in ("count", "distinct")
    }
    kept = []
    for conjunction in form:
        if any(_never(atom, counts) for atom in conjunction):
            continue
        left = tuple(atom for atom in conjunction if not _always(atom, counts))
        if left not in kept:
            kept.append(left)
    return ((),) if () in kept else tuple(kept)


def _never(atom: Atom, counts: set[str]) -> bool:
    match atom:
        case Missing(variable=name) | Present(variable=name, negated=True):
            return name in counts
        case Range(variable=name, high=high, high_open=opened) if name in counts and high is not None:
            return high < 0 or (high == 0 and opened)
        case _:
            return False


def _always(atom: Atom, counts: set[str]) -> bool:
    match atom:
        case Present(variable=name) | Whole(variable=name):
            return name in counts
        case Range(variable=name, low=low, high=None, low_open=opened) if name in counts:
            return low is None or low < 0 or (low == 0 and not opened)
        case _:
            return False


def with_names(form: Form, name: Callable[[str], str]) -> Form:
    """Return a form whose variables have other names.

    Parameters
    ----------
    form : Form
    name : callable
        The new name of a variable.
    """
    return tuple(tuple(_named(atom, name) for atom in conjunction) for conjunction in form)


def text_with_names(text: str, name: Callable[[str], str]) -> str:
    """Return an expression on figures with other names for them."""
    return _FIGURE.sub(lambda found: name(found[1] or found[2]), text)


def _named(atom: Atom, name: Callable[[str], str]) -> Atom:
    match atom:
        case Linear(terms=terms):
            return replace(atom, terms=tuple(sorted((name(own), coefficient) for own, coefficient in terms)))
        case Product(left=left, right=right):
            return replace(atom, left=tuple(_monomial(m, name) for m in left), right=_monomial(right, name))
        case Polynomial(terms=monomials):
            return replace(atom, terms=tuple(_monomial(m, name) for m in monomials))
        case Untranslated(variables=variables, test=test):
            return replace(atom, variables=tuple(map(name, variables)), test=text_with_names(test, name), version="")
        case Lexical(variable=own, test=test):
            return replace(atom, variable=name(own), test=text_with_names(test, name))
        case Range() | Member() | Whole() | Missing() | Present() | InDomain():
            return replace(atom, variable=name(atom.variable))
        case _:
            assert_never(atom)


def _monomial(monomial: Monomial, name: Callable[[str], str]) -> Monomial:
    return replace(monomial, powers=tuple(sorted((name(own), power) for own, power in monomial.powers)))
