"""Functions and types of XPath 2 and later over a batch."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
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
    as_integer,
    numbers_of,
    one_double,
    together,
)
from masktron.judge.columns.state import Conversion, FieldSource, Function, Takes
from masktron.judge.columns.string_items import as_text, at_most_one, atomized, one_text, tested

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


def _negative_zeros(number: Number) -> Bools:
    """Return where a double is a negative zero, of which engines make what they choose."""
    if number.type != "double":
        return NO
    return some((number.value == 0) & np.signbit(number.value) & number.present)


def _sum(source: FieldSource, doubt: Doubt, items: Items) -> Items:
    """``sum()``: of nothing it is the integer 0."""
    doubt.add(items.unsure)
    parts = numbers_of(atomized(items).items, source, doubt)
    if not parts:
        return Items((literal(0),), doubt.mask)
    kind = _common_type(parts)
    if kind == "decimal" or (len(parts) > 2 and len({part.type == "double" for part in parts}) > 1):
        raise NotColumnar("a sum of decimals, or of doubles and integers")
    present, value, size, whole = there(Items(parts)), np.zeros(1), np.zeros(1), YES
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
    return Items((Number(present, value, kind), where(literal(0), some(~present))), doubt.mask)


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


_ONE = r"\\[-\\|.?*+(){}\[\]^$nrt]"
_MEMBER = rf"(?:\\[ds]|{_ONE}|[^-\\\[\]](?:-[^-\\\[\]])?)"
_ATOM = rf"\.|\\[ds]|{_ONE}|[^\\|.?*+(){{}}\[\]^$]|\[\^?+-?{_MEMBER}+-?\]"
_PIECE = re.compile(rf"(?P<atom>{_ATOM})(?P<times>[?*+]|\{{(?P<least>\d{{1,3}})(?:,(?P<most>\d{{0,3}}))?\}})?")
_REGEX = re.compile(rf"(?P<start>\^?)(?P<pieces>(?:{_PIECE.pattern})*+)(?P<end>\$?)")
_ATOMS: Mapping[str, str] = MappingProxyType({".": r"[^\n\r]", r"\d": "[0-9]", r"\s": r"[ \t\n\r]"})
"""``\\d`` in ASCII; texts with other characters are left to an engine."""
_MOST_STEPS = 250_000
"""Steps of a search that columns take at most: Python's matcher backtracks, and no signal ends it."""


def searched(source: str) -> Callable[[str], bool | None]:
    """Return what tells whether a regular expression of XPath 3.1 matches somewhere in a text; None for an engine.

    The expression is a row of characters and classes with their quantifiers. A search of a text of n characters
    takes some ``ways * n**degree`` steps: each bounded quantifier can be read in several ways, and each other one
    has another end, as has a search that may begin anywhere.

    Raises
    ------
    NotColumnar
        It is another one, or holds something of which the two languages may differ.
    """
    parts = _REGEX.fullmatch(source)
    if parts is None or not source.isascii():
        raise NotColumnar("a regular expression that is not understood")
    written, ways, degree = "", 1, 0 if parts["start"] else 1
    for piece in _PIECE.finditer(parts["pieces"]):
        written += _atom(piece["atom"]) + (piece["times"] or "")
        match piece["times"], piece["most"]:
            case ("*" | "+", _) | (_, ""):
                degree += 1
            case "?", _:
                ways *= 2
            case _, str(most):
                ways *= int(most) - int(piece["least"]) + 1
    try:
        regex = re.compile(("\\A" if parts["start"] else "") + written + ("\\Z" if parts["end"] else ""))
    except re.error:
        raise NotColumnar("a regular expression that is not understood") from None

    def matches(text: str) -> bool | None:
        if (r"\d" in source and not text.isascii()) or ways * len(text) ** degree > _MOST_STEPS:
            return None
        return regex.search(text) is not None

    return matches


def _atom(text: str) -> str:
    """Return what stands for one character."""
    if text[0] == "[":
        inverted = "^" if text[1] == "^" else ""
        return f"[{inverted}{re.sub(_MEMBER, _member, text[1 + len(inverted) : -1])}]"
    return _ATOMS.get(text) or (text if text[0] == "\\" else re.escape(text))


def _member(member: re.Match[str]) -> str:
    text = member[0]
    if text[0] == "\\":
        return _ATOMS[text][1:-1] if text in _ATOMS else text
    return "-".join(map(re.escape, text.split("-")))


def _matches(_: FieldSource, doubt: Doubt, text: String, pattern: Items) -> Item:
    value = constant_of(pattern.items[0]) if len(pattern.items) == 1 else None
    if not isinstance(value, str):
        raise NotColumnar("a regular expression that is not a literal")
    return tested(searched(value), text, doubt=doubt)


FUNCTIONS2: Mapping[str, Function] = MappingProxyType(
    {
        **FUNCTIONS,
        "exists": Function(("items",), lambda _, __, items: boolean(there(items), items.unsure)),
        "empty": Function(("items",), lambda _, __, items: boolean(~there(items), items.unsure)),
        "distinct-values": Function(("items",), _distinct),
        "abs": each_number(np.abs),
        "sum": Function(("items",), _sum),
        "min": Function(("items",), partial(_extreme, largest=False)),
        "max": Function(("items",), partial(_extreme, largest=True)),
        # to Saxon, not every empty string contains the empty string
        "contains": predicate(lambda text, part: part in text if text or part else None),
        "matches": Function(("text", "items"), _matches),
    }
)


_CASTS: Mapping[str, Callable[[Item, FieldSource, Doubt], Item]] = MappingProxyType(
    {"string": as_text, "double": as_double, "integer": as_integer}
)


def cast(items: Items, target: str, source: FieldSource) -> Items:
    """Return what a constructor, like ``xs:integer()``, makes of a sequence of at most one item."""
    if target not in _CASTS:
        raise NotColumnar(f"the type xs:{target}")
    doubt = Doubt()
    return Items(tuple(_CASTS[target](item, source, doubt) for item in at_most_one(items, doubt)), doubt.mask)
