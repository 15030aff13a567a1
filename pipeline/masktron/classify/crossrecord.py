"""Cross-record edits: uniqueness, counts and totals."""

from __future__ import annotations

from typing import Literal

from masktron.constraints import CrossRecordEdit
from masktron.read.xpath_ir import (
    Call,
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
from masktron.read.xpath_source import source_of

type Kind = Literal["unique", "count", "total", "other"]

_REASONS: dict[Kind, str] = {
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


def cross_record_edit(expression: Expression, variables: tuple[str, ...]) -> CrossRecordEdit:
    """Say what kind of condition on several records an expression is."""
    kind = _kind(expression)
    return CrossRecordEdit(kind, variables, f"{_REASONS[kind]}: {source_of(expression)}")


def _kind(expression: Expression) -> Kind:
    nodes = list(walk(expression))
    if any(_is_unique(node) for node in nodes):
        return "unique"
    calls = [node for node in nodes if isinstance(node, Call) and reads_other_records(node)]
    if any(call.name in ("sum", "avg", "min", "max") for call in calls):
        return "total"
    return "count" if any(call.name == "count" for call in calls) else "other"


def _is_unique(node: Expression) -> bool:
    match node:
        case Comparison(
            left=Call(name="count", arguments=(OtherNodes() as nodes,)), operator=operator, right=Number(value=limit)
        ):
            return operator in ("=", "<", "<=") and limit <= 2 and _same_value(nodes)
        case Comparison(operator="=", left=Call(name="count") as one, right=Call(name="count") as two):
            return any(isinstance(n, Call) and n.name == "distinct-values" for c in (one, two) for n in walk(c))
        case Comparison(operator="!=", left=FieldRef() as own, right=OtherNodes() as nodes):
            return own.name == nodes.field and _beside(nodes)
        case (
            Not(operand=Comparison(operator="=", left=FieldRef() as own, right=OtherNodes() as nodes))
            | Not(operand=Comparison(operator="=", left=OtherNodes() as nodes, right=FieldRef() as own))
        ):
            return own.name == nodes.field and _beside(nodes)
        case Not(operand=OtherNodes() as nodes) | Call(name="empty", arguments=(OtherNodes() as nodes,)):
            return _beside(nodes) and _same_value(nodes)
        case _:
            return False


def _beside(nodes: OtherNodes) -> bool:
    return nodes.path.startswith(("preceding", "following"))


def _same_value(nodes: OtherNodes) -> bool:
    """``[ID = current()/ID]``."""
    return any(
        isinstance(where, Comparison)
        and where.operator == "="
        and {type(where.left), type(where.right)} == {OtherField, FieldRef}
        for where in nodes.where
    )
