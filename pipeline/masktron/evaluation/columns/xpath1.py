"""Expressions of XPath 1.0 over columns: elementpath's token tree to the Recommendation's answer for each record.

Where that is not known for sure, the records are left unsure or the expression is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.errors import RulebookError
from masktron.evaluation.columns.coded import constant
from masktron.evaluation.columns.kleene import both, either, spread
from masktron.evaluation.columns.outcome import NotColumnar, Test, Truth
from masktron.evaluation.columns.scope import Scope
from masktron.evaluation.columns.xpath1_compare import RELATIONS, compare
from masktron.evaluation.columns.xpath1_functions import call
from masktron.evaluation.columns.xpath1_paths import (
    current,
    deeper,
    from_each,
    here,
    is_child,
    is_step,
    kept,
    step,
    union,
)
from masktron.evaluation.columns.xpath1_types import Boolean, Figures, Member, Nodes, Number, String, Value
from masktron.evaluation.columns.xpath1_values import to_boolean, to_number
from masktron.sources.columns import Batch
from masktron.sources.lexical import xpath1_number
from masktron.sources.records import Layout
from masktron.xpath.tokens import parse

_DEEPEST = 80
"""Nesting of an expression that is compiled; chains of one operator count once."""
_FUNCTION_LABELS = ("function", "external function", "constructor function")
type _Operation = Callable[[NDArray[np.float64], NDArray[np.float64]], Any]


@dataclass(frozen=True, slots=True, eq=False)
class _Test:
    """A compiled test."""

    fields: frozenset[int]
    of: Callable[[Batch], Truth]

    def truth(self, batch: Batch) -> Truth:
        """Evaluate it in every record of a batch."""
        with np.errstate(all="ignore"):
            return spread(self.of(batch), len(batch))


def compile_test(source: str, scope: Scope) -> Test:
    """Compile a test to what its effective boolean value is in each record.

    Raises
    ------
    NotColumnar
        With the reason why only an engine evaluates it.
    """
    truth = to_boolean(compile_let(source, scope))
    return _Test(truth.fields, truth.of)


def compile_let(source: str, scope: Scope) -> Value:
    """Compile an expression of any type, such as the value of a variable.

    Raises
    ------
    NotColumnar
        With the reason why only an engine evaluates it.
    """
    try:
        token = parse(source, dict(scope.namespaces))
    except RulebookError:
        raise NotColumnar("the expression is not understood") from None
    if _depth(token) > _DEEPEST:
        raise NotColumnar("the expression is nested too deeply")
    return _Compiler(scope)(token)


def _depth(token: Any) -> int:
    """Return how deep a tree is; what stands to the left of an operator in a chain of it is not deeper."""
    deepest = 0
    ahead = [(token, 1)]
    while ahead:
        node, depth = ahead.pop()
        deepest = max(deepest, depth)
        for k, part in enumerate(node):
            chained = k == 0 and node.symbol in _CHAINS and part.symbol == node.symbol
            ahead.append((part, depth if chained else depth + 1))
    return deepest


_CHAINS = frozenset({"or", "and", "+", "|"})


def _chain(token: Any) -> list[Any]:
    """Return the operands of a chain of one operator that is evaluated from the left."""
    parts = []
    while token.symbol in _CHAINS and len(token) == 2:
        parts.append(token[1])
        if token[0].symbol != token.symbol or len(token[0]) != 2:
            parts.append(token[0])
            break
        token = token[0]
    return parts[::-1]


@dataclass(frozen=True, slots=True)
class _Compiler:
    """The compilation of an expression in a scope.

    ``alone`` tells whether the context node is surely the only one, so that its position is 1 and the last is 1.
    """

    scope: Scope
    alone: bool = False

    def __call__(self, token: Any) -> Value:  # noqa: PLR0911
        symbol, parts = token.symbol, len(token)
        if symbol in ("(string)", "(integer)", "(decimal)"):
            return _literal(token.value)
        if symbol == "(" and parts == 1:
            return self(token[0])
        if symbol == "$":
            return self.variable(str(token[0].value))
        if symbol in ("/", "//", "["):
            return self.path(token)
        if is_step(token):
            return step(token, self.scope)
        if token.label in _FUNCTION_LABELS:
            return self.function(token)
        if parts == 2:
            return self.binary(token)
        if symbol in ("-", "+") and parts == 1:
            # XPath 1.0 has no unary plus, and the reader refuses it; to be safe, so does this
            return self.negative(token) if symbol == "-" else self.refused(token)
        return self.refused(token)

    def refused(self, token: Any) -> Value:
        raise NotColumnar(f"'{token.symbol}' has no evaluation over columns")

    def variable(self, name: str) -> Value:
        value = self.scope.variable(name)
        if not isinstance(value, Number | Boolean | String | Nodes):
            raise NotColumnar(f"${name} is not known")
        return value

    def binary(self, token: Any) -> Value:
        symbol = token.symbol
        if symbol in _CHAINS:
            return self.chained(symbol, [self(part) for part in _chain(token)])
        left, right = self(token[0]), self(token[1])
        if symbol in RELATIONS:
            return compare(symbol, left, right)
        if symbol in _OPERATIONS:
            return _calculated(_OPERATIONS[symbol], [left, right])
        return self.refused(token)

    def chained(self, symbol: str, values: list[Value]) -> Value:
        if symbol == "+":
            return _calculated(np.add, values)
        if symbol != "|":
            return _connected(both if symbol == "and" else either, values)
        sets = [value for value in values if isinstance(value, Nodes)]
        if len(sets) < len(values):
            raise NotColumnar("a union of what are no node-sets")
        return union(sets)

    def negative(self, token: Any) -> Number:
        """Return the negation of a number: libxml2 flips the sign, that of 0 too."""
        number = to_number(self(token[0]))

        def of(batch: Batch) -> Figures:
            figures = number.of(batch)
            return Figures(np.negative(figures.values), figures.unsure)

        return Number(number.fields, of)

    def function(self, token: Any) -> Value:
        name = token.symbol
        if name in ("position", "last") and not len(token):
            if not self.alone:
                raise NotColumnar(f"{name}() among several nodes")
            return _literal(1)
        if name == "current" and not len(token):
            return current(self.scope)
        return call(name, [self(part) for part in token], lambda: Nodes((here(self.scope),)), self.scope.layout)

    def path(self, token: Any) -> Nodes:
        if len(token) != 2:
            raise NotColumnar("an absolute path")
        start = self(token[0])
        if not isinstance(start, Nodes):
            raise NotColumnar("a step or a predicate on what are no nodes")
        if token.symbol != "[":
            if token.symbol == "//" and not is_child(token[1]):
                raise NotColumnar("'//' before what is no name")
            return from_each(start, lambda member: self.onward(member, token[1], below=token.symbol == "//"))
        return self.filtered(start, token[1])

    def onward(self, member: Member, token: Any, *, below: bool) -> Nodes:
        scope = self.scope.at(member.node)
        reached = replace(self, scope=scope, alone=False)(token)
        if not isinstance(reached, Nodes):
            raise NotColumnar("a path that ends in what is no node")
        return deeper(reached, scope) if below else reached

    def filtered(self, nodes: Nodes, predicate: Any) -> Nodes:
        alone = len(nodes.members) == 1
        members: list[Member] = []
        for member in nodes.members:
            if member.text:
                raise NotColumnar("a predicate on a text")
            value = replace(self, scope=self.scope.at(member.node), alone=alone)(predicate)
            if isinstance(value, Number):
                if not alone:
                    raise NotColumnar("a position among several nodes")
                value = compare("=", value, _literal(1))
            truth = to_boolean(value)
            if truth.fields or _constant(truth, self.scope.layout):
                members.append(kept(member, truth))
        return Nodes(tuple(members), nodes.reads)


def _constant(truth: Boolean, layout: Layout) -> bool:
    """Return the value of what reads no field."""
    with np.errstate(all="ignore"):
        return bool(truth.of(empty_batch(layout)).holds)


def empty_batch(layout: Layout) -> Batch:
    """Return a batch without records."""
    nothing = np.zeros(0, dtype=np.int64)
    return Batch(
        layout=layout,
        codec="utf-8",
        buffer=np.zeros(0, dtype=np.uint8),
        offset=0,
        first=0,
        starts=nothing,
        stops=nothing,
        lines=nothing,
        odd=np.zeros(0, dtype=np.bool_),
        cells=(),
    )


def _literal(value: object) -> Value:
    if isinstance(value, str):
        text = constant(value)
        return String(frozenset(), lambda batch: text, value)
    digits = f"{value:f}" if isinstance(value, Decimal) else str(value)
    number = Figures(np.array(xpath1_number(digits)), np.zeros((), dtype=np.bool_))
    return Number(frozenset(), lambda batch: number)


def _connected(function: Callable[[Truth, Truth], Truth], values: list[Value]) -> Boolean:
    truths = [to_boolean(value) for value in values]

    def of(batch: Batch) -> Truth:
        result = truths[0].of(batch)
        for truth in truths[1:]:
            result = function(result, truth.of(batch))
        return result

    return Boolean(frozenset().union(*(truth.fields for truth in truths)), of)


def _calculated(operation: _Operation, values: list[Value]) -> Number:
    numbers = [to_number(value) for value in values]

    def of(batch: Batch) -> Figures:
        result = numbers[0].of(batch)
        for number in numbers[1:]:
            other = number.of(batch)
            result = Figures(np.asarray(operation(result.values, other.values)), result.unsure | other.unsure)
        return result

    return Number(frozenset().union(*(number.fields for number in numbers)), of)


_OPERATIONS: Mapping[str, _Operation] = MappingProxyType(
    {"-": np.subtract, "*": np.multiply, "div": np.divide, "mod": np.fmod}
)
