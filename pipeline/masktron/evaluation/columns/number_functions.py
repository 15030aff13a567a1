"""Functions of numbers over a batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce

import numpy as np

from masktron.evaluation.columns.decimal_bounds import settled
from masktron.evaluation.columns.field_source import FieldSource
from masktron.evaluation.columns.items import (
    NO,
    YES,
    Bools,
    Bounds,
    Double,
    Doubles,
    Doubt,
    Exact,
    Integers,
    Item,
    Items,
    Numeric,
    literal,
    one,
    some,
    where,
)
from masktron.evaluation.columns.number_items import aligned, exact_double, numbers_of, one_double, together
from masktron.evaluation.columns.operators import add, divide, promoted
from masktron.evaluation.columns.outcome import NotColumnar
from masktron.evaluation.columns.string_items import at_most_one, atomized

_EXACT_DOUBLE = 2.0**53


def number(items: Items, source: FieldSource) -> Items:
    """``number()``: NaN for what is no number, or empty."""
    doubt = Doubt()
    return one(one_double(items, source, doubt, default=float("nan"), lenient=True), doubt.mask)


def _each(items: Items, source: FieldSource, of_double: Callable[[Doubles], Doubles], of_exact: _OfExact) -> Items:
    doubt = Doubt()
    results: list[Item] = []
    for item in numbers_of(at_most_one(items, doubt), source, doubt):
        if isinstance(item, Double):
            results.append(Double(item.present, of_double(item.value)))
        else:
            results.append(of_exact(item, doubt))
    return Items(tuple(results), doubt.mask)


type _OfExact = Callable[[Exact, Doubt], Exact]


def absolute(items: Items, source: FieldSource) -> Items:
    """``abs()``"""
    return _each(items, source, np.abs, lambda x, _: _absolute(x))


def _absolute(item: Exact) -> Exact:
    bounds = item.bounds
    if bounds is not None:
        low = np.maximum(0.0, np.maximum(bounds.low, -bounds.high))
        bounds = Bounds(bounds.lost, low, np.maximum(np.abs(bounds.low), np.abs(bounds.high)))
    return Exact(item.present, np.abs(item.mantissa), item.scale, item.integer, bounds=bounds)


def floor(items: Items, source: FieldSource) -> Items:
    """``floor()``"""
    return _each(items, source, np.floor, lambda x, doubt: _stepped(x, doubt, lambda m, p: m // p))


def ceiling(items: Items, source: FieldSource) -> Items:
    """``ceiling()``"""
    return _each(items, source, np.ceil, lambda x, doubt: _stepped(x, doubt, lambda m, p: -(-m // p)))


def rounded(items: Items, source: FieldSource) -> Items:
    """``round()``: a half goes up."""
    return _each(items, source, _round_up, lambda x, doubt: _stepped(x, doubt, _half_up))


def _round_up(values: Doubles) -> Doubles:
    below = np.floor(values)
    # the difference is exact, which values + 0.5 is not
    return np.asarray(np.copysign(below + (values - below >= 0.5), values))


def _half_up(mantissa: Integers, power: np.int64) -> Integers:
    below = mantissa // power
    return np.asarray(below + (2 * (mantissa - below * power) >= power))


def _stepped(item: Exact, doubt: Doubt, step: Callable[[Integers, np.int64], Integers]) -> Exact:
    """Return an exact number without digits behind the point."""
    settled(item, doubt)
    if item.scale <= 0:
        return Exact(item.present, item.mantissa, item.scale, item.integer)
    if item.scale > 17:
        doubt.add(item.present)
    return Exact(item.present, step(item.mantissa, np.int64(10 ** min(item.scale, 17))), 0, item.integer)


def total(items: Items, source: FieldSource) -> Items:
    """``sum()``: of nothing it is the integer 0."""
    doubt = Doubt(items.unsure)
    parts = _same_type(atomized(items), source, doubt)
    if not parts:
        return one(literal(0), doubt.mask)
    present = _presence(parts)
    return Items((_sum(parts, present, doubt, ordered=items.ordered), where(literal(0), some(~present))), doubt.mask)


def _same_type(items: Items, source: FieldSource, doubt: Doubt) -> tuple[Numeric, ...]:
    """Return numbers to add up; a mixture of doubles and others depends on the order in which they are added."""
    numbers = numbers_of(items.items, source, doubt)
    kinds = {isinstance(number, Double) for number in numbers}
    if len(kinds) > 1 and len(numbers) > 2:
        raise NotColumnar("a sum of doubles and of exact numbers")
    return numbers


def _presence(parts: tuple[Numeric, ...]) -> Bools:
    present = NO
    for part in parts:
        present = present | part.present
    return present


def _sum(parts: tuple[Numeric, ...], present: Bools, doubt: Doubt, *, ordered: bool) -> Numeric:
    if any(isinstance(part, Double) for part in parts):
        return _double_sum([_as_double(part, doubt) for part in parts], present, doubt, ordered=ordered)
    exacts = [_or_zero(part) for part in parts if isinstance(part, Exact)]
    result = reduce(lambda a, b: add(a, b, doubt), exacts[1:], _number(exacts[0]))
    return replace(result, present=present)


def _number(part: Exact) -> Numeric:
    return part


def _or_zero(part: Exact) -> Exact:
    mantissa = np.where(part.present, part.mantissa, 0)
    bounds = part.bounds and replace(part.bounds, lost=part.bounds.lost & part.present)
    return Exact(YES, mantissa, part.scale, part.integer, bounds=bounds)


def _as_double(part: Numeric, doubt: Doubt) -> Double:
    return part if isinstance(part, Double) else exact_double(part, doubt)


def _double_sum(parts: list[Double], present: Bools, doubt: Doubt, *, ordered: bool) -> Double:
    result = np.zeros(1)
    size = np.zeros(1)
    whole = YES
    for part in parts:
        value = np.where(part.present, part.value, 0.0)
        doubt.add(some((part.value == 0) & np.signbit(part.value) & part.present))
        result = result + value
        if not ordered:
            size = size + np.abs(value)
            whole = whole & (np.trunc(value) == value)
    if not ordered and len(parts) > 2:
        # integers that fit add up to the same in any order
        doubt.add(some(~(whole & (size < _EXACT_DOUBLE)) & present))
    return Double(present, result)


def average(items: Items, source: FieldSource) -> Items:
    """``avg()``"""
    doubt = Doubt(items.unsure)
    parts = _same_type(atomized(items), source, doubt)
    if not parts:
        return Items((), doubt.mask)
    present = _presence(parts)
    added = _sum(parts, present, doubt, ordered=items.ordered)
    count = Exact(present, np.maximum(items.count, 1), 0, integer=True)
    return one(divide(added, count, doubt), doubt.mask)


def extreme(items: Items, source: FieldSource, *, largest: bool) -> Items:
    """``max()`` and ``min()`` of numbers; untyped values are numbers."""
    doubt = Doubt(items.unsure)
    values = atomized(items).items
    if not values:
        return Items((), doubt.mask)
    parts = _numbers_alike(values, source, doubt)
    return one(reduce(lambda a, b: _better(a, b, doubt, largest=largest), parts), doubt.mask)


def _numbers_alike(values: tuple[Item, ...], source: FieldSource, doubt: Doubt) -> tuple[Numeric, ...]:
    parts = numbers_of(values, source, doubt)
    if not any(isinstance(part, Double) for part in parts):
        return parts
    doubles = [_as_double(part, doubt) for part in parts]
    for part in doubles:
        # which of two zeros it is, is the engine's choice
        doubt.add(some((part.value == 0) & np.signbit(part.value) & part.present))
    return tuple(doubles)


def _better(a: Numeric, b: Numeric, doubt: Doubt, *, largest: bool) -> Numeric:
    present = a.present | b.present
    if not (isinstance(a, Exact) and isinstance(b, Exact)):
        x, y = promoted(a, b, doubt)
        best = np.maximum(x, y) if largest else np.minimum(x, y)
        return Double(present, np.where(together(a, b), best, np.where(a.present, x, y)))
    m, n, scale, lost = aligned(a, b)
    doubt.add(some(lost & present))
    best_exact = np.maximum(m, n) if largest else np.minimum(m, n)
    chosen = np.where(together(a, b), best_exact, np.where(a.present, m, n))
    return Exact(present, chosen, scale, a.integer and b.integer)
