"""Translation of XPath expressions to the tree of `masktron.xpath.ir`.

The translation knows the node in focus: the record, one of its fields, the document root, or nodes of other records.
A path is followed step by step from there; a step that leads where the tree cannot follow makes the whole path
`Unknown`, with its source and the fields that it names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from typing import Any, cast

from elementpath.xpath_tokens import XPathFunction

from masktron.errors import RulebookError
from masktron.xpath.focus import (
    OUTSIDE_AXES,
    ROOT,
    Scope,
    axis_of,
    is_filter,
    is_wildcard,
    name_test,
    predicates_of,
    spine,
    unknown,
)
from masktron.xpath.ir import (
    And,
    Arithmetic,
    ArithmeticOperator,
    Boolean,
    Call,
    Cast,
    Castable,
    Comparison,
    ComparisonOperator,
    ContextRecord,
    Expression,
    FieldRef,
    If,
    Negative,
    Not,
    Number,
    Or,
    OtherDocument,
    OtherField,
    OtherNodes,
    Quantified,
    Sequence,
    Span,
    Text,
    Unknown,
    VariableReference,
)
from masktron.xpath.namespaces import FUNCTIONS_NAMESPACE
from masktron.xpath.tokens import parse

__all__ = ["ROOT", "Scope", "translate", "translate_token"]

_GENERAL: tuple[ComparisonOperator, ...] = ("=", "!=", "<", "<=", ">", ">=")
_COMPARISONS: Mapping[str, tuple[ComparisonOperator, bool]] = {
    **{symbol: (symbol, True) for symbol in _GENERAL},
    **{name: (symbol, False) for name, symbol in zip(("eq", "ne", "lt", "le", "gt", "ge"), _GENERAL, strict=True)},
}
_MAX_CASES = 4096


def translate(source: str, scope: Scope) -> Expression:
    """Parse an XPath expression and say what it reads and asks.

    Parameters
    ----------
    source : str
    scope : Scope

    Raises
    ------
    RulebookError
        The expression is not XPath, or nested too deeply.
    """
    token = parse(source, scope.namespaces)
    try:
        return translate_token(token, scope)
    except RecursionError as error:
        shown = repr(f"{source.strip()[:60]} ...")
        raise RulebookError.of("xpath-error", expression=shown, reason="it is nested too deeply") from error


def translate_token(token: Any, scope: Scope) -> Expression:
    """Translate a token of elementpath; what has no translation becomes `Unknown`."""
    found = _dispatch(token, scope)
    return unknown(token, scope) if found is None else found


def _dispatch(token: Any, scope: Scope) -> Expression | None:
    symbol = token.symbol
    if symbol in _COMPARISONS:
        operator, general = _COMPARISONS[symbol]
        left, right = (translate_token(part, scope) for part in token)
        return Comparison(operator, left, right, general)
    if handler := _HANDLERS.get(symbol):
        return handler(token, scope)
    if isinstance(token, XPathFunction) and token.label == "function":
        return _call(symbol, token, scope)
    return _path(token, scope)


def _connective(build: Callable[[tuple[Expression, ...]], Expression]) -> Callable[[Any, Scope], Expression]:
    return lambda token, scope: build(tuple(translate_token(part, scope) for part in spine(token, token.symbol)))


def _arithmetic(token: Any, scope: Scope) -> Expression | None:
    if token.label == "wildcard symbol":
        return None
    if len(token) == 1:
        operand = translate_token(token[0], scope)
        return Negative(operand) if token.symbol == "-" else operand
    parts = [translate_token(part, scope) for part in spine(token, token.symbol)]
    result = parts[0]
    for part in parts[1:]:
        result = Arithmetic(cast(ArithmeticOperator, token.symbol), result, part)
    return result


def _literal(token: Any, _: Scope) -> Expression | None:
    value = token.value
    if isinstance(value, str):
        return Text(value)
    if isinstance(value, float):
        return Number(Fraction(repr(value))) if isfinite(value) else None
    return Number(Fraction(value)) if isinstance(value, int | Decimal) else None


def _parentheses(token: Any, scope: Scope) -> Expression | None:
    if not len(token):
        return Sequence(())
    return translate_token(token[0], scope) if len(token) == 1 else None


def _comma(token: Any, scope: Scope) -> Expression:
    return Sequence(_flat(translate_token(part, scope) for part in spine(token, ",")))


def _flat(parts: Any) -> tuple[Expression, ...]:
    items: list[Expression] = []
    for part in parts:
        items.extend(part.items if isinstance(part, Sequence) else (part,))
    return tuple(items)


def _union(token: Any, scope: Scope) -> Expression | None:
    items = _flat(translate_token(part, scope) for part in spine(token, token.symbol))
    beside = {item.field for item in items if isinstance(item, OtherNodes) and item.field is not None}
    if not all(isinstance(item, FieldRef) for item in items) and len(beside) < len(items):
        return None
    return Sequence(tuple(dict.fromkeys(items)), union=True)


def _variable(token: Any, scope: Scope) -> Expression:
    name = str(token.value)
    return scope.variables.get(name, VariableReference(name))


def _prefixed(token: Any, scope: Scope) -> Expression | None:
    inner = token[1]
    if inner.label == "constructor function":
        return Cast(inner.symbol, translate_token(inner[0], scope)) if len(inner) == 1 else None
    if isinstance(inner, XPathFunction):
        prefix = str(token[0].value)
        name = inner.symbol if inner.namespace == FUNCTIONS_NAMESPACE else f"{prefix}:{inner.symbol}"
        return _call(name, inner, scope)
    return _path(token, scope)


def _call(name: str, token: Any, scope: Scope) -> Expression | None:  # noqa: PLR0911 -- one per function
    arguments = tuple(translate_token(part, scope) for part in token)
    match name, arguments:
        case (("true" | "false"), ()):
            return Boolean(name == "true")
        case "not", (operand,):
            return Not(operand)
        case "current", ():
            return scope.base
        case (("document" | "doc"), (Text(value=uri), *_)):
            return OtherDocument(uri)
        case (("number" | "string" | "normalize-space" | "string-length" | "data"), ()):
            return Call(name, (scope.focus,)) if isinstance(scope.focus, FieldRef | OtherField) else None
        case (("position" | "last" | "name" | "local-name" | "node-name" | "root" | "key" | "collection"), _):
            return None
        case (("document" | "doc"), _):
            return None
        case _:
            return Call(name, arguments)


def _if(token: Any, scope: Scope) -> Expression:
    condition, then, otherwise = (translate_token(part, scope) for part in token)
    return If(condition, then, otherwise)


def _cast(token: Any, scope: Scope) -> Expression | None:
    target = token[1]
    if target.symbol != ":" or str(target[0].value) != "xs":
        return None
    name, operand = str(target[1].value), translate_token(token[0], scope)
    return Castable(name, operand, target.occurrence == "?") if token.symbol == "castable" else Cast(name, operand)


def _span(token: Any, scope: Scope) -> Expression:
    return Span(translate_token(token[0], scope), translate_token(token[1], scope))


def _items(expression: Expression) -> tuple[Expression, ...] | None:
    """Items of an explicit sequence; None where they are not known."""
    match expression:
        case Sequence(items=items):
            return items
        case Span(low=Number(value=low), high=Number(value=high)) if high - low < _MAX_CASES:
            return tuple(Number(Fraction(value)) for value in range(int(low), int(high) + 1))
        case Span() | Unknown() | VariableReference():
            return None
        case _:
            return (expression,)


def _bindings(token: Any, scope: Scope) -> list[tuple[tuple[Expression, ...], Scope]] | None:
    """Every combination of the values of the range variables, with the scope that it makes."""
    parts = list(token)[:-1]
    combinations: list[tuple[tuple[Expression, ...], Scope]] = [((), scope)]
    for variable, domain in zip(parts[::2], parts[1::2], strict=True):
        grown = []
        for values, inner in combinations:
            items = _items(translate_token(domain, inner))
            if items is None or len(combinations) * len(items) > _MAX_CASES:
                return None
            grown += [((*values, item), inner.bind(str(variable.value), item)) for item in items]
        combinations = grown
    return combinations


def _quantified(token: Any, scope: Scope) -> Expression | None:
    combinations = _bindings(token, scope)
    if combinations is None:
        return None
    every = token.symbol == "every"
    cases = []
    for values, inner in combinations:
        body = translate_token(token[len(token) - 1], inner)
        for extra in values[:0:-1]:
            body = Quantified(every, ((extra, body),))
        cases.append((values[0], body))
    return Quantified(every, tuple(cases))


def _for(token: Any, scope: Scope) -> Expression | None:
    combinations = _bindings(token, scope)
    if combinations is None or any(not isinstance(v, Number | Text) for values, _ in combinations for v in values):
        return None
    return Sequence(_flat(translate_token(token[len(token) - 1], inner) for _, inner in combinations))


def _let(token: Any, scope: Scope) -> Expression:
    parts = list(token)
    for variable, value in zip(parts[:-1:2], parts[1:-1:2], strict=True):
        scope = scope.bind(str(variable.value), translate_token(value, scope))
    return translate_token(parts[-1], scope)


def _map(token: Any, scope: Scope) -> Expression | None:
    left = translate_token(token[0], scope)
    return _from_each(left, token[1], scope) if isinstance(left, FieldRef | ContextRecord) else None


def _from_each(node: FieldRef | ContextRecord, token: Any, scope: Scope) -> Expression:
    """``A/f()`` and ``A ! (...)``: from a field that may not be there, the empty sequence where it is not."""
    found = translate_token(token, scope.at(node))
    if isinstance(node, ContextRecord) or node in (scope.focus, scope.base, found):
        return found
    return If(Call("exists", (node,)), found, Sequence(()))


def _arrow(token: Any, scope: Scope) -> Expression | None:
    function, arguments = token[1], token[2]
    if not isinstance(function, XPathFunction) or function.label != "function":
        return None
    rest = _flat((_parentheses(arguments, scope) or Sequence(()),)) if len(arguments) else ()
    return Call(function.symbol, (translate_token(token[0], scope), *rest))


def _concatenation(token: Any, scope: Scope) -> Expression:
    return Call("concat", tuple(translate_token(part, scope) for part in spine(token, "||")))


def _treat(token: Any, scope: Scope) -> Expression:
    return translate_token(token[0], scope)


# --- paths ------------------------------------------------------------------------------------------------------


def _path(token: Any, scope: Scope) -> Expression | None:
    """Follow a path from the focus, or from the document."""
    steps: list[tuple[str, Any]] = []
    while token.symbol in ("/", "//") and len(token) == 2:
        steps.append((token.symbol, token[1]))
        token = token[0]
    if token.symbol in ("/", "//"):
        if len(token):
            steps.append((token.symbol, token[0]))
        node: Expression | None = ROOT
    else:
        node = _head(token, scope)
    for separator, step in reversed(steps):
        if node is None:
            return None
        node = _step(node, separator, step, scope)
    return node


def _head(token: Any, scope: Scope) -> Expression | None:
    inner = token
    while is_filter(inner):
        inner = inner[0]
    if inner.symbol in ("$", "(") or (isinstance(inner, XPathFunction) and inner.label == "function"):
        return translate_token(inner, scope) if inner is token else _filtered(token, inner, scope)
    return _step(scope.focus, "/", token, scope)


def _filtered(token: Any, inner: Any, scope: Scope) -> Expression | None:
    """``(path)[predicate]`` or ``$nodes[predicate]``, on nodes outside the record."""
    node = translate_token(inner, scope)
    if not isinstance(node, OtherNodes):
        return None
    where = tuple(translate_token(p, scope.at(OtherField("."))) for p in predicates_of(token)[1])
    return replace(node, source=str(token.source), where=(*node.where, *where))


def _step(node: Expression, separator: str, token: Any, scope: Scope) -> Expression | None:
    test, predicates = predicates_of(token)
    axis, test = axis_of(test)
    match node:
        case ContextRecord():
            return _from_record(axis, test, predicates, token, scope)
        case FieldRef():
            return None if predicates else _from_field(node, axis, test, scope)
        case OtherField(name="."):
            return _other_field(axis, test) if not predicates else None
        case OtherDocument(uri=uri):
            return _extend(OtherNodes(f"document('{uri}')", uri, "", None), separator, token, test, predicates, scope)
        case OtherNodes():
            return _extend(node, separator, token, test, predicates, scope)
        case _:
            return None


def _named(axis: str, test: Any) -> FieldRef | None:
    """Read a name test; None where it is a wildcard or a kind of node."""
    name, namespace = name_test(test)
    if name is None or name == "*":
        return None
    return FieldRef(f"@{name}" if axis == "attribute" else name, namespace)


def _from_record(axis: str, test: Any, predicates: list[Any], token: Any, scope: Scope) -> Expression | None:
    if axis == "self":
        return None if predicates else ContextRecord()
    if axis == "parent" or axis in OUTSIDE_AXES:
        where = tuple(translate_token(predicate, scope.at(OtherField("."))) for predicate in predicates)
        path = str(predicates_of(token)[0].source)
        return OtherNodes(str(token.source), None, path, _outside_field(test, scope), where)
    if axis not in ("child", "descendant", "attribute", "descendant-or-self"):
        return None
    if isinstance(test, XPathFunction) and test.label == "function":
        return None if predicates else translate_token(test, scope)
    found = _named(axis, test)
    if found is None:
        return _by_local_name(axis, test, predicates)
    return found if all(_is_first(predicate) for predicate in predicates) else None


def _is_first(predicate: Any) -> bool:
    """Whether a predicate is ``[1]``, which changes nothing where a field occurs once."""
    return bool(predicate.symbol == "(integer)" and predicate.value == 1)


def _by_local_name(axis: str, test: Any, predicates: list[Any]) -> FieldRef | None:
    """``*[local-name() = 'V1']``: a field in any namespace."""
    if not is_wildcard(test) or len(predicates) != 1 or predicates[0].symbol not in ("=", "eq"):
        return None
    for call, literal in (tuple(predicates[0]), tuple(predicates[0])[::-1]):
        if call.symbol == "local-name" and not len(call) and literal.symbol == "(string)":
            return FieldRef(f"@{literal.value}" if axis == "attribute" else str(literal.value), "*")
    return None


def _from_field(node: FieldRef, axis: str, test: Any, scope: Scope) -> Expression | None:
    if axis == "self":
        return node
    if axis == "parent":
        # up from a field that may not be there leads nowhere, not to the record
        return ContextRecord() if node in (scope.focus, scope.base) else None
    if axis == "child" and test.symbol == "text":
        return replace(node, text=True)
    if isinstance(test, XPathFunction) and test.label == "function":
        return _from_each(node, test, scope)
    return None


def _other_field(axis: str, test: Any) -> Expression | None:
    if axis == "self":
        return OtherField(".")
    found = _named(axis, test) if axis in ("child", "attribute", "descendant") else None
    return OtherField(found.name) if found else None


def _outside_field(test: Any, scope: Scope) -> str | None:
    found = _named("child", test)
    return found.name if found and found.name not in scope.record_names else None


def _extend(
    nodes: OtherNodes, separator: str, token: Any, test: Any, predicates: list[Any], scope: Scope
) -> Expression | None:
    """Take one more step outside the record; None where the tree would forget a field that is read on the way."""
    call = test[1] if test.symbol == ":" else test
    if isinstance(call, XPathFunction) and call.label in ("function", "constructor function"):
        return None if predicates else _applied(nodes, call, scope)
    kind = str(test.symbol)
    if kind == "(" or (kind == ".." and nodes.field is not None):
        return None
    separator = separator if nodes.path or nodes.document or nodes.source == "/" else ""
    axis, _ = axis_of(predicates_of(token)[0])
    found = _named(axis, test)
    name = found.name if found and found.name not in scope.record_names else None
    if kind in (".", "text"):
        name = nodes.field
    source = f"{'' if nodes.source == '/' else nodes.source}{separator}{token.source}"
    where = tuple(translate_token(predicate, scope.at(OtherField("."))) for predicate in predicates)
    path = f"{nodes.path}{separator}{predicates_of(token)[0].source}"
    return OtherNodes(source, nodes.document, path, name, (*nodes.where, *where))


def _applied(nodes: OtherNodes, call: Any, scope: Scope) -> Expression | None:
    """``//Record/number(V1)`` and ``//V1/number()``: a function of each node, or of one field of it."""
    inner: Expression | None = nodes
    if len(call) == 1:
        test, predicates = predicates_of(call[0])
        inner = nodes if test.symbol == "." else _extend(nodes, "/", call[0], axis_of(test)[1], predicates, scope)
    if inner is None or len(call) > 1:
        return None
    return Cast(call.symbol, inner) if call.label == "constructor function" else Call(call.symbol, (inner,))


_HANDLERS: Mapping[str, Callable[[Any, Scope], Expression | None]] = {
    "and": _connective(And),
    "or": _connective(Or),
    "+": _arithmetic,
    "-": _arithmetic,
    "*": _arithmetic,
    "div": _arithmetic,
    "idiv": _arithmetic,
    "mod": _arithmetic,
    "(integer)": _literal,
    "(decimal)": _literal,
    "(float)": _literal,
    "(string)": _literal,
    "(": _parentheses,
    ",": _comma,
    "|": _union,
    "union": _union,
    "$": _variable,
    ":": _prefixed,
    "if": _if,
    "cast": _cast,
    "castable": _cast,
    "to": _span,
    "some": _quantified,
    "every": _quantified,
    "for": _for,
    "let": _let,
    "!": _map,
    "=>": _arrow,
    "||": _concatenation,
    "treat": _treat,
}
