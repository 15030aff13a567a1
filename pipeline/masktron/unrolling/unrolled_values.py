"""What a part of an expression is in a wide record: text, or nodes with the conditions under which they are there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal

from masktron.rulebook import functions
from masktron.sources.wide.wide_record import UnitField, UnitNode, UnitPlace

type ValueType = Literal["number", "string", "boolean", "any"]
_OTHERS = (
    "avg max min data distinct-values index-of reverse subsequence insert-before remove head tail tokenize "
    "zero-or-one one-or-more exactly-one unordered string-to-codepoints codepoints-to-string compare "
    "codepoint-equal years-from-duration months-from-duration days-from-duration year-from-date month-from-date "
    "day-from-date year-from-dateTime month-from-dateTime day-from-dateTime hours-from-dateTime "
    "minutes-from-dateTime seconds-from-dateTime hours-from-time minutes-from-time seconds-from-time dateTime"
)
_READ_NODES = frozenset({"lang", "generate-id"})
RETURNS: Mapping[str, ValueType] = {
    **{name: returned for name, returned in functions.RETURNS.items() if name not in _READ_NODES},
    **dict.fromkeys(_OTHERS.split(), "any"),
}
"""What functions return, as far as it decides how a predicate or a comparison reads it.

They read nothing but their arguments (and the context item where they have none).
"""
OF_CONTEXT = frozenset({"string", "number", "string-length", "normalize-space"})
"""Functions that read the context item where they have no argument."""
NAMES = frozenset({"name", "local-name", "namespace-uri"})

LONGEST = 100_000
"""Characters of an expression beyond which a rule is left to the engine as it is."""


class NotUnrolled(Exception):  # noqa: N818 - an outcome, not an error: the engine reads the rule as it is
    """An expression says nothing that is known of wide records; the text says why."""


@dataclass(frozen=True, slots=True)
class Ref:
    """The place of a field of the wide record in an expression, as a step from the record."""

    step: str


@dataclass(frozen=True, slots=True)
class WideText:
    """An expression on a wide record.

    Attributes
    ----------
    parts : tuple of str or Ref
    type : {"number", "string", "boolean", "any"}
        What its value is; "any" where that is not known.
    bare : bool
        Whether it may stand as an operand without parentheses.
    """

    parts: tuple[str | Ref, ...]
    type: ValueType
    bare: bool = False

    def shown(self, above: str = "") -> str:
        """Return the expression; `above` leads from the context node to the record."""
        return "".join(part if isinstance(part, str) else above + part.step for part in self.parts)

    @property
    def operand(self) -> tuple[str | Ref, ...]:
        """The parts, in parentheses where they may need them."""
        return self.parts if self.bare else ("(", *self.parts, ")")

    @property
    def length(self) -> int:
        """Characters, roughly."""
        return sum(len(part) if isinstance(part, str) else len(part.step) for part in self.parts)


TRUE = WideText(("true()",), "boolean", bare=True)
FALSE = WideText(("false()",), "boolean", bare=True)
EMPTY = WideText(("no-member[false()]",), "any", bare=True)
"""No node, in any context."""


@dataclass(frozen=True, slots=True)
class NodeItem:
    """A node of a node set, there where a condition holds."""

    node: UnitNode
    when: WideText = TRUE


@dataclass(frozen=True, slots=True)
class Nodes:
    """A node set: each node once, in document order."""

    items: tuple[NodeItem, ...]

    @property
    def leaves(self) -> bool:
        """Whether all of them are fields."""
        return all(isinstance(item.node, UnitField) for item in self.items)

    @property
    def certain(self) -> bool:
        """Whether none has a condition."""
        return all(item.when is TRUE for item in self.items)


@dataclass(frozen=True, slots=True)
class ItemSequence:
    """A sequence of XPath 2.0: values one after the other, each there where a condition holds."""

    items: tuple[tuple[Nodes | WideText, WideText], ...]


type Value = Nodes | WideText | ItemSequence


@dataclass(frozen=True, slots=True)
class Focus:
    """The context of an expression.

    Attributes
    ----------
    node : UnitField, UnitPlace or None
        The context item; None where there is none, as in a variable of the schema.
    current : UnitField, UnitPlace or None
        The node that the context of the rule has matched: that of ``current()``.
    position, size : WideText, optional
        Numbers, inside a predicate.
    variables : mapping of str to value
    among : tuple of UnitField or UnitPlace
        The nodes among which the context item has its position.
    """

    node: UnitNode | None
    current: UnitNode | None
    position: WideText | None = None
    size: WideText | None = None
    variables: Mapping[str, Value] = field(default_factory=lambda: MappingProxyType({}))
    among: tuple[UnitNode, ...] = ()

    def at(self, node: UnitNode, position: WideText | None = None, size: WideText | None = None) -> Focus:
        """Return the focus on another node."""
        return replace(self, node=node, position=position, size=size)

    def bind(self, name: str, value: Value) -> Focus:
        """Return the focus with a variable more."""
        return replace(self, variables={**self.variables, name: value})

    def without(self, name: str) -> Focus:
        """Return the focus without a variable."""
        return replace(self, variables={key: value for key, value in self.variables.items() if key != name})


def joined(parts: Iterable[str | WideText], type_: ValueType, *, bare: bool = False) -> WideText:
    """Return an expression put together; expressions among the parts get parentheses where they need them."""
    flat: list[str | Ref] = []
    for part in parts:
        flat.extend(part.operand if isinstance(part, WideText) else (part,))
    return limited(WideText(tuple(flat), type_, bare))


def limited(text: WideText) -> WideText:
    """Return an expression, unless it is too long."""
    if text.length > LONGEST:
        raise NotUnrolled(f"written for each member, it has more than {LONGEST:,} characters")
    return text


def all_of(parts: Sequence[WideText]) -> WideText:
    """Return that all conditions hold."""
    left = list(dict.fromkeys(part for part in parts if part is not TRUE))
    if FALSE in left:
        return FALSE
    if not left:
        return TRUE
    return left[0] if len(left) == 1 else joined(_between(left, " and "), "boolean")


def any_of(parts: Sequence[WideText]) -> WideText:
    """Return that some condition holds."""
    left = list(dict.fromkeys(part for part in parts if part is not FALSE))
    if TRUE in left:
        return TRUE
    if not left:
        return FALSE
    return left[0] if len(left) == 1 else joined(_between(left, " or "), "boolean")


def negated(condition: WideText) -> WideText:
    """Return that a condition does not hold."""
    if condition is TRUE or condition is FALSE:
        return FALSE if condition is TRUE else TRUE
    return joined(("not(", WideText(condition.parts, "boolean", bare=True), ")"), "boolean", bare=True)


def _between(parts: Sequence[WideText], separator: str) -> list[str | WideText]:
    found: list[str | WideText] = []
    for part in parts:
        found += [separator, part] if found else [part]
    return found


def path_of(leaf: UnitField) -> WideText:
    """Return the path of a field from the record."""
    return WideText((Ref(leaf.name + ("/text()" if leaf.text else "")),), "any", bare=True)


def there(node: UnitNode) -> WideText:
    """Return the condition that a node is there."""
    if isinstance(node, UnitField):
        return joined(("boolean(", path_of(node), ")"), "boolean", bare=True)
    return (
        TRUE
        if node.sure
        else joined(("boolean(", WideText((Ref(f"@{node.presence}"),), "any", True), ")"), "boolean")
    )


def is_there(item: NodeItem) -> WideText:
    """Return the condition under which a node of a set is there."""
    return all_of([item.when, there(item.node)]) if isinstance(item.node, UnitField) else item.when


def set_of(items: Iterable[NodeItem]) -> Nodes:
    """Return a node set: equal nodes become one, there where some condition holds."""
    found: dict[tuple[str, bool], list[NodeItem]] = {}
    for item in items:
        if item.when is not FALSE:
            found.setdefault(item.node.key, []).append(item)
    merged = [_plain(NodeItem(same[0].node, any_of([item.when for item in same]))) for same in found.values()]
    return Nodes(tuple(sorted(merged, key=lambda item: item.node.order)))


def _plain(item: NodeItem) -> NodeItem:
    """Return an item without the condition that its field is there, as its path says by itself."""
    node = item.node
    if isinstance(node, UnitField) and item.when in (there(node), there(node.place)):
        return NodeItem(node)
    return item


def count_of(conditions: Sequence[WideText], more: int = 0) -> WideText:
    """Return how many conditions hold, as a number, with so many more."""
    sure = more + sum(condition is TRUE for condition in conditions)
    open_ = [c for c in conditions if c is not TRUE and c is not FALSE]
    if not open_:
        return WideText((str(sure),), "number", bare=True)
    terms: list[str | WideText] = []
    for condition in open_:
        number = joined(("number(", WideText(condition.parts, "boolean", bare=True), ")"), "number", bare=True)
        terms += [" + ", number] if terms else [number]
    return joined([*terms, *([f" + {sure}"] if sure else [])], "number")


def as_expression(value: Value, *, empty: str = "") -> WideText:
    """Return a value as an expression whose value it is; a node set as the union of its paths.

    Raises
    ------
    NotUnrolled
        It has elements that hold others: their text is none of a field.
    """
    match value:
        case WideText():
            return value
        case Nodes(items=items):
            parts = [_path_where(item) for item in items]
            if not parts:
                return WideText((empty,), "any", bare=True) if empty else EMPTY
            return parts[0] if len(parts) == 1 else joined(_between(parts, " | "), "any")
        case ItemSequence(items=entries):
            return joined(["(", *_between([_listed(*entry) for entry in entries], ", "), ")"], "any", bare=True)


def _listed(value: Nodes | WideText, when: WideText) -> WideText:
    text = as_expression(value, empty="()")
    if when is TRUE:
        return text
    return joined(
        ("(if (", WideText(when.parts, "boolean", bare=True), ") then ", text, " else ())"), "any", bare=True
    )


def _path_where(item: NodeItem) -> WideText:
    if isinstance(item.node, UnitPlace):
        raise NotUnrolled(f"the text of {item.node.level.name}")
    path = path_of(item.node)
    if item.when is TRUE:
        return path
    above = "../../" if item.node.text else "../"
    within = WideText((item.when.shown(above),), "boolean")
    # what stands in a predicate leads from the field to the record, wherever the whole stands
    return WideText((Ref(f"{path.shown()}[{within.shown()}]"),), "any", bare=True)
