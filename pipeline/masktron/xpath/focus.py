"""The tokens of a path."""

from __future__ import annotations

from typing import Any


def spine(token: Any, symbol: str) -> list[Any]:
    """Operands of a chain of one left-associative operator, without recursion."""
    operands = []
    while token.symbol == symbol and len(token) == 2:
        operands.append(token[1])
        token = token[0]
    return [token, *reversed(operands)]


def is_filter(token: Any) -> bool:
    """Whether a token is an expression with a predicate, ``V[1]``; ``[V, 1]`` is an array."""
    return bool(token.symbol == "[" and token.label != "array")


def predicates_of(token: Any) -> tuple[Any, list[Any]]:
    """Split a step into its node test and its predicates."""
    predicates: list[Any] = []
    while is_filter(token):
        predicates.insert(0, token[1])
        token = token[0]
    return token, predicates


def axis_of(token: Any) -> tuple[str, Any]:
    """Split a step without predicates into its axis and its node test."""
    if token.symbol == "@":
        return "attribute", token[0]
    if token.label == "axis" and len(token) == 1:
        return token.symbol, token[0]
    if token.symbol == ".":
        return "self", token
    if token.symbol == "..":
        return "parent", token
    return "child", token


def name_test(test: Any) -> tuple[str | None, str]:
    """Return local name (``*`` for any) and namespace (``*`` for any) of a name test; None for other node tests."""
    if test.symbol == "(name)":
        return str(test.value), ""
    if test.symbol == "*" and len(test) == 0:
        return "*", "*"
    if test.symbol == ":" and test[1].symbol in ("(name)", "*"):
        return str(test[1].value), str(test[1].namespace or "")
    if test.symbol == "Q{" and test[1].symbol in ("(name)", "*"):
        return str(test[1].value), str(test[0].value)
    return None, ""
