"""Intervals, of a variable or of a linear expression."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from masktron.constraints import Atom, Linear, Range

type Terms = tuple[tuple[str, Fraction], ...]


def terms_of(atom: Range | Linear) -> Terms:
    """Return the expression that an atom bounds, its leading coefficient positive."""
    if isinstance(atom, Range):
        return ((atom.variable, Fraction(1)),)
    return atom.terms if atom.terms[0][1] > 0 else tuple((name, -c) for name, c in atom.terms)


def bounds_of(atom: Range | Linear) -> Range:
    """Return the interval in which `terms_of` lies; its variable has no name where there are several."""
    if isinstance(atom, Range):
        return atom
    if atom.relation == "=":
        bound = atom.bound if atom.terms[0][1] > 0 else -atom.bound
        return Range("", bound, bound)
    is_open = atom.relation == "<"
    if atom.terms[0][1] > 0:
        return Range("", None, atom.bound, high_open=is_open)
    return Range("", -atom.bound, None, low_open=is_open)


def bounded(terms: Terms, interval: Range) -> Iterator[Atom]:
    """Write bounds on an expression as atoms."""
    if len(terms) == 1:
        yield replace(interval, variable=terms[0][0])
        return
    low, high = interval.low, interval.high
    if low is not None and low == high:
        yield Linear(terms, "=", low)
        return
    if low is None and high is None:
        yield from (Range(name, None, None) for name, _ in terms)
    if low is not None:
        yield Linear(tuple((name, -c) for name, c in terms), "<" if interval.low_open else "<=", -low)
    if high is not None:
        yield Linear(terms, "<" if interval.high_open else "<=", high)


def intersection(one: Range, two: Range) -> Range | None:
    """Intersect two intervals; None where nothing is left."""
    low, low_open = max(((r.low, r.low_open) for r in (one, two) if r.low is not None), default=(None, False))
    high, negated_open = min(
        ((r.high, not r.high_open) for r in (one, two) if r.high is not None), default=(None, True)
    )
    high_open = not negated_open
    if low is not None and high is not None and (low > high or (low == high and (low_open or high_open))):
        return None
    return Range(one.variable, low, high, low_open, high_open)


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
