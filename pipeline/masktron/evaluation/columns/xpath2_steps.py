"""Steps from the record to its fields and back, and the state in which an expression of XPath 2 and later stands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any

from masktron.evaluation.columns.outcome import NotColumnar
from masktron.evaluation.columns.scope import DOCUMENT, Scope
from masktron.evaluation.columns.xpath2_source import Source
from masktron.evaluation.columns.xpath2_values import (
    NO,
    NOWHERE,
    RECORD,
    YES,
    Doubt,
    Items,
    Node,
    NodeKind,
    one,
    where,
)
from masktron.rulebook.forbidden import STANDARD_NAMESPACES


@dataclass(frozen=True, slots=True)
class Let:
    """A variable of the rulebook: an expression in its own scope."""

    token: Any
    scope: Scope


@dataclass(frozen=True, slots=True)
class State:
    """What an expression is evaluated in.

    Attributes
    ----------
    focus : Items or None
        The context item; None where there is none that columns know.
    local : mapping of str to Items
        Variables that the expression itself binds.
    lets : dict
        Values of variables of the rulebook, by their `Let`, made once in a batch.
    never : set of (int, int)
        Predicates, each with a node, that are false whatever the records say: found when the expression is tried.
    depth : int
        How deep the expression is nested.
    alone : bool
        Whether the context node is surely the only one, so that its position is 1 and the last is 1.
    """

    source: Source
    scope: Scope
    focus: Items | None
    local: Mapping[str, Items]
    lets: dict[int, Items]
    never: set[tuple[int, int]]
    depth: int = 0
    alone: bool = False

    def bound(self, name: str, value: Items) -> State:
        """Return the state with one more variable."""
        return replace(self, local=MappingProxyType({**self.local, name: value}))


def namespace_of(prefix: str, scope: Scope) -> str | None:
    """Return the namespace of a prefix: as the rulebook declares it, or as XPath 2 and later know it."""
    declared = scope.uri(prefix)
    return STANDARD_NAMESPACES.get(prefix) if declared is None else declared


type Evaluate = Callable[[Any, State], Items]


def node_at(position: int | None) -> Items | None:
    """Return the node of a focus: nothing is evaluated where it is not there."""
    if position == DOCUMENT:
        return None
    return one(Node(YES, RECORD if position is None else position))


def start(source: Source, scope: Scope, never: set[tuple[int, int]] | None = None) -> State:
    """Return the state in which an expression of the rulebook is evaluated."""
    known = set[tuple[int, int]]() if never is None else never
    return State(source, scope, node_at(scope.focus), MappingProxyType({}), {}, known)


def variable(name: str, state: State, evaluate: Evaluate) -> Items:
    """Return the value of a variable that the expression or the rulebook binds."""
    if name in state.local:
        return state.local[name]
    let = state.scope.variable(name)
    if not isinstance(let, Let):
        raise NotColumnar(f"${name}")
    if id(let) not in state.lets:
        outside = replace(start(state.source, let.scope, state.never), lets=state.lets, depth=state.depth)
        state.lets[id(let)] = evaluate(let.token, outside)
    return state.lets[id(let)]


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


def expanded_name(token: Any, state: State) -> Items:
    """``Q{uri}name``"""
    return children(str(token[1].value), str(token[0].value), state, attribute=False)


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
    if token.symbol == "Q{":
        return str(token[1].value), str(token[0].value)
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
    if node.at == NOWHERE or node.kind is NodeKind.TEXT or state.scope.layout.fields[node.at].attribute:
        return _no_node(focus)
    filled = Node(partial(state.source.filled, node.at), node.at, NodeKind.TEXT)
    return Items((where(filled, node.present),), focus.unsure)


def self_node(token: Any, state: State) -> Items:
    """``self::node()`` and ``self::name``"""
    node, focus = _here(state)
    test = token[0]
    if test.symbol == "node" and not len(test):
        return focus
    name, uri = _test(test, state)
    if node.at == RECORD or node.kind is NodeKind.TEXT:
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
    if node.kind is NodeKind.TEXT:
        return Items((where(Node(YES, node.at), node.present),), focus.unsure)
    return Items((where(Node(YES, RECORD), node.present),), focus.unsure)


def common(left: Items, right: Items, *, other: bool) -> Items:
    """Return the nodes of the left that are on the right, too (``intersect``), or that are not (``except``)."""
    ones, others = in_document_order(left), in_document_order(right)
    there = {(node.at, node.kind): node.present for node in others.items if isinstance(node, Node)}
    kept = []
    for node in ones.items:
        if isinstance(node, Node):
            also = there.get((node.at, node.kind), NO)
            kept.append(where(node, ~also if other else also))
    return Items(tuple(kept), Doubt(ones.unsure, others.unsure).mask, ones.single, ones.ordered)


def in_document_order(items: Items) -> Items:
    """Return nodes without repetition; how they follow each other in the record is not known."""
    nodes: dict[tuple[int, NodeKind], Node] = {}
    for item in items.items:
        if not isinstance(item, Node):
            raise NotColumnar("a type error: nodes and values together")
        earlier = nodes.get((item.at, item.kind))
        again = earlier is not None and replace(item, there=earlier.present | item.present)
        nodes[item.at, item.kind] = again or item
    few = len(nodes) < 2
    return Items(tuple(nodes.values()), items.unsure, items.single or few, items.single or few)
