"""Expressions over a batch: a walk over the tree, each step with a value, or with nodes, for all records.

Nothing here depends on what the records say but the values themselves, so that an expression that can be evaluated on
no records at all can be evaluated on any: it is tried without records, which tells what it reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial, reduce
from types import MappingProxyType

import numpy as np

from masktron.errors import RulebookError
from masktron.judge.columns.comparisons import conjunction, disjunction, holding
from masktron.judge.columns.items import (
    NO,
    NOWHERE,
    RECORD,
    YES,
    Doubt,
    Item,
    Items,
    Node,
    NodePart,
    NotColumnar,
    Truth,
    in_document_order,
    joined,
    one,
    restricted,
)
from masktron.judge.columns.operators import Numbers, arithmetic, negated
from masktron.judge.columns.state import (
    ColumnScope,
    FieldSource,
    ScopedLet,
    State,
    node_at,
    start,
)
from masktron.rulebook.expressions.parsing import parsed
from masktron.rulebook.expressions.tree import (
    ANY,
    Arithmetic,
    Call,
    Comparison,
    Connective,
    ContextItem,
    Expression,
    Filter,
    Hop,
    KindTest,
    Literal,
    NameTest,
    Negation,
    NodeSet,
    Path,
    Root,
    Step,
    Variable,
)
from masktron.sources.columns import Batch

_NAMINGS = ("local-name", "name", "namespace-uri")
_THE_RECORD = Node(YES, RECORD)


def context_item(state: State) -> Item:
    """``.``"""
    if state.focus is None:
        raise NotColumnar("a variable of the schema or pattern reads the document")
    return state.focus


def current_node(state: State) -> Items:
    """``current()``: the node that the rule fired on."""
    node = node_at(state.scope.current)
    if node is None:
        raise NotColumnar("current() outside the records")
    return one(node)


def step(asked: Step, state: State) -> Items:
    """Return the nodes that a step reaches from the context node, predicates apart.

    Raises
    ------
    NotColumnar
        The step leaves the record, or reads what stands between its fields.
    """
    node = context_item(state)
    if not isinstance(node, Node):
        raise NotColumnar("a type error: a step from a value")
    nodes = tuple(_reached(asked, node, state)) if node.at != NOWHERE else ()
    few = len(nodes) < 2
    if not nodes and state.dialect.typed:
        nodes = (Node(NO, NOWHERE),)
    return Items(nodes, single=few, ordered=few)


def _reached(asked: Step, node: Node, state: State) -> Iterable[Node]:
    test = asked.test
    match asked.axis:
        case "self":
            return _tested([node], test, state)
        case "parent" if node.at == RECORD:
            raise NotColumnar("a step to the parent of the record")
        case "parent":
            above = _THE_RECORD if node.kind is NodePart.FIELD else Node(YES, node.at)
            return _tested([above], test, state)
        case "ancestor":
            return _ancestors(node, test, state)
        case "child" | "attribute":
            return _below(asked, node, state)
        case "descendant":
            read_below(node, state)
            return _below(asked, node, state)
        case axis:
            raise NotColumnar(f"the axis {axis} has no evaluation over columns")


def _ancestors(node: Node, test: NameTest | KindTest, state: State) -> Iterable[Node]:
    """Return the record of a field, where the name that is asked for is not also that of an element above it."""
    if node.kind is NodePart.TEXT:
        raise NotColumnar("the ancestors of a text")
    above = state.scope.layout.record_path[: -1 if node.at != RECORD else None]
    if isinstance(test, KindTest) or test.local == ANY or any(tag.rpartition("}")[2] == test.local for tag in above):
        raise NotColumnar("a step to elements above the record")
    return _tested([_THE_RECORD] if node.at != RECORD else [], test, state)


def read_below(node: Node, state: State) -> None:
    """Take as read what may have descendants other than fields and texts: fields have elements where they are odd."""
    fields = enumerate(state.scope.layout.fields)
    state.source.also([at for at, field in fields if not field.attribute] if node.at == RECORD else [node.at])


def _tested(nodes: Iterable[Node], test: NameTest | KindTest, state: State) -> list[Node]:
    if isinstance(test, KindTest):
        if test.kind == "node":
            return list(nodes)
        raise NotColumnar(f"{test.kind}() on this axis")
    layout = state.scope.layout
    found = []
    for node in nodes:
        # a name test on these axes asks for elements
        if node.at == RECORD:
            element, tag = True, layout.record_tag
        else:
            field = layout.fields[node.at]
            element, tag = node.kind is NodePart.FIELD and not field.attribute, field.tag
        if element and test.takes(tag):
            found.append(node)
    return found


def _below(asked: Step, node: Node, state: State) -> Iterable[Node]:
    """Return children or attributes: of the record its fields, of a field its text."""
    test, source, fields = asked.test, state.source, state.scope.layout.fields
    if isinstance(test, KindTest):
        if asked.axis == "attribute" or node.at == RECORD or test.kind not in ("text", "node"):
            raise NotColumnar(f"{test.kind}() as a step")
        if not fields[node.at].attribute and node.kind is NodePart.FIELD:
            return [Node(partial(source.filled, node.at), node.at, NodePart.TEXT)]
    elif node.at == RECORD:
        attribute = asked.axis == "attribute"
        named = [at for at, f in enumerate(fields) if f.attribute == attribute and test.takes(f.tag)]
        return [Node(partial(source.present, at), at) for at in named]
    source.also([node.at])
    return []


def name_of_node(function: str, node: Node, state: State) -> str:
    """Return what ``local-name()``, ``name()`` or ``namespace-uri()`` says of a node.

    Raises
    ------
    NotColumnar
        The name has a prefix, and records may have different ones.
    """
    if node.at == NOWHERE or node.kind is NodePart.TEXT:
        return ""
    layout = state.scope.layout
    tag = layout.record_path[-1] if node.at == RECORD else layout.fields[node.at].tag
    uri, brace, local = tag.rpartition("}")
    if function == "namespace-uri":
        return uri.removeprefix("{")
    if function == "name" and brace:
        raise NotColumnar("name() in a namespace: records may have different prefixes")
    return local


MAX_STEPS = 256
_MOST_NESTED = 120
_CONNECTED: Mapping[str, Callable[[Items, Items, FieldSource], Items]] = MappingProxyType(
    {"and": conjunction, "or": disjunction}
)


def evaluate(expression: Expression, state: State) -> Items:
    """Return the value of an expression in all records.

    Raises
    ------
    NotColumnar
        An engine has to evaluate it.
    """
    match expression:
        case Literal(value=value):
            return one(state.dialect.constant(value))
        case Step(predicates=()):
            return step(expression, state)
        case ContextItem():
            return one(context_item(state))
        case Root():
            raise NotColumnar("an absolute path")
        case _ if state.depth > _MOST_NESTED:
            raise NotColumnar("the expression is nested too deeply")
        case Variable(name=name):
            return _variable(name, state)
        case _:
            return _composed(expression, replace(state, depth=state.depth + 1))


def _composed(expression: Expression, state: State) -> Items:  # noqa: PLR0911 -- one branch per construct
    dialect, source = state.dialect, state.source
    match expression:
        case Step(predicates=predicates):
            return _filtered(step(expression, state), predicates, state)
        case Filter(base=base, predicates=predicates):
            return _filtered(evaluate(base, state), predicates, state)
        case Path(first=first, hops=hops):
            return reduce(lambda nodes, hop: _onward(nodes, hop, state), hops, evaluate(first, state))
        case Call():
            return dialect.call(expression, state)
        case Connective(sign=sign, operands=operands):
            connected = _CONNECTED[sign]
            return reduce(lambda a, b: connected(a, b, source), [evaluate(part, state) for part in operands])
        case Comparison(sign=sign, left=left, right=right):
            return dialect.compare(sign, evaluate(left, state), evaluate(right, state), source)
        case Arithmetic(sign=sign, operands=operands):
            doubt = Doubt()
            numbers = [dialect.converted["numbers"](evaluate(part, state), source, doubt) for part in operands]
            found: Numbers = reduce(lambda a, b: arithmetic(sign, a, b, doubt), numbers)
            return Items(found, doubt.mask)
        case Negation(sign=sign, operand=operand):
            doubt = Doubt()
            once = map(negated, dialect.converted["numbers"](evaluate(operand, state), source, doubt))
            return Items(tuple(once if sign == "-" else map(negated, once)), doubt.mask)
        case NodeSet(sign="|", operands=operands):
            return in_document_order(joined([evaluate(part, state) for part in operands]))
        case _:
            return dialect.other(expression, state)


def refused(expression: Expression, state: State) -> Items:
    """Leave an expression to an engine."""
    raise NotColumnar(f"'{expression}' has no evaluation over columns")


def called(name: str, arguments: tuple[Expression, ...], state: State) -> Items:
    """Return the value of a function that both dialects call alike.

    Raises
    ------
    NotColumnar
        The function is not evaluated over columns, or not with these arguments.
    """
    if name == "current" and not arguments:
        return current_node(state)
    dialect, function = state.dialect, state.dialect.functions.get(name)
    values = tuple(evaluate(argument, state) for argument in arguments)
    if not values and (name in _NAMINGS or (function is not None and function.context)):
        values = (one(context_item(state)),)
    if name in _NAMINGS and len(values) == 1:
        return dialect.named(name, values[0], state)
    if function is None:
        raise NotColumnar(f"the function {name}()")
    return function.value(name, values, dialect.converted, state.source)


def _variable(name: str, state: State) -> Items:
    """Return the value of a variable that the expression or the rulebook binds."""
    if name in state.local:
        return state.local[name]
    let = state.scope.variable(name)
    if id(let) not in state.lets:
        state.lets[id(let)] = evaluate(let.value, state.outside(let.scope))
    return state.lets[id(let)]


def _filtered(items: Items, predicates: tuple[Expression, ...], state: State) -> Items:
    return reduce(lambda left, predicate: state.dialect.chosen(left, predicate, state), predicates, items)


def _onward(items: Items, hop: Hop, state: State) -> Items:
    """Return what one more part of a path reaches."""
    if hop.deep:
        if not (isinstance(hop.to, Step) and hop.to.axis == "child" and isinstance(hop.to.test, NameTest)):
            raise NotColumnar("'//' before what is no name")
        for item in items.items:
            if isinstance(item, Node):
                read_below(item, state)
    reached = each(items, hop.to, state)
    return in_document_order(reached) if reached.items and isinstance(reached.items[0], Node) else reached


def each(items: Items, to: Expression, state: State) -> Items:
    """Return the values of an expression with each item as context item."""
    if len(items.items) > MAX_STEPS:
        raise NotColumnar("a step for each of many items")
    parts = [restricted(evaluate(to, state.at(item)), item.present) for item in items.items]
    result = joined([*parts, Items((), items.unsure)], exclusive=items.single)
    return replace(result, ordered=result.ordered and items.ordered)


@dataclass(frozen=True, slots=True, eq=False)
class CompiledTest:
    """A test that is evaluated over columns.

    Attributes
    ----------
    fields : frozenset of int
        Positions in the layout of the fields that it reads.
    """

    expression: Expression
    scope: ColumnScope
    fields: frozenset[int]
    _never: set[tuple[int, int]]

    def truth(self, batch: Batch) -> Truth:
        """Evaluate it in every record of a batch; records and cells that are odd may get any answer."""
        source = FieldSource(batch)
        # divisions by zero and the like are answers of IEEE, or unsure
        with np.errstate(all="ignore"):
            holds, unsure = holding(evaluate(self.expression, start(source, self.scope, self._never)), source)
        rows = (len(batch),)
        return Truth(np.broadcast_to(holds, rows), np.broadcast_to(unsure, rows))


def compile_test(test: str | Expression, scope: ColumnScope) -> CompiledTest:
    """Compile a test, as a text or as a part of one that was read, to its effective boolean value.

    Raises
    ------
    NotColumnar
        An engine has to evaluate it; the text says why.
    """
    expression, dry = _parsed(test, scope) if isinstance(test, str) else test, FieldSource(None)
    tried = start(dry, scope)
    with np.errstate(all="ignore"):
        holding(evaluate(expression, tried), dry)
    return CompiledTest(expression, scope, frozenset(dry.read), tried.never)


def compile_let(text: str, scope: ColumnScope) -> ScopedLet:
    """Compile the value of a variable, for `ColumnScope.bind`.

    Raises
    ------
    NotColumnar
        An engine has to evaluate it; the text says why.
    """
    expression = _parsed(text, scope)
    with np.errstate(all="ignore"):
        evaluate(expression, start(FieldSource(None), scope))
    return ScopedLet(expression, scope)


def _parsed(text: str, scope: ColumnScope) -> Expression:
    try:
        return parsed(text, scope.namespaces)
    except RulebookError as error:
        raise NotColumnar(f"the expression is not understood: {error}") from None
