"""Functions over a batch: each says once what its arguments are converted to, and what it makes of them.

How arguments are converted is the dialect's; `FUNCTIONS` are those of both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import reduce
from types import MappingProxyType
from typing import Any

import numpy as np

from masktron.judge.columns.comparisons import holding
from masktron.judge.columns.items import (
    NO,
    YES,
    Bools,
    Doubles,
    Doubt,
    Item,
    Items,
    Number,
    String,
    boolean,
    literal,
    some,
)
from masktron.judge.columns.state import FieldSource, Function, Takes
from masktron.judge.columns.string_items import combined, mapped, measured, tested
from masktron.sources.lexical import normalize_space


def _negation(source: FieldSource, _: Doubt, items: Items) -> Items:
    holds, unsure = holding(items, source)
    return boolean(~holds, unsure)


def there(items: Items) -> Bools:
    """Return where a sequence has an item."""
    return reduce(lambda found, item: found | item.present, items.items, NO)


def _count(_: FieldSource, doubt: Doubt, items: Items) -> Item:
    doubt.add(items.unsure)
    return Number(YES, items.count.astype(np.float64), "integer")


def each_number(step: Callable[[Doubles], Doubles]) -> Function:
    """Return a function of at most one number; a zero has a sign as a double only."""

    def stepped(number: Number) -> Number:
        value = step(number.value)
        return Number(number.present, value if number.type == "double" else value + 0.0, number.type)

    return Function(("numbers",), lambda _, doubt, numbers: Items(tuple(map(stepped, numbers)), doubt.mask))


def _round_up(values: Doubles) -> Doubles:
    below = np.floor(values)
    # the difference is exact, which values + 0.5 is not
    return np.asarray(np.copysign(below + (values - below >= 0.5), values))


def _made_of(function: Callable[..., str], *takes: Takes, optional: int = 0, context: bool = False) -> Function:
    """Return a function from strings to a string."""
    return Function(takes, lambda _, doubt, *texts: mapped(function, *texts, doubt=doubt), optional, context)


def predicate(function: Callable[[str, str], bool | None]) -> Function:
    """Return a function of two strings that gives a boolean."""
    return Function(("text", "text"), lambda _, doubt, *texts: tested(function, *texts, doubt=doubt))


def _translated(text: str, before: str, after: str) -> str:
    table: dict[int, str | None] = {}
    for k, character in enumerate(before):
        table.setdefault(ord(character), after[k] if k < len(after) else None)
    return text.translate(table)


def _before(text: str, mark: str) -> str:
    return text.partition(mark)[0] if mark and mark in text else ""


def _after(text: str, mark: str) -> str:
    return text.partition(mark)[2] if mark else text


def _substring(_: FieldSource, doubt: Doubt, text: String, *places: Number) -> Item:
    """``substring()``: positions are doubles, rounded, from 1."""
    columns: list[Any] = [(text.codes, text.values)]
    for place in places:
        doubt.add(some(~place.present))
        distinct, codes = np.unique(_round_up(place.value), return_inverse=True)
        columns.append((codes.astype(np.int64), tuple(distinct.tolist())))
    codes, results = combined(_part, columns)
    return String(YES, codes, tuple("" if r is None else r for r in results))


def _part(text: str, first: float, size: float | None = None) -> str:
    """Return the characters whose position p, from 1, has ``first <= p < first + size``."""
    end = math.inf if size is None else first + size
    if math.isnan(first) or math.isnan(end):
        return ""
    low, high = (int(min(max(place, 1.0), len(text) + 1.0)) for place in (first, end))
    return text[low - 1 : high - 1]


_MANY: tuple[Takes, ...] = ("value",) * 100
FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    {
        "true": Function((), lambda *_: literal(True)),
        "false": Function((), lambda *_: literal(False)),
        "not": Function(("items",), _negation),
        "boolean": Function(("items",), lambda source, _, items: boolean(*holding(items, source))),
        "count": Function(("nodes",), _count),
        "number": Function(("any",), lambda _, __, number: number, context=True),
        "floor": each_number(np.floor),
        "ceiling": each_number(np.ceil),
        "round": each_number(_round_up),
        "string": Function(("value",), lambda _, __, text: text, context=True),
        "string-length": Function(("text",), lambda _, doubt, text: measured(len, text, doubt), context=True),
        "normalize-space": _made_of(normalize_space, "text", context=True),
        "translate": _made_of(_translated, "text", "text", "text"),
        "substring": Function(("text", "number", "number"), _substring, optional=1),
        "substring-before": _made_of(_before, "text", "text"),
        "substring-after": _made_of(_after, "text", "text"),
        "starts-with": predicate(str.startswith),
        "concat": _made_of(lambda *parts: "".join(parts), *_MANY, optional=98),
    }
)
