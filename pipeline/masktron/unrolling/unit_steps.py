"""Steps of a path in a unit: which nodes an axis leads to from another one, and which of them a test takes.

Theorem. Where an expression is evaluated over a unit of which members of other kinds alone change places, its value
does not change. Proof: nodes of a set are told by their place in the document in these cases alone: a predicate or a
function that reads a position, an axis to siblings, the first node of a set that stands for a text or a number, a
sequence of values made of several nodes, and a sum of numbers that are no integers, as floating point rounds by the
order. `Unroller` notes the nodes in each of them; of two nodes, the document order is that of the members in which
their paths part, so that it is the order of that kind that is spoken of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from masktron.errors import RulebookError
from masktron.rulebook.context_match import ContextStep
from masktron.rulebook.expressions.parsing import parsed
from masktron.rulebook.expressions.tree import Expression, KindTest, NameTest
from masktron.sources.level_tree import LevelPath
from masktron.sources.wide.wide_record import UnitField, UnitNode, UnitPlace
from masktron.unrolling.unrolled_values import NodeItem, NotUnrolled, there

_REFUSED = frozenset({"following", "preceding", "namespace"})
type NodeTest = Callable[[UnitNode], bool]


@dataclass(frozen=True, slots=True)
class UnitSteps:
    """Reads expressions and resolves steps.

    Attributes
    ----------
    namespaces : mapping of str to str
    above : sequence of str
        Clark names of the elements around the units, from the root.
    """

    namespaces: Mapping[str, str]
    above: Sequence[str]

    def step(self, axis: str, test: NameTest | KindTest, node: UnitNode) -> Iterator[NodeItem]:
        """Yield the nodes to which a step leads, in document order, each with the condition that it is there.

        Raises
        ------
        NotUnrolled
            It may leave the unit, or reads what is no field.
        """
        takes = self._test(axis, test, node)
        self._refuse_hidden(axis, test, node)
        for found in _along(axis, node):
            if takes(found):
                # a field is there where its path leads to it; a member may be in some units of the class alone
                yield NodeItem(found, there(found)) if isinstance(found, UnitPlace) else NodeItem(found)

    def _refuse_hidden(self, axis: str, test: NameTest | KindTest, node: UnitNode) -> None:
        """Refuse a step that may lead to what a place has, and the wide record says nothing of.

        Raises
        ------
        NotUnrolled
        """
        deep = axis in ("descendant", "descendant-or-self")
        if deep and isinstance(node, UnitPlace) and any(place.hidden for place in node.below()):
            raise NotUnrolled(f"what else is in {node.level.name}")
        around = node.parent if axis.endswith("sibling") else node
        if axis not in ("child", "attribute") and not axis.endswith("sibling"):
            return
        if not isinstance(around, UnitPlace) or not around.hidden:
            return
        mark = "@" if axis == "attribute" else ""
        tags = [tag.removeprefix("@") for tag in around.hidden if tag.startswith("@") == bool(mark)]
        if taken := [tag for tag in tags if isinstance(test, KindTest) or test.takes(tag)]:
            raise NotUnrolled(
                f"{mark}{taken[0].rpartition('}')[2]} of {around.level.name}, which is not in the record"
            )

    def read(self, text: str) -> Expression:
        """Return the tree of an expression.

        Raises
        ------
        NotUnrolled
            It cannot be read.
        """
        try:
            return parsed(text, self.namespaces.items())
        except RulebookError as problem:
            raise NotUnrolled("the expression is not understood") from problem

    def takes(self, step: ContextStep, tag: str, *, attribute: bool = False) -> bool:
        """Whether the test of a step of a context takes an element or attribute.

        Raises
        ------
        NotUnrolled
            It tests no name.
        """
        if step.kind in ("text", "comment", "processing-instruction"):
            return False
        if not isinstance(step.node_test, NameTest):
            raise NotUnrolled(f"the context step {step.test}")
        return (step.kind == "attribute") == attribute and step.node_test.takes(tag)

    def lead_around(self, steps: Sequence[ContextStep], *, absolute: bool, gap: bool) -> bool:
        """Whether steps of a context lead to what stands around the unit, with or without a gap before the unit.

        Raises
        ------
        NotUnrolled
            It depends on more than names.
        """
        tags, rest = list(self.above), list(steps)
        while rest:
            step = rest.pop()
            while tags and not self.takes(step, tags[-1]):
                if not gap:
                    return False
                tags.pop()
            if not tags:
                return False
            if step.predicates:
                raise NotUnrolled("a condition on what stands around the unit")
            if gap and rest and any(self.takes(step, tag) for tag in tags[:-1]):
                raise NotUnrolled("a path that may begin at several elements around the unit")
            tags.pop()
            gap = step.gap
        return not absolute or gap or not tags

    def _test(self, axis: str, test: NameTest | KindTest, node: UnitNode) -> NodeTest:
        match test:
            case NameTest():
                self._within(axis, node, test)
                attributes = axis == "attribute"
                return lambda found: (
                    test.takes(found.tag) and _is_attribute(found) == attributes and not _is_text(found)
                )
            case KindTest(kind="text"):
                if axis != "child" or isinstance(node, UnitPlace):
                    raise NotUnrolled("text between fields")
                return _is_text
            case KindTest(kind="node"):
                if axis not in ("self", "parent", "descendant-or-self"):
                    raise NotUnrolled(f"{axis}::node()")
                return lambda found: True
            case KindTest(kind=kind):
                raise NotUnrolled(f"the test {kind}")

    def _within(self, axis: str, node: UnitNode, name: NameTest) -> None:
        """Refuse a step that may lead to elements around the unit, or beside it."""
        if axis in _REFUSED:
            raise NotUnrolled(f"the axis {axis}")
        if axis in ("following-sibling", "preceding-sibling") and node.parent is None:
            raise NotUnrolled("a step to other units")
        leaves = axis in ("ancestor", "ancestor-or-self") or (axis == "parent" and node.parent is None)
        if leaves and any(name.takes(tag) for tag in self.above):
            raise NotUnrolled("a step to what stands around the unit")


def _is_attribute(node: UnitNode) -> bool:
    return isinstance(node, UnitField) and node.field.attribute


def _is_text(node: UnitNode) -> bool:
    return isinstance(node, UnitField) and node.text


def _along(axis: str, node: UnitNode) -> Iterator[UnitNode]:
    match axis:
        case "child":
            yield from _children(node)
        case "attribute":
            if isinstance(node, UnitPlace):
                yield from (leaf for leaf in node.leaves if leaf.field.attribute)
        case "self":
            yield node
        case "parent" | "ancestor" | "ancestor-or-self":
            yield from _upwards(axis, node)
        case "descendant" | "descendant-or-self":
            if axis == "descendant-or-self":
                yield node
            yield from _downwards(node)
        case "following-sibling" | "preceding-sibling":
            yield from _siblings(node, before=axis.startswith("preceding"))
        case _:
            raise NotUnrolled(f"the axis {axis}")


def _children(node: UnitNode) -> Iterator[UnitNode]:
    if isinstance(node, UnitField):
        if not (node.text or node.field.attribute):
            yield node.as_text()
        return
    yield from (leaf for leaf in node.leaves if not leaf.field.attribute)
    for kind in node.members:
        yield from kind


def _downwards(node: UnitNode) -> Iterator[UnitNode]:
    for child in _children(node):
        if not (isinstance(child, UnitField) and child.text):
            yield child
            if isinstance(child, UnitPlace):
                yield from _downwards(child)


def _upwards(axis: str, node: UnitNode) -> Iterator[UnitNode]:
    if isinstance(node, UnitField) and node.text:
        raise NotUnrolled("a step from a text")
    around: list[UnitNode] = [node] if axis == "ancestor-or-self" else []
    at = node.parent
    while at is not None:
        around.append(at)
        at = None if axis == "parent" else at.parent
    yield from reversed(around)


def _siblings(node: UnitNode, *, before: bool) -> Iterator[UnitNode]:
    around = node.parent
    if around is None or _is_attribute(node) or _is_text(node):
        return
    for sibling in _children(around):
        if sibling.order != node.order and (sibling.order < node.order) == before:
            yield sibling


type FieldOfLevel = tuple[LevelPath, str]

ORDERLESS = frozenset({"count", "exists", "empty", "not", "boolean", "max", "min"})
"""Functions of a node set or a sequence that read no order of it."""
ADDING = frozenset({"sum", "avg"})
"""Functions that add, which is exact for integers."""


@dataclass(slots=True)
class SequenceReads:
    """Kinds of members of whose order something was read.

    Attributes
    ----------
    inexact : frozenset of (tuple of str, str)
        Fields with decimals, by level and name.
    kinds : set of tuple of str
        Paths of the levels.
    """

    inexact: frozenset[FieldOfLevel] = frozenset()
    kinds: set[LevelPath] = field(default_factory=set)

    def note(self, nodes: Iterable[UnitNode]) -> None:
        """Note that something depends on how some nodes follow each other."""
        paths = {_path(node) for node in nodes}
        depth = 0
        while any(len(path) > depth for path in paths):
            members: dict[tuple[tuple[tuple[str, int], ...], str], set[int]] = {}
            for path in paths:
                if len(path) > depth:
                    members.setdefault((path[:depth], path[depth][0]), set()).add(path[depth][1])
            for (above, kind), places in members.items():
                if len(places) > 1:
                    self.kinds.add((*(name for name, _ in above), kind))
            depth += 1

    def note_sum(self, nodes: Iterable[UnitNode]) -> None:
        """Note that some nodes are added."""
        listed = list(nodes)
        leaves = [node for node in listed if isinstance(node, UnitField)]
        if len(leaves) < len(listed) or any((one.place.level_path, one.field.name) in self.inexact for one in leaves):
            self.note(listed)


def _path(node: UnitNode) -> tuple[tuple[str, int], ...]:
    return node.place.path if isinstance(node, UnitField) else node.path
