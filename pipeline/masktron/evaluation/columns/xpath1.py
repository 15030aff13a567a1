"""Expressions of XPath 1.0 over a batch, as the Recommendation has them: a walk over the token tree.

Where the answer is not known for sure, the records are left unsure or the expression is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import reduce
from types import MappingProxyType
from typing import Any

import numpy as np

from masktron.errors import RulebookError
from masktron.evaluation.columns.comparisons import RELATIONS, conjunction, disjunction, effective, holding, some_pair
from masktron.evaluation.columns.dialect import Dialect
from masktron.evaluation.columns.field_source import FieldSource
from masktron.evaluation.columns.function_table import FUNCTIONS
from masktron.evaluation.columns.items import (
    NO,
    RECORD,
    YES,
    Bools,
    Double,
    Doubt,
    Exact,
    Integers,
    Items,
    Node,
    NodePart,
    String,
    TruthValue,
    Untyped,
    boolean,
    in_document_order,
    joined,
    literal,
    one,
    restricted,
    same_text,
    some,
    where,
)
from masktron.evaluation.columns.node_names import NAMINGS, name_of_node
from masktron.evaluation.columns.operators import arithmetic, negated
from masktron.evaluation.columns.outcome import NotColumnar
from masktron.evaluation.columns.scope import ColumnScope
from masktron.evaluation.columns.state import State, node_at, variable
from masktron.evaluation.columns.string_functions import predicate
from masktron.evaluation.columns.string_items import as_text, code_table, merged, one_text
from masktron.evaluation.columns.xpath1_steps import context_node, deeper, is_child, is_step, step
from masktron.sources.lexical import xpath1_number, xpath1_text
from masktron.xpath.tokens import parse


def is_set(items: Items) -> bool:
    """Tell whether an expression is of type node-set."""
    return all(isinstance(item, Node) for item in items.items)


def nodes_of(items: Items) -> tuple[Node, ...]:
    """Return the nodes that a node-set may have, each once."""
    return tuple(item for item in items.items if isinstance(item, Node))


def field_of(node: Node) -> int:
    """Return the field of a node whose text is asked for.

    Raises
    ------
    NotColumnar
        It is the record, whose text is that of all fields and of what stands between them.
    """
    if node.at == RECORD:
        raise NotColumnar("the text of the whole record")
    return node.at


def number_in(node: Node, source: FieldSource) -> Double:
    """Return the number in a node; NaN in every form that XPath 1.0 does not have."""
    return Double(node.present, source.numbers(field_of(node)).double)


def text_in(node: Node) -> Untyped:
    """Return the text in a node."""
    return Untyped(node.present, field_of(node))


def to_number(items: Items, source: FieldSource) -> Items:
    """Convert as ``number()`` does."""
    match items.items:
        case (Double(),):
            return items
        case (TruthValue(_, holds),):
            return one(Double(YES, holds.astype(np.float64)), items.unsure)
        case ():
            return one(literal(float("nan")), items.unsure)
        case (Node() as node,):
            number = number_in(node, source)
            # an absent field is NaN as it is
            value = number.value if node.there is YES else np.where(number.present, number.value, np.nan)
            return one(Double(YES, value), items.unsure)
        case _:
            doubt = Doubt()
            text = one_text(to_text(items, source), source, doubt)
            values = code_table((xpath1_number(value) for value in text.values), np.float64)
            return one(Double(YES, values[text.codes]), doubt.mask)


def to_text(items: Items, source: FieldSource) -> Items:
    """Convert as ``string()`` does: of a node-set, the first node in the order of the document."""
    match items.items:
        case (String(),):
            return items
        case (Double(_, value),):
            distinct, codes = np.unique(value, return_inverse=True)
            return one(String(YES, codes, tuple(map(xpath1_text, distinct.tolist()))), items.unsure)
        case (TruthValue() as truth,):
            return one(as_text(truth, source, Doubt()), items.unsure)
        case _:
            texts = [as_text(text_in(node), source, Doubt()) for node in nodes_of(items)]
            return first(items, texts, source)


def first(nodes: Items, texts: Sequence[String], source: FieldSource) -> Items:
    """Return the text that belongs to the first node of a set in the order of the document; the empty one of none."""
    doubt = Doubt(nodes.unsure)
    if len(texts) > 1:
        starts, known = places(nodes, source)
        doubt.add(some((nodes.count > 1) & ~known))
        nearest = starts.argmin(axis=0)
        texts = [where(text, nearest == k) for k, text in enumerate(texts)]
    return one(merged(texts), doubt.mask)


def places(nodes: Items, source: FieldSource) -> tuple[Integers, Bools]:
    """Return where the nodes stand, absent ones last, and whether all that are there have a place.

    The order of the document need not be that of the layout. An empty cell need not have a place: its element may be
    a single tag.
    """
    starts = []
    known = YES
    for node in nodes_of(nodes):
        start, placed = source.places(field_of(node))
        starts.append(np.where(node.present, start, np.iinfo(np.int64).max))
        known = known & (~node.present | placed)
    return np.array(np.broadcast_arrays(*starts)), known


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


def compare(sign: str, left: Items, right: Items, source: FieldSource) -> Items:
    """Return the comparison of two expressions: of node-sets, whether it is true for some pair of nodes.

    For equality both are booleans if one is a boolean, else numbers if one is a number, else texts; for order they
    are numbers.
    """
    if is_set(left) and is_set(right) and not (left.items and right.items):
        return boolean(NO, Doubt(left.unsure, right.unsure).mask)
    equality = sign in ("=", "!=")
    values = (*left.items, *right.items)
    if any(isinstance(item, TruthValue) for item in values):
        left, right = (effective(items, source) if equality or is_set(items) else items for items in (left, right))
    if equality and any(isinstance(item, TruthValue) for item in left.items):
        ones, others = left, right
    elif equality and not any(isinstance(item, Double) for item in values):
        ones, others = _texts(left, source), _texts(right, source)
    else:
        ones, others = _numbers(left, source), _numbers(right, source)
    doubt = Doubt(ones.unsure, others.unsure)
    return boolean(some_pair(sign, ones.items, others.items, source, doubt, general=False), doubt.mask)


def _texts(items: Items, source: FieldSource) -> Items:
    if is_set(items):
        return replace(items, items=tuple(text_in(node) for node in nodes_of(items)))
    return to_text(items, source)


def _numbers(items: Items, source: FieldSource) -> Items:
    if is_set(items):
        return replace(items, items=tuple(number_in(node, source) for node in nodes_of(items)))
    return to_number(items, source)


_DEEPEST = 80
"""Nesting of an expression that is evaluated; chains of one operator count once."""
_FUNCTION_LABELS = ("function", "external function", "constructor function")
_CHAINS = frozenset({"or", "and", "+", "|"})
_ARITHMETIC = frozenset({"-", "*", "div", "mod"})


def _parsed(source: str, scope: ColumnScope) -> Any:
    try:
        token = parse(source, dict(scope.namespaces))
    except RulebookError:
        raise NotColumnar("the expression is not understood") from None
    if _depth(token) > _DEEPEST:
        raise NotColumnar("the expression is nested too deeply")
    return token


def _depth(token: Any) -> int:
    """Return how deep a tree is; what stands to the left of an operator in a chain of it is not deeper."""
    deepest = 0
    left = [(token, 1)]
    while left:
        node, depth = left.pop()
        deepest = max(deepest, depth)
        for k, part in enumerate(node):
            chained = k == 0 and node.symbol in _CHAINS and part.symbol == node.symbol
            left.append((part, depth if chained else depth + 1))
    return deepest


def _chain(token: Any) -> list[Any]:
    """Return the operands of a chain of one operator that is evaluated from the left."""
    parts = []
    while token.symbol in _CHAINS and len(token) == 2:
        parts.append(token[1])
        if token[0].symbol != token.symbol or len(token[0]) != 2:
            parts.append(token[0])
            break
        token = token[0]
    return parts[::-1]


def evaluate(token: Any, state: State) -> Items:  # noqa: PLR0911
    """Return the value of an expression in all records.

    Raises
    ------
    NotColumnar
        An engine has to evaluate it.
    """
    symbol, parts = token.symbol, len(token)
    if symbol in ("(string)", "(integer)", "(decimal)"):
        return _literal(token.value)
    if symbol == "(" and parts == 1:
        return evaluate(token[0], state)
    if symbol == "$":
        return variable(str(token[0].value), state, evaluate)
    if symbol in ("/", "//", "["):
        return _path(token, state)
    if is_step(token):
        return step(token, state)
    if token.label in _FUNCTION_LABELS:
        return _function(token, state)
    if parts == 2:
        return _binary(token, state)
    # XPath 1.0 has no unary plus, and the reader refuses it; to be safe, so does this
    if symbol == "-" and parts == 1:
        return negated(to_number(evaluate(token[0], state), state.source), state.source)
    raise _refused(token)


def _refused(token: Any) -> NotColumnar:
    return NotColumnar(f"'{token.symbol}' has no evaluation over columns")


def _literal(value: object) -> Items:
    if isinstance(value, str):
        return one(literal(value))
    return one(literal(xpath1_number(f"{value:f}" if isinstance(value, Decimal) else str(value))))


def _binary(token: Any, state: State) -> Items:
    symbol, source = token.symbol, state.source
    if symbol in _CHAINS:
        return _chained(symbol, [evaluate(part, state) for part in _chain(token)], state)
    left, right = evaluate(token[0], state), evaluate(token[1], state)
    if symbol in RELATIONS:
        return compare(symbol, left, right, source)
    if symbol in _ARITHMETIC:
        return arithmetic(symbol, to_number(left, source), to_number(right, source), source)
    raise _refused(token)


def _chained(symbol: str, values: list[Items], state: State) -> Items:
    source = state.source
    if symbol == "+":
        return reduce(lambda a, b: arithmetic("+", a, b, source), [to_number(value, source) for value in values])
    if symbol != "|":
        connected = conjunction if symbol == "and" else disjunction
        return reduce(lambda a, b: connected(a, b, source), values)
    if not all(map(is_set, values)):
        raise NotColumnar("a union of what are no node-sets")
    return in_document_order(joined(values))


def _function(token: Any, state: State) -> Items:
    name = token.symbol
    if name in ("position", "last") and not len(token):
        if not state.alone:
            raise NotColumnar(f"{name}() among several nodes")
        return one(literal(1.0))
    if name == "current" and not len(token):
        return one(context_node(replace(state, focus=node_at(state.scope.current))))
    return call(name, tuple(evaluate(part, state) for part in token), lambda: one(context_node(state)), state)


def _path(token: Any, state: State) -> Items:
    if len(token) != 2:
        raise NotColumnar("an absolute path")
    start = evaluate(token[0], state)
    if not is_set(start):
        raise NotColumnar("a step or a predicate on what are no nodes")
    if token.symbol == "[":
        return _filtered(start, token[1], state)
    if token.symbol == "//" and not is_child(token[1]):
        raise NotColumnar("'//' before what is no name")
    return in_document_order(joined([Items((), start.unsure), *(_onward(n, token, state) for n in nodes_of(start))]))


def _onward(node: Node, token: Any, state: State) -> Items:
    """Return what the rest of a path reaches from a node."""
    if node.kind is NodePart.TEXT:
        raise NotColumnar("a step from a text")
    at_node = _at(node, state)
    reached = evaluate(token[1], at_node)
    if not is_set(reached):
        raise NotColumnar("a path that ends in what is no node")
    return restricted(deeper(reached, at_node) if token.symbol == "//" else reached, node.present)


def _at(node: Node, state: State, *, alone: bool = False) -> State:
    """Return the state of what is evaluated on a node only, where that is there."""
    return replace(state, focus=one(replace(node, there=YES)), alone=alone)


def _filtered(nodes: Items, predicate: Any, state: State) -> Items:
    doubt = Doubt(nodes.unsure)
    kept = []
    for node in nodes_of(nodes):
        if node.kind is NodePart.TEXT:
            raise NotColumnar("a predicate on a text")
        if (id(predicate), node.at) in state.never:
            continue
        holds, unsure = _holding(predicate, _at(node, state, alone=len(nodes.items) == 1))
        if state.source.dry and holds.size and not holds.any():
            state.never.add((id(predicate), node.at))
            continue
        if unsure is not NO:
            doubt.add(some(unsure & node.present))
        kept.append(where(node, holds))
    return Items(tuple(kept), doubt.mask, single=False)


def _holding(predicate: Any, state: State) -> tuple[Bools, Bools]:
    """Return where a predicate is true of the context node, and where this is unsure; a number is a position."""
    value = evaluate(predicate, state)
    if any(isinstance(item, Double) for item in value.items):
        if not state.alone:
            raise NotColumnar("a position among several nodes")
        value = compare("=", value, one(literal(1.0)), state.source)
    return holding(value, state.source)


XPATH1 = Dialect(_parsed, evaluate)
