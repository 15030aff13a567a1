"""Steps of a path in the tree of levels."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from masktron.classify.edit import MissingStep
from masktron.classify.nested_rules.level_reach import MemberReach
from masktron.classify.nested_rules.member_figures import FigureTable, Picked, RecordNode
from masktron.rulebook.context_paths import ANY, SoughtName
from masktron.sources.records import Field
from masktron.unrolling.unit_steps import StepName, UnitSteps
from masktron.unrolling.unrolled_values import NotUnrolled

_ANY_NAME = StepName("*", "*")


@dataclass(frozen=True, slots=True)
class LevelSteps:
    """Resolves steps; `above` has the Clark names of the elements around the units."""

    namespaces: Mapping[str, str]
    above: Collection[str]

    @property
    def of_units(self) -> UnitSteps:
        """What expressions on units are read with."""
        return UnitSteps(self.namespaces, self.above)

    def step(self, table: FigureTable, axis: str, test: Any, here: MemberReach, depth: int) -> Iterator[MemberReach]:
        """Yield the nodes to which a step leads.

        Parameters
        ----------
        axis : str
            Empty where none is written.
        depth : int
            Records that are bound around the step.

        Raises
        ------
        NotUnrolled
            It may leave the unit, or reads what is no field.
        """
        if not axis and test.symbol in (".", ".."):
            yield from (here,) if test.symbol == "." else self._up(here)
            return
        axis = "attribute" if axis == "@" else axis or "child"
        name = _ANY_NAME if self._is_node(axis, test) else self.of_units.name_test(test)
        if name is None:
            raise NotUnrolled(f"the test {test.symbol}()")
        yield from self._along(table, axis, name, here, depth)

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

    def _is_node(self, axis: str, test: Any) -> bool:
        return test.symbol == "node" and not len(test) and axis in ("self", "parent")

    def _up(self, here: MemberReach) -> Iterator[MemberReach]:
        if here.field is not None:
            yield MemberReach(here.node)
        elif here.node.above is None:
            raise NotUnrolled("a step to what stands around the unit")
        else:
            yield MemberReach(here.node.above)

    def _along(
        self, table: FigureTable, axis: str, name: StepName, here: MemberReach, depth: int
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
        self, table: FigureTable, name: StepName, here: MemberReach, depth: int, *, attributes: bool
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
        self, table: FigureTable, name: StepName, here: MemberReach, found: Iterator[MemberReach], *, attributes: bool
    ) -> Iterator[MemberReach]:
        """Yield what is found, and note where it is nothing."""
        first = next(found, None)
        if first is not None:
            yield first
            yield from found
        elif here.field is None and name.local != ANY:
            asked = SoughtName(name.local, name.space, attributes)
            table.missing.append(MissingStep(here.node.path, asked))

    def _around(self, axis: str, name: StepName, here: MemberReach) -> Iterator[MemberReach]:
        if axis == "ancestor-or-self" and self._named(name, here):
            yield here
        nodes = list(here.node.around())
        around = nodes if here.field is not None else nodes[1:]
        if axis == "parent":
            around = around[:1]
        elif any(name.takes(tag) for tag in self.above):
            raise NotUnrolled("a step to what stands around the unit")
        if not around and any(name.takes(tag) for tag in self.above):
            raise NotUnrolled("a step to what stands around the unit")
        yield from (MemberReach(node) for node in reversed(around) if name.takes(node.level.tag))

    def _siblings(
        self, table: FigureTable, name: StepName, here: MemberReach, depth: int, *, before: bool
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

    def _named(self, name: StepName, here: MemberReach) -> bool:
        own: Field | None = here.field
        if own is not None:
            return not own.attribute and name.takes(own.tag)
        return name.takes(here.node.level.tag)
