"""Intervals, of a variable or of an expression."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

from masktron.classify.polynomial import MonomialSum, divides, polynomial_of, relation_of
from masktron.constraints import Atom, Linear, Polynomial, Product, Range

_KNOWN = 4096
"""Expressions that are remembered, since forms are compared pair by pair."""

type Bound = Range | Linear | Product | Polynomial
"""An atom that says in which interval an expression lies."""
type Terms = str | MonomialSum
"""What is bounded: a variable, by its name, or an expression without constant, whose coefficients are coprime
integers, the leading one positive."""


def as_bound(atom: Atom) -> Bound | None:
    """Return an atom if it bounds an expression; none that divides, which has no value where it divides by zero."""
    if isinstance(atom, Range | Linear):
        return atom
    return atom if isinstance(atom, Product | Polynomial) and not divides(atom) else None


def terms_of(atom: Bound) -> Terms:
    """Return what an atom bounds."""
    return atom.variable if isinstance(atom, Range) else _taken_apart(atom)[0]


def bounds_of(atom: Bound) -> Range:
    """Return the interval in which `terms_of` lies; its variable has no name where there are several."""
    return atom if isinstance(atom, Range) else _taken_apart(atom)[1]


def linear_bound(atom: Range | Linear) -> tuple[tuple[tuple[str, Fraction], ...], Range]:
    """Return a weighted sum of variables, and the interval in which the atom wants it."""
    if isinstance(atom, Range):
        return ((atom.variable, Fraction(1)),), atom
    low = atom.bound if atom.relation == "=" else None
    return atom.terms, Range("", low, atom.bound, high_open=atom.relation == "<")


def variables_in(terms: Terms) -> frozenset[str]:
    """Return the variables of what is bounded."""
    return frozenset({terms}) if isinstance(terms, str) else terms.variables


@lru_cache(maxsize=_KNOWN)
def _taken_apart(atom: Linear | Product | Polynomial) -> tuple[MonomialSum, Range]:
    scaled = polynomial_of(atom).primitive().terms
    bound = -next((c for powers, c in scaled if not powers), Fraction(0))
    terms = MonomialSum(tuple(term for term in scaled if term[0]))
    rises = terms.terms[0][1] > 0
    if atom.relation == "=":
        interval = Range("", bound if rises else -bound, bound if rises else -bound)
    elif rises:
        interval = Range("", None, bound, high_open=atom.relation == "<")
    else:
        interval = Range("", -bound, None, low_open=atom.relation == "<")
    return terms if rises else -terms, interval


def bounded(terms: Terms, interval: Range) -> tuple[Atom, ...]:
    """Write bounds on an expression as atoms."""
    return (replace(interval, variable=terms),) if isinstance(terms, str) else _put_together(terms, interval)


@lru_cache(maxsize=_KNOWN)
def _put_together(terms: MonomialSum, interval: Range) -> tuple[Atom, ...]:
    low, high = interval.low, interval.high
    if low is not None and low == high:
        return (relation_of(terms - MonomialSum.constant(low), "="),)
    if low is None and high is None:
        return tuple(Range(name, None, None) for name in sorted(terms.variables))
    found: list[Atom] = []
    if low is not None:
        found.append(relation_of(MonomialSum.constant(low) - terms, "<" if interval.low_open else "<="))
    if high is not None:
        found.append(relation_of(terms - MonomialSum.constant(high), "<" if interval.high_open else "<="))
    return tuple(found)


def intersection(one: Range, two: Range) -> Range | None:
    """Intersect two intervals; None where nothing is left."""
    low, low_open = _inner_end(one.low, one.low_open, two.low, two.low_open, 1)
    high, high_open = _inner_end(one.high, one.high_open, two.high, two.high_open, -1)
    if low is not None and high is not None:
        sign = _compared(low, high)
        if sign > 0 or (sign == 0 and (low_open or high_open)):
            return None
    return Range(one.variable, low, high, low_open, high_open)


def _inner_end(
    one: Fraction | None, one_open: bool, two: Fraction | None, two_open: bool, side: int
) -> tuple[Fraction | None, bool]:
    """Return the larger of two lower ends (side 1), the lesser of two upper ones (-1), and whether it is open."""
    if one is None:
        return (None, False) if two is None else (two, two_open)
    if two is None:
        return one, one_open
    sign = side * _compared(one, two)
    if sign == 0:
        return one, one_open or two_open
    return (one, one_open) if sign > 0 else (two, two_open)


def _compared(one: Fraction, two: Fraction) -> int:
    """Return the sign of a difference; operators of fractions take several times as long to find their types."""
    if one is two:
        return 0
    left, right = one.numerator * two.denominator, two.numerator * one.denominator
    return (left > right) - (left < right)


def hull(one: Range, two: Range) -> Range | None:
    """Return the union of two intervals that overlap or touch; None where a gap lies between."""
    if _starts_later(one, two):
        one, two = two, one
    if one.high is not None and two.low is not None:
        gap = two.low > one.high or (two.low == one.high and two.low_open and one.high_open)
        if gap:
            return None
    if one.high is None or two.high is None:
        return Range("", one.low, None, one.low_open)
    later = max((one.high, not one.high_open), (two.high, not two.high_open))
    return Range("", one.low, later[0], one.low_open, not later[1])


def _starts_later(one: Range, two: Range) -> bool:
    if one.low is None or two.low is None:
        return one.low is not None
    return (one.low, one.low_open) > (two.low, two.low_open)
