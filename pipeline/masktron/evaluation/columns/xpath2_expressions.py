"""Expressions of XPath 2 and later over a batch: a walk over the token tree, each step with a value for all records.

Nothing here depends on what the records say but the values themselves, so that an expression that can be evaluated on
no records at all can be evaluated on any.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from masktron.evaluation.columns.outcome import NotColumnar
from masktron.evaluation.columns.scope import DOCUMENT, Scope
from masktron.evaluation.columns.xpath2_arithmetic import arithmetic, negated
from masktron.evaluation.columns.xpath2_casts import cast, castable
from masktron.evaluation.columns.xpath2_compare import (
    GENERAL_OF_VALUE,
    RELATIONS,
    by_value,
    conjunction,
    disjunction,
    general,
    holding,
)
from masktron.evaluation.columns.xpath2_sequences import FUNCTION_NAMESPACE, call, nth
from masktron.evaluation.columns.xpath2_strings import concatenated
from masktron.evaluation.columns.xpath2_values import (
    NO,
    NOWHERE,
    RECORD,
    YES,
    Boolean,
    Bools,
    Doubt,
    Exact,
    Item,
    Items,
    Node,
    NodeKind,
    Source,
    boolean,
    constant_of,
    joined,
    literal,
    one,
    restricted,
    some,
    where,
)

_SCHEMA = "http://www.w3.org/2001/XMLSchema"
_MAX_STEPS = 256
_MAX_RANGE = 1024
_KIND_TESTS = ("text", "node", "element", "attribute", "comment", "processing-instruction", "document-node")
_MOST_NESTED = 60


@dataclass(frozen=True, slots=True)
class Let:
    """A variable of the rulebook: an expression in its own scope."""

    token: Any
    scope: Scope


@dataclass(frozen=True, slots=True)
class State:
    """What an expression is evaluated in.

    Attributes
    ----------
    focus : Items or None
        The context item; None where there is none that columns know.
    local : mapping of str to Items
        Variables that the expression itself binds.
    lets : dict
        Values of variables of the rulebook, by their `Let`, made once in a batch.
    """

    source: Source
    scope: Scope
    focus: Items | None
    local: Mapping[str, Items]
    lets: dict[int, Items]
    depth: int = 0

    def bound(self, name: str, value: Items) -> State:
        """Return the state with one more variable."""
        return replace(self, local=MappingProxyType({**self.local, name: value}))


def node_at(position: int | None, source: Source) -> Items | None:
    """Return the node of a focus."""
    if position == DOCUMENT:
        return None
    if position is None:
        return one(Node(YES, RECORD))
    return one(Node(source.present(position), position))


def start(source: Source, scope: Scope, lets: dict[int, Items]) -> State:
    """Return the state in which an expression of the rulebook is evaluated."""
    return State(source, scope, node_at(scope.focus, source), MappingProxyType({}), lets)


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
        return _current(state)
    return call(name, tuple(evaluate(t, state) for t in tokens), state.focus, state.source)


def _current(state: State) -> Items:
    node = node_at(state.scope.current, state.source)
    if node is None:
        raise NotColumnar("current() outside the records")
    return node


def _literal(token: Any, state: State) -> Items:
    value = token.value
    if not isinstance(value, str | int | float | Decimal):
        raise NotColumnar(f"the literal {value!r}")
    return one(literal(value))


def _focus(token: Any, state: State) -> Items:
    if state.focus is None:
        raise NotColumnar("the context item outside the records")
    return state.focus


def _prefixed(token: Any, state: State) -> Items:
    prefix, rest = str(token[0].value), token[1]
    uri = state.scope.uri(prefix)
    if rest.symbol == "(name)":
        if uri is None:
            raise NotColumnar(f"the prefix {prefix} is not declared")
        return _children(rest.value, uri, state, attribute=False)
    if uri == _SCHEMA and "constructor" in str(rest.label) and len(rest) == 1:
        return cast(evaluate(rest[0], state), rest.symbol, state.source, optional=True)
    if uri == FUNCTION_NAMESPACE and "function" in str(rest.label):
        return _function(rest.symbol, list(rest), state)
    raise NotColumnar(f"'{prefix}:{rest.symbol}'")


def _name(token: Any, state: State) -> Items:
    return _children(str(token.value), "", state, attribute=False)


def _expanded(token: Any, state: State) -> Items:
    return _children(str(token[1].value), str(token[0].value), state, attribute=False)


def _attribute(token: Any, state: State) -> Items:
    name, uri = _test(token[0], state)
    if name is None:
        return _all_fields(state, attribute=True)
    return _children(name, uri, state, attribute=True)


def _test(token: Any, state: State) -> tuple[str | None, str]:
    """Return the name and namespace that a name test asks for; None for the wildcard."""
    if token.symbol == "(name)":
        return str(token.value), ""
    if token.symbol == "*":
        return None, ""
    if token.symbol == "Q{":
        return str(token[1].value), str(token[0].value)
    if token.symbol == ":" and token[1].symbol == "(name)" and token[0].symbol == "(name)":
        uri = state.scope.uri(str(token[0].value))
        if uri is not None:
            return str(token[1].value), uri
    raise NotColumnar(f"the test '{token.source}'")


def _here(state: State) -> tuple[Node, Items]:
    """Return the node that a step starts from."""
    if state.focus is None or len(state.focus.items) != 1:
        raise NotColumnar("a step from outside the records")
    item = state.focus.items[0]
    if not isinstance(item, Node):
        raise NotColumnar("a type error: a step from a value")
    return item, state.focus


def _children(name: str, uri: str, state: State, *, attribute: bool) -> Items:
    node, focus = _here(state)
    at = state.scope.field(name, uri, attribute=attribute) if node.at == RECORD else None
    if at is None:
        return _no_node(focus)
    return Items((where(Node(state.source.present(at), at), node.present),), focus.unsure)


def _no_node(focus: Items) -> Items:
    """Return a node that no record has: what is made of it has a type all the same."""
    return Items((Node(NO, NOWHERE),), focus.unsure)


def _all_fields(state: State, *, attribute: bool) -> Items:
    node, focus = _here(state)
    if node.at != RECORD:
        return _no_node(focus)
    fields = [k for k, field in enumerate(state.scope.layout.fields) if field.attribute == attribute]
    items = tuple(where(Node(state.source.present(at), at), node.present) for at in fields)
    return Items(items, focus.unsure, single=len(items) < 2, ordered=len(items) < 2) if items else _no_node(focus)


def _wildcard(token: Any, state: State) -> Items:
    if len(token):
        return _binary(token, state)
    return _all_fields(state, attribute=False)


def _child(token: Any, state: State) -> Items:
    if token[0].symbol == "text":
        return _text(token[0], state)
    name, uri = _test(token[0], state)
    return _all_fields(state, attribute=False) if name is None else _children(name, uri, state, attribute=False)


def _text(token: Any, state: State) -> Items:
    node, focus = _here(state)
    if node.at == RECORD:
        raise NotColumnar("text() of a record")
    if node.at == NOWHERE or node.kind is NodeKind.TEXT or state.scope.layout.fields[node.at].attribute:
        return _no_node(focus)
    filled = Node(state.source.filled(node.at), node.at, NodeKind.TEXT)
    return Items((where(filled, node.present),), focus.unsure)


def _self(token: Any, state: State) -> Items:
    node, focus = _here(state)
    test = token[0]
    if test.symbol == "node" and not len(test):
        return focus
    name, uri = _test(test, state)
    if node.at == RECORD or node.kind is NodeKind.TEXT:
        raise NotColumnar("self:: of the record")
    if node.at == NOWHERE:
        return focus
    field = state.scope.layout.fields[node.at]
    tag = f"{{{uri}}}{name}" if uri else name
    # the axis knows elements; an attribute is never what a name test there asks for
    meant = not field.attribute and (name is None or field.tag == tag)
    return focus if meant else _no_node(focus)


def _parent(token: Any, state: State) -> Items:
    node, focus = _here(state)
    if len(token) and not (token[0].symbol in ("node", "*") and not len(token[0])):
        raise NotColumnar("a name on the axis parent")
    if node.at == RECORD:
        raise NotColumnar("the parent of the record")
    if node.kind is NodeKind.TEXT:
        return Items((where(Node(YES, node.at), node.present),), focus.unsure)
    return Items((where(Node(YES, RECORD), node.present),), focus.unsure)


def _path(token: Any, state: State) -> Items:
    if len(token) != 2:
        raise NotColumnar("an absolute path")
    steps = _each(evaluate(token[0], state), token[1], state)
    if not steps.items or not isinstance(steps.items[0], Node):
        return steps
    return _in_document_order(steps)


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


def _in_document_order(items: Items) -> Items:
    """Return nodes without repetition; how they follow each other in the record is not known."""
    nodes: dict[tuple[int, NodeKind], Node] = {}
    for item in items.items:
        if not isinstance(item, Node):
            raise NotColumnar("a type error: nodes and values together")
        earlier = nodes.get((item.at, item.kind))
        present = item.present if earlier is None else earlier.present | item.present
        nodes[item.at, item.kind] = Node(present, item.at, item.kind)
    few = len(nodes) < 2
    return Items(tuple(nodes.values()), items.unsure, items.single or few, items.single or few)


def _union(token: Any, state: State) -> Items:
    return _in_document_order(joined([evaluate(token[0], state), evaluate(token[1], state)]))


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
    name = str(token[0].value)
    if name in state.local:
        return state.local[name]
    let = state.scope.variable(name)
    if not isinstance(let, Let):
        raise NotColumnar(f"${name}")
    if id(let) not in state.lets:
        inner = replace(start(state.source, let.scope, state.lets), depth=state.depth)
        state.lets[id(let)] = evaluate(let.token, inner)
    return state.lets[id(let)]


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
    items = evaluate(token[0], state)
    condition = token[1]
    position = _constant_position(condition, state)
    if position is not None:
        return nth(items, position)
    if len(items.items) > _MAX_STEPS:
        raise NotColumnar("a predicate on many items")
    kept: list[Item] = []
    doubt = Doubt(items.unsure)
    for item in items.items:
        value = evaluate(condition, replace(state, focus=one(item)))
        if any(not isinstance(part, Boolean | Node) for part in value.items):
            raise NotColumnar("a predicate that may be a position")
        holds, unsure = holding(value, state.source)
        kept.append(where(item, holds))
        if unsure is not NO:
            doubt.add(some(unsure & item.present))
    return replace(items, items=tuple(kept), unsure=doubt.mask)


def _constant_position(token: Any, state: State) -> int | None:
    return token.value if token.symbol == "(integer)" else None


def _type_name(token: Any, state: State) -> tuple[str, bool]:
    if token.symbol != ":" or state.scope.uri(str(token[0].value)) != _SCHEMA:
        raise NotColumnar(f"the type '{token.source}'")
    return str(token[1].value), token.occurrence == "?"


def _cast(token: Any, state: State) -> Items:
    target, optional = _type_name(token[1], state)
    return cast(evaluate(token[0], state), target, state.source, optional=optional)


def _castable(token: Any, state: State) -> Items:
    target, optional = _type_name(token[1], state)
    return castable(evaluate(token[0], state), target, state.source, optional=optional)


def _concatenated(token: Any, state: State) -> Items:
    return concatenated((evaluate(token[0], state), evaluate(token[1], state)), state.source)


def _arrow(token: Any, state: State) -> Items:
    function = token[1]
    if function.symbol == ":" and state.scope.uri(str(function[0].value)) == FUNCTION_NAMESPACE:
        function = function[1]
    if "function" not in str(function.label) or function.symbol == "current" or len(token) != 3:
        raise NotColumnar("an arrow to what is no function of the standard")
    more = token[2]
    others = [] if not len(more) else list(more[0]) if more[0].symbol == "," else [more[0]]
    arguments = (evaluate(token[0], state), *(evaluate(t, state) for t in others))
    return call(function.symbol, arguments, state.focus, state.source)


_FORMS: Mapping[str, Callable[[Any, State], Items]] = MappingProxyType(
    {
        "(string)": _literal,
        "(integer)": _literal,
        "(decimal)": _literal,
        "(float)": _literal,
        "(name)": _name,
        "Q{": _expanded,
        ":": _prefixed,
        ".": _focus,
        "..": _parent,
        "parent": _parent,
        "@": _attribute,
        "attribute": _attribute,
        "child": _child,
        "self": _self,
        "text": _text,
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
        "||": _concatenated,
        "=>": _arrow,
    }
)
