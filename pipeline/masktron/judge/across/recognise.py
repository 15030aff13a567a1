"""Expressions over other records as aggregates, with their places in the source."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal as OneOf

from masktron.judge.across.resolve import SIGNS, Surroundings
from masktron.judge.across.selection import Aggregate, Fold, Join, Key, NotAcross, Selection
from masktron.rulebook.expressions.tree import (
    Arithmetic,
    Binding,
    Call,
    Comparison,
    Concatenation,
    Connective,
    Expression,
    Filter,
    If,
    Negation,
    Path,
    Range,
    Sequence,
    Step,
    Typed,
    Variable,
    parts_of,
)

type Use = OneOf["truth", "value", "nodes"]
"""What of an expression counts: its effective boolean value, the values of its nodes, or the nodes themselves."""
_FOLDS: dict[str, Fold] = {"sum": "sum", "avg": "avg", "min": "min", "max": "max"}
_TRUTHS = frozenset({"not", "boolean"})
_OF_VALUES = frozenset(
    {"number", "string", "concat", "contains", "starts-with", "substring", "substring-before", "substring-after"}
    | {"string-length", "normalize-space", "translate", "matches", "data", "abs", "floor", "ceiling", "round"}
    | {"exists", "empty", "count", "sum", "avg", "min", "max"}
)
"""Functions to which nodes are what they hold, or how many they are."""
_BESIDE = frozenset({"preceding-sibling", "following-sibling", "preceding"})
_EACH = "m.each"
"""A variable that stands for each node of a comparison."""


@dataclass(frozen=True, slots=True)
class Hole:
    """A part of an expression, at ``[start:end]``, whose value is an aggregate, or whether two counts are equal.

    Attributes
    ----------
    aggregates : tuple of Aggregate
        One, or two counts: of some records, and of those of them that fulfil a condition.
    negated : bool
        Whether the value is the opposite.
    """

    start: int
    end: int
    aggregates: tuple[Aggregate, ...]
    negated: bool = False

    def written(self, text_of: Callable[[Aggregate], str]) -> str:
        """Return the value as an expression, from the expressions of the aggregates."""
        text = " = ".join(map(text_of, self.aggregates))
        return f"not({text})" if self.negated else f"({text})" if len(self.aggregates) > 1 else text


class Recogniser:
    """Finds the holes of one expression; `reasons` says what was met on the way and not understood."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def holes(self, expression: Expression, around: Surroundings, use: Use) -> Iterator[Hole]:
        """Yield the holes of an expression, outermost first."""
        try:
            found = _found(expression, around, use)
        except NotAcross as problem:
            self.reasons.append(str(problem))
            found = None
        if found is None:
            yield from self._below(expression, around, use)
        else:
            yield found

    def _below(self, expression: Expression, around: Surroundings, use: Use) -> Iterator[Hole]:
        match expression:
            case Binding():
                yield from self._bound(expression, around, use)
                return
            case If(condition=condition, then=then, otherwise=otherwise):
                yield from self.holes(condition, around, "truth")
                parts: tuple[Expression, ...] = (then, otherwise)
            case Comparison(sign="is" | "<<" | ">>") | Call(standard=""):
                return
            case Call(standard=name, arguments=parts):
                use = "truth" if name in _TRUTHS else "value" if name in _OF_VALUES else "nodes"
            case Connective(operands=parts):
                use = "truth"
            case Comparison() | Arithmetic() | Negation() | Range() | Concatenation():
                use, parts = "value", tuple(parts_of(expression))
            case Typed(kind=kind, operand=operand):
                use, parts = "value" if kind in ("cast", "castable") else "nodes", (operand,)
            case Sequence(items=parts):
                use = "value" if use == "value" else "nodes"
            case _:
                return
        for part in parts:
            yield from self.holes(part, around, use)

    def _bound(self, expression: Binding, around: Surroundings, use: Use) -> Iterator[Hole]:
        for name, value in expression.bound:
            yield from self.holes(value, around, "nodes")
            item = around.known(value)
            # but for let, a variable stands for one node after the other
            around = around.bind(name, item if expression.kind == "let" or not isinstance(item, Selection) else None)
        yield from self.holes(expression.body, around, "truth" if expression.kind in ("some", "every") else use)


def _found(expression: Expression, around: Surroundings, use: Use) -> Hole | None:
    negated = False
    aggregates: tuple[Aggregate, ...] = ()
    match expression:
        case Call(standard=name, arguments=(argument,)) if name:
            negated, aggregates = name == "empty", _call(name, argument, around)
        case Comparison(sign=sign) if sign in SIGNS:
            aggregates = _comparison(expression, around)
        case Binding(kind="some" | "every" as kind, bound=((name, domain),), body=body):
            negated, aggregates = _quantified(kind, name, domain, body, around)
        case Path() | Filter() | Variable():
            aggregates = _nodes(expression, around, use)
        case Step(axis=axis, predicates=predicates) if predicates or axis in _BESIDE:
            aggregates = _nodes(expression, around, use)
    return Hole(expression.start, expression.end, aggregates, negated) if aggregates else None


