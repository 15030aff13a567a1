"""Rule contexts: which nodes a Schematron rule fires on, and under which conditions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from masktron.xpath.focus import ROOT, Scope, axis_of, name_test, predicates_of, spine, unknown
from masktron.xpath.ir import (
    Arithmetic,
    Call,
    ContextRecord,
    Expression,
    FieldRef,
    Negative,
    Number,
    Unknown,
)
from masktron.xpath.tokens import parse
from masktron.xpath.translate import translate_token


@dataclass(frozen=True, slots=True)
class Place:
    """One kind of node that a context matches.

    Attributes
    ----------
    kind : str
        The record, a field of it, any element, or a node outside the record.
    focus : Expression
        What the test is read against.
    conditions : tuple of Expression
        Predicates of the context, in terms of the record.
    """

    kind: Literal["record", "field", "any", "outside"]
    focus: Expression
    conditions: tuple[Expression, ...] = ()

    def meets(self, other: Place) -> bool:
        """Whether one node can be of both kinds."""
        if "any" in (self.kind, other.kind):
            return True
        if self.kind != other.kind:
            return False
        if isinstance(self.focus, FieldRef) and isinstance(other.focus, FieldRef):
            return self.focus.name == other.focus.name
        return self.kind == "record"


def places(context: str, scope: Scope, fields: frozenset[str] | None = None) -> tuple[Place, ...]:
    """Read a rule's context.

    Parameters
    ----------
    context : str
        An XSLT pattern: alternatives of paths, with predicates.
    scope : Scope
        With the variables of the schema and the pattern, and the names of records.
    fields : frozenset of str, optional
        Names of the fields, where they are known; an element of another name lies outside the records.

    Raises
    ------
    RulebookError
        The context is not XPath.
    """
    token = parse(context, scope.namespaces)
    while token.symbol == "(" and len(token) == 1:
        token = token[0]
    alternatives = spine(token, token.symbol) if token.symbol in ("|", "union") else [token]
    return tuple(_place(alternative, scope, fields) for alternative in alternatives)


def last_name(token: Any) -> str | None:
    """Return the local name of the last step of a path; None where it is not a name."""
    step = token[len(token) - 1] if token.symbol in ("/", "//") and len(token) else token
    return name_test(axis_of(predicates_of(step)[0])[1])[0]


def matched_names(context: str, scope: Scope) -> tuple[str, ...]:
    """Return the names of the elements that a context matches, the document's root element left out.

    Raises
    ------
    RulebookError
        The context is not XPath.
    """
    token = parse(context, scope.namespaces)
    alternatives = spine(token, token.symbol) if token.symbol in ("|", "union") else [token]
    names = (last_name(alternative) for alternative in alternatives if not _is_root(alternative))
    return tuple(name for name in names if name is not None and name != "*")


def without_predicates(token: Any) -> str:
    """Return the source of a path without its predicates."""
    if token.symbol not in ("/", "//") or not len(token):
        return str(predicates_of(token)[0].source)
    return str(token.symbol).join(
        ("", *map(without_predicates, token)) if len(token) == 1 else map(without_predicates, token)
    )


def _is_root(token: Any) -> bool:
    """``/Records``, or an attribute."""
    step = token[len(token) - 1] if token.symbol in ("/", "//") and len(token) else token
    return (token.symbol == "/" and len(token) < 2) or axis_of(predicates_of(step)[0])[0] == "attribute"


def _steps(token: Any) -> list[Any]:
    steps: list[Any] = []
    while token.symbol in ("/", "//") and len(token) == 2:
        steps.insert(0, token[1])
        token = token[0]
    if token.symbol in ("/", "//"):
        return [token[0], *steps] if len(token) else steps
    return [token, *steps]


def _place(token: Any, scope: Scope, fields: frozenset[str] | None) -> Place:  # noqa: PLR0911 -- one per kind
    steps = _steps(token)
    if not steps:
        return Place("outside", ROOT)
    test, predicates = predicates_of(steps[-1])
    axis, test = axis_of(test)
    name, namespace = name_test(test)
    above = steps[:-1]
    if name is None or (name == "*" and axis == "attribute"):
        kind: Literal["any", "outside"] = "any" if test.symbol in ("node", "element") else "outside"
        return Place(kind, ROOT, (*_conditions(predicates, scope), *_above(above, scope)))
    if name == "*":
        return Place("any", ROOT, (*_conditions(predicates, scope.at(ContextRecord())), *_above(above, scope)))
    if axis != "attribute" and name in scope.record_names:
        inner = _at(scope, ContextRecord())
        return Place("record", inner.focus, (*_conditions(predicates, inner), *_above(above, scope)))
    if token.symbol == "/" and len(token) == 1:
        return Place("outside", ROOT, tuple(unknown(p, scope.at(ROOT)) for p in predicates))
    field = FieldRef(f"@{name}" if axis == "attribute" else name, namespace)
    if (fields is not None and field.name not in fields) or not _in_record(above, scope):
        return Place("outside", ROOT, tuple(unknown(p, scope.at(ROOT)) for p in predicates))
    parent = _conditions(predicates_of(above[-1])[1], _at(scope, ContextRecord())) if above else ()
    conditions = (*_conditions(predicates, _at(scope, field)), *parent, *_above(above[:-1], scope))
    return Place("field", field, conditions)


def _at(scope: Scope, focus: Expression) -> Scope:
    return Scope(focus, scope.variables, scope.namespaces, scope.record_names, focus)


def _in_record(above: list[Any], scope: Scope) -> bool:
    """Whether a path leads through a record, as far as it says."""
    if not above or not scope.record_names:
        return True
    name, _ = name_test(axis_of(predicates_of(above[-1])[0])[1])
    return name == "*" or name in scope.record_names


def _above(steps: list[Any], scope: Scope) -> tuple[Expression, ...]:
    """Predicates on elements above the record: they do not depend on the record's fields, and are not translated."""
    return tuple(unknown(p, scope.at(ROOT)) for step in steps for p in predicates_of(step)[1])


def _conditions(predicates: list[Any], scope: Scope) -> tuple[Expression, ...]:
    return tuple(_condition(predicate, scope) for predicate in predicates)


def _condition(predicate: Any, scope: Scope) -> Expression:
    """Translate a predicate; a number is a position, which is not a condition on the record's fields."""
    found = translate_token(predicate, scope)
    positional = isinstance(found, Number | Arithmetic | Negative) or (
        isinstance(found, Call) and found.name in ("number", "count", "sum", "floor", "ceiling", "round")
    )
    return Unknown(str(predicate.source), outside=True) if positional else found
