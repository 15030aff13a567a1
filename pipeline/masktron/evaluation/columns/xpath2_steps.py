"""Steps of XPath 2 and later from the record to its fields and back, and items by their position."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from masktron.evaluation.columns.items import (
    NO,
    NOWHERE,
    RECORD,
    YES,
    Bools,
    Integers,
    Items,
    Node,
    NodePart,
    where,
)
from masktron.evaluation.columns.outcome import NotColumnar
from masktron.evaluation.columns.scope import ColumnScope
from masktron.evaluation.columns.state import State, node_at
from masktron.xpath.namespaces import STANDARD_NAMESPACES


def namespace_of(prefix: str, scope: ColumnScope) -> str | None:
    """Return the namespace of a prefix: as the rulebook declares it, or as XPath 2 and later know it."""
    declared = scope.uri(prefix)
    return STANDARD_NAMESPACES.get(prefix) if declared is None else declared


def current_node(state: State) -> Items:
    """``current()``: the node that the rule fired on."""
    node = node_at(state.scope.current)
    if node is None:
        raise NotColumnar("current() outside the records")
    return node


def context_item(token: Any, state: State) -> Items:
    """``.``"""
    if state.focus is None:
        raise NotColumnar("the context item outside the records")
    return state.focus


def named(token: Any, state: State) -> Items:
    """A name: a child of the context node."""
    return children(str(token.value), "", state, attribute=False)


def attribute_step(token: Any, state: State) -> Items:
    """``@name`` and ``attribute::name``"""
    name, uri = _test(token[0], state)
    if name is None:
        return all_fields(state, attribute=True)
    return children(name, uri, state, attribute=True)


def _test(token: Any, state: State) -> tuple[str | None, str]:
    """Return the name and namespace that a name test asks for; None for the wildcard."""
    if token.symbol == "(name)":
        return str(token.value), ""
    if token.symbol == "*":
        return None, ""
    if token.symbol == ":" and token[1].symbol == "(name)" and token[0].symbol == "(name)":
        uri = namespace_of(str(token[0].value), state.scope)
        if uri is not None:
            return str(token[1].value), uri
    raise NotColumnar(f"the test '{token.source}'")


def _here(state: State) -> tuple[Node, Items]:
    """Return the node that a step starts from."""
    if state.focus is None or len(state.focus.items) != 1:
        raise NotColumnar("a step from outside the records")
    item = state.focus.items[0]
    if not isinstance(item, Node):
        raise NotColumnar("a type error: a step from a value")
    return item, state.focus


def children(name: str, uri: str, state: State, *, attribute: bool) -> Items:
    """Return the field of the context node with a name."""
    node, focus = _here(state)
    at = state.scope.field(name, uri, attribute=attribute) if node.at == RECORD else None
    if at is None:
        return _no_node(focus)
    return Items((where(Node(partial(state.source.present, at), at), node.present),), focus.unsure)


def _no_node(focus: Items) -> Items:
    """Return a node that no record has: what is made of it has a type all the same."""
    return Items((Node(NO, NOWHERE),), focus.unsure)


def all_fields(state: State, *, attribute: bool) -> Items:
    """Return all fields of the context node: their order is that of each record."""
    node, focus = _here(state)
    if node.at != RECORD:
        return _no_node(focus)
    fields = [k for k, field in enumerate(state.scope.layout.fields) if field.attribute == attribute]
    items = tuple(where(Node(partial(state.source.present, at), at), node.present) for at in fields)
    return Items(items, focus.unsure, single=len(items) < 2, ordered=len(items) < 2) if items else _no_node(focus)


def child_step(token: Any, state: State) -> Items:
    """``child::name``, ``child::*`` and ``child::text()``"""
    if token[0].symbol == "text":
        return text_node(token[0], state)
    name, uri = _test(token[0], state)
    return all_fields(state, attribute=False) if name is None else children(name, uri, state, attribute=False)


def text_node(token: Any, state: State) -> Items:
    """``text()``"""
    node, focus = _here(state)
    if node.at == RECORD:
        raise NotColumnar("text() of a record")
    if node.at == NOWHERE or node.kind is NodePart.TEXT or state.scope.layout.fields[node.at].attribute:
        return _no_node(focus)
    filled = Node(partial(state.source.filled, node.at), node.at, NodePart.TEXT)
    return Items((where(filled, node.present),), focus.unsure)


def self_node(token: Any, state: State) -> Items:
    """``self::node()`` and ``self::name``"""
    node, focus = _here(state)
    test = token[0]
    if test.symbol == "node" and not len(test):
        return focus
    name, uri = _test(test, state)
    if node.at == RECORD or node.kind is NodePart.TEXT:
        raise NotColumnar("self:: of the record")
    if node.at == NOWHERE:
        return focus
    field = state.scope.layout.fields[node.at]
    tag = f"{{{uri}}}{name}" if uri else name
    # the axis knows elements; an attribute is never what a name test there asks for
    meant = not field.attribute and (name is None or field.tag == tag)
    return focus if meant else _no_node(focus)


def parent_node(token: Any, state: State) -> Items:
    """``..`` and ``parent::node()``"""
    node, focus = _here(state)
    if len(token) and not (token[0].symbol in ("node", "*") and not len(token[0])):
        raise NotColumnar("a name on the axis parent")
    if node.at == RECORD:
        raise NotColumnar("the parent of the record")
    if node.kind is NodePart.TEXT:
        return Items((where(Node(YES, node.at), node.present),), focus.unsure)
    return Items((where(Node(YES, RECORD), node.present),), focus.unsure)


def at_position(items: Items, position: int) -> Items:
    """Return the item at a position, from 1."""
    return replace(_chosen(items, lambda place: place == position), single=True, ordered=True)


def at_the_end(items: Items) -> Items:
    """Return the last item."""
    if items.single:
        return items
    count = items.count
    return replace(_chosen(items, lambda place: place == count), single=True, ordered=True)


def _chosen(items: Items, wanted: Callable[[Integers], Bools]) -> Items:
    if not items.ordered and not items.single:
        raise NotColumnar("the order of fields in a record")
    chosen = []
    before = np.zeros(1, dtype=np.int64)
    for item in items.items:
        chosen.append(where(item, wanted(before + 1)))
        before = before + item.present
    return Items(tuple(chosen), items.unsure, items.single, items.ordered or items.single)
