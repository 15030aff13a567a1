"""Steps in a flat record: which nodes one reaches from the record or one of its fields, and what these are called."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from masktron.evaluation.columns.items import (
    NO,
    NOWHERE,
    RECORD,
    YES,
    Item,
    Items,
    Node,
    NodePart,
    one,
)
from masktron.evaluation.columns.outcome import NotColumnar
from masktron.evaluation.columns.state import State, node_at
from masktron.rulebook.expressions.tree import ANY, KindTest, NameTest, Step

NAMINGS = ("local-name", "name", "namespace-uri")
_THE_RECORD = Node(YES, RECORD)


def context_item(state: State) -> Item:
    """``.``"""
    if state.focus is None:
        raise NotColumnar("a variable of the schema or pattern reads the document")
    return state.focus


def current_node(state: State) -> Items:
    """``current()``: the node that the rule fired on."""
    node = node_at(state.scope.current)
    if node is None:
        raise NotColumnar("current() outside the records")
    return one(node)


def step(asked: Step, state: State) -> Items:
    """Return the nodes that a step reaches from the context node, predicates apart.

    Raises
    ------
    NotColumnar
        The step leaves the record, or reads what stands between its fields.
    """
    node = context_item(state)
    if not isinstance(node, Node):
        raise NotColumnar("a type error: a step from a value")
    nodes = tuple(_reached(asked, node, state)) if node.at != NOWHERE else ()
    few = len(nodes) < 2
    if not nodes and state.dialect.typed:
        nodes = (Node(NO, NOWHERE),)
    return Items(nodes, single=few, ordered=few)


def _reached(asked: Step, node: Node, state: State) -> Iterable[Node]:
    test = asked.test
    match asked.axis:
        case "self":
            return _tested([node], test, state)
        case "parent" if node.at == RECORD:
            raise NotColumnar("a step to the parent of the record")
        case "parent":
            above = _THE_RECORD if node.kind is NodePart.FIELD else Node(YES, node.at)
            return _tested([above], test, state)
        case "ancestor":
            return _ancestors(node, test, state)
        case "child" | "attribute":
            return _below(asked, node, state)
        case "descendant":
            read_below(node, state)
            return _below(asked, node, state)
        case axis:
            raise NotColumnar(f"the axis {axis} has no evaluation over columns")


def _ancestors(node: Node, test: NameTest | KindTest, state: State) -> Iterable[Node]:
    """Return the record of a field, where the name that is asked for is not also that of an element above it."""
    if node.kind is NodePart.TEXT:
        raise NotColumnar("the ancestors of a text")
    above = state.scope.layout.record_path[: -1 if node.at != RECORD else None]
    if isinstance(test, KindTest) or test.local == ANY or any(tag.rpartition("}")[2] == test.local for tag in above):
        raise NotColumnar("a step to elements above the record")
    return _tested([_THE_RECORD] if node.at != RECORD else [], test, state)


def read_below(node: Node, state: State) -> None:
    """Take as read what may have descendants other than fields and texts: fields have elements where they are odd."""
    fields = enumerate(state.scope.layout.fields)
    state.source.also([at for at, field in fields if not field.attribute] if node.at == RECORD else [node.at])


def _tested(nodes: Iterable[Node], test: NameTest | KindTest, state: State) -> list[Node]:
    if isinstance(test, KindTest):
        if test.kind == "node":
            return list(nodes)
        raise NotColumnar(f"{test.kind}() on this axis")
    layout = state.scope.layout
    found = []
    for node in nodes:
        # a name test on these axes asks for elements
        if node.at == RECORD:
            element, tag = True, layout.record_tag
        else:
            field = layout.fields[node.at]
            element, tag = node.kind is NodePart.FIELD and not field.attribute, field.tag
        if element and test.takes(tag):
            found.append(node)
    return found


def _below(asked: Step, node: Node, state: State) -> Iterable[Node]:
    """Return children or attributes: of the record its fields, of a field its text."""
    test, source, fields = asked.test, state.source, state.scope.layout.fields
    if isinstance(test, KindTest):
        if asked.axis == "attribute" or node.at == RECORD or test.kind not in ("text", "node"):
            raise NotColumnar(f"{test.kind}() as a step")
        if not fields[node.at].attribute and node.kind is NodePart.FIELD:
            return [Node(partial(source.filled, node.at), node.at, NodePart.TEXT)]
    elif node.at == RECORD:
        attribute = asked.axis == "attribute"
        named = [at for at, f in enumerate(fields) if f.attribute == attribute and test.takes(f.tag)]
        return [Node(partial(source.present, at), at) for at in named]
    source.also([node.at])
    return []


def name_of_node(function: str, node: Node, state: State) -> str:
    """Return what ``local-name()``, ``name()`` or ``namespace-uri()`` says of a node.

    Raises
    ------
    NotColumnar
        The name has a prefix, and records may have different ones.
    """
    if node.at == NOWHERE or node.kind is NodePart.TEXT:
        return ""
    layout = state.scope.layout
    tag = layout.record_path[-1] if node.at == RECORD else layout.fields[node.at].tag
    uri, brace, local = tag.rpartition("}")
    if function == "namespace-uri":
        return uri.removeprefix("{")
    if function == "name" and brace:
        raise NotColumnar("name() in a namespace: records may have different prefixes")
    return local
