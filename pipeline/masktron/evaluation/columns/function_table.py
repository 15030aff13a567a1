"""Functions of sequences over a batch, and the table of all functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from masktron.evaluation.columns import number_functions as numeric
from masktron.evaluation.columns import string_functions as strings
from masktron.evaluation.columns.comparisons import effective, holding, related
from masktron.evaluation.columns.field_source import FieldSource
from masktron.evaluation.columns.items import (
    NO,
    YES,
    Bools,
    Double,
    Doubt,
    Exact,
    Item,
    Items,
    String,
    Untyped,
    boolean,
    literal,
    one,
    some,
    where,
)
from masktron.evaluation.columns.number_items import together
from masktron.evaluation.columns.outcome import NotColumnar
from masktron.evaluation.columns.string_items import atomized


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
    applied = strings.predicate(function)
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
        "number": _on_context(numeric.number),
        "abs": _on_one(numeric.absolute),
        "floor": _on_one(numeric.floor),
        "ceiling": _on_one(numeric.ceiling),
        "round": _on_one(numeric.rounded),
        "sum": _on_one(numeric.total),
        "avg": _on_one(numeric.average),
        "min": _on_one(lambda items, source: numeric.extreme(items, source, largest=False)),
        "max": _on_one(lambda items, source: numeric.extreme(items, source, largest=True)),
        "string": _on_context(strings.string),
        "string-length": _on_context(strings.length),
        "normalize-space": _on_context(strings.normalized),
        "translate": Function(3, 3, lambda a, source: strings.translate(a[0], a[1], a[2], source)),
        "substring": Function(2, 3, lambda a, source: strings.substring(a[0], a[1], _optional(a, 2), source)),
        "substring-before": Function(2, 2, lambda a, source: strings.before(a[0], a[1], source)),
        "substring-after": Function(2, 2, lambda a, source: strings.after(a[0], a[1], source)),
        "contains": _of_two(strings.contained),
        "starts-with": _of_two(lambda text, part: text.startswith(part)),
        "concat": Function(2, 99, strings.concatenated),
        "matches": Function(2, 3, lambda a, source: strings.matches(a[0], a[1], _optional(a, 2), source)),
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
