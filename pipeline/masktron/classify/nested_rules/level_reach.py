"""The nodes to which a path of a nested file leads, told without saying how many members there are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as attribute
from types import MappingProxyType
from typing import Any

from masktron.classify.nested_rules.member_figures import FigureTable, MemberFigure, RecordNode
from masktron.sources.records import Field
from masktron.unrolling.unrolled_values import NotUnrolled


@dataclass(frozen=True, slots=True)
class MemberReach:
    """Records of one level, or a field of them.

    Attributes
    ----------
    node : RecordNode
        The record; one of the bound ones, or around or in them.
    field : Field or None
        The field of it; None for the record itself.
    bound : tuple of RecordNode
        Records that run over all members, the outermost first.
    where : tuple of str
        MemberConditions on which a node is among those that are meant, as expressions on figures.
    repeats : bool
        Whether several choices of bound records may lead to one node, so that they cannot be counted.
    """

    node: RecordNode
    field: Field | None = None
    bound: tuple[RecordNode, ...] = ()
    where: tuple[str, ...] = ()
    repeats: bool = False

    @property
    def single(self) -> bool:
        """Whether it is one node at most, which is meant wherever it is there."""
        return not self.bound and not self.where


@dataclass(frozen=True, slots=True)
class FigureText:
    """An expression on figures, with the type of its value."""

    text: str
    type: str = "any"


def countable(reach: MemberReach) -> MemberReach:
    """Return nodes of which each has one choice of bound records.

    Raises
    ------
    NotUnrolled
        They are none.
    """
    if reach.repeats:
        raise NotUnrolled("a figure over nodes to which several records lead")
    return reach


type Reaches = tuple[MemberReach, ...]
type ReadValue = Reaches | FigureText | ListedValues


@dataclass(frozen=True, slots=True)
class ListedValues:
    """A sequence of XPath 2.0: one value after the other."""

    values: tuple[ReadValue, ...]


@dataclass(frozen=True, slots=True)
class LevelFocus:
    """The context of an expression.

    Attributes
    ----------
    node : RecordNode or None
        The context item, or the record of the field that it is; None where there is none.
    field : Field or None
    current : MemberReach or None
        What ``current()`` means.
    depth : int
        Records that are bound around the expression.
    variables : mapping of str to object
        What a variable means: a value, or an expression with the focus at which it is evaluated.
    """

    node: RecordNode | None = None
    field: Field | None = None
    current: MemberReach | None = None
    depth: int = 0
    variables: Mapping[str, Any] = attribute(default_factory=lambda: MappingProxyType({}))

    def at(self, reach: MemberReach) -> LevelFocus:
        """Return the focus on another node."""
        deep = max([self.depth, *(node.depth for node in reach.bound)])
        return replace(self, node=reach.node, field=reach.field, depth=deep)

    def under(self, bound: Sequence[RecordNode]) -> LevelFocus:
        """Return the focus under more bound records."""
        return replace(self, depth=max([self.depth, *(node.depth for node in bound)]))

    def bind(self, name: str, value: Any) -> LevelFocus:
        """Return the focus with a variable more."""
        return replace(self, variables={**self.variables, name: value})


def every(conditions: Sequence[str]) -> str:
    """Return the expression that all conditions hold."""
    if not conditions:
        return "true()"
    return conditions[0] if len(conditions) == 1 else " and ".join(f"({one})" for one in conditions)


def some(conditions: Sequence[str]) -> str:
    """Return the expression that some condition holds."""
    if not conditions:
        return "false()"
    return conditions[0] if len(conditions) == 1 else " or ".join(f"({one})" for one in conditions)


def exists(table: FigureTable, reach: MemberReach, more: Sequence[str] = (), *, least: int = 1) -> str:
    """Return the expression that some node satisfies more conditions, or so many of them do."""
    where = (*reach.where, *more)
    if reach.bound:
        return f"number({table.figure(MemberFigure('count', reach.bound, where))}) >= {least}"
    return every(where)


def is_there(table: FigureTable, node: RecordNode) -> tuple[str, ...]:
    """Return the conditions on which a record is there; those of one that others stand around are none."""
    picked = node.picked
    if picked is None:
        return ()
    return (exists(table, MemberReach(picked.node, None, (picked.node,), picked.where), least=picked.position),)
