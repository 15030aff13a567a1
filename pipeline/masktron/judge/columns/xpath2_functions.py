"""Functions and types of XPath 2 and later over a batch."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial, reduce
from types import MappingProxyType

import numpy as np

from masktron.judge.columns.comparisons import related
from masktron.judge.columns.functions import (
    FUNCTIONS,
    each_number,
    predicate,
    there,
)
from masktron.judge.columns.items import (
    EXACT,
    NO,
    YES,
    Bools,
    Doubt,
    Item,
    Items,
    NotColumnar,
    Number,
    NumberType,
    String,
    Untyped,
    boolean,
    constant_of,
    literal,
    some,
    where,
)
from masktron.judge.columns.number_items import (
    as_double,
    as_exact,
    is_numeric_form,
    numbers_of,
    one_double,
    together,
)
from masktron.judge.columns.operators import quotient
from masktron.judge.columns.state import Conversion, FieldSource, Function, Takes
from masktron.judge.columns.string_items import as_text, at_most_one, atomized, one_text, tested
from masktron.judge.columns.xpath2_regex import translated
from masktron.sources.columns import NumberForm
from masktron.sources.lexical import XML_SPACE

CONVERTED: Mapping[Takes, Conversion] = MappingProxyType(
    {
        "text": one_text,
        "value": partial(one_text, cast=True),
        "number": one_double,
        "any": partial(one_double, default=float("nan"), lenient=True),
        "numbers": lambda items, source, doubt: numbers_of(at_most_one(items, doubt), source, doubt),
        "nodes": lambda items, _, __: items,
        "items": lambda items, _, __: items,
    }
)


def _common_type(numbers: tuple[Number, ...]) -> NumberType:
    types = {number.type for number in numbers}
    return "double" if "double" in types else "decimal" if "decimal" in types else "integer"


def _present(numbers: tuple[Number, ...]) -> Bools:
    return reduce(lambda found, number: found | number.present, numbers, NO)


def _negative_zeros(number: Number) -> Bools:
    """Return where a double is a negative zero, of which engines make what they choose."""
    if number.type != "double":
        return NO
    return some((number.value == 0) & np.signbit(number.value) & number.present)


def _total(source: FieldSource, doubt: Doubt, items: Items) -> Items:
    """``sum()``: of nothing it is the integer 0."""
    found = _sum(source, doubt, items)
    if found is None:
        return Items((literal(0),), doubt.mask)
    return Items((found, where(literal(0), some(~found.present))), doubt.mask)


def _average(source: FieldSource, doubt: Doubt, items: Items) -> Items:
    found = _sum(source, doubt, items)
    if found is None:
        return Items((), doubt.mask)
    count = np.maximum(items.count, 1.0)
    exact = found.type == "integer"
    mean = quotient(found, count, found.present, doubt) if exact else replace(found, value=found.value / count)
    return Items((mean,), doubt.mask)


def _sum(source: FieldSource, doubt: Doubt, items: Items) -> Number | None:
    """Return the sum; None where there is nothing to add."""
    doubt.add(items.unsure)
    parts = numbers_of(atomized(items).items, source, doubt)
    if not parts:
        return None
    kind = _common_type(parts)
    if kind == "decimal" or (len(parts) > 2 and len({part.type == "double" for part in parts}) > 1):
        raise NotColumnar("a sum of decimals, or of doubles and integers")
    present, value, size, whole = _present(parts), np.zeros(1), np.zeros(1), YES
    any_order = kind == "integer" or (len(parts) > 2 and not items.ordered)
    for part in parts:
        doubt.add(_negative_zeros(part))
        added = np.where(part.present, part.value, 0.0)
        value = value + added
        if any_order:
            size = size + np.abs(added)
            whole = whole & (np.trunc(added) == added)
    if any_order:
        # integers that fit add up to the same in any order
        doubt.add(some(~(whole & (size < EXACT)) & present))
    return Number(present, value, kind)


def _extreme(source: FieldSource, doubt: Doubt, items: Items, *, largest: bool) -> Items:
    """``max()`` and ``min()`` of numbers; untyped values are numbers."""
    doubt.add(items.unsure)
    parts = numbers_of(atomized(items).items, source, doubt)
    if not parts:
        return Items((), doubt.mask)
    kind = _common_type(parts)
    best = np.maximum if largest else np.minimum
    found = parts[0]
    for part in parts:
        doubt.add(_negative_zeros(part))
        both = together(found, part)
        value = np.where(both, best(found.value, part.value), np.where(found.present, found.value, part.value))
        found = Number(found.present | part.present, value, kind)
    return Items((found,), doubt.mask)


def _distinct(source: FieldSource, doubt: Doubt, items: Items) -> Items:
    values = atomized(items)
    doubt.add(items.unsure)
    kept: list[Item] = []
    for k, item in enumerate(values.items):
        if isinstance(item, Number):
            # NaN is one value here, but equal to nothing
            doubt.add(some(np.isnan(item.value) & item.present))
        seen: Bools = NO
        for earlier in values.items[:k]:
            seen = seen | _equal(item, earlier, source, doubt)
        kept.append(where(item, ~seen))
    return replace(values, items=tuple(kept), unsure=doubt.mask)


def _equal(a: Item, b: Item, source: FieldSource, doubt: Doubt) -> Bools:
    """Return where two values are there and equal; values of different types are not."""
    for kind in (String | Untyped, Number):
        if isinstance(a, kind) != isinstance(b, kind):
            return NO
    return together(a, b) & related("=", a, b, source, doubt, general=False)


def _matches(_: FieldSource, doubt: Doubt, text: String, pattern: Items) -> Item:
    value = constant_of(pattern.items[0]) if len(pattern.items) == 1 else None
    if not isinstance(value, str):
        raise NotColumnar("a regular expression that is not a literal")
    return tested(translated(value).found_in, text, doubt=doubt)


FUNCTIONS2: Mapping[str, Function] = MappingProxyType(
    {
        **FUNCTIONS,
        "exists": Function(("items",), lambda _, __, items: boolean(there(items), items.unsure)),
        "empty": Function(("items",), lambda _, __, items: boolean(~there(items), items.unsure)),
        "distinct-values": Function(("items",), _distinct),
        "abs": each_number(np.abs),
        "sum": Function(("items",), _total),
        "avg": Function(("items",), _average),
        "min": Function(("items",), partial(_extreme, largest=False)),
        "max": Function(("items",), partial(_extreme, largest=True)),
        # to Saxon, not every empty string contains the empty string
        "contains": predicate(lambda text, part: part in text if text or part else None),
        "matches": Function(("text", "items"), _matches),
    }
)

_NUMBERS = {
    "integer": re.compile(r"[+-]?[0-9]+"),
    "decimal": re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"),
    "double": re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|-?INF|NaN"),
}


def cast(items: Items, target: str, source: FieldSource, *, optional: bool) -> Items:
    """Return a sequence of at most one item as another type.

    Parameters
    ----------
    target : str
        Local name of a type of XML Schema.
    optional : bool
        Whether the empty sequence is taken; else it is an error.
    """
    doubt = Doubt()
    parts = at_most_one(items, doubt)
    if not optional:
        doubt.add(some(items.count == 0))
    return Items(tuple(_cast(item, target, source, doubt) for item in parts), doubt.mask)


def _cast(item: Item, target: str, source: FieldSource, doubt: Doubt) -> Item:
    match target:
        case "string":
            return as_text(item, source, doubt)
        case "double":
            return as_double(item, source, doubt)
        case "decimal" | "integer":
            return as_exact(item, target, source, doubt)
        case _:
            raise NotColumnar(f"the type xs:{target}")


def castable(items: Items, target: str, source: FieldSource, *, optional: bool) -> Items:
    """Return whether a sequence is one item (or none, if that is allowed) that can be cast to a type of numbers."""
    if target not in _NUMBERS:
        raise NotColumnar(f"castable as xs:{target}")
    doubt = Doubt(items.unsure)
    values = atomized(items)
    count = values.count
    holds = some(count == 0) if optional else NO
    for item in values.items:
        holds = holds | (item.present & (count == 1) & _castable(item, target, source, doubt))
    return boolean(holds, doubt.mask)


def _castable(item: Item, target: str, source: FieldSource, doubt: Doubt) -> Bools:
    match item:
        case Untyped(at=at):
            form = source.numbers(at).form
            other = some((form == NumberForm.OTHER) & item.present)
            plain = form == NumberForm.INTEGER if target == "integer" else is_numeric_form(form)
            return plain if other is NO else np.where(other, _reads_as(item, target, source, doubt), plain)
        case String():
            return _reads_as(item, target, source, doubt)
        case Number(type="double") if target != "double":
            return np.asarray(np.isfinite(item.value))
        case _:
            return YES


def _reads_as(item: Item, target: str, source: FieldSource, doubt: Doubt) -> Bools:
    def read(text: str) -> bool | None:
        # whether it is a double depends on the version of XML Schema
        trimmed = text.strip(XML_SPACE)
        return None if (trimmed, target) == ("+INF", "double") else _NUMBERS[target].fullmatch(trimmed) is not None

    return tested(read, as_text(item, source, doubt), doubt=doubt).holds
