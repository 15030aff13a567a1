"""XPath 1.0 over a batch, as the Recommendation has it: conversions, functions, comparisons, predicates.

Where the answer is not known for sure, the records are left unsure or the expression is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from types import MappingProxyType

import numpy as np

from masktron.evaluation.columns.comparisons import RELATIONS, effective, holding, some_pair
from masktron.evaluation.columns.expressions import (
    called,
    evaluate,
    name_of_node,
    refused,
)
from masktron.evaluation.columns.functions import FUNCTIONS, Conversion, Function, Takes, predicate
from masktron.evaluation.columns.items import (
    NO,
    RECORD,
    YES,
    Bools,
    Doubt,
    Integers,
    Item,
    Items,
    Node,
    NotColumnar,
    Number,
    String,
    TruthValue,
    Untyped,
    boolean,
    literal,
    one,
    same_text,
    some,
    where,
)
from masktron.evaluation.columns.number_items import one_double
from masktron.evaluation.columns.state import Dialect, FieldSource, State
from masktron.evaluation.columns.string_items import as_text, code_table, merged, one_text
from masktron.rulebook.expressions.tree import Call, Expression
from masktron.sources.lexical import xpath1_number, xpath1_text


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


def number_in(node: Node, source: FieldSource) -> Number:
    """Return the number in a node; NaN in every form that XPath 1.0 does not have."""
    return Number(node.present, source.numbers(field_of(node)).double)


def text_in(node: Node) -> Untyped:
    """Return the text in a node."""
    return Untyped(node.present, field_of(node))


def to_number(items: Items, source: FieldSource) -> Items:
    """Convert as ``number()`` does."""
    match items.items:
        case (Number(),):
            return items
        case (TruthValue(_, holds),):
            return one(Number(YES, holds.astype(np.float64)), items.unsure)
        case ():
            return one(literal(float("nan")), items.unsure)
        case (Node() as node,):
            number = number_in(node, source)
            # an absent field is NaN as it is
            value = number.value if node.there is YES else np.where(number.present, number.value, np.nan)
            return one(Number(YES, value), items.unsure)
        case _:
            doubt = Doubt()
            text = one_text(to_text(items, source), source, doubt)
            values = code_table((xpath1_number(value) for value in text.values), np.float64)
            return one(Number(YES, values[text.codes]), doubt.mask)


def to_text(items: Items, source: FieldSource) -> Items:
    """Convert as ``string()`` does: of a node-set, the first node in the order of the document."""
    match items.items:
        case (String(),):
            return items
        case (Number(_, value),):
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


def _node_set(items: Items, source: FieldSource, doubt: Doubt) -> Items:
    if not is_set(items):
        raise NotColumnar("a node-set is asked for, and this is none")
    return items


def _text(items: Items, source: FieldSource, doubt: Doubt) -> String:
    return one_text(to_text(items, source), source, doubt)


def _number(items: Items, source: FieldSource, doubt: Doubt) -> Number:
    return one_double(to_number(items, source), source, doubt)


_CONVERTED: Mapping[Takes, Conversion] = MappingProxyType(
    {
        "text": _text,
        "value": _text,
        "number": _number,
        "any": _number,
        "numbers": lambda items, source, doubt: (_number(items, source, doubt),),
        "nodes": _node_set,
        "items": lambda items, _, __: items,
    }
)


def _call(asked: Call, state: State) -> Items:
    """Return the value of a function.

    Raises
    ------
    NotColumnar
        The function, or its number or types of arguments, have no evaluation over columns.
    """
    name = asked.standard
    if not name or asked.prefix:
        return refused(asked, state)
    if name in ("position", "last") and not asked.arguments:
        if not state.alone:
            raise NotColumnar(f"{name}() among several nodes")
        return one(literal(1.0))
    return _in_doubles(called(name, asked.arguments, state))


def _in_doubles(items: Items) -> Items:
    """Return what has one type of number only."""
    (item,) = items.items
    return replace(items, items=(replace(item, type="double"),)) if isinstance(item, Number) else items


def _sum(source: FieldSource, doubt: Doubt, nodes: Items) -> Number:
    """Sum in the order of the document, as libxml2 does: that of the records, not of the layout."""
    doubt.add(nodes.unsure)
    numbers = [number_in(node, source) for node in nodes_of(nodes)]
    values = [np.where(number.present, number.value, 0.0) for number in numbers]
    if len(values) > 2:  # two numbers have the same sum in both orders
        order = np.argsort(places(nodes, source)[0], axis=0, kind="stable")
        values = list(np.take_along_axis(np.array(np.broadcast_arrays(*values)), order, axis=0))
    return Number(YES, sum(values, start=np.zeros(1)))


def _named(name: str, nodes: Items, state: State) -> Items:
    _node_set(nodes, state.source, Doubt())
    texts = [same_text(name_of_node(name, node, state), node.present) for node in nodes_of(nodes)]
    return first(nodes, texts, state.source)


def compare(sign: str, left: Items, right: Items, source: FieldSource) -> Items:
    """Return the comparison of two expressions: of node-sets, whether it is true for some pair of nodes.

    For equality both are booleans if one is a boolean, else numbers if one is a number, else texts; for order they
    are numbers.
    """
    if sign not in RELATIONS:
        raise NotColumnar(f"'{sign}' has no evaluation over columns")
    if is_set(left) and is_set(right) and not (left.items and right.items):
        return boolean(NO, Doubt(left.unsure, right.unsure).mask)
    equality = sign in ("=", "!=")
    values = (*left.items, *right.items)
    if any(isinstance(item, TruthValue) for item in values):
        left, right = (effective(items, source) if equality or is_set(items) else items for items in (left, right))
    if equality and any(isinstance(item, TruthValue) for item in left.items):
        ones, others = left, right
    elif equality and not any(isinstance(item, Number) for item in values):
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


def _constant(value: str | int | Decimal | float) -> Item:
    if isinstance(value, str):
        return literal(value)
    if isinstance(value, float):
        raise NotColumnar("a number with an exponent, which XPath 1.0 does not have")
    return literal(xpath1_number(f"{value:f}" if isinstance(value, Decimal) else str(value)))


def _chosen(nodes: Items, condition: Expression, state: State) -> Items:
    if not is_set(nodes):
        raise NotColumnar("a step or a predicate on what are no nodes")
    doubt = Doubt(nodes.unsure)
    kept = []
    for node in nodes_of(nodes):
        if (id(condition), node.at) in state.never:
            continue
        holds, unsure = _holding(condition, state.at(node, alone=len(nodes.items) == 1))
        if state.source.dry and holds.size and not holds.any():
            state.never.add((id(condition), node.at))
            continue
        if unsure is not NO:
            doubt.add(some(unsure & node.present))
        kept.append(where(node, holds))
    return Items(tuple(kept), doubt.mask, single=False)


def _holding(condition: Expression, state: State) -> tuple[Bools, Bools]:
    """Return where a predicate is true of the context node, and where this is unsure; a number is a position."""
    value = evaluate(condition, state)
    if any(isinstance(item, Number) for item in value.items):
        if not state.alone:
            raise NotColumnar("a position among several nodes")
        value = compare("=", value, one(literal(1.0)), state.source)
    return holding(value, state.source)


XPATH1 = Dialect(
    typed=False,
    functions=MappingProxyType(
        {
            **FUNCTIONS,
            "sum": Function(("nodes",), _sum),
            "contains": predicate(lambda text, part: part in text),
        }
    ),
    converted=_CONVERTED,
    named=_named,
    constant=_constant,
    operand=to_number,
    compare=compare,
    call=_call,
    chosen=_chosen,
    other=refused,
)
