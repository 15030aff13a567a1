"""XPath 2 and later over a batch: functions, sequences, conditions, quantifiers, items by position.

The version makes no difference, as the engine that decides has one for all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from masktron.judge.columns.comparisons import by_value, general, holding
from masktron.judge.columns.expressions import (
    MAX_STEPS,
    called,
    each,
    evaluate,
    name_of_node,
    refused,
)
from masktron.judge.columns.items import (
    NO,
    YES,
    Bools,
    Doubt,
    Integers,
    Item,
    Items,
    Node,
    NotColumnar,
    TruthValue,
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
from masktron.judge.columns.state import Dialect, FieldSource, State
from masktron.judge.columns.string_items import merged
from masktron.judge.columns.xpath2_functions import CONVERTED, FUNCTIONS2, cast
from masktron.rulebook.expressions.tree import (
    GENERAL_OF_VALUE,
    RELATIONS,
    Binding,
    Call,
    Comparison,
    Expression,
    If,
    Literal,
    Sequence,
    SimpleMap,
)
from masktron.rulebook.expressions.words import STANDARD_NAMESPACES

_SCHEMA = STANDARD_NAMESPACES["xs"]


def _other(expression: Expression, state: State) -> Items:
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
        case _:
            return refused(expression, state)


def _compare(sign: str, left: Items, right: Items, source: FieldSource) -> Items:
    if sign in RELATIONS:
        return general(sign, left, right, source)
    if sign in GENERAL_OF_VALUE:
        return by_value(GENERAL_OF_VALUE[sign], left, right, source)
    raise NotColumnar(f"'{sign}' has no evaluation over columns")


def _call(asked: Call, state: State) -> Items:
    if asked.standard:
        return called(asked.standard, asked.arguments, state)
    if asked.space != _SCHEMA or len(asked.arguments) != 1:
        return refused(asked, state)
    return cast(evaluate(asked.arguments[0], state), asked.name, state.source)


def _name_of(function: str, nodes: Items, state: State) -> Items:
    """``local-name()``, ``name()`` and ``namespace-uri()``; of no node it is the empty string."""
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


XPATH2 = Dialect(
    typed=True,
    functions=FUNCTIONS2,
    converted=CONVERTED,
    named=_name_of,
    constant=literal,
    compare=_compare,
    call=_call,
    chosen=_chosen,
    other=_other,
)
