"""Arithmetic: promotion by static type, exact results or none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from masktron.evaluation.columns.decimal_bounds import (
    bounded,
    difference_bounds,
    interval,
    lost_digits,
    product_bounds,
    quotient_bounds,
    sum_bounds,
)
from masktron.evaluation.columns.items import (
    NO,
    Bools,
    Bounds,
    Double,
    Doubles,
    Doubt,
    Exact,
    Integers,
    Item,
    Items,
    NotColumnar,
    Numeric,
    some,
)
from masktron.evaluation.columns.number_items import LIMIT, aligned, exact_double, numbers_of, together
from masktron.evaluation.columns.state import FieldSource
from masktron.evaluation.columns.string_items import at_most_one

_EXACT_DOUBLE = 2.0**53
_DIGITS = 18
"""Saxon's decimal quotients have this many digits behind the point, or more."""
MAX_ALTERNATIVES = 64

type Operation = Callable[[Numeric, Numeric, Doubt], Numeric]


def arithmetic(operator: str, left: Items, right: Items, source: FieldSource) -> Items:
    """Return the value of a binary operator."""
    doubt = Doubt()
    first, second = at_most_one(left, doubt), at_most_one(right, doubt)
    operation = _OPERATIONS[operator]
    ones = numbers_of(first, source, doubt)
    others = numbers_of(second, source, doubt)
    if len(ones) * len(others) > MAX_ALTERNATIVES:
        raise NotColumnar("arithmetic on many alternatives")
    results: list[Item] = [operation(a, b, doubt) for a in ones for b in others]
    return Items(tuple(results), doubt.mask)


def negated(operand: Items, source: FieldSource) -> Items:
    """Return the value of unary minus."""
    doubt = Doubt()
    results: list[Item] = []
    for item in numbers_of(at_most_one(operand, doubt), source, doubt):
        if isinstance(item, Double):
            constant = None if item.constant is None else -item.constant
            results.append(Double(item.present, -item.value, constant))
        else:
            exact = None if item.constant is None else -item.constant
            bounds = item.bounds and Bounds(item.bounds.lost, -item.bounds.high, -item.bounds.low)
            results.append(Exact(item.present, -item.mantissa, item.scale, item.integer, exact, bounds))
    return Items(tuple(results), doubt.mask)


def promoted(a: Numeric, b: Numeric, doubt: Doubt) -> tuple[Doubles, Doubles]:
    """Return both as doubles, as they are where one of them is a double."""
    first = a if isinstance(a, Double) else exact_double(a, doubt)
    second = b if isinstance(b, Double) else exact_double(b, doubt)
    return first.value, second.value


def add(a: Numeric, b: Numeric, doubt: Doubt) -> Numeric:
    """``a + b``"""
    present = together(a, b)
    if not (isinstance(a, Exact) and isinstance(b, Exact)):
        x, y = promoted(a, b, doubt)
        return Double(present, x + y)
    m, n, scale, lost = aligned(a, b)
    exact = Exact(present, m + n, scale, a.integer and b.integer)
    return bounded(exact, lost | (np.abs(exact.mantissa) > LIMIT), lambda: sum_bounds(a, b))


def _subtract(a: Numeric, b: Numeric, doubt: Doubt) -> Numeric:
    present = together(a, b)
    if not (isinstance(a, Exact) and isinstance(b, Exact)):
        x, y = promoted(a, b, doubt)
        return Double(present, x - y)
    m, n, scale, lost = aligned(a, b)
    exact = Exact(present, m - n, scale, a.integer and b.integer)
    return bounded(exact, lost | (np.abs(exact.mantissa) > LIMIT), lambda: difference_bounds(a, b))


def _multiply(a: Numeric, b: Numeric, doubt: Doubt) -> Numeric:
    present = together(a, b)
    if not (isinstance(a, Exact) and isinstance(b, Exact)):
        x, y = promoted(a, b, doubt)
        return Double(present, x * y)
    m, n = a.mantissa, b.mantissa
    # the product in doubles is off by a few parts in 2**53
    large = some(np.abs(m.astype(np.float64) * n.astype(np.float64)) > 0.99 * LIMIT)
    product = m * n if large is NO else np.where(large, 0, m) * np.where(large, 0, n)
    exact = Exact(present, product, a.scale + b.scale, a.integer and b.integer)
    return bounded(exact, large | lost_digits(a) | lost_digits(b), lambda: product_bounds(a, b))


