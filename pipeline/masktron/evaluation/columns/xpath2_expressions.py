"""Expressions of XPath 2 and later over a batch: a walk over the token tree, each step with a value for all records.

Nothing here depends on what the records say but the values themselves, so that an expression that can be evaluated on
no records at all can be evaluated on any.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from masktron.errors import RulebookError
from masktron.evaluation.columns.comparisons import (
    GENERAL_OF_VALUE,
    RELATIONS,
    by_value,
    conjunction,
    disjunction,
    general,
    holding,
)
from masktron.evaluation.columns.dialect import Dialect
from masktron.evaluation.columns.function_table import call
from masktron.evaluation.columns.items import (
    NO,
    Bools,
    Doubt,
    Exact,
    Item,
    Items,
    Node,
    TruthValue,
    boolean,
    constant_of,
    in_document_order,
    joined,
    literal,
    one,
    restricted,
    some,
    where,
)
from masktron.evaluation.columns.node_names import NAMINGS, name_of
from masktron.evaluation.columns.operators import arithmetic, negated
from masktron.evaluation.columns.outcome import NotColumnar
from masktron.evaluation.columns.scope import ColumnScope
from masktron.evaluation.columns.state import State, variable
from masktron.evaluation.columns.xpath2_casts import cast, castable
from masktron.evaluation.columns.xpath2_steps import (
    all_fields,
    at_position,
    at_the_end,
    attribute_step,
    child_step,
    children,
    context_item,
    current_node,
    named,
    namespace_of,
    parent_node,
    self_node,
    text_node,
)
from masktron.xpath.namespaces import FUNCTIONS_NAMESPACE, STANDARD_NAMESPACES
from masktron.xpath.tokens import parse

_SCHEMA = STANDARD_NAMESPACES["xs"]
_MAX_STEPS = 256
_MAX_RANGE = 1024
_KIND_TESTS = ("text", "node", "element", "attribute", "comment", "processing-instruction", "document-node")
_MOST_NESTED = 60


def evaluate(token: Any, state: State) -> Items:
    """Return the value of an expression in all records.

    Raises
    ------
    NotColumnar
        An engine has to evaluate it.
    """
    if state.depth > _MOST_NESTED:
        raise NotColumnar("an expression that is nested deeply")
    inner = replace(state, depth=state.depth + 1)
    symbol = token.symbol
    if symbol in _FORMS:
        return _FORMS[symbol](token, inner)
    if symbol in RELATIONS:
        return general(symbol, evaluate(token[0], inner), evaluate(token[1], inner), inner.source)
    if symbol in GENERAL_OF_VALUE:
        sign = GENERAL_OF_VALUE[symbol]
        return by_value(sign, evaluate(token[0], inner), evaluate(token[1], inner), inner.source)
    if "function" in str(token.label) and symbol not in _KIND_TESTS:
        return _function(symbol, list(token), inner)
    raise NotColumnar(f"'{symbol}'")


def _function(name: str, tokens: list[Any], state: State) -> Items:
    if name == "current" and not tokens:
        return current_node(state)
    if name in NAMINGS:
        return name_of(name, [evaluate(t, state) for t in tokens], state)
    return call(name, tuple(evaluate(t, state) for t in tokens), state.focus, state.source)


def _literal(token: Any, state: State) -> Items:
    value = token.value
    if not isinstance(value, str | int | float | Decimal):
        raise NotColumnar(f"the literal {value!r}")
    return one(literal(value))


def _prefixed(token: Any, state: State) -> Items:
    prefix, rest = str(token[0].value), token[1]
    uri = namespace_of(prefix, state.scope)
    if rest.symbol == "(name)":
        if uri is None:
            raise NotColumnar(f"the prefix {prefix} is not declared")
        return children(rest.value, uri, state, attribute=False)
    if uri == _SCHEMA and "constructor" in str(rest.label) and len(rest) == 1:
        return cast(evaluate(rest[0], state), rest.symbol, state.source, optional=True)
    if uri == FUNCTIONS_NAMESPACE and "function" in str(rest.label):
        return _function(rest.symbol, list(rest), state)
    raise NotColumnar(f"'{prefix}:{rest.symbol}'")


def _wildcard(token: Any, state: State) -> Items:
    if len(token):
        return _binary(token, state)
    return all_fields(state, attribute=False)


def _path(token: Any, state: State) -> Items:
    if len(token) != 2:
        raise NotColumnar("an absolute path")
    steps = _each(evaluate(token[0], state), token[1], state)
    if not steps.items or not isinstance(steps.items[0], Node):
        return steps
    return in_document_order(steps)


def _mapped(token: Any, state: State) -> Items:
    return _each(evaluate(token[0], state), token[1], state)


def _each(items: Items, token: Any, state: State) -> Items:
    """Return the values of an expression with each item as context item."""
    if len(items.items) > _MAX_STEPS:
        raise NotColumnar("a step for each of many items")
    parts = [restricted(evaluate(token, replace(state, focus=one(item))), item.present) for item in items.items]
    return _loop(items, parts)


def _loop(items: Items, parts: list[Items]) -> Items:
    result = joined([*parts, Items((), items.unsure)], exclusive=items.single)
    return replace(result, ordered=result.ordered and items.ordered)


def _union(token: Any, state: State) -> Items:
    return in_document_order(joined([evaluate(token[0], state), evaluate(token[1], state)]))


def _binary(token: Any, state: State) -> Items:
    if len(token) == 1:
        operand = evaluate(token[0], state)
        once = negated(operand, state.source)
        return once if token.symbol == "-" else negated(once, state.source)
    return arithmetic(token.symbol, evaluate(token[0], state), evaluate(token[1], state), state.source)


def _and(token: Any, state: State) -> Items:
    return conjunction(evaluate(token[0], state), evaluate(token[1], state), state.source)


def _or(token: Any, state: State) -> Items:
    return disjunction(evaluate(token[0], state), evaluate(token[1], state), state.source)


def _if(token: Any, state: State) -> Items:
    holds, unsure = holding(evaluate(token[0], state), state.source)
    yes = restricted(evaluate(token[1], state), holds)
    no = restricted(evaluate(token[2], state), ~holds)
    return joined([yes, no, Items((), unsure)], exclusive=True)


def _bindings(token: Any) -> list[tuple[str, Any]]:
    parts = list(token)[:-1]
    return [(str(parts[k][0].value), parts[k + 1]) for k in range(0, len(parts), 2)]


def _for(token: Any, state: State) -> Items:
    return _looped(_bindings(token), token[-1], state)


def _looped(bindings: list[tuple[str, Any]], body: Any, state: State) -> Items:
    if not bindings:
        return evaluate(body, state)
    (name, domain), *rest = bindings
    items = evaluate(domain, state)
    if len(items.items) > _MAX_STEPS:
        raise NotColumnar("a loop over many items")
    parts = [restricted(_looped(rest, body, state.bound(name, one(item))), item.present) for item in items.items]
    return _loop(items, parts)


def _quantified(token: Any, state: State) -> Items:
    every = token.symbol == "every"
    hit, unsure = _witness(_bindings(token), token[-1], state, every=every)
    return boolean(~hit if every else hit, unsure)


def _witness(bindings: list[tuple[str, Any]], body: Any, state: State, *, every: bool) -> tuple[Bools, Bools]:
    """Return where some combination satisfies the condition, or, for ``every``, does not."""
    if not bindings:
        holds, unsure = holding(evaluate(body, state), state.source)
        return (~holds if every else holds), unsure
    (name, domain), *rest = bindings
    items = evaluate(domain, state)
    if len(items.items) > _MAX_STEPS:
        raise NotColumnar("a quantifier over many items")
    found = NO
    doubt = Doubt(items.unsure)
    for item in items.items:
        hit, unsure = _witness(rest, body, state.bound(name, one(item)), every=every)
        found = found | (item.present & hit)
        if unsure is not NO:
            doubt.add(some(unsure & item.present))
    return found, doubt.mask


def _let(token: Any, state: State) -> Items:
    doubt = Doubt()
    for name, value in _bindings(token):
        bound = evaluate(value, state)
        # engines are free to evaluate a variable that no branch needs
        doubt.add(bound.unsure)
        state = state.bound(name, bound)
    result = evaluate(token[-1], state)
    return joined([result, Items((), doubt.mask)])


def _variable(token: Any, state: State) -> Items:
    if token[0].symbol != "(name)":
        raise NotColumnar("a variable with a prefix")
    return variable(str(token[0].value), state, evaluate)


def _comma(token: Any, state: State) -> Items:
    return joined([evaluate(part, state) for part in token])


def _parenthesis(token: Any, state: State) -> Items:
    if not len(token):
        return Items()
    return evaluate(token[0], state)


def _range(token: Any, state: State) -> Items:
    ends = [evaluate(part, state) for part in token]
    values = []
    for end in ends:
        item = end.items[0] if len(end.items) == 1 else None
        value = constant_of(item) if isinstance(item, Exact) and item.integer else None
        if value is None:
            raise NotColumnar("a range that is not of integer literals")
        values.append(int(value))
    if values[1] - values[0] >= _MAX_RANGE:
        raise NotColumnar("a long range")
    items = tuple(literal(k) for k in range(values[0], values[1] + 1))
    return Items(items, single=len(items) < 2)


def _predicate(token: Any, state: State) -> Items:
    if token.label == "array":
        raise NotColumnar("an array")
    items = evaluate(token[0], state)
    condition = token[1]
    position = _constant_position(condition)
    if position is not None:
        return at_position(items, position)
    if condition.symbol == "last" and not len(condition):
        return at_the_end(items)
    if len(items.items) > _MAX_STEPS:
        raise NotColumnar("a predicate on many items")
    kept: list[Item] = []
    doubt = Doubt(items.unsure)
    for item in items.items:
        value = evaluate(condition, replace(state, focus=one(item)))
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


def _constant_position(token: Any) -> int | None:
    """Return the position that ``[2]`` and ``[position() = 2]`` ask for."""
    if token.symbol == "=" and token[0].symbol == "position" and not len(token[0]):
        token = token[1]
    return int(token.value) if token.symbol == "(integer)" else None


def _type_name(token: Any, state: State) -> tuple[str, bool]:
    if token.symbol != ":" or namespace_of(str(token[0].value), state.scope) != _SCHEMA:
        raise NotColumnar(f"the type '{token.source}'")
    return str(token[1].value), token.occurrence == "?"


def _cast(token: Any, state: State) -> Items:
    target, optional = _type_name(token[1], state)
    return cast(evaluate(token[0], state), target, state.source, optional=optional)


def _castable(token: Any, state: State) -> Items:
    target, optional = _type_name(token[1], state)
    return castable(evaluate(token[0], state), target, state.source, optional=optional)


_FORMS: Mapping[str, Callable[[Any, State], Items]] = MappingProxyType(
    {
        "(string)": _literal,
        "(integer)": _literal,
        "(decimal)": _literal,
        "(float)": _literal,
        "(name)": named,
        ":": _prefixed,
        ".": context_item,
        "..": parent_node,
        "parent": parent_node,
        "@": attribute_step,
        "attribute": attribute_step,
        "child": child_step,
        "self": self_node,
        "text": text_node,
        "/": _path,
        "!": _mapped,
        "|": _union,
        "union": _union,
        "*": _wildcard,
        "+": _binary,
        "-": _binary,
        "div": _binary,
        "idiv": _binary,
        "mod": _binary,
        "and": _and,
        "or": _or,
        "if": _if,
        "for": _for,
        "some": _quantified,
        "every": _quantified,
        "let": _let,
        "$": _variable,
        ",": _comma,
        "(": _parenthesis,
        "to": _range,
        "[": _predicate,
        "cast": _cast,
        "castable": _castable,
    }
)


_STANDARD = tuple((prefix, STANDARD_NAMESPACES[prefix]) for prefix in ("xs", "fn", "math"))


def _parsed(source: str, scope: ColumnScope) -> Any:
    try:
        return parse(source, dict((*_STANDARD, *scope.namespaces)))
    except RulebookError as error:
        raise NotColumnar(f"the expression cannot be read: {error}") from None


XPATH2 = Dialect(_parsed, evaluate)
"""The version makes no difference, as the engine that decides has one for all."""
