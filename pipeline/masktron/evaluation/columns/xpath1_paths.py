"""Location paths of XPath 1.0 in a flat record: which nodes a step reaches from the record or one of its fields."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from masktron.evaluation.columns.kleene import both, either
from masktron.evaluation.columns.outcome import NotColumnar, Truth
from masktron.evaluation.columns.scope import DOCUMENT, Scope
from masktron.evaluation.columns.xpath1_types import (
    Boolean,
    Member,
    Nodes,
    the_field,
    the_focus,
    the_record,
    the_text,
)
from masktron.sources.columns import Batch

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


def step(token: Any, scope: Scope) -> Nodes:
    """Return the nodes that a step reaches from the focus.

    Raises
    ------
    NotColumnar
        The step leaves the record, or reads what stands between its fields.
    """
    if scope.focus == DOCUMENT:
        raise NotColumnar("a variable of the schema or pattern reads the document")
    symbol = token.symbol
    if symbol == ".":
        return Nodes((here(scope),))
    if symbol in _KINDS:
        axis, test = "child", token
    else:
        axis = _WORDLESS.get(symbol, symbol)
        test = token[0] if symbol == "@" or symbol in _AXES else token
    match axis:
        case "self":
            return _tested([here(scope)], test, scope)
        case "parent":
            if scope.focus is None:
                raise NotColumnar("a step to the parent of the record")
            return Nodes((the_record(),)) if symbol == ".." else _tested([the_record()], test, scope)
        case "ancestor":
            return _ancestors(test, scope)
        case "descendant":
            return deeper(_below("child", test, scope), scope)
        case _:
            return _below(axis, test, scope)


def here(scope: Scope) -> Member:
    """Return the context node, which is there."""
    return _node(scope.focus)


def _node(focus: int | None) -> Member:
    if focus == DOCUMENT:
        raise NotColumnar("a variable of the schema or pattern reads the document")
    return the_focus(focus)


def current(scope: Scope) -> Nodes:
    """Return the node that the rule fired on."""
    return Nodes((_node(scope.current),))


def _ancestors(test: Any, scope: Scope) -> Nodes:
    """Return the record of a field, where the name that is asked for is not also that of an element above it."""
    local = _expanded(test, scope)[1]
    above = scope.layout.record_path[: -1 if scope.focus is not None else None]
    if local is None or any(tag.rpartition("}")[2] == local for tag in above):
        raise NotColumnar("a step to elements above the record")
    return _tested([the_record()] if scope.focus is not None else [], test, scope)


def deeper(children: Nodes, scope: Scope) -> Nodes:
    """Return children as all descendants of their name: fields have no elements but where they are odd."""
    fields = scope.layout.fields
    elements = frozenset(at for at, field in enumerate(fields) if not field.attribute)
    return Nodes(children.members, children.reads | (elements if scope.focus is None else {scope.focus}))


def is_child(token: Any) -> bool:
    """Tell whether a token is a step to children by name, with or without predicates."""
    while token.symbol == "[" and len(token) == 2:
        token = token[0]
    return is_step(token) and _WORDLESS.get(token.symbol, token.symbol) == "child"


def _tested(members: Iterable[Member], test: Any, scope: Scope) -> Nodes:
    if test.symbol in _KINDS:
        if test.symbol == "node":
            return Nodes(tuple(members))
        raise NotColumnar(f"{test.symbol}() on this axis")
    return Nodes(tuple(m for m in members if _fits(m.node, test, scope, attribute=False)))


def _below(axis: str, test: Any, scope: Scope) -> Nodes:
    """Return children or attributes: of the record its fields, of a field its text."""
    if test.symbol in _KINDS:
        return _kind_below(axis, test, scope)
    if scope.focus is not None:
        _expanded(test, scope)
        return Nodes((), frozenset({scope.focus}))
    attribute = axis == "attribute"
    fitting = (at for at in range(len(scope.layout.fields)) if _fits(at, test, scope, attribute=attribute))
    return Nodes(tuple(the_field(at) for at in fitting))


def _kind_below(axis: str, test: Any, scope: Scope) -> Nodes:
    kind = test.symbol
    if axis != "child" or scope.focus is None or kind not in ("text", "node") or len(test):
        raise NotColumnar(f"{kind}() as a step")
    if scope.layout.fields[scope.focus].attribute:
        return Nodes((), frozenset({scope.focus}))
    return Nodes((the_text(scope.focus),))


def _fits(node: int | None, test: Any, scope: Scope, *, attribute: bool) -> bool:
    """Tell whether a node has the name that is asked for, and is of the kind that the axis is about."""
    namespace, local = _expanded(test, scope)
    tag = scope.layout.record_tag if node is None else scope.layout.fields[node].tag
    if (node is not None and scope.layout.fields[node].attribute) != attribute:
        return False
    uri, _, name = tag.rpartition("}")
    return local in (None, name) and namespace in (None, uri.removeprefix("{"))


def _expanded(test: Any, scope: Scope) -> tuple[str | None, str | None]:
    """Return namespace and local name of a name test; None for a wildcard."""
    if test.symbol == "*" and not len(test):
        return None, None
    if test.symbol == "(name)":
        return "", str(test.value)
    if test.symbol == ":" and len(test) == 2 and test[1].symbol in ("(name)", "*") and test[0].symbol == "(name)":
        uri = scope.uri(str(test[0].value))
        if uri is None:
            raise NotColumnar(f"the prefix {test[0].value} is not declared")
        return uri, None if test[1].symbol == "*" else str(test[1].value)
    raise NotColumnar(f"'{test.symbol}' as a node test")


def union(parts: Iterable[Nodes]) -> Nodes:
    """Return the nodes of all sets, each once."""
    found: dict[tuple[int | None, bool], Member] = {}
    reads: frozenset[int] = frozenset()
    for part in parts:
        reads |= part.reads
        for member in part.members:
            key = (member.node, member.text)
            found[key] = _merged(found[key], member) if key in found else member
    return Nodes(tuple(found.values()), reads)


def _merged(one: Member, other: Member) -> Member:
    return replace(
        one,
        fields=one.fields | other.fields,
        present=lambda batch: either(one.present(batch), other.present(batch)),
    )


def from_each(start: Nodes, onward: Callable[[Member], Nodes]) -> Nodes:
    """Return what is reached from the nodes of a set."""
    return union([Nodes((), start.reads), *_reached(start, onward)])


def _reached(start: Nodes, onward: Callable[[Member], Nodes]) -> Iterator[Nodes]:
    for member in start.members:
        if member.text:
            raise NotColumnar("a step from a text")
        reached = onward(member)
        yield Nodes(
            tuple(_also(there, member.present, member.fields) for there in reached.members),
            reached.reads | member.fields,
        )


def kept(member: Member, predicate: Boolean) -> Member:
    """Return a member of a set under a predicate that is evaluated on it."""
    return _also(member, predicate.of, predicate.fields)


def _also(member: Member, condition: Callable[[Batch], Truth], fields: frozenset[int]) -> Member:
    present = member.present
    return replace(
        member,
        fields=member.fields | fields,
        present=lambda batch: both(present(batch), condition(batch)),
    )
