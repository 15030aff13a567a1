"""Numbers over a batch: doubles as IEEE has them, integers and decimals as long as doubles tell them apart."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from masktron.judge.columns.items import (
    DIGITS,
    EXACT,
    NO,
    YES,
    Bools,
    Doubles,
    Doubt,
    Item,
    Items,
    NotColumnar,
    Number,
    String,
    TruthValue,
    Untyped,
    some,
)
from masktron.judge.columns.state import FieldSource
from masktron.judge.columns.string_items import as_text, at_most_one, code_table
from masktron.sources.columns import NumberForm
from masktron.sources.lexical import xpath2_number


def as_double(item: Item, source: FieldSource, doubt: Doubt, *, lenient: bool = False) -> Number:
    """Return an item as double.

    Parameters
    ----------
    lenient : bool
        Whether what is no number is NaN, as for ``number()``; else it is an error, which an engine has to raise.
    """
    match item:
        case Number():
            return item if item.type == "double" else replace(item, type="double")
        case Untyped():
            numbers = source.numbers(item.at)
            if lenient and some((numbers.form == NumberForm.OTHER) & item.present) is not NO:
                return _text_double(as_text(item, source, doubt), doubt, lenient=True)
            if not lenient:
                doubt.add(some(np.isnan(numbers.double) & item.present))
            return Number(item.present, numbers.double)
        case String():
            return _text_double(item, doubt, lenient=lenient)
        case TruthValue():
            return Number(item.present, item.holds.astype(np.float64))
        case _:
            raise NotColumnar("a node as a number")


def _text_double(item: String, doubt: Doubt, *, lenient: bool) -> Number:
    read = [xpath2_number(value) for value in item.values]
    table = code_table((np.nan if r is None else r for r in read), np.float64)
    known = code_table((r is not None and (lenient or not math.isnan(r)) for r in read), np.bool_)
    doubt.add(some(~known[item.codes] & item.present))
    return Number(item.present, table[item.codes])


def as_integer(item: Item, source: FieldSource, doubt: Doubt) -> Number:
    """Return a number or a field cast to ``xs:integer``."""
    match item:
        case Number(type="integer"):
            return item
        case Number():
            value = np.trunc(item.value)
            sure = np.abs(value) < EXACT
        case Untyped():
            numbers = source.numbers(item.at)
            value, form = numbers.double, numbers.form == NumberForm.INTEGER
            sure = form & (numbers.scale >= 0) & (np.abs(numbers.mantissa) < 10**DIGITS)
        case _:
            raise NotColumnar("a text, a truth value or a node as an integer")
    doubt.add(some(~sure & item.present))
    # a zero has no sign
    return Number(item.present, np.where(sure, value, 0.0) + 0.0, "integer")


def together(a: Item, b: Item) -> Bools:
    """Return where both items are there."""
    if a.present is YES:
        return b.present
    return a.present if b.present is YES else a.present & b.present


def one_double(
    items: Items, source: FieldSource, doubt: Doubt, *, default: float | None = None, lenient: bool = False
) -> Number:
    """Return a sequence of at most one item as double; absent where it is empty, or the default."""
    present = NO if default is None else YES
    value: Doubles = np.array([np.nan if default is None else default])
    parts = [as_double(part, source, doubt, lenient=lenient) for part in at_most_one(items, doubt)]
    if len(parts) == 1 and (default is None or parts[0].present is YES):
        return parts[0]
    for part in parts:
        value = np.where(part.present, part.value, value)
        present = present if present is YES else present | part.present
    return Number(present, value)


def numbers_of(items: Iterable[Item], source: FieldSource, doubt: Doubt) -> tuple[Number, ...]:
    """Return items as the numbers that arithmetic makes of them: untyped values are doubles."""
    return tuple(_number_of(item, source, doubt) for item in items)


def _number_of(item: Item, source: FieldSource, doubt: Doubt) -> Number:
    match item:
        case Number():
            return item
        case Untyped():
            return as_double(item, source, doubt)
        case _:
            raise NotColumnar("a type error: a number is asked for")
