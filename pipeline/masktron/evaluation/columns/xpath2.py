"""XPath 2 and later over a batch: functions, sequences, conditions, quantifiers, casts, items by position.

The version makes no difference, as the engine that decides has one for all.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import numpy as np

from masktron.evaluation.columns.comparisons import RELATIONS, by_value, general, holding
from masktron.evaluation.columns.decimal_bounds import settled
from masktron.evaluation.columns.expressions import (
    MAX_STEPS,
    NAMINGS,
    current_node,
    each,
    evaluate,
    name_of_node,
    refused,
)
from masktron.evaluation.columns.function_table import call
from masktron.evaluation.columns.items import (
    NO,
    YES,
    Bools,
    Double,
    Doubt,
    Exact,
    Integers,
    Item,
    Items,
    Node,
    NotColumnar,
    String,
    TruthValue,
    Untyped,
    boolean,
    constant_of,
    joined,
    literal,
    one,
    restricted,
    same_text,
    some,
    where,
)
from masktron.evaluation.columns.number_items import LIMIT, as_double, exact_of_text, is_numeric_form, untyped_exact
from masktron.evaluation.columns.state import Dialect, FieldSource, State
from masktron.evaluation.columns.string_items import as_text, at_most_one, atomized, merged, tested
from masktron.rulebook.expressions.tree import (
    GENERAL_OF_VALUE,
    Binding,
    Call,
    Comparison,
    Expression,
    If,
    Literal,
    Range,
    Sequence,
    SimpleMap,
    Typed,
)
from masktron.rulebook.expressions.words import STANDARD_NAMESPACES
from masktron.sources.columns import NumberForm
from masktron.sources.lexical import XML_SPACE

_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_DOUBLE = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|-?INF|NaN")


def cast(items: Items, target: str, source: FieldSource, *, optional: bool) -> Items:
    """Return a sequence of at most one item as another type.

    Parameters
    ----------
    target : str
        Local name of a type of XML Schema.
    optional : bool
        Whether the empty sequence is taken; else it is an error.
    """
    doubt = Doubt()
    parts = at_most_one(items, doubt)
    if not optional:
        doubt.add(some(items.count == 0))
    return Items(tuple(_cast(item, target, source, doubt) for item in parts), doubt.mask)


def _cast(item: Item, target: str, source: FieldSource, doubt: Doubt) -> Item:
    match target:
        case "string":
            return as_text(item, source, doubt)
        case "double":
            return as_double(item, source, doubt)
        case "decimal":
            return _decimal(item, source, doubt)
        case "integer":
            return _integer(item, source, doubt)
        case _:
            raise NotColumnar(f"the type xs:{target}")


def _decimal(item: Item, source: FieldSource, doubt: Doubt) -> Exact:
    match item:
        case Exact():
            return replace(item, integer=False)
        case Untyped():
            return untyped_exact(item, source, doubt, integer=False)
        case String():
            return exact_of_text(item, doubt, integer=False)
        case Double():
            whole = _truncated(item, doubt)
            doubt.add(some((whole.mantissa != item.value) & item.present))
            return Exact(item.present, whole.mantissa, 0, integer=False)
        case TruthValue():
            return Exact(item.present, item.holds.astype(np.int64), 0, integer=False)
        case _:
            raise NotColumnar("a node as a decimal")


def _integer(item: Item, source: FieldSource, doubt: Doubt) -> Exact:
    match item:
        case Exact():
            return _whole(item, doubt)
        case Untyped():
            return untyped_exact(item, source, doubt, integer=True)
        case String():
            return exact_of_text(item, doubt, integer=True)
        case Double():
            return _truncated(item, doubt)
        case TruthValue():
            return Exact(item.present, item.holds.astype(np.int64), 0, integer=True)
        case _:
            raise NotColumnar("a node as an integer")


def _whole(item: Exact, doubt: Doubt) -> Exact:
    if item.integer:
        return item
    settled(item, doubt)
    if item.scale == 0:
        return replace(item, integer=True)
    if item.scale > 18:
        doubt.add(item.present)
    sizes = np.abs(item.mantissa) // np.int64(10 ** min(item.scale, 18))
    return Exact(item.present, sizes * np.sign(item.mantissa), 0, integer=True)


def _truncated(item: Double, doubt: Doubt) -> Exact:
    lost = ~(np.abs(item.value) < float(LIMIT))
    doubt.add(some(lost & item.present))
    return Exact(item.present, np.where(lost, 0, np.trunc(item.value)).astype(np.int64), 0, integer=True)


def castable(items: Items, target: str, source: FieldSource, *, optional: bool) -> Items:
    """Return whether a sequence is one item (or none, if that is allowed) that can be cast to a type of numbers."""
    if target not in ("double", "decimal", "integer"):
        raise NotColumnar(f"castable as xs:{target}")
    doubt = Doubt(items.unsure)
    values = atomized(items)
    count = values.count
    holds = some(count == 0) if optional else NO
    for item in values.items:
        holds = holds | (item.present & (count == 1) & _castable(item, target, source, doubt))
    return boolean(holds, doubt.mask)


def _castable(item: Item, target: str, source: FieldSource, doubt: Doubt) -> Bools:
    match item:
        case Untyped():
            return _number_castable(item, target, source, doubt)
        case String():
            return _value_castable(item, target, source, doubt)
        case Double() if target != "double":
            return np.asarray(np.isfinite(item.value))
        case Node():
            raise NotColumnar("a node as a value")
        case _:
            return YES


def _number_castable(item: Untyped, target: str, source: FieldSource, doubt: Doubt) -> Bools:
    form = source.numbers(item.at).form
    plain = form == NumberForm.INTEGER if target == "integer" else is_numeric_form(form)
    other = some((form == NumberForm.OTHER) & item.present)
    if other is NO:
        return plain
    mine = Doubt()
    found = _value_castable(item, target, source, mine)
    doubt.add(some(mine.mask & other))
    return np.where(other, found, plain)


def _value_castable(item: Untyped | String, target: str, source: FieldSource, doubt: Doubt) -> Bools:
    text = as_text(item, source, doubt)
    return tested(lambda value: _reads_as(value.strip(XML_SPACE), target), text, doubt=doubt).holds


def _reads_as(text: str, target: str) -> bool | None:
    match target:
        case "double":
            return None if text == "+INF" else _DOUBLE.fullmatch(text) is not None
        case "decimal":
            return _DECIMAL.fullmatch(text) is not None
        case _:
            return _INTEGER.fullmatch(text) is not None


_SCHEMA = STANDARD_NAMESPACES["xs"]
_MAX_RANGE = 1024


def _other(expression: Expression, state: State) -> Items:  # noqa: PLR0911 -- one branch per construct
    match expression:
        case If():
            return _if(expression, state)
        case Binding(kind="some" | "every" as kind, bound=bound, body=body):
            every = kind == "every"
            hit, unsure = _witness(bound, body, state, every=every)
            return boolean(~hit if every else hit, unsure)
        case SimpleMap(items=items, to=to):
            return each(evaluate(items, state), to, state)
        case Sequence(items=items):
            return joined([evaluate(part, state) for part in items])
        case Range():
            return _range(expression, state)
        case Typed(kind="cast" | "castable"):
            return _typed(expression, state)
        case _:
            return refused(expression, state)


def _compare(sign: str, left: Items, right: Items, source: FieldSource) -> Items:
    if sign in RELATIONS:
        return general(sign, left, right, source)
    if sign in GENERAL_OF_VALUE:
        return by_value(GENERAL_OF_VALUE[sign], left, right, source)
    raise NotColumnar(f"'{sign}' has no evaluation over columns")


def _call(asked: Call, state: State) -> Items:
    name = asked.standard
    if name == "current" and not asked.arguments:
        return current_node(state)
    if not name and not (asked.space == _SCHEMA and len(asked.arguments) == 1):
        return refused(asked, state)
    arguments = tuple(evaluate(argument, state) for argument in asked.arguments)
    if not name:
        return cast(arguments[0], asked.name, state.source, optional=True)
    focus = None if state.focus is None else one(state.focus)
    if name in NAMINGS:
        return _name_of(name, arguments or (focus,), state)
    return call(name, arguments, focus, state.source)


def _name_of(function: str, arguments: tuple[Items | None, ...], state: State) -> Items:
    """``local-name()``, ``name()`` and ``namespace-uri()``; of no node it is the empty string."""
    nodes = arguments[0]
    if nodes is None or len(arguments) > 1:
        raise NotColumnar(f"{function}() without a node")
    doubt = Doubt(nodes.unsure)
    if not nodes.single:
        doubt.add(some(nodes.count > 1))
    texts = []
    for node in nodes.items:
        if not isinstance(node, Node):
            raise NotColumnar("a type error: a node is asked for")
        texts.append((node, name_of_node(function, node, state)))
    if len(texts) == 1 and texts[0][0].there is YES:
        return one(literal(texts[0][1]), doubt.mask)
    return one(merged([same_text(text, node.present) for node, text in texts]), doubt.mask)


def _if(expression: If, state: State) -> Items:
    holds, unsure = holding(evaluate(expression.condition, state), state.source)
    yes = restricted(evaluate(expression.then, state), holds)
    no = restricted(evaluate(expression.otherwise, state), ~holds)
    return joined([yes, no, Items((), unsure)], exclusive=True)


type _Bound = tuple[tuple[str, Expression], ...]


def _witness(bound: _Bound, body: Expression, state: State, *, every: bool) -> tuple[Bools, Bools]:
    """Return where some combination satisfies the condition, or, for ``every``, does not."""
    if not bound:
        holds, unsure = holding(evaluate(body, state), state.source)
        return (~holds if every else holds), unsure
    (name, domain), *rest = bound
    items = evaluate(domain, state)
    if len(items.items) > MAX_STEPS:
        raise NotColumnar("a quantifier over many items")
    found = NO
    doubt = Doubt(items.unsure)
    for item in items.items:
        hit, unsure = _witness(tuple(rest), body, state.bound(name, one(item)), every=every)
        found = found | (item.present & hit)
        if unsure is not NO:
            doubt.add(some(unsure & item.present))
    return found, doubt.mask


def _range(expression: Range, state: State) -> Items:
    values = []
    for end in (expression.low, expression.high):
        items = evaluate(end, state).items
        item = items[0] if len(items) == 1 else None
        value = constant_of(item) if isinstance(item, Exact) and item.integer else None
        if value is None:
            raise NotColumnar("a range that is not of integer literals")
        values.append(int(value))
    low, high = values
    if high - low >= _MAX_RANGE:
        raise NotColumnar("a long range")
    numbers = tuple(literal(k) for k in range(low, high + 1))
    return Items(numbers, single=len(numbers) < 2)


def _typed(expression: Typed, state: State) -> Items:
    kind = expression.type
    if kind.space != _SCHEMA:
        raise NotColumnar(f"the type '{kind.text}'")
    made = cast if expression.kind == "cast" else castable
    return made(evaluate(expression.operand, state), kind.local, state.source, optional=kind.occurrence == "?")


def _chosen(items: Items, condition: Expression, state: State) -> Items:
    match condition:
        case (
            Literal(value=int() as place)
            | Comparison(sign="=", left=Call(standard="position"), right=Literal(value=int() as place))
        ):
            return replace(_at(items, lambda position: position == place), single=True, ordered=True)
        case Call(standard="last"):
            count = items.count
            last = items if items.single else _at(items, lambda position: position == count)
            return replace(last, single=True, ordered=items.ordered or not items.single)
    if len(items.items) > MAX_STEPS:
        raise NotColumnar("a predicate on many items")
    kept: list[Item] = []
    doubt = Doubt(items.unsure)
    for item in items.items:
        value = evaluate(condition, state.at(item))
        if any(not isinstance(part, TruthValue | Node) for part in value.items):
            raise NotColumnar("a predicate that may be a position")
        holds, unsure = holding(value, state.source)
        if unsure is not NO:
            doubt.add(some(unsure & item.present))
        # where a name decides and not the record, the others do not count
        if len(value.items) != 1 or constant_of(value.items[0]) is not False:
            kept.append(where(item, holds))
    if not kept and items.items:
        kept = [where(items.items[0], NO)]
    few = len(kept) < 2
    return Items(tuple(kept), doubt.mask, items.single or few, items.ordered or few)


def _at(items: Items, wanted: Callable[[Integers], Bools]) -> Items:
    """Return the items at some positions, from 1."""
    if not items.ordered and not items.single:
        raise NotColumnar("the order of fields in a record")
    chosen = []
    before = np.zeros(1, dtype=np.int64)
    for item in items.items:
        chosen.append(where(item, wanted(before + 1)))
        before = before + item.present
    return Items(tuple(chosen), items.unsure, items.single, items.ordered or items.single)


def _constant(value: str | int | Decimal | float) -> Item:
    return literal(value)


def _operand(items: Items, source: FieldSource) -> Items:
    return items


XPATH2 = Dialect(
    typed=True,
    constant=_constant,
    operand=_operand,
    compare=_compare,
    call=_call,
    chosen=_chosen,
    other=_other,
)
