"""Static types: how XPath compares an expression depends on what kind of value it is."""

from __future__ import annotations

from typing import Literal

from masktron.reading.nodes import (
    And,
    Arithmetic,
    Boolean,
    Call,
    Cast,
    Castable,
    Comparison,
    Expression,
    FieldRef,
    If,
    Negative,
    Not,
    Number,
    Or,
    Quantified,
    Span,
    Text,
)
from masktron.rulebook.functions import RETURNS

type ValueKind = Literal["node", "number", "string", "boolean", "other"]

_OF_FIELDS = frozenset({"min", "max", "avg"})
"""Functions that return numbers where they are given fields, which have no type."""
_NUMERIC_TYPES = frozenset(
    {
        *("decimal", "integer", "double", "float", "int", "long", "short"),
        *("byte", "nonNegativeInteger", "positiveInteger", "unsignedInt", "unsignedLong"),
    }
)


def kind_of(expression: Expression) -> ValueKind:  # noqa: PLR0911 -- one branch per kind of node
    """Return the static type that decides how XPath compares an expression."""
    match expression:
        case FieldRef():
            return "node"
        case Number() | Arithmetic() | Negative() | Span():
            return "number"
        case Text():
            return "string"
        case Boolean() | Comparison() | And() | Or() | Not() | Quantified() | Castable():
            return "boolean"
        case Cast(target=target):
            return "number" if target in _NUMERIC_TYPES else "string" if target == "string" else "other"
        case Call(name=name):
            return "number" if name in _OF_FIELDS else RETURNS.get(name, "other")
        case If(then=then, otherwise=otherwise):
            kind = kind_of(then)
            return kind if kind == kind_of(otherwise) else "other"
        case _:
            return "other"
