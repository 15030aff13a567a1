"""Steps of a path in a unit: which nodes an axis leads to from another one, and which of them a test takes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from masktron.errors import RulebookError
from masktron.sources.wide.wide_record import UnitField, UnitNode, UnitPlace
from masktron.unrolling.unrolled_values import NodeItem, NotUnrolled, there
from masktron.xpath.namespaces import FUNCTIONS_NAMESPACE, with_standard
from masktron.xpath.tokens import parse, repair

_FORWARD = {"child", "attribute", "self", "descendant", "descendant-or-self", "following-sibling"}
_REFUSED = {"following", "preceding", "namespace"}
REVERSE = frozenset({"preceding-sibling", "ancestor", "ancestor-or-self", "parent"})
AXES = REVERSE | _FORWARD | _REFUSED
KIND_TESTS = frozenset({"text", "node", "element", "attribute", "comment", "processing-instruction", "document-node"})
GENERAL = frozenset({"=", "!=", "<", "<=", ">", ">="})
VALUE_COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})
ARITHMETIC = frozenset({"+", "-", "*", "div", "idiv", "mod"})
LITERALS = frozenset({"(string)", "(integer)", "(decimal)", "(float)"})
type NodeTest = Callable[[UnitNode], bool]


@dataclass(frozen=True, slots=True)
class StepName:
    """A test for a name; ``*`` for any local name or any namespace."""

    space: str
    local: str

    def takes(self, tag: str) -> bool:
        """Whether an element or attribute with a Clark name passes."""
        space, _, local = tag.removeprefix("{").rpartition("}")
        return self.local in ("*", local) and self.space in ("*", space)


def is_prefixed_call(token: Any) -> bool:
    """Tell whether a token is a call of a function whose name has a prefix."""
    if token.symbol != ":" or token.label == "operator" or len(token) != 2:
        return False
    return token[1].label not in ("name", "wildcard symbol")


@dataclass(frozen=True, slots=True)
class UnitSteps:
    """Reads expressions and resolves steps; `above` has the Clark names of the elements around the units."""

    namespaces: Mapping[str, str]
    above: Collection[str]

    def step(self, axis: str, test: Any, node: UnitNode) -> Iterator[NodeItem]:
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

    def _refuse_hidden(self, axis: str, test: Any, node: UnitNode) -> None:
        """Refuse a step that may lead to what a place has, and the wide record says nothing of.

        Raises
        ------
        NotUnrolled
        """
        name = self.name_test(test)
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
        if taken := [tag for tag in tags if name is None or name.takes(tag)]:
            raise NotUnrolled(
                f"{mark}{taken[0].rpartition('}')[2]} of {around.level.name}, which is not in the record"
            )

    def read(self, expression: str) -> tuple[str, Any]:
        """Return an expression as its tokens are of it, and the token of the whole.

        Raises
        ------
        NotUnrolled
            It cannot be read.
        """
        try:
            token = parse(expression, with_standard(tuple(self.namespaces.items())))
        except RulebookError as problem:
            raise NotUnrolled("the expression is not understood") from problem
        return repair(expression), token

    def has_functions(self, prefix: str) -> bool:
        """Tell whether a prefix is that of the functions of the standard."""
        return with_standard(tuple(self.namespaces.items())).get(prefix) == FUNCTIONS_NAMESPACE

    def is_step(self, token: Any) -> bool:
        """Tell whether a token is a step of a path."""
        symbol = token.symbol
        if symbol in (".", "..", "@") or (symbol in AXES and token.label == "axis"):
            return True
        if symbol in KIND_TESTS and token.label == "kind test":
            return True
        return self.name_test(token) is not None and token.label != "operator"

    def name_test(self, token: Any) -> StepName | None:
        """Return the test that a token is; None where it tests no name."""
        if token.symbol == "(name)":
            return StepName("", str(token.value))
        if token.symbol == "*" and token.label == "wildcard symbol" and not len(token):
            return StepName("*", "*")
        if token.symbol == ":" and len(token) == 2:
            prefix, local = token[0], token[1]
            space = "*" if prefix.symbol == "*" else self.namespaces.get(str(prefix.value))
            if space is None:
                raise NotUnrolled(f"the prefix {prefix.value}")
            return StepName(space, "*" if local.symbol == "*" else str(local.value))
        return None

    def _test(self, axis: str, test: Any, node: UnitNode) -> NodeTest:
        name = self.name_test(test)
        if name is not None:
            self._within(axis, node, name)
            attributes = axis == "attribute"
            return lambda found: (
                name.takes(_tag(found)) and _is_attribute(found) == attributes and not _is_text(found)
            )
        if test.symbol == "text" and not len(test):
            if axis != "child" or isinstance(node, UnitPlace):
                raise NotUnrolled("text between fields")
            return _is_text
        if test.symbol == "node" and not len(test):
            if axis not in ("self", "parent", "descendant-or-self") or (axis == "parent" and node.parent is None):
                raise NotUnrolled(f"{axis}::node()")
            return lambda found: True
        raise NotUnrolled(f"the test {test.symbol}")

    def _within(self, axis: str, node: UnitNode, name: StepName) -> None:
        """Refuse a step that may lead to elements around the unit, or beside it."""
        if axis in _REFUSED:
            raise NotUnrolled(f"the axis {axis}")
        if axis in ("following-sibling", "preceding-sibling") and node.parent is None:
            raise NotUnrolled("a step to other units")
        leaves = axis in ("ancestor", "ancestor-or-self") or (axis == "parent" and node.parent is None)
        if leaves and any(name.takes(tag) for tag in self.above):
            raise NotUnrolled("a step to what stands around the unit")


def _tag(node: UnitNode) -> str:
    return node.field.tag if isinstance(node, UnitField) else node.level.tag


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
