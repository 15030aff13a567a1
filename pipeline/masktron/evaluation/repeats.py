"""What pyschematron said of nodes with equal fields, so that it is asked once.

Theorem: where the tests and variables of a rule keep to children and attributes of the context node that they name,
to what is in these, to variables that are the same everywhere and to documents with a literal name, the decisions of
the rule are the same on two nodes whose children and attributes of these names are equal, in their order. Proof: by
induction over the expression, each step of which starts at such a child or attribute and goes down, or is a function
of values alone. Nothing is taken for such an expression unless every token of it is known here, in the tree that the
engine evaluates.

A masked file has at most n / k different values in a block of fields: 26 rules ask for 5,237 decisions on 2,000
households that were masked with k = 5, instead of 50,000.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from elementpath import XPathToken
from elementpath.xpath_nodes import EtreeElementNode
from lxml import etree

from masktron.rulebook.locality import BINDERS, FUNCTIONS, OPERATORS, TYPED

MOST = 20_000
"""Decisions that are kept for a rule; later ones are forgotten at once."""

type ContentsKey = tuple[object, ...]
type FieldsOf = Callable[[str], frozenset[str]]
"""What an expression reads that steps to a name, ``@`` before those of attributes."""

_OF_IDENTITY = frozenset({"generate-id", "name", "node-name", "error"})
"""Functions of more than what is compared: which node it is, the prefix of its name, what an error shows."""
_DOCUMENTS = frozenset({"document", "doc"})
_VALUES = FUNCTIONS - _OF_IDENTITY - _DOCUMENTS
"""Functions of their arguments, where they have any: without, they read the context."""
_CONSTANTS = frozenset({"true", "false", "pi"})


class _BeyondError(Exception):
    """An expression may read more than named children and attributes; it never reaches the user."""


def constants(lets: Iterable[tuple[str, XPathToken | None]], known: frozenset[str]) -> frozenset[str]:
    """Return the variables that have the same value in every document, those that are ``known`` included.

    Parameters
    ----------
    lets : iterable of (str, XPathToken or None)
        Names, and what they are bound to at the root of a document, in their order; None for a text.
    known : frozenset of str
        Of the scope around.
    """
    found = dict.fromkeys(known, frozenset[str]())
    for name, value in lets:
        found.pop(name, None)
        try:
            found[name] = frozenset() if value is None else _walk(value, found, _outside)
        except _BeyondError:
            continue
    return frozenset(found)


def fields_read(
    lets: Iterable[tuple[str, XPathToken | None]], tests: Iterable[XPathToken], known: frozenset[str]
) -> frozenset[str] | None:
    """Return the local names of the children and attributes that decide a rule; None where it may read others.

    Parameters
    ----------
    lets : iterable of (str, XPathToken or None)
        Variables of the rule, in their order; None for a text.
    tests : iterable of XPathToken
    known : frozenset of str
        Variables that have the same value in every document.
    """
    scope = dict.fromkeys(known, frozenset[str]())
    try:
        for name, value in lets:
            scope[name] = frozenset() if value is None else _walk(value, scope, _own)
        read = [_walk(test, scope, _own) for test in tests]
    except _BeyondError:
        return None
    return frozenset[str]().union(*scope.values(), *read)


class Contents:
    """The attributes and children of nodes, with their local names; those of the last node are kept."""

    def __init__(self) -> None:
        self._node: Any = None
        self._found: list[tuple[str, object]] = []

    def key(self, node: Any, names: frozenset[str]) -> ContentsKey | None:
        """Return what a node has of some names, which is equal for equal contents; None where it is no element."""
        if node is not self._node:
            if not isinstance(node, EtreeElementNode) or not etree.iselement(node.value):
                return None
            self._node, self._found = node, list(_contents(node.value))
        return tuple(content for name, content in self._found if name in names)


def _contents(element: Any) -> Iterator[tuple[str, object]]:
    """Yield attributes and children in their order: a rule may ask for the first of two that have other names."""
    for tag, value in element.attrib.items():
        yield f"@{_local(tag)}", (tag, value)
    for child in element.iterchildren(etree.Element):
        plain = not len(child) and not child.attrib
        yield _local(child.tag), (child.tag, (child.text or "") if plain else etree.tostring(child, with_tail=False))


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


def _own(name: str) -> frozenset[str]:
    return frozenset({name})


def _outside(name: str) -> frozenset[str]:
    raise _BeyondError(name)


def _constant(_name: str) -> frozenset[str]:
    return frozenset()


def _walk(token: Any, scope: Mapping[str, frozenset[str]], step: FieldsOf) -> frozenset[str]:  # noqa: PLR0911
    """Return the names that an expression reads of its context node."""
    symbol, parts = token.symbol, list(token)
    match symbol:
        case "(name)":
            return step(_local_of(token))
        case "@" if len(parts) == 1 and parts[0].symbol in ("(name)", ":"):
            return step(f"@{_local_of(parts[0])}")
        case ":" if len(parts) == 2:
            return _walk(parts[1], scope, step)
        case "$" if len(parts) == 1:
            return _of_variable(str(parts[0].value), scope)
        case "/" | "//" if len(parts) == 2:
            below = _constant if _is_constant(parts[0], scope) else step
            return _walk(parts[0], scope, step) | _walk(parts[1], scope, below)
        case "[" if len(parts) == 2 and token.label != "array":
            below = _constant if _is_constant(parts[0], scope) else step
            return _walk(parts[0], scope, step) | _walk(parts[1], scope, below)
    if symbol in BINDERS:
        return _bound(parts, scope, step)
    if symbol in TYPED:
        return _walk(parts[0], scope, step)
    if token.label in ("function", "external function", "constructor function"):
        return _called(token, parts, scope, step)
    # a * without operands is a step to anything
    if (symbol in OPERATORS and (parts or symbol.startswith("("))) or (symbol == "(" and len(parts) < 2):
        return _of_all(parts, scope, step)
    raise _BeyondError(symbol)


def _of_all(parts: Iterable[Any], scope: Mapping[str, frozenset[str]], step: FieldsOf) -> frozenset[str]:
    return frozenset[str]().union(*(_walk(part, scope, step) for part in parts))


def _of_variable(name: str, scope: Mapping[str, frozenset[str]]) -> frozenset[str]:
    if name not in scope:
        raise _BeyondError(name)
    return scope[name]


def _bound(parts: list[Any], scope: Mapping[str, frozenset[str]], step: FieldsOf) -> frozenset[str]:
    """Walk through ``for``, ``some``, ``every`` and ``let``: variables and their values in turn, then a result."""
    inner = dict(scope)
    read = frozenset[str]()
    for variable, value in zip(parts[:-1:2], parts[1:-1:2], strict=True):
        if variable.symbol != "$" or len(variable) != 1:
            raise _BeyondError(variable.symbol)
        inner[str(variable[0].value)] = own = _walk(value, inner, step)
        read |= own
    return read | _walk(parts[-1], inner, step)


def _called(token: Any, parts: list[Any], scope: Mapping[str, frozenset[str]], step: FieldsOf) -> frozenset[str]:
    if token.symbol in _DOCUMENTS:
        if not _is_constant(token, scope):
            raise _BeyondError(token.symbol)
        return frozenset()
    known = token.label == "constructor function" or token.symbol in _VALUES
    if not known or not (parts or token.symbol in _CONSTANTS):
        raise _BeyondError(token.symbol)
    return _of_all(parts, scope, step)


def _is_constant(token: Any, scope: Mapping[str, frozenset[str]]) -> bool:
    """Tell whether a path begins at a document with a literal name, or at a variable that is the same everywhere."""
    while token.symbol in ("/", "//", "[") and len(token) == 2:
        token = token[0]
    if token.symbol in _DOCUMENTS:
        return len(token) == 1 and token[0].symbol == "(string)"
    return token.symbol == "$" and len(token) == 1 and scope.get(str(token[0].value)) == frozenset()


def _local_of(token: Any) -> str:
    """Return the local name of a name with or without a prefix."""
    return str((token[1] if token.symbol == ":" else token).value).rpartition(":")[2]
