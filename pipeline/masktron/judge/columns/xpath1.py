"""XPath 1.0 over a batch, as the Recommendation has it: conversions, functions, comparisons, predicates.

Where the answer is not known for sure, the records are left unsure or the expression is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from types import MappingProxyType

import numpy as np

from masktron.judge.columns.comparisons import effective, holding, some_pair
from masktron.judge.columns.expressions import (
    called,
    evaluate,
    name_of_node,
    refused,
)
from masktron.judge.columns.functions import FUNCTIONS, predicate
from masktron.judge.columns.items import (
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
    number_literal,
    one,
    same_text,
    some,
    where,
)
from masktron.judge.columns.state import Conversion, Dialect, FieldSource, Function, State, Takes
from masktron.judge.columns.string_items import as_text, code_table, merged
from masktron.rulebook.expressions.tree import RELATIONS, Call, Expression
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


def to_number(items: Items, source: FieldSource, doubt: Doubt) -> Number:
    """Convert as ``number()`` does."""
    doubt.add(items.unsure)
    match items.items:
        case (Number() as number,):
            return number
        case (TruthValue(_, holds),):
            return Number(YES, holds.astype(np.float64))
        case ():
            return number_literal(float("nan"))
        case (Node() as node,):
            number = number_in(node, source)
            # an absent field is NaN as it is
            return Number(YES, number.value if node.there is YES else np.where(number.present, number.value, np.nan))
        case _:
            text = to_text(items, source, doubt)
            return Number(YES, code_table((xpath1_number(value) for value in text.values), np.float64)[text.codes])


def to_text(items: Items, source: FieldSource, doubt: Doubt) -> String:
    """Convert as ``string()`` does: of a node-set, the first node in the order of the document."""
    doubt.add(items.unsure)
    match items.items:
        case (String() as text,):
            return text
        case (Number(_, value),):
            distinct, codes = np.unique(value, return_inverse=True)
            return String(YES, codes, tuple(map(xpath1_text, distinct.tolist())))
        case (TruthValue() as truth,):
            return as_text(truth, source, doubt)
        case _:
            return first(items, [as_text(text_in(node), source, doubt) for node in nodes_of(items)], source, doubt)


def first(nodes: Items, texts: Sequence[String], source: FieldSource, doubt: Doubt) -> String:
    """Return the text that belongs to the first node of a set in the order of the document; the empty one of none."""
    if len(texts) > 1:
        starts, known = places(nodes, source)
        doubt.add(some((nodes.count > 1) & ~known))
        nearest = starts.argmin(axis=0)
        texts = [where(text, nearest == k) for k, text in enumerate(texts)]
    return merged(texts)


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


_CONVERTED: Mapping[Takes, Conversion] = MappingProxyType(
    {
        "text": to_text,
        "value": to_text,
        "number": to_number,
        "any": to_number,
        "numbers": lambda items, source, doubt: (to_number(items, source, doubt),),
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
    doubt = Doubt(nodes.unsure)
    return one(first(nodes, texts, state.source, doubt), doubt.mask)


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
    doubt = Doubt(left.unsure, right.unsure)
    sides = (left, right)
    if equality and any(isinstance(item, TruthValue) for item in left.items):
        ones, others = left.items, right.items
    elif equality and not any(isinstance(item, Number) for item in values):
        ones, others = (_each(items, text_in, to_text, source, doubt) for items in sides)
    else:
        ones, others = (_each(items, partial(number_in, source=source), to_number, source, doubt) for items in sides)
    return boolean(some_pair(sign, ones, others, source, doubt, general=False), doubt.mask)


def _each(
    items: Items, of_node: Callable[[Node], Item], of_value: Conversion, source: FieldSource, doubt: Doubt
) -> tuple[Item, ...]:
    """Return what each node of a node-set says, or a value converted."""
    return tuple(map(of_node, nodes_of(items))) if is_set(items) else (of_value(items, source, doubt),)


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
    compare=compare,
    call=_call,
    chosen=_chosen,
    other=refused,
)
