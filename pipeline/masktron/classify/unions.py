"""Two conditions on one variable or one expression, written as one."""

from __future__ import annotations

from fractions import Fraction

from masktron.classify.bounds import bounded, bounds_of, hull, terms_of
from masktron.classify.conjunctions import among
from masktron.constraints import Atom, Linear, Member, Missing, Present, Range


def union(one: tuple[Atom, ...], two: tuple[Atom, ...]) -> tuple[Atom, ...] | None:
    """Unite two conditions of one slot; None where the union is not a single condition."""
    if len(one) > 1 or len(two) > 1:
        return _union_of_bounds(one, two)
    match one[0], two[0]:
        case (Range() | Member(), Range() | Member()):
            return _union_of_values(one[0], two[0])
        case (Linear(), Linear()):
            return _union_of_bounds(one, two)
        case (Range(low=None, high=None), Missing()) | (Missing(), Range(low=None, high=None)):
            return ()
        case (Present(), Present()):
            return ()
        case _:
            return None


def _union_of_values(one: Atom, two: Atom) -> tuple[Atom, ...] | None:
    if isinstance(one, Range) and isinstance(two, Range):
        points = _numbers(one), _numbers(two)
        if points[0] and points[1]:
            return (among(one.variable, points[0] | points[1]),)
        return _union_of_bounds((one,), (two,))
    if isinstance(one, Member) and isinstance(two, Member) and _is_text(one) and _is_text(two):
        return _union_of_texts(one, two)
    numbers = _numbers(one), _numbers(two)
    if numbers[0] and numbers[1] and isinstance(one, Range | Member):
        return (among(one.variable, numbers[0] | numbers[1]),)
    return None


def _numbers(atom: Atom) -> frozenset[Fraction]:
    """Return the numbers that a point or a set of numbers admits; empty for anything else."""
    match atom:
        case Range(low=low, high=high) if low is not None and low == high:
            return frozenset({low})
        case Member(values=values, negated=False):
            return frozenset(value for value in values if isinstance(value, Fraction))
        case _:
            return frozenset()


def _is_text(atom: Member) -> bool:
    return all(isinstance(value, str) for value in atom.values)


def _union_of_texts(one: Member, two: Member) -> tuple[Atom, ...]:
    name = one.variable
    ours, theirs = ({str(value) for value in atom.values} for atom in (one, two))
    match one.negated, two.negated:
        case False, False:
            return (Member(name, frozenset(ours | theirs)),)
        case True, True:
            left = ours & theirs
        case True, False:
            left = ours - theirs
        case _:
            left = theirs - ours
    return (Member(name, frozenset(left), negated=True),) if left else ()


def _union_of_bounds(one: tuple[Atom, ...], two: tuple[Atom, ...]) -> tuple[Atom, ...] | None:
    """Unite two intervals of one expression that overlap or touch."""
    ours = [atom for atom in one if isinstance(atom, Range | Linear)]
    theirs = [atom for atom in two if isinstance(atom, Range | Linear)]
    if len(ours) != len(one) or len(theirs) != len(two):
        return None
    terms = terms_of(ours[0])
    covering = hull(_interval(ours), _interval(theirs))
    return None if covering is None else tuple(bounded(terms, covering))


def _interval(atoms: list[Range | Linear]) -> Range:
    low, high = Range("", None, None), Range("", None, None)
    for atom in atoms:
        bounds = bounds_of(atom)
        low = bounds if bounds.low is not None else low
        high = bounds if bounds.high is not None else high
    return Range("", low.low, high.high, low.low_open, high.high_open)
