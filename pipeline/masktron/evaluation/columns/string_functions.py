"""Functions of strings over a batch."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import numpy as np

from masktron.evaluation.columns.field_source import FieldSource
from masktron.evaluation.columns.items import (
    YES,
    Doubt,
    Items,
    String,
    constant_of,
    one,
    some,
)
from masktron.evaluation.columns.number_items import one_double
from masktron.evaluation.columns.outcome import NotColumnar
from masktron.evaluation.columns.string_items import (
    combined,
    mapped,
    measured,
    one_text,
    tested,
)
from masktron.evaluation.columns.xpath2_regex import TranslatedRegex, translated
from masktron.sources.lexical import XML_SPACE

_SPACES = re.compile(f"[{XML_SPACE}]+")


def string(items: Items, source: FieldSource) -> Items:
    """``string()``"""
    doubt = Doubt()
    return one(one_text(items, source, doubt, cast=True), doubt.mask)


def length(items: Items, source: FieldSource) -> Items:
    """``string-length()``"""
    doubt = Doubt()
    return one(measured(len, one_text(items, source, doubt), doubt), doubt.mask)


def _mapped(function: Callable[..., str | None], source: FieldSource, *arguments: Items) -> Items:
    doubt = Doubt()
    texts = [one_text(argument, source, doubt) for argument in arguments]
    return one(mapped(function, *texts, doubt=doubt), doubt.mask)


def normalized(items: Items, source: FieldSource) -> Items:
    """``normalize-space()``"""
    return _mapped(lambda text: _SPACES.sub(" ", text.strip(XML_SPACE)), source, items)


def translate(items: Items, old: Items, new: Items, source: FieldSource) -> Items:
    """``translate()``"""

    def translated_text(text: str, before: str, after: str) -> str:
        table: dict[int, str | None] = {}
        for k, character in enumerate(before):
            table.setdefault(ord(character), after[k] if k < len(after) else None)
        return text.translate(table)

    return _mapped(translated_text, source, items, old, new)


def before(items: Items, mark: Items, source: FieldSource) -> Items:
    """``substring-before()``"""
    return _mapped(lambda text, sign: text.partition(sign)[0] if sign and sign in text else "", source, items, mark)


def after(items: Items, mark: Items, source: FieldSource) -> Items:
    """``substring-after()``"""
    return _mapped(lambda text, sign: text.partition(sign)[2] if sign else text, source, items, mark)


def contained(text: str, part: str) -> bool | None:
    """``contains()``; to Saxon, not every empty string contains the empty string."""
    return part in text if text or part else None


def predicate(function: Callable[[str, str], bool | None]) -> Callable[[Items, Items, FieldSource], Items]:
    """Return a function of two strings that gives a boolean."""

    def applied(left: Items, right: Items, source: FieldSource) -> Items:
        doubt = Doubt()
        texts = one_text(left, source, doubt), one_text(right, source, doubt)
        return one(tested(function, *texts, doubt=doubt), doubt.mask)

    return applied


def substring(items: Items, start: Items, size: Items | None, source: FieldSource) -> Items:
    """``substring()``: positions are doubles, rounded, from 1."""
    doubt = Doubt()
    text = one_text(items, source, doubt)
    columns = [(text.codes, text.values)]
    for argument in (start, size):
        if argument is None:
            continue
        number = one_double(argument, source, doubt)
        doubt.add(some(~number.present))
        distinct, codes = np.unique(number.value, return_inverse=True)
        columns.append((codes.astype(np.int64), tuple(distinct.tolist())))
    codes, results = combined(_substring, columns)
    return one(String(YES, codes, tuple("" if r is None else r for r in results)), doubt.mask)


def _substring(text: str, start: float, size: float | None = None) -> str:
    """Return the characters whose position p, from 1, has ``round(start) <= p < round(start) + round(size)``."""
    first = _round(start)
    end = math.inf if size is None else first + _round(size)
    if math.isnan(first) or math.isnan(end):
        return ""
    low, high = (int(min(max(place, 1.0), len(text) + 1.0)) for place in (first, end))
    return text[low - 1 : high - 1]


def _round(value: float) -> float:
    if not math.isfinite(value):
        return value
    below = math.floor(value)
    return float(below + (value - below >= 0.5))


def concatenated(parts: tuple[Items, ...], source: FieldSource) -> Items:
    """``concat()`` and ``||``: any values, each cast to a string."""
    doubt = Doubt()
    texts = [one_text(part, source, doubt, cast=True) for part in parts]
    return one(mapped(lambda *values: "".join(values), *texts, doubt=doubt), doubt.mask)


def _constant(items: Items, what: str) -> str:
    value = constant_of(items.items[0]) if len(items.items) == 1 else None
    if not isinstance(value, str):
        raise NotColumnar(f"{what} that is not a literal")
    return value


def matches(items: Items, regex: Items, flags: Items | None, source: FieldSource) -> Items:
    """``matches()``"""
    pattern = _pattern(regex, flags)
    doubt = Doubt()
    text = one_text(items, source, doubt)
    return one(tested(pattern.found_in, text, doubt=doubt), doubt.mask)


def _pattern(regex: Items, flags: Items | None) -> TranslatedRegex:
    return translated(_constant(regex, "a regular expression"), "" if flags is None else _constant(flags, "flags"))
