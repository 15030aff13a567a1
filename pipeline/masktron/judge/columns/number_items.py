"""Numbers over a batch: doubles as IEEE has them, integers and decimals as long as doubles tell them apart."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

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
    NumberType,
    String,
    TruthValue,
    Untyped,
    some,
)
from masktron.judge.columns.state import FieldSource
from masktron.judge.columns.string_items import at_most_one, code_table
from masktron.sources.columns import NumberForm
from masktron.sources.lexical import XML_SPACE

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
            return _untyped_double(item, source, doubt, lenient=lenient)
        case String():
            return _text_double(item, doubt, lenient=lenient)
        case TruthValue():
            return Number(item.present, item.holds.astype(np.float64))
        case _:
            raise NotColumnar("a node as a number")


def _untyped_double(item: Untyped, source: FieldSource, doubt: Doubt, *, lenient: bool) -> Number:
    numbers = source.numbers(item.at)
    if not lenient:
        doubt.add(some(np.isnan(numbers.double) & item.present))
        return Number(item.present, numbers.double)
    other = some((numbers.form == NumberForm.OTHER) & item.present)
    if other is not NO:
        texts = source.texts(item.at)
        known = code_table((plain_double(value) is not None for value in texts.values), np.bool_)
        doubt.add(some(other & ~known[texts.codes]))
    return Number(item.present, numbers.double)


def _text_double(item: String, doubt: Doubt, *, lenient: bool) -> Number:
    read = [plain_double(value) for value in item.values]
    table = code_table((np.nan if r is None else r for r in read), np.float64)
    known = code_table((r is not None and (lenient or not math.isnan(r)) for r in read), np.bool_)
    doubt.add(some(~known[item.codes] & item.present))
    return Number(item.present, table[item.codes])


def as_exact(item: Item, target: NumberType, source: FieldSource, doubt: Doubt) -> Number:
    """Return an item cast to ``xs:integer`` or ``xs:decimal``."""
    match item:
        case Number(type=own) if own in (target, "integer"):
            return replace(item, type=target)
        case Number():
            value = np.trunc(item.value)
            sure = (np.abs(value) < EXACT) & ((value == item.value) | (target == "integer"))
        case TruthValue():
            return Number(item.present, item.holds.astype(np.float64), target)
        case Untyped():
            numbers = source.numbers(item.at)
            value, plain = numbers.double, is_numeric_form(numbers.form)
            wanted = plain if target == "decimal" else numbers.form == NumberForm.INTEGER
            sure = wanted & (numbers.scale >= 0) & (np.abs(numbers.mantissa) < 10**DIGITS)
        case String():
            value = code_table((_plain_exact(text, target) for text in item.values), np.float64)[item.codes]
            sure = ~np.isnan(value)
        case _:
            raise NotColumnar("a node as a number")
    doubt.add(some(~sure & item.present))
    # a zero has no sign
    return Number(item.present, np.where(sure, value, 0.0) + 0.0, target)


def _plain_exact(text: str, target: NumberType) -> float:
    """Return the number in a text; NaN where it has another form, or many digits."""
    trimmed = text.strip(XML_SPACE)
    if not _PLAIN.fullmatch(trimmed) or (target == "integer" and "." in trimmed):
        return math.nan
    return float(trimmed) if len(trimmed.lstrip("-0.").replace(".", "")) <= DIGITS else math.nan


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
