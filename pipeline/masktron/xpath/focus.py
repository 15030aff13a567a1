"""The node in focus and the tokens of a path, on which the translation of expressions and of contexts builds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from masktron.xpath.ir import ContextRecord, Expression, FieldRef, OtherNodes, Unknown, fields_of

OUTSIDE_AXES = frozenset(
    ("preceding-sibling", "following-sibling", "preceding", "following", "ancestor", "ancestor-or-self")
)
_OUTSIDE = OUTSIDE_AXES | {"key", "id", "root", "collection", "doc", "document", "idref"}
_UPWARD = _OUTSIDE | {"..", "parent"}
_STANDARD_PREFIXES = frozenset(("fn", "xs", "math", "map", "array"))


@dataclass(frozen=True, slots=True)
class Scope:
    """What an expression is read against.

    Attributes
    ----------
    focus : ContextRecord, FieldRef, OtherNodes or OtherField
        The context node: the record, a field of it, nodes outside the record (the root or other records).
    variables : mapping of str to Expression
        Values of the variables in scope.
    namespaces : mapping of str to str
    record_names : frozenset of str
        Local names that record elements have.
    base : same as focus
        What ``current()`` is.
    """

    focus: Expression = field(default_factory=ContextRecord)
    variables: Mapping[str, Expression] = field(default_factory=dict)
    namespaces: Mapping[str, str] = field(default_factory=dict)
    record_names: frozenset[str] = frozenset()
    base: Expression = field(default_factory=ContextRecord)

    def at(self, focus: Expression) -> Scope:
        """Return the scope with another context node."""
        return replace(self, focus=focus)

    def bind(self, name: str, value: Expression) -> Scope:
        """Return the scope with one more variable."""
        return replace(self, variables={**self.variables, name: value})


ROOT = OtherNodes("/", None, "", None)
"""Focus of expressions that are evaluated at the document root."""


def unknown(token: Any, scope: Scope) -> Unknown:
    """Say what an untranslatable token reads."""
    names: set[str] = set()
    everything, outside = False, False
    in_field = isinstance(scope.focus, FieldRef)
    filtered = any(part.symbol == "[" for part in token.iter())
    skipped = _no_children(token)
    leaves = not in_field or any(
        part.symbol in _UPWARD or (part.symbol == "/" and len(part) < 2) for part in token.iter()
    )
    for part in token.iter():
        if part.symbol == "$":
            value = scope.variables.get(str(part.value))
            outside |= isinstance(value, OtherNodes)
            names |= fields_of(value) if value is not None else set()
        elif part.symbol in ("@", "attribute") and in_field:
            everything = True  # attributes of fields are in no column
        elif part.symbol == "@" and (attribute := name_test(part[0])[0]) not in (None, "*"):
            names.add(f"@{attribute}")
        elif part.symbol == "(name)" and id(part) not in skipped and part.value not in scope.record_names:
            names.update({str(part.value)} if leaves else ())  # what stands in a field is no field of the record
        elif part.symbol in ("position", "last"):
            outside |= not filtered
        elif part.symbol in _OUTSIDE or (part.symbol in ("/", "//") and len(part) < 2):
            beside = in_field and str(part.symbol).endswith("-sibling")
            everything |= beside  # which fields stand before and behind, only the record itself can tell
            outside |= not beside
        elif is_wildcard(part) or part.symbol in ("name", "local-name", "node"):
            everything = True
        elif part.symbol == ".":
            everything |= isinstance(scope.focus, ContextRecord) and not filtered
    if isinstance(scope.focus, FieldRef):
        names.add(scope.focus.name)  # nothing is found from a field that is not there
    outside |= isinstance(scope.focus, OtherNodes)
    return Unknown(_plain_source(token, scope), tuple(sorted(names)), everything, outside)


def _no_children(token: Any) -> set[int]:
    """Identify the name tokens that name no child: variables, prefixes, attributes, functions' prefixes."""
    found: set[int] = set()
    for part in token.iter():
        if part.symbol in ("$", "@"):
            found.update(id(inner) for inner in part.iter() if inner is not part)
        elif part.symbol == ":":
            found.add(id(part[0]))
    return found


def _plain_source(token: Any, scope: Scope) -> str:
    """Return the source without namespace prefixes, and from the record where the focus is a field."""
    source = str(token.source)
    prefixes = [re.escape(p) for p in scope.namespaces if p and p not in _STANDARD_PREFIXES]
    if prefixes:
        pattern = re.compile(rf"""("[^"]*"|'[^']*')|\b(?:{"|".join(prefixes)}):(?=[^\W\d])""")
        source = pattern.sub(lambda match: match.group(1) or "", source)
    return _from_field(scope.focus, token, source) if isinstance(scope.focus, FieldRef) else source


def _from_field(focus: FieldRef, token: Any, source: str) -> str:
    """Write what is read at a field as it reads at the record; what is no path has no such spelling in XPath 1.0."""
    name = f"{focus.name}/text()" if focus.text else focus.name
    return f"{name}/{source}" if _is_path(token) else f"{name} ! ({source})"


def _is_path(token: Any) -> bool:
    """Whether a token is a relative path that begins with a step, which another path can stand before."""
    while is_filter(token) or (token.symbol in ("/", "//") and len(token) == 2):
        token = token[0]
    kind = token.symbol in ("@", ".", "..", "text", "node", "comment", "processing-instruction")
    return kind or token.label == "axis" or name_test(token)[0] is not None


# --- tokens of elementpath ---------------------------------------------------------------------------------


def spine(token: Any, symbol: str) -> list[Any]:
    """Operands of a chain of one left-associative operator, without recursion."""
    operands = []
    while token.symbol == symbol and len(token) == 2:
        operands.append(token[1])
        token = token[0]
    return [token, *reversed(operands)]


def is_filter(token: Any) -> bool:
    """Whether a token is an expression with a predicate, ``V[1]``; ``[V, 1]`` is an array."""
    return bool(token.symbol == "[" and token.label != "array")


def predicates_of(token: Any) -> tuple[Any, list[Any]]:
    """Split a step into its node test and its predicates."""
    predicates: list[Any] = []
    while is_filter(token):
        predicates.insert(0, token[1])
        token = token[0]
    return token, predicates


def axis_of(token: Any) -> tuple[str, Any]:
    """Split a step without predicates into its axis and its node test."""
    if token.symbol == "@":
        return "attribute", token[0]
    if token.label == "axis" and len(token) == 1:
        return token.symbol, token[0]
    if token.symbol == ".":
        return "self", token
    if token.symbol == "..":
        return "parent", token
    return "child", token


def name_test(test: Any) -> tuple[str | None, str]:
    """Return local name (``*`` for any) and namespace (``*`` for any) of a name test; None for other node tests."""
    if test.symbol == "(name)":
        return str(test.value), ""
    if test.symbol == "*" and len(test) == 0:
        return "*", "*"
    if test.symbol == ":" and test[1].symbol in ("(name)", "*"):
        return str(test[1].value), str(test[1].namespace or "")
    if test.symbol == "Q{" and test[1].symbol in ("(name)", "*"):
        return str(test[1].value), str(test[0].value)
    return None, ""


def is_wildcard(token: Any) -> bool:
    """Whether a node test is ``*``."""
    return bool(token.symbol == "*" and len(token) == 0)
