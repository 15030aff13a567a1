"""Conversions between the types of XPath 1.0 (section 4): sets of nodes, numbers, booleans and strings.

A sequence is a set of nodes, perhaps of none, or one value that all records have. No conversion is an error.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from masktron.evaluation.columns.field_source import FieldSource
from masktron.evaluation.columns.items import (
    RECORD,
    YES,
    Bools,
    Double,
    Doubt,
    Integers,
    Items,
    Node,
    String,
    TruthValue,
    Untyped,
    literal,
    one,
    some,
    where,
)
from masktron.evaluation.columns.outcome import NotColumnar
from masktron.evaluation.columns.string_items import as_text, code_table, merged, one_text
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