def divide(a: Numeric, b: Numeric, doubt: Doubt) -> Numeric:
    """``a div b``; of exact numbers, where the quotient has more digits than an engine keeps, there are bounds."""
    present = together(a, b)
    if not (isinstance(a, Exact) and isinstance(b, Exact)):
        x, y = promoted(a, b, doubt)
        return Double(present, x / y)
    _around_zero(b, present, doubt)
    unknown = lost_digits(a) | lost_digits(b)
    divisor = np.where((b.mantissa == 0) | unknown, 1, b.mantissa)
    common = np.gcd(a.mantissa, divisor)
    top, bottom = a.mantissa // common, divisor // common
    steps, factor = _terminating(np.abs(bottom))
    lost = unknown | (steps < 0) | (np.abs(top) > LIMIT // np.maximum(np.abs(factor), 1))
    quotient = np.where(lost, 0, top) * np.where(lost, 1, factor) * np.sign(bottom)
    digits = np.where(lost, 0, steps)
    result, scale, more = _spread(quotient, digits, a.scale - b.scale)
    return bounded(Exact(present, result, scale, integer=False), lost | more, lambda: quotient_bounds(a, b, _DIGITS))


def _around_zero(divisor: Exact, present: Bools, doubt: Doubt) -> None:
    """Leave to an engine what is, or may be, a division by zero."""
    zero = divisor.mantissa == 0
    if divisor.bounds is not None:
        low, high = interval(divisor)
        zero = np.where(divisor.bounds.lost, (low <= 0) & (high >= 0), zero)
    doubt.add(some(zero & present))


def _divisor(mantissa: Integers, present: Bools, doubt: Doubt) -> Integers:
    zero = some(mantissa == 0)
    doubt.add(some(zero & present))
    return mantissa if zero is NO else np.where(zero, 1, mantissa)


def _terminating(divisor: Integers) -> tuple[Integers, Integers]:
    """Return k and ``10**k / divisor`` for divisors of the form ``2**i * 5**j`` with k up to 18, else k = -1."""
    rest = divisor.copy()
    counts = []
    for prime in (2, 5):
        count = np.zeros_like(rest)
        for _ in range(19):
            divides = rest % prime == 0
            if not divides.any():
                break
            count += divides
            rest = np.where(divides, rest // prime, rest)
        counts.append(count)
    steps = np.maximum(counts[0], counts[1])
    good = (rest == 1) & (steps <= 18)
    power = np.power(np.int64(10), np.where(good, steps, 0))
    return np.where(good, steps, -1), np.where(good, power // np.where(good, divisor, 1), 0)


def _spread(quotient: Integers, digits: Integers, scale: int) -> tuple[Integers, int, Bools]:
    """Return quotients, each of so many digits more than the scale, with one scale, and where they are lost."""
    most = max(int(digits.max(initial=0)), -scale)
    steps = most - digits
    large = (steps > 18) | (np.abs(quotient) > LIMIT // np.power(np.int64(10), np.minimum(steps, 18)))
    lost = large & (quotient != 0)
    # an engine rounds what has more digits than it keeps
    lost |= (digits + scale > _DIGITS) & (quotient != 0)
    result = np.where(lost, 0, quotient) * np.power(np.int64(10), np.minimum(steps, 18))
    return result, scale + most, some(lost)


def _integer_divide(a: Numeric, b: Numeric, doubt: Doubt) -> Numeric:
    present = together(a, b)
    if not (isinstance(a, Exact) and isinstance(b, Exact)):
        x, y = promoted(a, b, doubt)
        quotient = np.trunc(x / y)
        # where the quotient was rounded up to an integer, engines may differ
        rounded = (quotient == x / y) & (np.fmod(x, y) != 0)
        lost = ~(np.abs(quotient) < _EXACT_DOUBLE) | np.isinf(y) | rounded
        doubt.add(some(lost & present))
        return Exact(present, np.where(lost, 0, quotient).astype(np.int64), 0, integer=True)
    m, n, _, lost = aligned(a, b)
    doubt.add(some(lost & present))
    n = _divisor(n, present, doubt)
    quotients = (np.abs(m) // np.abs(n)) * np.sign(m) * np.sign(n)
    return Exact(present, quotients, 0, integer=True)


def _modulo(a: Numeric, b: Numeric, doubt: Doubt) -> Numeric:
    present = together(a, b)
    if not (isinstance(a, Exact) and isinstance(b, Exact)):
        return Double(present, np.fmod(*promoted(a, b, doubt)))
    m, n, scale, lost = aligned(a, b)
    doubt.add(some(lost & present))
    return Exact(present, np.fmod(m, _divisor(n, present, doubt)), scale, a.integer and b.integer)


_OPERATIONS: Mapping[str, Operation] = MappingProxyType(
    {"+": add, "-": _subtract, "*": _multiply, "div": divide, "idiv": _integer_divide, "mod": _modulo}
)
