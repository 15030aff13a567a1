"""The functions of XPath 1.0 (section 4): those of later versions on converted arguments, and its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from masktron.evaluation.columns.comparisons import effective
from masktron.evaluation.columns.field_source import FieldSource
from masktron.evaluation.columns.function_table import FUNCTIONS
from masktron.evaluation.columns.items import YES, Double, Exact, Items, one, same_text
from masktron.evaluation.columns.node_names import NAMINGS, name_of_node
from masktron.evaluation.columns.outcome import NotColumnar
from masktron.evaluation.columns.state import State
from masktron.evaluation.columns.string_functions import predicate
from masktron.evaluation.columns.xpath1_values import first, is_set, nodes_of, number_in, places, to_number, to_text

type Conversion = Callable[[Items, FieldSource], Items]


@dataclass(frozen=True, slots=True)
class _Signature:
    """What a function takes, and what it does; without ``apply`` that of later versions is meant.

    Attributes
    ----------
    arguments : tuple of callable
        The conversion of each argument that it may have.
    optional : int
        How many of the last ones may be left out.
    """

    arguments: tuple[Conversion, ...]
    optional: int = 0
    apply: Callable[[tuple[Items, ...], FieldSource], Items] | None = None


def call(name: str, arguments: tuple[Items, ...], context: Callable[[], Items], state: State) -> Items:
    """Return a function call.

    Parameters
    ----------
    name : str
    arguments : tuple of Items
    context : callable
        The context node, where the function takes it for a missing argument.
    state : State

    Raises
    ------
    NotColumnar
        The function, or its number or types of arguments, have no evaluation over columns.
    """
    if name in _ON_CONTEXT and not arguments:
        arguments = (context(),)
    if name in _OF_SETS and len(arguments) == 1 and not is_set(arguments[0]):
        raise NotColumnar(f"{name}() of what is no node-set")
    if name in NAMINGS and len(arguments) == 1:
        return _named(name, arguments[0], state)
    known = _SIGNATURES.get(name)
    if known is None or not 0 <= len(known.arguments) - len(arguments) <= known.optional:
        raise NotColumnar(f"{name}() with {len(arguments)} arguments")
    converted = tuple(
        convert(argument, state.source) for convert, argument in zip(known.arguments, arguments, strict=False)
    )
    return _in_doubles((known.apply or FUNCTIONS[name].apply)(converted, state.source))


def _in_doubles(items: Items) -> Items:
    """Return what has one type of number only."""
    (item,) = items.items
    return one(Double(YES, item.mantissa.astype(np.float64)), items.unsure) if isinstance(item, Exact) else items


def _sum(arguments: tuple[Items, ...], source: FieldSource) -> Items:
    """Sum in the order of the document, as libxml2 does: that of the records, not of the layout."""
    (nodes,) = arguments
    numbers = [number_in(node, source) for node in nodes_of(nodes)]
    values = [np.where(number.present, number.value, 0.0) for number in numbers]
    if len(values) > 2:  # two numbers have the same sum in both orders
        order = np.argsort(places(nodes, source)[0], axis=0, kind="stable")
        values = list(np.take_along_axis(np.array(np.broadcast_arrays(*values)), order, axis=0))
    return one(Double(YES, sum(values, start=np.zeros(1))), nodes.unsure)


def _named(name: str, nodes: Items, state: State) -> Items:
    texts = [same_text(name_of_node(name, node, state), node.present) for node in nodes_of(nodes)]
    return first(nodes, texts, state.source)


def _same(items: Items, source: FieldSource) -> Items:
    return items


_OF_SETS = frozenset({*NAMINGS, "sum", "count"})
_ON_CONTEXT = frozenset({*NAMINGS, "string", "number", "string-length", "normalize-space"})
_contains = predicate(lambda text, part: part in text)
_SIGNATURES: Mapping[str, _Signature] = MappingProxyType(
    {
        "true": _Signature(()),
        "false": _Signature(()),
        "not": _Signature((effective,)),
        "boolean": _Signature((effective,)),
        "number": _Signature((to_number,)),
        "floor": _Signature((to_number,)),
        "ceiling": _Signature((to_number,)),
        "round": _Signature((to_number,)),
        "count": _Signature((_same,)),
        "sum": _Signature((_same,), apply=_sum),
        "string": _Signature((to_text,)),
        "string-length": _Signature((to_text,)),
        "normalize-space": _Signature((to_text,)),
        "concat": _Signature((to_text,) * 100, optional=98),
        "contains": _Signature((to_text, to_text), apply=lambda a, source: _contains(a[0], a[1], source)),
        "starts-with": _Signature((to_text, to_text)),
        "substring-before": _Signature((to_text, to_text)),
        "substring-after": _Signature((to_text, to_text)),
        "translate": _Signature((to_text, to_text, to_text)),
        "substring": _Signature((to_text, to_number, to_number), optional=1),
    }
)
