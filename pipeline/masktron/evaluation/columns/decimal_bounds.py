"""Bounds of exact numbers that have too many digits for 64 bits, or of which only an engine knows the last ones.

Most comparisons are decided by bounds that are a few parts in 2**50 wide; the others are left to an engine.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from masktron.evaluation.columns.items import (
    NO,
    Bools,
    Bounds,
    Doubles,
    Doubt,
    Exact,
    Integers,
    Numeric,
    some,
)

type Interval = tuple[Doubles, Doubles]

_WIDTH = 2.0**-50
_TINY = 1e-300


def widened(low: Doubles, high: Doubles, more: float = 0.0) -> Interval:
    """Return bounds that hold for exact results, too, of which these are rounded."""
    return low - np.abs(low) * _WIDTH - _TINY - more, high + np.abs(high) * _WIDTH + _TINY + more


def interval(item: Numeric) -> Interval:
    """Return bounds of a number in each record."""
    if not isinstance(item, Exact):
        return item.value, item.value
    value = item.mantissa / np.float64(10.0**item.scale)
    low, high = widened(value, value)
    if item.bounds is None:
        return low, high
    lost = item.bounds.lost
    return np.where(lost, item.bounds.low, low), np.where(lost, item.bounds.high, high)


def lost_digits(item: Exact) -> Bools:
    """Return where only bounds of a number are known."""
    return NO if item.bounds is None else item.bounds.lost


def settled(item: Exact, doubt: Doubt) -> Exact:
    """Return a number for a use that bounds do not serve."""
    if item.bounds is not None:
        doubt.add(some(item.bounds.lost & item.present))
    return item


def bounded(item: Exact, lost: Bools, bounds: Callable[[], Interval]) -> Exact:
    """Return a number with bounds in the records where its mantissa means nothing."""
    lost = some(lost & item.present)
    if lost is NO:
        return item
    return Exact(item.present, _zeroed(item.mantissa, lost), item.scale, item.integer, bounds=Bounds(lost, *bounds()))


def _zeroed(mantissa: Integers, lost: Bools) -> Integers:
    return np.where(lost, 0, mantissa)


def sum_bounds(a: Exact, b: Exact) -> Interval:
    """Bounds of ``a + b``."""
    one, other = interval(a), interval(b)
    return widened(one[0] + other[0], one[1] + other[1])


def difference_bounds(a: Exact, b: Exact) -> Interval:
    """Bounds of ``a - b``."""
    one, other = interval(a), interval(b)
    return widened(one[0] - other[1], one[1] - other[0])


def product_bounds(a: Exact, b: Exact) -> Interval:
    """Bounds of ``a * b``."""
    corners = [x * y for x in interval(a) for y in interval(b)]
    return widened(np.minimum.reduce(corners), np.maximum.reduce(corners))


def quotient_bounds(a: Exact, b: Exact, digits: int) -> Interval:
    """Bounds of ``a div b``, rounded to so many digits behind the point."""
    low, high = interval(b)
    corners = [x / y for x in interval(a) for y in (low, high)]
    around = (low <= 0) & (high >= 0)
    least = np.where(around, -np.inf, np.minimum.reduce(corners))
    most = np.where(around, np.inf, np.maximum.reduce(corners))
    return widened(least, most, 10.0 ** (1 - digits))


def apart(a: Numeric, b: Numeric) -> tuple[Bools, Bools]:
    """Return where the first is surely less than the other, and where it is surely greater."""
    one, other = interval(a), interval(b)
    return np.asarray(one[1] < other[0]), np.asarray(one[0] > other[1])
