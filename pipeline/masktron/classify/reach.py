"""Interval arithmetic: what an expression can be worth where its variables lie in intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import reduce
from math import inf

from masktron.classify.polynomial import MonomialSum
from masktron.constraints import Range

type _End = tuple[Fraction | float, bool]
"""A number or an infinity, and whether it is attained."""


def reach(expression: MonomialSum, known: Mapping[str, Range]) -> Range:
    """Return an interval that holds every value of an expression.

    Parameters
    ----------
    expression : MonomialSum
    known : mapping of str to Range
        Where variables lie; one that is not in it may be any number.

    Returns
    -------
    Range
        Exact where each variable stands in one term, to the first power; else it may be too wide, because the
        occurrences of a variable are taken for independent.
    """
    low: _End = (Fraction(0), True)
    high: _End = (Fraction(0), True)
    everything: tuple[_End, _End] = ((-inf, False), (inf, False))
    for powers, coefficient in expression.terms:
        ends: tuple[_End, _End] = ((coefficient, True), (coefficient, True))
        for name, power in powers:
            factor = _ends(known[name]) if name in known else everything
            ends = reduce(_times, [factor] * power, ends)
        low = (low[0] + ends[0][0], low[1] and ends[0][1])
        high = (high[0] + ends[1][0], high[1] and ends[1][1])
    return Range("", _finite(low), _finite(high), _is_open(low), _is_open(high))


def _ends(interval: Range) -> tuple[_End, _End]:
    low: _End = (-inf, False) if interval.low is None else (interval.low, not interval.low_open)
    high: _End = (inf, False) if interval.high is None else (interval.high, not interval.high_open)
    return low, high


def _times(one: tuple[_End, _End], two: tuple[_End, _End]) -> tuple[_End, _End]:
    """Multiply intervals: the extremes lie in corners, and only zero is attained along a whole edge."""
    corners = [_corner(first, second) for first in one for second in two]
    return _best(min, corners), _best(max, corners)


def _corner(one: _End, two: _End) -> _End:
    zeros = [attained for value, attained in (one, two) if value == 0]
    return (Fraction(0), any(zeros)) if zeros else (one[0] * two[0], one[1] and two[1])


def _best(choose: Callable[..., Fraction | float], corners: list[_End]) -> _End:
    value = choose(value for value, _ in corners)
    return value, any(attained for other, attained in corners if other == value)


def _finite(end: _End) -> Fraction | None:
    return end[0] if isinstance(end[0], Fraction) else None


def _is_open(end: _End) -> bool:
    return isinstance(end[0], Fraction) and not end[1]