def _nodes(expression: Expression, around: Surroundings, use: Use) -> tuple[Aggregate, ...]:
    if use == "nodes":
        return ()
    value = around.value(expression)
    if not isinstance(value, Selection):
        return ()
    if value.nth and value.target is not None:
        return (Aggregate("node", value),)
    if use != "truth":
        return ()
    if value.nth not in (0, 1, -1):
        raise NotAcross("whether there are so many records")
    # the first one, or the last one, is there where there are any
    return (Aggregate("exists", replace(value, nth=0)),)


def _call(name: str, argument: Expression, around: Surroundings) -> tuple[Aggregate, ...]:
    folds: dict[str, Fold] = {"count": "count", "sum": "sum"}
    if around.version != "1.0":
        folds |= {"exists": "exists", "empty": "exists", **_FOLDS}
    if name not in folds:
        return ()
    if isinstance(argument, Call) and argument.standard:
        if name == "count":
            return _counted(argument.standard, argument.arguments, around)
        if argument.standard not in ("document", "doc", "current"):
            return ()
    value = around.value(argument)
    if not isinstance(value, Selection) or value.nth:
        return ()
    if name in _FOLDS and value.target is None:
        raise NotAcross(f"{name}() of records")
    if name in _FOLDS and name != "sum" and value.joins:
        raise NotAcross(f"{name}() by class")
    if name == "sum" and value.order is not None and value.order.sign == "!=":
        raise NotAcross("a sum of all others")
    return (Aggregate(folds[name], value),)


def _counted(name: str, arguments: tuple[Expression, ...], around: Surroundings) -> tuple[Aggregate, ...]:
    """``count(distinct-values(//ID))`` and ``count(index-of(//ID, ID))``."""
    if around.version == "1.0" or name not in ("distinct-values", "index-of"):
        return ()
    nodes = around.value(arguments[0])
    if not isinstance(nodes, Selection) or nodes.target is None or nodes.nth:
        return ()
    if name == "distinct-values" and len(arguments) == 1:
        if nodes.joins:
            raise NotAcross("distinct values of some records")
        return (Aggregate("distinct", nodes),)
    if name == "index-of" and len(arguments) == 2:
        own, _ = around.key(arguments[1])
        if own.kind == "number":
            raise NotAcross("index-of() with a number")
        join = Join(Key("node", (nodes.target,)), "=", own)
        return (Aggregate("count", nodes.joined(join), required=True),)
    return ()


def _comparison(comparison: Comparison, around: Surroundings) -> tuple[Aggregate, ...]:
    """``ID = //Record/A``, ``A < //V`` and ``//A = '1'``: whether there is a node for which it is true."""
    left, right = _undistinct(comparison.left), _undistinct(comparison.right)
    nodes = [one for side in (left, right) if (one := around.selection(side)) is not None]
    if len(nodes) != 1 or nodes[0].nth:
        return ()
    if nodes[0].target is None:
        raise NotAcross("whole records are compared")
    each = Variable(f"${_EACH}", 0, len(_EACH) + 1, _EACH)
    left, right = (each, right) if around.selection(left) else (left, each)
    text = f"{left.text} {comparison.sign} {right.text}"
    body = replace(comparison, source=text, start=0, end=len(text), left=left, right=right)
    return (Aggregate("exists", around.where(nodes[0], body, _EACH)),)


def _quantified(
    kind: str, name: str, domain: Expression, body: Expression, around: Surroundings
) -> tuple[bool, tuple[Aggregate, ...]]:
    """``some $r in //Record satisfies $r/ID = V``, and ``every``: as many records fulfil it as there are.

    Whether one does not is whether not every one does, and the other way round.
    """
    selection = around.selection(_undistinct(domain))
    if selection is None or selection.nth:
        return False, ()
    opposite = isinstance(body, Call) and body.standard == "not"
    chosen = around.where(selection, body.arguments[0] if isinstance(body, Call) and opposite else body, name)
    if (kind == "some") != opposite:
        return opposite, (Aggregate("exists", chosen),)
    return opposite, (Aggregate("count", chosen), Aggregate("count", selection))


def _undistinct(expression: Expression) -> Expression:
    match expression:
        case Call(standard="distinct-values", arguments=(only,)):
            return only
        case _:
            return expression
