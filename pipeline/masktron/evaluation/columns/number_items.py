"""Numbers over a batch: doubles as IEEE has them, integers and decimals exact or unsure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from masktron.evaluation.columns.decimal_bounds import bounded, lost_digits, settled, widened
from masktron.evaluation.columns.items import (
    NO,
    YES,
    Bools,
    Double,
    Doubles,
    Doubt,
    Exact,
    Integers,
    Item,
    Items,
    NotColumnar,
    Numeric,
    String,
    TruthValue,
    Untyped,
    some,
)
from masktron.evaluation.columns.state import FieldSource
from masktron.evaluation.columns.string_items import at_most_one, code_table
from masktron.sources.columns import NumberForm, Numbers
from masktron.sources.lexical import XML_SPACE

LIMIT = 2**62 - 1
"""Of a mantissa: the sum of two still fits into 64 bits."""
_EXACT_DOUBLE = 2**53
_POWERS = np.array([10**k for k in range(19)], dtype=np.int64)
_PLAIN = re.compile(r"-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_DOUBLE = re.compile(r"[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|INF)")


def plain_double(text: str) -> float | None:
    """Return the double of a text: NaN where it surely has none, None where an engine should read it."""
    trimmed = text.strip(XML_SPACE)
    if _PLAIN.fullmatch(trimmed):
        return float(trimmed)
    return None if _DOUBLE.fullmatch(trimmed) else float("nan")


def is_numeric_form(form: NDArray[np.uint8]) -> Bools:
    """Return where a cell is a plain integer or decimal."""
    return np.asarray((form == NumberForm.INTEGER) | (form == NumberForm.DECIMAL))


def as_double(item: Item, source: FieldSource, doubt: Doubt, *, lenient: bool = False) -> Double:
    """Return an item as double.

    Parameters
    ----------
    lenient : bool
        Whether what is no number is NaN, as for ``number()``; else it is an error, which an engine has to raise.
    """
    match item:
        case Double():
            return item
        case Untyped():
            return _untyped_double(item, source, doubt, lenient=lenient)
        case String():
            return _text_double(item, doubt, lenient=lenient)
        case TruthValue():
            return Double(item.present, item.holds.astype(np.float64))
        case Exact():
            return exact_double(item, doubt)
        case _:
            raise NotColumnar("a node as a number")


def _untyped_double(item: Untyped, source: FieldSource, doubt: Doubt, *, lenient: bool) -> Double:
    numbers = source.numbers(item.at)
    if not lenient:
        doubt.add(some(np.isnan(numbers.double) & item.present))
        return Double(item.present, numbers.double)
    other = some((numbers.form == NumberForm.OTHER) & item.present)
    if other is not NO:
        texts = source.texts(item.at)
        known = code_table((plain_double(value) is not None for value in texts.values), np.bool_)
        doubt.add(some(other & ~known[texts.codes]))
    return Double(item.present, numbers.double)


def _text_double(item: String, doubt: Doubt, *, lenient: bool) -> Double:
    read = [plain_double(value) for value in item.values]
    table = code_table((np.nan if r is None else r for r in read), np.float64)
    known = code_table((r is not None and (lenient or not math.isnan(r)) for r in read), np.bool_)
    doubt.add(some(~known[item.codes] & item.present))
    return Double(item.present, table[item.codes])


def exact_double(item: Exact, doubt: Doubt) -> Double:
    """Return an exact number as the nearest double."""
    settled(item, doubt)
    if item.scale == 0:
        return Double(item.present, item.mantissa.astype(np.float64))
    if item.scale > 22:
        doubt.add(item.present)
        return Double(item.present, item.mantissa.astype(np.float64))
    # both are doubles, so that the quotient is rounded once
    doubt.add(some((np.abs(item.mantissa) > _EXACT_DOUBLE) & item.present))
    return Double(item.present, item.mantissa / np.float64(10.0**item.scale))


def untyped_exact(item: Untyped, source: FieldSource, doubt: Doubt, *, integer: bool) -> Exact:
    """Return a field cast to ``xs:decimal`` or ``xs:integer``."""
    return _cast_exact(source.numbers(item.at), item.present, doubt, integer=integer)


def _cast_exact(numbers: Numbers, present: Bools, doubt: Doubt, *, integer: bool) -> Exact:
    wanted = numbers.form == NumberForm.INTEGER if integer else is_numeric_form(numbers.form)
    doubt.add(some(~wanted & present))
    mantissa, scale, lost = _one_scale(numbers, wanted)
    exact = Exact(present, mantissa, scale, integer)
    long = some(wanted & (numbers.scale < 0))
    return bounded(exact, lost | long, lambda: widened(numbers.double, numbers.double))


def exact_of_text(item: String, doubt: Doubt, *, integer: bool) -> Exact:
    """Return a string cast to ``xs:decimal`` or ``xs:integer``."""
    read = [_plain_exact(value) for value in item.values]
    forms = code_table((form for form, _, _ in read), np.uint8)[item.codes]
    numbers = Numbers(
        forms,
        code_table((plain_double(v) or 0.0 for v in item.values), np.float64)[item.codes],
        np.zeros(0),
        code_table((mantissa for _, mantissa, _ in read), np.int64)[item.codes],
        code_table((scale for _, _, scale in read), np.int16)[item.codes],
    )
    return _cast_exact(numbers, item.present, doubt, integer=integer)


def _plain_exact(text: str) -> tuple[NumberForm, int, int]:
    trimmed = text.strip(XML_SPACE)
    if not _PLAIN.fullmatch(trimmed):
        return NumberForm.OTHER, 0, -1
    whole, point, fraction = trimmed.partition(".")
    digits = f"{whole}{fraction}"
    form = NumberForm.DECIMAL if point else NumberForm.INTEGER
    if len(digits.lstrip("-").lstrip("0")) > 18:
        return form, 0, -1
    return form, int(digits), len(fraction)


def _one_scale(numbers: Numbers, wanted: Bools) -> tuple[Integers, int, Bools]:
    """Return the numbers with one scale: the one with which most of them fit."""
    scales = np.where(wanted, numbers.scale, 0).clip(0)
    if not scales.any():
        return numbers.mantissa, 0, NO
    best = (-1, 0, NO)
    size = np.abs(numbers.mantissa)
    for scale in np.unique(scales)[::-1].tolist():
        steps = scale - scales
        room = np.where(steps <= 18, LIMIT // _POWERS[np.clip(steps, 0, 18)], 0)
        fits = (steps >= 0) & (size <= room)
        fitting = int(fits.sum())
        if fitting > best[0]:
            best = (fitting, scale, some(~fits))
        if best[2] is NO:
            break
    _, scale, lost = best
    factor = _POWERS[np.clip(scale - scales, 0, 18)]
    return np.where(lost, 0, numbers.mantissa) * factor, scale, lost


def rescaled(item: Exact, scale: int) -> tuple[Integers, Bools]:
    """Return the mantissa of an exact number with more digits behind the point, and where it is lost."""
    lost = lost_digits(item)
    steps = scale - item.scale
    if steps == 0:
        return item.mantissa, lost
    large = some(np.abs(item.mantissa) > LIMIT // 10**steps)
    mantissa = item.mantissa if large is NO else np.where(large, 0, item.mantissa)
    # with more steps than 18, only zeros are left
    return mantissa * np.int64(10 ** min(steps, 18)), lost | large


def aligned(a: Exact, b: Exact) -> tuple[Integers, Integers, int, Bools]:
    """Return the mantissas of two exact numbers with one scale, the scale, and where they are lost."""
    scale = max(a.scale, b.scale)
    m, lost = rescaled(a, scale)
    n, other = rescaled(b, scale)
    return m, n, scale, some(lost | other)


def together(a: Item, b: Item) -> Bools:
    """Return where both items are there."""
    if a.present is YES:
        return b.present
    return a.present if b.present is YES else a.present & b.present


def one_double(
    items: Items, source: FieldSource, doubt: Doubt, *, default: float | None = None, lenient: bool = False
) -> Double:
    """Return a sequence of at most one item as double; absent where it is empty, or the default."""
    present = NO if default is None else YES
    value: Doubles = np.array([np.nan if default is None else default])
    parts = [as_double(part, source, doubt, lenient=lenient) for part in at_most_one(items, doubt)]
    if len(parts) == 1 and (default is None or parts[0].present is YES):
        return parts[0]
    for part in parts:
        value = np.where(part.present, part.value, value)
        present = present if present is YES else present | part.present
    return Double(present, value)


def numbers_of(items: Iterable[Item], source: FieldSource, doubt: Doubt) -> tuple[Numeric, ...]:
    """Return items as the numbers that arithmetic makes of them: untyped values are doubles."""
    return tuple(number_of(item, source, doubt) for item in items)


def number_of(item: Item, source: FieldSource, doubt: Doubt) -> Numeric:
    """Return an item as the number that arithmetic makes of it."""
    match item:
        case Exact() | Double():
            return item
        case Untyped():
            return as_double(item, source, doubt)
        case _:
            raise NotColumnar("a type error: a number is asked for")
