"""Steps of XPath 1.0 in a flat record: which nodes one reaches from the record or one of its fields."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from masktron.evaluation.columns.items import RECORD, YES, Items, Node, NodePart
from masktron.evaluation.columns.outcome import NotColumnar
from masktron.evaluation.columns.state import State

_KINDS = frozenset({"text", "node", "comment", "processing-instruction"})
_WORDLESS = {"(name)": "child", "*": "child", ":": "child", "@": "attribute", ".": "self", "..": "parent"}
_AXES = frozenset({"child", "attribute", "self", "parent", "ancestor", "descendant"})


def is_step(token: Any) -> bool:
    """Tell whether a token is one step of a path, predicates apart."""
    if token.symbol == ":" and len(token) == 2:
        return token[1].symbol in ("(name)", "*")
    if token.symbol in ("*", "(name)", ".", ".."):
        return len(token) == 0 or token.symbol == "(name)"
    axis = token.symbol in _AXES or token.symbol == "@"
    return (axis and len(token) == 1) or (token.symbol in _KINDS and token.label == "kind test" and len(token) == 0)


def step(token: Any, state: State) -> Items:
    """Return the nodes that a step reaches from the context node.

    Raises
    ------
    NotColumnar
        The step leaves the record, or reads what stands between its fields.
    """
    node = context_node(state)
    symbol = token.symbol
    if symbol == ".":
        return _nodes([node])
    if symbol in _KINDS:
        axis, test = "child", token
    else:
        axis = _WORDLESS.get(symbol, symbol)
        test = token[0] if symbol == "@" or symbol in _AXES else token
    match axis:
        case "self":
            return _tested([node], test, state)
        case "parent":
            if node.at == RECORD:
                raise NotColumnar("a step to the parent of the record")
            return _nodes([_THE_RECORD]) if symbol == ".." else _tested([_THE_RECORD], test, state)
        case "ancestor":
            return _ancestors(node, test, state)
        case "descendant":
            return deeper(_below("child", node, test, state), state)
        case _:
            return _below(axis, node, test, state)


_THE_RECORD = Node(YES, RECORD)


def context_node(state: State) -> Node:
    """Return the context node, which is there wherever anything is evaluated."""
    node = state.focus and state.focus.items[0]
    if not isinstance(node, Node):
        raise NotColumnar("a variable of the schema or pattern reads the document")
    return node


def _nodes(nodes: Iterable[Node]) -> Items:
    return Items(tuple(nodes), single=False)


def _ancestors(node: Node, test: Any, state: State) -> Items:
    """Return the record of a field, where the name that is asked for is not also that of an element above it."""
    local = _expanded(test, state)[1]
    above = state.scope.layout.record_path[: -1 if node.at != RECORD else None]
    if local is None or any(tag.rpartition("}")[2] == local for tag in above):
        raise NotColumnar("a step to elements above the record")
    return _tested([_THE_RECORD] if node.at != RECORD else [], test, state)


def deeper(children: Items, state: State) -> Items:
    """Return children as all descendants of their name: fields have no elements but where they are odd."""
    node = context_node(state)
    fields = enumerate(state.scope.layout.fields)
    state.source.also([at for at, field in fields if not field.attribute] if node.at == RECORD else [node.at])
    return children


def is_child(token: Any) -> bool:
    """Tell whether a token is a step to children by name, with or without predicates."""
    while token.symbol == "[" and len(token) == 2:
        token = token[0]
    return is_step(token) and _WORDLESS.get(token.symbol, token.symbol) == "child"


def _tested(nodes: Iterable[Node], test: Any, state: State) -> Items:
    if test.symbol in _KINDS:
        if test.symbol == "node":
            return _nodes(nodes)
        raise NotColumnar(f"{test.symbol}() on this axis")
    namespace, local = _expanded(test, state)
    layout = state.scope.layout
    return _nodes(
        node
        for node in nodes
        if not (node.at != RECORD and layout.fields[node.at].attribute)
        and _fits(layout.record_tag if node.at == RECORD else layout.fields[node.at].tag, namespace, local)
    )


def _below(axis: str, node: Node, test: Any, state: State) -> Items:
    """Return children or attributes: of the record its fields, of a field its text."""
    if test.symbol in _KINDS:
        return _kind_below(axis, node, test, state)
    namespace, local = _expanded(test, state)
    if node.at != RECORD:
        state.source.also([node.at])
        return _nodes([])
    attribute = axis == "attribute"
    if namespace is not None and local is not None:
        at = state.scope.field(local, namespace, attribute=attribute)
        fields = [] if at is None else [at]
    else:
        known = enumerate(state.scope.layout.fields)
        fields = [at for at, field in known if field.attribute == attribute and _fits(field.tag, namespace, local)]
    return _nodes(Node(partial(state.source.present, at), at) for at in fields)


def _kind_below(axis: str, node: Node, test: Any, state: State) -> Items:
    kind = test.symbol
    if axis != "child" or node.at == RECORD or kind not in ("text", "node") or len(test):
        raise NotColumnar(f"{kind}() as a step")
    if state.scope.layout.fields[node.at].attribute:
        state.source.also([node.at])
        return _nodes([])
    return _nodes([Node(partial(state.source.filled, node.at), node.at, NodePart.TEXT)])


def _fits(tag: str, namespace: str | None, local: str | None) -> bool:
    """Tell whether an element or attribute has a name; None stands for any."""
    uri, _, name = tag.rpartition("}")
    return local in (None, name) and namespace in (None, uri.removeprefix("{"))


def _expanded(test: Any, state: State) -> tuple[str | None, str | None]:
    """Return namespace and local name of a name test; None for a wildcard."""
    if test.symbol == "*" and not len(test):
        return None, None
    if test.symbol == "(name)":
        return "", str(test.value)
    if test.symbol == ":" and len(test) == 2 and test[1].symbol in ("(name)", "*") and test[0].symbol == "(name)":
        uri = state.scope.uri(str(test[0].value))
        if uri is None:
            raise NotColumnar(f"the prefix {test[0].value} is not declared")
        return uri, None if test[1].symbol == "*" else str(test[1].value)
    raise NotColumnar(f"'{test.symbol}' as a node test")
