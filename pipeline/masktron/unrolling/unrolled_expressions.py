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
from functools import reduce

from masktron.rulebook.expressions import tree
from masktron.rulebook.expressions.tree import Expression
from masktron.rulebook.expressions.words import STANDARD_NAMESPACES
from masktron.rulebook.schema import XPathVersion
from masktron.sources.wide.wide_record import UnitField, UnitNode
from masktron.unrolling.unit_steps import ADDING, ORDERLESS, SequenceReads, UnitSteps
from masktron.unrolling.unrolled_values import (
    FALSE,
    NAMES,
    OF_CONTEXT,
    RETURNS,
    TRUE,
    Focus,
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

_PAIRS = 400
"""Comparisons of two node sets that are written out at most."""


@dataclass(frozen=True, slots=True)
class Unroller:
    """Unrolls expressions of one version of XPath.

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

    @property
    def first_version(self) -> bool:
        """Whether the expressions are XPath 1.0."""
        return self.version == "1.0"

    def predicated(
        self, predicate: Expression, items: Sequence[NodeItem], focus: Focus, *, reverse: bool = False
    ) -> Nodes:
        """Return which of some nodes, in document order, satisfy a predicate."""
        kept = []
        ordered = list(reversed(items)) if reverse else list(items)
        present = [is_there(item) for item in ordered]
        size = self.counted(present)
        for at, item in enumerate(ordered):
            position = self.counted(present[:at], 1)
            here = replace(focus.at(item.node, position, size), among=tuple(one.node for one in items))
            kept.append(NodeItem(item.node, all_of([item.when, self.chosen(predicate, here)])))
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

    # -- values ----------------------------------------------------------------------------------------------------

    def value(self, expression: Expression, focus: Focus) -> Value:  # noqa: PLR0911 -- one branch for each construct
        """Return the value of an expression at a node."""
        match expression:
            case tree.Literal(value=value):
                return WideText((expression.written,), "string" if isinstance(value, str) else "number", bare=True)
            case tree.Variable(name=name):
                if name not in focus.variables:
                    raise NotUnrolled(f"${name}, whose value is not known here")
                return focus.variables[name]
            case tree.Call():
                return self._call(expression, focus)
            case tree.Path(first=first, hops=hops):
                return reduce(lambda base, hop: self._hop(base, hop, focus), hops, self.value(first, focus))
            case tree.ContextItem():
                return Nodes((NodeItem(self._here(focus)),))
            case tree.Step():
                return self._step(expression, focus)
            case tree.Filter(base=base, predicates=predicates):
                return self._filtered(self.value(base, focus), predicates, focus)
            case tree.NodeSet(sign=sign, operands=(first, *rest)):
                nodes = self.nodes(first, focus)
                return reduce(lambda left, one: _combined(sign, left, self.nodes(one, focus)), rest, nodes)
            case tree.Sequence(items=items):
                return ItemSequence(tuple(entry for one in items for entry in _under(self.value(one, focus), TRUE)))
            case tree.Connective() | tree.Comparison() | tree.Binding(kind="some" | "every"):
                return self.truth(expression, focus)
            case _:
                return self._computed(expression, focus)

    def _computed(self, expression: Expression, focus: Focus) -> Value:  # noqa: PLR0911 -- one branch for each construct
        match expression:
            case tree.SimpleMap(items=items, to=to):
                return self._hop(self.value(items, focus), tree.Hop(False, to), focus, mapped=True)
            case tree.Negation(sign=sign, operand=operand):
                return joined((sign, self.text(operand, focus)), "number")
            case tree.Arithmetic(sign=sign, operands=operands):
                return self._chain(sign, operands, "number", focus)
            case tree.Concatenation(operands=operands):
                return self._chain("||", operands, "string", focus)
            case tree.Range(low=low, high=high):
                return self._chain("to", (low, high), "any", focus)
            case tree.If():
                return self._chosen_value(expression, focus)
            case tree.Binding(kind="for"):
                return self._for(expression, focus)
            case tree.Binding(kind="let", bound=bound, body=body):
                for name, value in bound:
                    focus = focus.bind(name, self.value(value, focus))
                return self.value(body, focus)
            case tree.Typed(kind=kind, operand=operand, type=named):
                word = "of" if kind == "instance" else "as"
                type_: ValueType = "boolean" if kind in ("castable", "instance") else "any"
                return joined((self.text(operand, focus), f" {kind} {word} {named.text}"), type_)
            case tree.Root():
                raise NotUnrolled("an absolute path")
            case _:
                raise NotUnrolled(f"'{expression}', which is not unrolled")

    def _chain(self, sign: str, operands: Sequence[Expression], type_: ValueType, focus: Focus) -> WideText:
        first, *rest = operands
        return reduce(
            lambda left, one: joined((left, f" {sign} ", self.text(one, focus)), type_), rest, self.text(first, focus)
        )

    def text(self, expression: Expression, focus: Focus) -> WideText:
        """Return an expression as one on the wide record, in the place of one value."""
        value = self.value(expression, focus)
        self.sequences.note(_nodes_in(value))
        return as_expression(value, empty="" if self.first_version else "()")

    def nodes(self, expression: Expression, focus: Focus) -> Nodes:
        """Return the node set that an expression is.

        Raises
        ------
        NotUnrolled
            It is none.
        """
        value = self.value(expression, focus)
        if not isinstance(value, Nodes):
            raise NotUnrolled(f"'{expression}' in the place of nodes")
        return value

    # -- truth -----------------------------------------------------------------------------------------------------

    def truth(self, expression: Expression, focus: Focus) -> WideText:
        """Return the effective boolean value of an expression at a node."""
        match expression:
            case tree.Connective(sign=sign, operands=(first, *rest)):
                together = all_of if sign == "and" else any_of
                truth = self.truth(first, focus)
                return reduce(lambda left, one: together([left, self.truth(one, focus)]), rest, truth)
            case tree.Comparison(sign="is" | "<<" | ">>"):
                raise NotUnrolled(f"'{expression}', which is not unrolled")
            case tree.Comparison(sign="=" | "!=" | "<" | "<=" | ">" | ">=" as sign, left=left, right=right):
                return self.compared(sign, self.value(left, focus), self.value(right, focus))
            case tree.Comparison(sign=sign, left=left, right=right):
                return self._chain(sign, (left, right), "boolean", focus)
            case tree.Binding(kind="some" | "every"):
                return self._quantified(expression, focus)
            case tree.If(condition=condition, then=then, otherwise=otherwise):
                holds = self.truth(condition, focus)
                return any_of(
                    [
                        all_of([holds, self.truth(then, focus)]),
                        all_of([negated(holds), self.truth(otherwise, focus)]),
                    ]
                )
            case _:
                return self.holds(self.value(expression, focus))

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
                self.sequences.note(_nodes_in(value))
                return joined(("boolean(", as_expression(value, empty="()"), ")"), "boolean", bare=True)

    def chosen(self, predicate: Expression, focus: Focus) -> WideText:
        """Return whether the context item is chosen by a predicate, which may be a position."""
        value = self.value(predicate, focus)
        if isinstance(value, ItemSequence):
            raise NotUnrolled("a sequence as a predicate")
        if isinstance(value, Nodes) or value.type in ("boolean", "string"):
            return self.truth(predicate, focus)
        if value.type == "any":
            raise NotUnrolled("a predicate that may be a position or a condition")
        assert focus.position is not None  # noqa: S101 - for the type checker
        self.sequences.note(focus.among)
        return _equal(focus.position, value)

    # -- comparisons -----------------------------------------------------------------------------------------------

    def compared(self, operator: str, left: Value, right: Value) -> WideText:
        """Return a general comparison: some value of the one side compares with some of the other."""
        if self.first_version:
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

    def _step(self, step: tree.Step, focus: Focus) -> Nodes:
        node, axis = self._here(focus), step.axis
        if axis == "parent" and step.test == tree.KindTest("node"):
            if isinstance(node, UnitField) and node.text:
                raise NotUnrolled("a step from a text")
            if node.parent is None:
                raise NotUnrolled("a step to what stands around the unit")
            nodes = Nodes((NodeItem(node.parent),))
        else:
            found = list(self.steps.step(axis, step.test, node))
            if axis.endswith("sibling"):
                self.sequences.note([node, *(item.node for item in found)])
            nodes = set_of(found)
        return self._filtered(nodes, step.predicates, focus, reverse=axis in tree.REVERSE)

    def _hop(self, base: Value, hop: tree.Hop, focus: Focus, *, mapped: bool = False) -> Value:
        """Return what a part of a path leads to from the nodes of those before; `mapped` where it may be values."""
        if not isinstance(base, Nodes):
            raise NotUnrolled("a path from values")
        items = list(base.items)
        if hop.deep:
            items = [below for item in items for below in self._below(item)]
        found: list[NodeItem] = []
        listed: list[tuple[Nodes | WideText, WideText]] = []
        for at, item in enumerate(items):
            position = self.counted([before.when for before in items[:at]], 1)
            size = self.counted([each.when for each in items])
            there_ = replace(focus.at(item.node, position, size), among=tuple(one.node for one in items))
            value = self.value(hop.to, there_)
            here = is_there(item)
            if isinstance(value, Nodes) and not mapped:
                found += [_reached(item, one, here) for one in value.items]
            else:
                listed += _under(value, here)
        if found and listed:
            raise NotUnrolled("a path to nodes and to values")
        if listed:
            self.sequences.note(item.node for item in items)
        return ItemSequence(tuple(listed)) if listed else set_of(found)

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

    def _filtered(
        self, base: Value, predicates: Sequence[Expression], focus: Focus, *, reverse: bool = False
    ) -> Nodes:
        if not isinstance(base, Nodes):
            raise NotUnrolled("a filter of values")
        return reduce(lambda left, one: self.predicated(one, left.items, focus, reverse=reverse), predicates, base)

    # -- calls -----------------------------------------------------------------------------------------------------

    def _call(self, call: tree.Call, focus: Focus) -> Value:
        """Return the value of a call: of a function of the standard, or a constructor of a type."""
        if call.standard:
            return self._standard(call.standard, call.arguments, focus)
        name = f"{call.prefix}:{call.name}"
        if call.space == STANDARD_NAMESPACES["xs"] and call.prefix and len(call.arguments) == 1:
            inner = self.text(call.arguments[0], focus)
            return joined((f"{name}(", replace(inner, bare=True), ")"), "any", bare=True)
        raise NotUnrolled(f"the function {name}()")

    def _standard(  # noqa: PLR0911 -- one branch for each kind
        self, name: str, arguments: Sequence[Expression], focus: Focus
    ) -> Value:
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
                self.sequences.note(focus.among)
            return number
        if name not in RETURNS:
            raise NotUnrolled(f"the function {name}()")
        if name in ("not", "boolean") and len(arguments) == 1:
            holds = self.truth(arguments[0], focus)
            return negated(holds) if name == "not" else holds
        if name in NAMES:
            return self._name(name, arguments, focus)
        only = arguments[0] if len(arguments) == 1 else None
        if name in ORDERLESS and isinstance(only, tree.Call) and only.standard == "distinct-values":
            distinct = as_expression(self.value(only.arguments[0], focus), empty="()")
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
                return self.counted([is_there(item) for item in only.items])
            if name == "sum" and not only.items:
                return WideText(("0",), "number", bare=True)
        self._note_order(name, values)
        shown: list[str | WideText] = []
        for value in values:
            text = as_expression(value, empty="" if self.first_version else "()")
            shown += [", ", text] if shown else [text]
        whole = [replace(part, bare=True) if isinstance(part, WideText) else part for part in shown]
        return joined((f"{name}(", *whole, ")"), RETURNS[name], bare=True)

    def _note_order(self, name: str, values: Sequence[Value]) -> None:
        """Note of whose order the value of a function speaks, given its arguments."""
        for value in values:
            if name in ADDING:
                self.sequences.note_sum(_nodes_in(value))
            elif name not in ORDERLESS:
                self.sequences.note(_nodes_in(value))

    def _name(self, name: str, arguments: Sequence[Expression], focus: Focus) -> Value:
        nodes = self.nodes(arguments[0], focus) if arguments else Nodes((NodeItem(self._here(focus)),))
        if len(nodes.items) != 1 or nodes.items[0].when is not TRUE:
            raise NotUnrolled(f"{name}() of several nodes")
        node = nodes.items[0].node
        space, _, local = node.tag.removeprefix("{").rpartition("}")
        if (name == "name" and space) or (isinstance(node, UnitField) and (node.text or arguments)):
            raise NotUnrolled(f"{name}() of a name with a prefix, or of what may not be there")
        return WideText((f"'{space if name == 'namespace-uri' else local}'",), "string", bare=True)

    # -- XPath 2.0 -------------------------------------------------------------------------------------------------

    def _chosen_value(self, choice: tree.If, focus: Focus) -> Value:
        condition = self.truth(choice.condition, focus)
        if condition is TRUE or condition is FALSE:
            return self.value(choice.then if condition is TRUE else choice.otherwise, focus)
        then, otherwise = self.text(choice.then, focus), self.text(choice.otherwise, focus)
        type_ = then.type if then.type == otherwise.type else "any"
        return joined(("if (", replace(condition, bare=True), ") then ", then, " else ", otherwise), type_)

    def _bindings(self, binding: tree.Binding, focus: Focus) -> list[tuple[Focus, WideText]]:
        """Return the foci with each choice of items for the variables, and when there is such one."""
        found = [(focus, TRUE)]
        for name, items in binding.bound:
            values = [(one, when, self.value(items, one)) for one, when in found]
            if binding.kind == "for":
                for *_, value in values:
                    self.sequences.note(_nodes_in(value))
            found = [
                (one.bind(name, bound), all_of([when, own]))
                for one, when, value in values
                for bound, own in _items(value)
            ]
            if len(found) > _PAIRS:
                raise NotUnrolled(f"more than {_PAIRS} choices of items")
        return found

    def _quantified(self, binding: tree.Binding, focus: Focus) -> WideText:
        cases = [(self.truth(binding.body, one), when) for one, when in self._bindings(binding, focus)]
        if binding.kind == "some":
            return any_of([all_of([when, holds]) for holds, when in cases])
        return all_of([any_of([negated(when), holds]) for holds, when in cases])

    def _for(self, binding: tree.Binding, focus: Focus) -> Value:
        entries: list[tuple[Nodes | WideText, WideText]] = []
        for one, when in self._bindings(binding, focus):
            entries += _under(self.value(binding.body, one), when)
        return ItemSequence(tuple(entries))


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


def _reached(origin: NodeItem, found: NodeItem, here: WideText) -> NodeItem:
    """Return a node that was reached from another one: what lies within that is there where its own path is."""
    inside = origin.node is found.node or _within(found.node, origin.node)
    return NodeItem(found.node, all_of([origin.when if inside else here, found.when]))


def _under(value: Value, when: WideText) -> list[tuple[Nodes | WideText, WideText]]:
    if isinstance(value, ItemSequence):
        return [(inner, all_of([when, own])) for inner, own in value.items]
    return [(value, when)]


def _items(value: Value) -> list[tuple[Value, WideText]]:
    """Return the items of a sequence, each with the condition that it is there."""
    match value:
        case Nodes(items=items):
            return [(Nodes((NodeItem(item.node),)), is_there(item)) for item in items]
        case ItemSequence(items=entries):
            return [(one, all_of([when, own])) for inner, when in entries for one, own in _items(inner)]
        case WideText(type="any"):
            raise NotUnrolled("items of a sequence whose length is not known")
        case WideText():
            return [(value, TRUE)]


def _combined(sign: str, left: Nodes, right: Nodes) -> Nodes:
    if sign == "|":
        return set_of((*left.items, *right.items))
    other = {item.node.key: item.when for item in right.items}
    if sign == "intersect":
        both = [(item, other.get(item.node.key, FALSE)) for item in left.items]
    else:
        both = [(item, negated(other.get(item.node.key, FALSE))) for item in left.items]
    return set_of(NodeItem(item.node, all_of([item.when, more])) for item, more in both)
