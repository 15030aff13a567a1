"""Functions over a batch: of numbers, of strings and of sequences, and the table of them all."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from types import MappingProxyType

import numpy as np

from masktron.evaluation.columns.comparisons import effective, holding, related
from masktron.evaluation.columns.decimal_bounds import settled
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
    NotColumnar,
    Numeric,
    String,
    Untyped,
    boolean,
    constant_of,
    literal,
    one,
    some,
    where,
)
from masktron.evaluation.columns.number_items import aligned, exact_double, numbers_of, one_double, together
from masktron.evaluation.columns.operators import add, divide, promoted
from masktron.evaluation.columns.state import FieldSource
from masktron.evaluation.columns.string_items import (
    at_most_one,
    atomized,
    combined,
    mapped,
    measured,
    one_text,
    tested,
)
from masktron.evaluation.columns.xpath2_regex import TranslatedRegex, translated
from masktron.sources.lexical import XML_SPACE

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


@dataclass(frozen=True, slots=True)
class Function:
    """A function that is evaluated over columns.

    Attributes
    ----------
    least, most : int
        Numbers of arguments.
    apply : callable
        From the arguments and the source to the value.
    context : bool
        Whether one argument less means the context item.
    """

    least: int
    most: int
    apply: Callable[[tuple[Items, ...], FieldSource], Items]
    context: bool = False


def _negation(arguments: tuple[Items, ...], source: FieldSource) -> Items:
    holds, unsure = holding(arguments[0], source)
    return boolean(~holds, unsure)


def _there(items: Items) -> Bools:
    holds = NO
    for item in items.items:
        holds = holds | item.present
    return holds


def _count(items: Items) -> Items:
    return one(Exact(YES, items.count, 0, integer=True), items.unsure)


def _distinct(items: Items, source: FieldSource) -> Items:
    values = atomized(items)
    doubt = Doubt(items.unsure)
    kept: list[Item] = []
    for k, item in enumerate(values.items):
        if isinstance(item, Double):
            # NaN is one value here, but equal to nothing
            doubt.add(some(np.isnan(item.value) & item.present))
        seen: Bools = NO
        for earlier in values.items[:k]:
            seen = seen | _equal(item, earlier, source, doubt)
        kept.append(where(item, ~seen))
    return replace(values, items=tuple(kept), unsure=doubt.mask)


def _equal(a: Item, b: Item, source: FieldSource, doubt: Doubt) -> Bools:
    """Return where two values are there and equal; values of different types are not."""
    texts = isinstance(a, String | Untyped), isinstance(b, String | Untyped)
    numbers = isinstance(a, Exact | Double), isinstance(b, Exact | Double)
    if texts[0] != texts[1] or numbers[0] != numbers[1]:
        return NO
    if isinstance(a, Double) != isinstance(b, Double):
        raise NotColumnar("doubles and exact numbers as one set of values")
    return together(a, b) & related("=", a, b, source, doubt, general=False)


def _on_one(function: Callable[[Items, FieldSource], Items]) -> Function:
    return Function(1, 1, lambda a, source: function(a[0], source))


def _optional(a: tuple[Items, ...], k: int) -> Items | None:
    return a[k] if len(a) > k else None


def _on_context(function: Callable[[Items, FieldSource], Items]) -> Function:
    return Function(0, 1, lambda a, source: function(a[0], source), context=True)


def _of_two(function: Callable[[str, str], bool | None]) -> Function:
    applied = predicate(function)
    return Function(2, 2, lambda a, source: applied(a[0], a[1], source))


FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    {
        "true": Function(0, 0, lambda _, __: one(literal(True))),
        "false": Function(0, 0, lambda _, __: one(literal(False))),
        "not": Function(1, 1, _negation),
        "boolean": _on_one(effective),
        "exists": Function(1, 1, lambda a, _: boolean(_there(a[0]), a[0].unsure)),
        "empty": Function(1, 1, lambda a, _: boolean(~_there(a[0]), a[0].unsure)),
        "count": Function(1, 1, lambda a, _: _count(a[0])),
        "distinct-values": _on_one(_distinct),
        "number": _on_context(number),
        "abs": _on_one(absolute),
        "floor": _on_one(floor),
        "ceiling": _on_one(ceiling),
        "round": _on_one(rounded),
        "sum": _on_one(total),
        "avg": _on_one(average),
        "min": _on_one(lambda items, source: extreme(items, source, largest=False)),
        "max": _on_one(lambda items, source: extreme(items, source, largest=True)),
        "string": _on_context(string),
        "string-length": _on_context(length),
        "normalize-space": _on_context(normalized),
        "translate": Function(3, 3, lambda a, source: translate(a[0], a[1], a[2], source)),
        "substring": Function(2, 3, lambda a, source: substring(a[0], a[1], _optional(a, 2), source)),
        "substring-before": Function(2, 2, lambda a, source: before(a[0], a[1], source)),
        "substring-after": Function(2, 2, lambda a, source: after(a[0], a[1], source)),
        "contains": _of_two(contained),
        "starts-with": _of_two(lambda text, part: text.startswith(part)),
        "concat": Function(2, 99, concatenated),
        "matches": Function(2, 3, lambda a, source: matches(a[0], a[1], _optional(a, 2), source)),
    }
)


def call(name: str, arguments: tuple[Items, ...], focus: Items | None, source: FieldSource) -> Items:
    """Return the value of a function.

    Raises
    ------
    NotColumnar
        The function is not evaluated over columns, or not with these arguments.
    """
    function = FUNCTIONS.get(name)
    if function is None:
        raise NotColumnar(f"the function {name}()")
    if function.context and not arguments:
        if focus is None:
            raise NotColumnar(f"{name}() without a context item")
        arguments = (focus,)
    if not function.least <= len(arguments) <= function.most:
        raise NotColumnar(f"{name}() with {len(arguments)} arguments")
    return function.apply(arguments, source)
