"""Cross-record edits: uniqueness, counts and totals."""

from __future__ import annotations

import re
from collections.abc import Collection

from masktron.constraints import CrossRecordEdit, CrossRecordKind, TallyBound
from masktron.reading.nodes import (
    OPPOSITE,
    And,
    Call,
    Cast,
    Comparison,
    Expression,
    FieldRef,
    Not,
    Number,
    OtherField,
    OtherNodes,
    Unknown,
    walk,
)
from masktron.reading.plain_text import source_of
from masktron.rulebook.expressions.tree import MIRRORED

_REASONS: dict[CrossRecordKind, str] = {
    "unique": "it asks that a value occurs once in the file",
    "count": "it counts records or values over the file",
    "total": "it sums or averages over the file",
    "other": "it reads nodes outside the record",
}


class CrossRecordError(Exception):
    """A condition depends on other records; caught by the classification."""

    def __init__(self, expression: Expression) -> None:
        super().__init__(source_of(expression))
        self.expression = expression


def reads_other_records(expression: Expression) -> bool:
    """Whether an expression reads nodes of this file outside the record."""
    return any(
        (isinstance(node, OtherNodes) and node.document is None) or (isinstance(node, Unknown) and node.outside)
        for node in walk(expression)
    )


def stands_outside(nodes: OtherNodes, records: Collection[str], fields: Collection[str] | None) -> bool:
    """Whether nodes of this file lie outside all records: a header, a control total.

    Parameters
    ----------
    records : collection of str
        Local names of the record elements.
    fields : collection of str or None
        Names of the fields, where they are known: a path that does not lead through a record by name may still end
        at one of them.
    """
    steps = [_local(step) for step in nodes.path.split("/")]
    names = [step for step in steps if step not in ("", ".", "..")]
    if not names or any(name in records for name in names):
        return False
    if nodes.path.startswith(("preceding", "following")) and len(names) > 1:
        return False
    own = f"@{names[-1]}" if nodes.field is not None and nodes.field.startswith("@") else names[-1]
    through = names[:-1] and all(name == "*" for name in names[:-1])
    anywhere = len(names) == 1 and ("//" in nodes.path or "descendant" in nodes.path)
    return not ((through or anywhere) and (fields is None or own in fields))


def _local(step: str) -> str:
    """``child::p:V1`` is V1."""
    return re.split(r"::|:", step.strip())[-1].removeprefix("@")


def cross_record_edit(
    expression: Expression,
    variables: tuple[str, ...],
    *,
    wanted: bool = True,
    bounds: tuple[TallyBound, ...] = (),
    written: str = "",
) -> CrossRecordEdit:
    """Say what kind of condition on several records an expression is.

    Parameters
    ----------
    wanted : bool
        Whether the expression has to be true; false for a report.
    bounds : tuple of TallyBound
        What the tallies in it have to satisfy, as far as that is understood.
    written : str
        As it was written, where that was not in XPath.
    """
    asked = expression if wanted else Not(expression)
    key = next((found for node in walk(asked) if (found := _unique_key(_plain(node)))), ())
    kind = "unique" if key else _kind(expression)
    return CrossRecordEdit(kind, variables, f"{_REASONS[kind]}: {written or source_of(asked)}", key, bounds)


def _kind(expression: Expression) -> CrossRecordKind:
    calls = [node for node in walk(expression) if isinstance(node, Call) and reads_other_records(node)]
    if any(call.name in ("sum", "avg", "min", "max") for call in calls):
        return "total"
    return "count" if any(call.name == "count" for call in calls) else "other"


def _plain(node: Expression) -> Expression:
    """Write ``not(a > b)`` as ``a <= b``, which is the same for counts, and drop what asks for existence."""
    match node:
        case Not(operand=Not(operand=inner)):
            return _plain(inner)
        case Not(operand=Call(name="exists" | "boolean", arguments=(inner,))):
            return Not(inner)
        case Not(operand=Comparison(left=left, operator=operator, right=right)) if _counts(left) or _counts(right):
            return Comparison(OPPOSITE[operator], left, right)
        case _:
            return node


def _counts(node: Expression) -> bool:
    return isinstance(node, Call) and node.name == "count"


def _unique_key(node: Expression) -> tuple[str, ...]:  # noqa: PLR0911 -- one branch per spelling
    """Return the fields of a unique key; none where the expression does not ask for one."""
    match node:
        case Comparison(operator=operator, left=Number() as limit, right=Call(name="count") as count):
            return _unique_key(Comparison(MIRRORED[operator], count, limit))
        case Comparison(
            left=Call(name="count", arguments=(OtherNodes() as nodes,)), operator=operator, right=Number(value=limit)
        ):
            most = limit if operator in ("=", "<=") else limit - 1 if operator == "<" else None
            return same_value(nodes) if most == (0 if _beside(nodes) else 1) else ()
        case Comparison(operator="=" | ">=" | "<=", left=Call(name="count") as one, right=Call(name="count") as two):
            return _distinct(one) or _distinct(two)
        case Comparison(operator="!=", left=FieldRef() as own, right=OtherNodes() as nodes):
            return (own.name,) if own.name == nodes.field and _beside(nodes) else ()
        case (
            Not(operand=Comparison(operator="=", left=FieldRef() as own, right=OtherNodes() as nodes))
            | Not(operand=Comparison(operator="=", left=OtherNodes() as nodes, right=FieldRef() as own))
        ):
            return (own.name,) if own.name == nodes.field and _beside(nodes) else ()
        case Not(operand=OtherNodes() as nodes) | Call(name="empty", arguments=(OtherNodes() as nodes,)):
            # The record itself is among all records; a second condition leaves it out, or asks for another one.
            return same_value(nodes) if _beside(nodes) or len(conditions_on(nodes)) > 1 else ()
        case _:
            return ()


def _distinct(count: Call) -> tuple[str, ...]:
    """``count(distinct-values(//ID))``."""
    match count.arguments:
        case (Call(name="distinct-values", arguments=(OtherNodes(field=str(name)),)),):
            return (name,)
        case _:
            return ()


def _beside(nodes: OtherNodes) -> bool:
    return nodes.path.startswith(("preceding", "following"))


def same_value(nodes: OtherNodes) -> tuple[str, ...]:
    """Return the fields that a path asks to be as in the record at hand: ``[ID = current()/ID]``."""
    found = (own_value(condition, nodes.field) for condition in conditions_on(nodes))
    return tuple(dict.fromkeys(name for name in found if name is not None))


def conditions_on(nodes: OtherNodes) -> list[Expression]:
    """List the conditions in the predicates of a path."""
    return [part for where in nodes.where for part in (where.parts if isinstance(where, And) else (where,))]


def own_value(where: Expression, field: str | None) -> str | None:
    """Return the field that a predicate compares with the same field of the record at hand; None for any other."""
    if not isinstance(where, Comparison) or where.operator != "=":
        return None
    match _bare(where.left), _bare(where.right):
        case (FieldRef(name=own), OtherField(name=other)) | (OtherField(name=other), FieldRef(name=own)):
            return own if own == (field if other == "." else other) else None
        case _:
            return None


def _bare(side: Expression) -> Expression:
    match side:
        case Call(name="number" | "string" | "normalize-space" | "data", arguments=(inner,)) | Cast(operand=inner):
            return _bare(inner)
        case _:
            return side
