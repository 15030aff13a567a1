"""Expressions on a unit and its members as expressions on its wide record.

Theorem. An expression of a rule, evaluated at a node of a unit, has the value that its unrolled expression has at the
wide record of the unit. Proof by induction over the expression: a path leads to nodes of the unit, all of which are
known but for whether optional fields are there, so a node set is the union of the paths of its fields in the wide
record, each under the condition of the predicates on the way; the order of the document is that of the fields. All
else is the same function of the values of its parts. What is not one of these cases is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from masktron.rulebook.schema import XPathVersion
from masktron.sources.wide.wide_record import UnitField, UnitNode
from masktron.unrolling.known_functions import NAMES, OF_CONTEXT, RETURNS
from masktron.unrolling.member_sequence import ADDING, ORDERLESS, SequenceReads
from masktron.unrolling.unit_focus import Focus
from masktron.unrolling.unit_steps import (
    ARITHMETIC,
    AXES,
    GENERAL,
    LITERALS,
    REVERSE,
    VALUE_COMPARISONS,
    UnitSteps,
    is_prefixed_call,
)
from masktron.unrolling.unrolled_values import (
    FALSE,
    TRUE,
    ItemSequence,
    NodeItem,
    Nodes,
    NotUnrolled,
    Value,
    ValueType,
    WideText,
    all_of,
    any_of,
    as_expression,
    count_of,
    is_there,
    joined,
    negated,
    path_of,
    set_of,
    there,
)

_FUNCTION_LABELS = frozenset({"function", "external function"})
_PAIRS = 400
"""Comparisons of two node sets that are written out at most."""


@dataclass(frozen=True, slots=True)
class Unroller:
    """Unrolls expressions of one rulebook.

    Parameters
    ----------
    version : str
        Of XPath.
    steps : UnitSteps
    sequences : SequenceReads
        Notes of whose order what is unrolled speaks.
    """

    version: XPathVersion
    steps: UnitSteps
    sequences: SequenceReads = field(default_factory=SequenceReads)

    def of(self, expression: str) -> _Walk:
        """Return who unrolls one expression.

        Raises
        ------
        NotUnrolled
            It cannot be read.
        """
        return _Walk(self, *self.steps.read(expression))

    def value(self, expression: str, focus: Focus) -> Value:
        """Return the value of an expression at a node."""
        walk = self.of(expression)
        return walk.value(walk.root, focus)

    def truth(self, expression: str, focus: Focus) -> WideText:
        """Return the effective boolean value of an expression at a node."""
        walk = self.of(expression)
        return walk.truth(walk.root, focus)

    @property
    def first_version(self) -> bool:
        """Whether the expressions are XPath 1.0."""
        return self.version == "1.0"

    def predicated(self, token: Any, walk: _Walk, items: Sequence[NodeItem], focus: Focus, *, reverse: bool) -> Nodes:
        """Return which of some nodes, in document order, satisfy a predicate."""
        kept = []
        ordered = list(reversed(items)) if reverse else list(items)
        present = [is_there(item) for item in ordered]
        size = self.counted(present)
        for at, item in enumerate(ordered):
            position = self.counted(present[:at], 1)
            here = replace(focus.at(item.node, position, size), among=tuple(one.node for one in items))
            kept.append(NodeItem(item.node, all_of([item.when, walk.chosen(token, here)])))
        return set_of(kept)

    def counted(self, conditions: Sequence[WideText], more: int = 0) -> WideText:
        """Return how many conditions hold; an integer also where the version tells integers from doubles."""
        if self.first_version:
            return count_of(conditions, more)
        sure = more + sum(condition is TRUE for condition in conditions)
        terms: list[str | WideText] = [str(sure)]
        for condition in conditions:
            if condition is not TRUE and condition is not FALSE:
                whole = WideText(condition.parts, "boolean", bare=True)
                terms += [" + ", joined(("(if (", whole, ") then 1 else 0)"), "number", bare=True)]
        return joined(terms, "number", bare=len(terms) == 1)


@dataclass(frozen=True, slots=True)
class _Walk:
    """One walk over the tokens of an expression."""

    unroller: Unroller
    source: str
    root: Any

    # -- values ----------------------------------------------------------------------------------------------------

    def value(self, token: Any, focus: Focus) -> Value:  # noqa: PLR0911 -- one branch for each kind of token
        """Return the value of a part of the expression."""
        symbol, label = token.symbol, token.label
        if symbol == "(":
            return self.value(token[0], focus) if len(token) else ItemSequence(())
        if symbol in LITERALS:
            return WideText((self.source[slice(*token.span)],), "string" if symbol == "(string)" else "number", True)
        if symbol == "$":
            name = str(token[0].value)
            if name not in focus.variables:
                raise NotUnrolled(f"${name}, whose value is not known here")
            return focus.variables[name]
        if is_prefixed_call(token):
            return self._prefixed(token, focus)
        if label in _FUNCTION_LABELS or (symbol in RETURNS and "function" in str(label)):
            return self._call(symbol, list(token), focus)
        if symbol in ("/", "//", "!"):
            return self._path(token, focus)
        if symbol == "[":
            return self._filtered(token, focus)
        if self.unroller.steps.is_step(token):
            return self._step(token, focus)
        if symbol in ("|", "union", "intersect", "except"):
            return self._combined(symbol, self.nodes(token[0], focus), self.nodes(token[1], focus))
        if symbol == ",":
            return self._sequence(token, focus)
        if symbol in ("and", "or", "some", "every") or symbol in GENERAL or symbol in VALUE_COMPARISONS:
            return self.truth(token, focus)
        return self._computed(token, focus)

    def _computed(self, token: Any, focus: Focus) -> Value:  # noqa: PLR0911 -- one branch for each kind of token
        symbol = token.symbol
        if symbol in ("+", "-") and len(token) == 1:
            return joined((symbol, self.text(token[0], focus)), "number")
        if symbol in ARITHMETIC and len(token) == 2:
            left, right = self.text(token[0], focus), self.text(token[1], focus)
            return joined((left, f" {symbol} ", right), "number")
        if symbol in ("||", "to") and len(token) == 2:
            left, right = self.text(token[0], focus), self.text(token[1], focus)
            return joined((left, f" {symbol} ", right), "string" if symbol == "||" else "any")
        if symbol == "if" and len(token) == 3:
            return self._chosen_value(token, focus)
        if symbol == "for":
            return self._for(list(token), focus)
        if symbol == "let":
            for name, bound in zip(list(token)[:-1:2], list(token)[1:-1:2], strict=True):
                focus = focus.bind(str(name[0].value), self.value(bound, focus))
            return self.value(token[len(token) - 1], focus)
        if symbol in ("castable", "cast", "instance", "treat"):
            return self._typed(token, focus)
        raise NotUnrolled(f"'{symbol}', which is not unrolled")

    def text(self, token: Any, focus: Focus) -> WideText:
        """Return a part of the expression as an expression on the wide record, in the place of one value."""
        value = self.value(token, focus)
        self.unroller.sequences.note(_nodes_in(value))
        return as_expression(value, empty="" if self.unroller.first_version else "()")

    def nodes(self, token: Any, focus: Focus) -> Nodes:
        """Return the node set that a part of the expression is.

        Raises
        ------
        NotUnrolled
            It is none.
        """
        value = self.value(token, focus)
        if not isinstance(value, Nodes):
            raise NotUnrolled(f"'{token.symbol}' in the place of nodes")
        return value

    # -- truth -----------------------------------------------------------------------------------------------------

    def truth(self, token: Any, focus: Focus) -> WideText:  # noqa: PLR0911 -- one branch for each kind of token
        """Return the effective boolean value of a part of the expression."""
        symbol = token.symbol
        if symbol == "(" and len(token) == 1:
            return self.truth(token[0], focus)
        if symbol in ("and", "or"):
            parts = [self.truth(part, focus) for part in token]
            return all_of(parts) if symbol == "and" else any_of(parts)
        if symbol in GENERAL:
            return self.compared(symbol, self.value(token[0], focus), self.value(token[1], focus))
        if symbol in VALUE_COMPARISONS:
            left, right = self.text(token[0], focus), self.text(token[1], focus)
            return joined((left, f" {symbol} ", right), "boolean")
        if symbol in ("some", "every"):
            return self._quantified(symbol, list(token), focus)
        if symbol == "if" and len(token) == 3:
            condition = self.truth(token[0], focus)
            return any_of(
                [
                    all_of([condition, self.truth(token[1], focus)]),
                    all_of([negated(condition), self.truth(token[2], focus)]),
                ]
            )
        return self.holds(self.value(token, focus))

    def holds(self, value: Value) -> WideText:
        """Return the effective boolean value of a value."""
        match value:
            case Nodes(items=items):
                return any_of([is_there(item) for item in items])
            case WideText(type="boolean"):
                return value
            case WideText():
                return joined(("boolean(", WideText(value.parts, "any", bare=True), ")"), "boolean", bare=True)
            case ItemSequence():
                self.unroller.sequences.note(_nodes_in(value))
                return joined(("boolean(", as_expression(value, empty="()"), ")"), "boolean", bare=True)

    def chosen(self, predicate: Any, focus: Focus) -> WideText:
        """Return whether the context item is chosen by a predicate, which may be a position."""
        if predicate.symbol == "(integer)":
            number = WideText((str(predicate.value),), "number", bare=True)
        else:
            value = self.value(predicate, focus)
            if not isinstance(value, WideText) or value.type in ("boolean", "string"):
                if isinstance(value, ItemSequence):
                    raise NotUnrolled("a sequence as a predicate")
                return self.truth(predicate, focus)
            if value.type == "any":
                raise NotUnrolled("a predicate that may be a position or a condition")
            number = value
        assert focus.position is not None  # noqa: S101 - for the type checker
        self.unroller.sequences.note(focus.among)
        return _equal(focus.position, number)

    # -- comparisons -----------------------------------------------------------------------------------------------

    def compared(self, operator: str, left: Value, right: Value) -> WideText:
        """Return a general comparison: some value of the one side compares with some of the other."""
        if self.unroller.first_version:
            for one, other, turned in ((left, right, False), (right, left, True)):
                if isinstance(one, Nodes) and isinstance(other, WideText) and other.type == "boolean":
                    first, second = (other, self.holds(one)) if turned else (self.holds(one), other)
                    return joined((first, f" {operator} ", second), "boolean")
        cases = [
            all_of([here, there_, joined((one, f" {operator} ", other), "boolean")])
            for one, here in self._single(left)
            for other, there_ in self._single(right)
        ]
        if len(cases) > _PAIRS:
            sides = [as_expression(left, empty=""), as_expression(right, empty="")]
            return joined((sides[0], f" {operator} ", sides[1]), "boolean")
        return any_of(cases)

    def _single(self, value: Value) -> list[tuple[WideText, WideText]]:
        """Return the values of a side with their conditions; fields that are not there compare with nothing."""
        match value:
            case WideText():
                return [(value, TRUE)]
            case Nodes(items=items):
                if not value.leaves:
                    as_expression(value)  # says why it is refused
                return [(path_of(item.node), item.when) for item in items if isinstance(item.node, UnitField)]
            case ItemSequence(items=entries):
                return [(text, all_of([when, own])) for inner, when in entries for text, own in self._single(inner)]

    # -- paths -----------------------------------------------------------------------------------------------------

    def _here(self, focus: Focus) -> UnitNode:
        if focus.node is None:
            raise NotUnrolled("a variable of the schema or pattern that reads the document")
        return focus.node

    def _step(self, token: Any, focus: Focus) -> Value:
        node = self._here(focus)
        symbol = token.symbol
        if symbol == ".":
            return Nodes((NodeItem(node),))
        if symbol == "..":
            if node.parent is None:
                raise NotUnrolled("a step to what stands around the unit")
            return Nodes((NodeItem(node.parent),))
        if symbol == "@":
            return set_of(self.unroller.steps.step("attribute", token[0], node))
        axis, test = (symbol, token[0]) if symbol in AXES and token.label == "axis" else ("child", token)
        found = list(self.unroller.steps.step(axis, test, node))
        if axis.endswith("sibling"):
            self.unroller.sequences.note([node, *(item.node for item in found)])
        return set_of(found)

    def _path(self, token: Any, focus: Focus) -> Value:
        if len(token) < 2:
            raise NotUnrolled("an absolute path")
        base = self.value(token[0], focus)
        if not isinstance(base, Nodes):
            raise NotUnrolled("a path from values")
        items = list(base.items)
        if token.symbol == "//":
            items = [below for item in items for below in self._below(item)]
        found: list[NodeItem] = []
        listed: list[tuple[Nodes | WideText, WideText]] = []
        for at, item in enumerate(items):
            position = self.unroller.counted([before.when for before in items[:at]], 1)
            size = self.unroller.counted([each.when for each in items])
            there_ = replace(focus.at(item.node, position, size), among=tuple(one.node for one in items))
            value = self.value(token[1], there_)
            here = is_there(item)
            if isinstance(value, Nodes) and token.symbol != "!":
                found += [self._reached(item, one, here) for one in value.items]
            else:
                listed += self._under(value, here)
        if found and listed:
            raise NotUnrolled("a path to nodes and to values")
        if listed:
            self.unroller.sequences.note(item.node for item in items)
        return ItemSequence(tuple(listed)) if listed else set_of(found)

    def _reached(self, origin: NodeItem, found: NodeItem, here: WideText) -> NodeItem:
        """Return a node that was reached from another one: what lies within that is there where its own path is."""
        inside = origin.node is found.node or _within(found.node, origin.node)
        return NodeItem(found.node, all_of([origin.when if inside else here, found.when]))

    def _under(self, value: Value, when: WideText) -> list[tuple[Nodes | WideText, WideText]]:
        if isinstance(value, ItemSequence):
            return [(inner, all_of([when, own])) for inner, own in value.items]
        return [(value, when)]

    def _below(self, item: NodeItem) -> list[NodeItem]:
        """Return a node and all elements below it."""
        if isinstance(item.node, UnitField):
            return [item]
        found = []
        for place in item.node.below():
            if place.hidden:
                raise NotUnrolled(f"what else is in {place.level.name}")
            found.append(NodeItem(place, all_of([item.when, there(place)])))
            found += [NodeItem(leaf, item.when) for leaf in place.leaves if not leaf.field.attribute]
        return list(set_of(found).items)

    def _filtered(self, token: Any, focus: Focus) -> Value:
        base = self.value(token[0], focus)
        if not isinstance(base, Nodes):
            raise NotUnrolled("a filter of values")
        inner = token[0]
        while inner.symbol == "[":
            inner = inner[0]
        reverse = inner.label == "axis" and inner.symbol in REVERSE
        return self.unroller.predicated(token[1], self, base.items, focus, reverse=reverse)

    def _combined(self, symbol: str, left: Nodes, right: Nodes) -> Nodes:
        if symbol in ("|", "union"):
            return set_of((*left.items, *right.items))
        other = {item.node.key: item.when for item in right.items}
        if symbol == "intersect":
            both = [(item, other.get(item.node.key, FALSE)) for item in left.items]
        else:
            both = [(item, negated(other.get(item.node.key, FALSE))) for item in left.items]
        return set_of(NodeItem(item.node, all_of([item.when, more])) for item, more in both)

    # -- calls -----------------------------------------------------------------------------------------------------

    def _prefixed(self, token: Any, focus: Focus) -> Value:
        """Return the value of a call with a prefix: a function of the standard, or a constructor of a type."""
        prefix, call = str(token[0].value), token[1]
        if self.unroller.steps.has_functions(prefix):
            return self._call(call.symbol, list(call), focus)
        if "constructor" in str(call.label) and len(call) == 1:
            inner = self.text(call[0], focus)
            whole = WideText(inner.parts, "any", bare=True)
            return joined((f"{prefix}:{call.symbol}(", whole, ")"), "any", bare=True)
        raise NotUnrolled(f"the function {prefix}:{call.symbol}()")

    def _call(self, name: str, arguments: list[Any], focus: Focus) -> Value:  # noqa: PLR0911 -- one for each kind
        if name in ("true", "false"):
            return TRUE if name == "true" else FALSE
        if name == "current" and not arguments:
            if focus.current is None:
                raise NotUnrolled("current() outside a rule")
            return Nodes((NodeItem(focus.current),))
        if name in ("position", "last") and not arguments:
            number = focus.position if name == "position" else focus.size
            if number is None:
                raise NotUnrolled(f"{name}() outside a predicate")
            if name == "position":
                self.unroller.sequences.note(focus.among)
            return number
        if name not in RETURNS:
            raise NotUnrolled(f"the function {name}()")
        if name in ("not", "boolean") and len(arguments) == 1:
            holds = self.truth(arguments[0], focus)
            return negated(holds) if name == "not" else holds
        if name in NAMES:
            return self._name(name, arguments, focus)
        if name in ORDERLESS and len(arguments) == 1 and arguments[0].symbol == "distinct-values":
            distinct = as_expression(self.value(arguments[0][0], focus), empty="()")
            return joined((f"{name}(distinct-values((", distinct, ")))"), RETURNS[name], bare=True)
        values: list[Value] = [self.value(argument, focus) for argument in arguments]
        if not values and name in OF_CONTEXT:
            values = [Nodes((NodeItem(self._here(focus)),))]
        return self._applied(name, values)

    def _applied(self, name: str, values: list[Value]) -> Value:
        if len(values) == 1 and isinstance(only := values[0], Nodes):
            if name in ("exists", "empty"):
                holds = self.holds(only)
                return holds if name == "exists" else negated(holds)
            if name == "count" and not (only.leaves and only.certain and only.items):
                return self.unroller.counted([is_there(item) for item in only.items])
            if name == "sum" and not only.items:
                return WideText(("0",), "number", bare=True)
        self._note_order(name, values)
        shown: list[str | WideText] = []
        for value in values:
            text = as_expression(value, empty="" if self.unroller.first_version else "()")
            shown += [", ", text] if shown else [text]
        whole = [replace(part, bare=True) if isinstance(part, WideText) else part for part in shown]
        return joined((f"{name}(", *whole, ")"), RETURNS[name], bare=True)

    def _note_order(self, name: str, values: Sequence[Value]) -> None:
        """Note of whose order the value of a function speaks, given its arguments."""
        for value in values:
            if name in ADDING:
                self.unroller.sequences.note_sum(_nodes_in(value))
            elif name not in ORDERLESS:
                self.unroller.sequences.note(_nodes_in(value))

    def _name(self, name: str, arguments: list[Any], focus: Focus) -> Value:
        nodes = self.nodes(arguments[0], focus) if arguments else Nodes((NodeItem(self._here(focus)),))
        if len(nodes.items) != 1 or nodes.items[0].when is not TRUE:
            raise NotUnrolled(f"{name}() of several nodes")
        node = nodes.items[0].node
        tag = node.field.tag if isinstance(node, UnitField) else node.level.tag
        space, _, local = tag.removeprefix("{").rpartition("}")
        if (name == "name" and space) or (isinstance(node, UnitField) and (node.text or arguments)):
            raise NotUnrolled(f"{name}() of a name with a prefix, or of what may not be there")
        return WideText((f"'{space if name == 'namespace-uri' else local}'",), "string", bare=True)

    # -- XPath 2.0 -------------------------------------------------------------------------------------------------

    def _sequence(self, token: Any, focus: Focus) -> Value:
        entries: list[tuple[Nodes | WideText, WideText]] = []
        while token.symbol == ",":
            entries[:0] = self._under(self.value(token[1], focus), TRUE)
            token = token[0]
        entries[:0] = self._under(self.value(token, focus), TRUE)
        return ItemSequence(tuple(entries))

    def _chosen_value(self, token: Any, focus: Focus) -> Value:
        condition = self.truth(token[0], focus)
        if condition is TRUE or condition is FALSE:
            return self.value(token[1] if condition is TRUE else token[2], focus)
        then, otherwise = self.text(token[1], focus), self.text(token[2], focus)
        type_ = then.type if then.type == otherwise.type else "any"
        whole = WideText(condition.parts, "boolean", bare=True)
        return joined(("if (", whole, ") then ", then, " else ", otherwise), type_)

    def _bindings(
        self, parts: Sequence[Any], focus: Focus, *, in_order: bool = False
    ) -> list[tuple[Focus, WideText]]:
        """Return the foci with each choice of items for the variables of a quantifier, and when there is such one."""
        found = [(focus, TRUE)]
        for name, items in zip(parts[:-1:2], parts[1:-1:2], strict=True):
            values = [(one, when, self.value(items, one)) for one, when in found]
            if in_order:
                for *_, value in values:
                    self.unroller.sequences.note(_nodes_in(value))
            found = [
                (one.bind(str(name[0].value), bound), all_of([when, own]))
                for one, when, value in values
                for bound, own in self._items(value)
            ]
            if len(found) > _PAIRS:
                raise NotUnrolled(f"more than {_PAIRS} choices of items")
        return found

    def _items(self, value: Value) -> list[tuple[Value, WideText]]:
        match value:
            case Nodes(items=items):
                return [(Nodes((NodeItem(item.node),)), is_there(item)) for item in items]
            case ItemSequence(items=entries):
                return [(one, all_of([when, own])) for inner, when in entries for one, own in self._items(inner)]
            case WideText(type="any"):
                raise NotUnrolled("items of a sequence whose length is not known")
            case WideText():
                return [(value, TRUE)]

    def _quantified(self, symbol: str, parts: Sequence[Any], focus: Focus) -> WideText:
        cases = [(self.truth(parts[-1], one), when) for one, when in self._bindings(parts, focus)]
        if symbol == "some":
            return any_of([all_of([when, holds]) for holds, when in cases])
        return all_of([any_of([negated(when), holds]) for holds, when in cases])

    def _for(self, parts: Sequence[Any], focus: Focus) -> Value:
        entries: list[tuple[Nodes | WideText, WideText]] = []
        for one, when in self._bindings(parts, focus, in_order=True):
            entries += self._under(self.value(parts[-1], one), when)
        return ItemSequence(tuple(entries))

    def _typed(self, token: Any, focus: Focus) -> Value:
        inner = self.text(token[0], focus)
        start = token.span[0]
        last = max(part.span[1] for part in token[1].iter())
        rest = self.source[last:].lstrip()
        mark = rest[0] if rest[:1] in ("?", "*", "+") else ""
        type_: ValueType = "boolean" if token.symbol in ("castable", "instance") else "any"
        return joined((inner, f" {self.source[start:last]}{mark}"), type_)


def _nodes_in(value: Value) -> list[UnitNode]:
    """Return the nodes of a value, one after the other."""
    match value:
        case Nodes(items=items):
            return [item.node for item in items]
        case ItemSequence(items=entries):
            return [node for inner, _ in entries for node in _nodes_in(inner)]
        case WideText():
            return []


def _equal(position: WideText, number: WideText) -> WideText:
    """Return that two numbers are equal, decided at once where both are written down."""
    if len(position.parts) == len(number.parts) == 1:
        one, other = position.parts[0], number.parts[0]
        if isinstance(one, str) and isinstance(other, str) and one.isdigit() and other.isdigit():
            return TRUE if int(one) == int(other) else FALSE
    return joined((position, " = ", number), "boolean")


def _within(node: UnitNode, around: UnitNode) -> bool:
    at: UnitNode | None = node
    while at is not None:
        if at is around:
            return True
        at = at.parent
    return False
