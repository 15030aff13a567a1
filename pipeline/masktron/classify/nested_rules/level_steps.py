"""Steps of a path in the tree of levels, and the nodes to which they lead, however many members there are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as attribute
from types import MappingProxyType
from typing import Any

from masktron.classify.edit import MissingStep
from masktron.classify.nested_rules.member_figures import FigureTable, MemberFigure, Picked, RecordNode
from masktron.rulebook.context_paths import SoughtName
from masktron.rulebook.expressions.tree import ANY, KindTest, NameTest
from masktron.sources.record_layout import Field
from masktron.unrolling.unit_steps import UnitSteps
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


@dataclass(frozen=True, slots=True)
class LevelSteps:
    """Resolves steps; expressions on units are read with `of_units`."""

    of_units: UnitSteps

    def step(
        self, table: FigureTable, axis: str, test: NameTest | KindTest, here: MemberReach, depth: int
    ) -> Iterator[MemberReach]:
        """Yield the nodes to which a step leads.

        Parameters
        ----------
        depth : int
            Records that are bound around the step.

        Raises
        ------
        NotUnrolled
            It may leave the unit, or reads what is no field.
        """
        match test:
            case NameTest():
                yield from self._along(table, axis, test, here, depth)
            case KindTest(kind="node") if axis == "self":
                yield here
            case KindTest(kind="node") if axis == "parent":
                yield self._up(here)
            case KindTest(kind=kind):
                raise NotUnrolled(f"the test {kind}()")

    def with_below(self, table: FigureTable, here: MemberReach, depth: int) -> Iterator[MemberReach]:
        """Yield a node and all records within it, each level by itself."""
        yield here
        if here.field is not None:
            return
        depth = max([depth, *(node.depth for node in here.bound)])
        for child in here.node.level.children:
            node = table.node(child, here.node, depth + 1)
            yield from self.with_below(table, MemberReach(node, None, (*here.bound, node), here.where), depth)

    def picked(self, table: FigureTable, node: RecordNode, picked: Picked) -> RecordNode:
        """Return the record at a position."""
        if node.above is None:
            raise NotUnrolled("the position of a record")
        return table.node(node.level, node.above, node.depth, node.order, picked)

    def _up(self, here: MemberReach) -> MemberReach:
        if here.field is not None:
            return MemberReach(here.node)
        if here.node.above is None:
            raise NotUnrolled("a step to what stands around the unit")
        return MemberReach(here.node.above)

    def _along(
        self, table: FigureTable, axis: str, name: NameTest, here: MemberReach, depth: int
    ) -> Iterator[MemberReach]:
        match axis:
            case "child" | "attribute":
                attributes = axis == "attribute"
                found = self._children(table, name, here, depth, attributes=attributes)
                yield from self._or_missing(table, name, here, found, attributes=attributes)
            case "self":
                if self._named(name, here):
                    yield here
            case "parent" | "ancestor" | "ancestor-or-self":
                yield from self._around(axis, name, here)
            case "descendant":
                for one in self.with_below(table, here, depth):
                    deep = max([depth, *(node.depth for node in one.bound)])
                    within = MemberReach(one.node, one.field)
                    for below in self._children(table, name, within, deep, attributes=False):
                        yield replace(below, bound=(*one.bound, *below.bound))
            case "preceding-sibling" | "following-sibling":
                yield from self._siblings(table, name, here, depth, before=axis == "preceding-sibling")
            case _:
                raise NotUnrolled(f"the axis {axis}")

    def _children(
        self, table: FigureTable, name: NameTest, here: MemberReach, depth: int, *, attributes: bool
    ) -> Iterator[MemberReach]:
        if here.field is not None:
            return
        for own in here.node.level.fields:
            if own.attribute == attributes and name.takes(own.tag):
                yield MemberReach(here.node, own)
        for child in () if attributes else here.node.level.children:
            if name.takes(child.tag):
                node = table.node(child, here.node, depth + 1)
                yield MemberReach(node, None, (node,))

    def _or_missing(
        self, table: FigureTable, name: NameTest, here: MemberReach, found: Iterator[MemberReach], *, attributes: bool
    ) -> Iterator[MemberReach]:
        """Yield what is found, and note where it is nothing."""
        first = next(found, None)
        if first is not None:
            yield first
            yield from found
        elif here.field is None and name.local != ANY:
            asked = SoughtName(name.local, name.space, attributes)
            table.missing.append(MissingStep(here.node.path, asked))

    def _around(self, axis: str, name: NameTest, here: MemberReach) -> Iterator[MemberReach]:
        if axis == "ancestor-or-self" and self._named(name, here):
            yield here
        nodes = list(here.node.around())
        around = nodes if here.field is not None else nodes[1:]
        if axis == "parent":
            around = around[:1]
        elif any(name.takes(tag) for tag in self.of_units.above):
            raise NotUnrolled("a step to what stands around the unit")
        if not around and any(name.takes(tag) for tag in self.of_units.above):
            raise NotUnrolled("a step to what stands around the unit")
        yield from (MemberReach(node) for node in reversed(around) if name.takes(node.level.tag))

    def _siblings(
        self, table: FigureTable, name: NameTest, here: MemberReach, depth: int, *, before: bool
    ) -> Iterator[MemberReach]:
        node = here.node
        if here.field is not None or node.above is None:
            raise NotUnrolled("a step to other units, or between fields")
        level = node.above.level
        others = [child.tag for child in level.children if child is not node.level]
        others += [own.tag for own in level.fields if not own.attribute]
        if any(name.takes(tag) for tag in others):
            raise NotUnrolled("the order of records and fields of several kinds")
        if name.takes(node.level.tag):
            other = table.node(node.level, node.above, depth + 1, ("before" if before else "after", node))
            yield MemberReach(other, None, (other,))

    def _named(self, name: NameTest, here: MemberReach) -> bool:
        own: Field | None = here.field
        if own is not None:
            return not own.attribute and name.takes(own.tag)
        return name.takes(here.node.level.tag)
