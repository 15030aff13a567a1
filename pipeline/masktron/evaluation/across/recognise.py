"""Expressions over other records as aggregates, with their places in the source."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal as OneOf

from masktron.evaluation.across.paths import NotAcross
from masktron.evaluation.across.resolve import Operand, Surroundings
from masktron.evaluation.across.selection import Aggregate, Fold, Key, Predicate, Selection
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
    Literal,
    Negation,
    Path,
    Range,
    Sequence,
    Step,
    Typed,
    Variable,
    parts_of,
    walk,
)
from masktron.rulebook.schema import XPathVersion

type HoleType = OneOf["integer", "double", "boolean"]
_FOLDS: dict[str, Fold] = {"sum": "sum", "avg": "avg", "min": "min", "max": "max"}
_TRUTH = frozenset({"not", "boolean"})
_BESIDE = frozenset({"preceding-sibling", "following-sibling", "preceding"})


@dataclass(frozen=True, slots=True)
class Hole:
    """A part of an expression, at ``[start:end]``, whose value is an aggregate; `negated` for ``empty()``."""

    start: int
    end: int
    aggregate: Aggregate
    negated: bool = False

    @property
    def version(self) -> XPathVersion:
        """Of XPath, in which the expression is written."""
        return self.aggregate.selection.version

    @property
    def type(self) -> HoleType:
        """Which type the value has."""
        match self.aggregate.fold:
            case "count" | "distinct":
                return "integer"
            case "exists" | "differs":
                return "boolean"
            case _:
                return "double"


class Recogniser:
    """Finds the holes of one expression; `reasons` says what was met on the way and not understood."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def holes(self, expression: Expression, around: Surroundings, *, truth: bool) -> Iterator[Hole]:
        """Yield the holes of an expression, outermost first.

        Parameters
        ----------
        truth : bool
            Whether only the effective boolean value of the expression counts.
        """
        try:
            found = self._aggregate(expression, around, truth=truth)
        except NotAcross as problem:
            self.reasons.append(str(problem))
            found = None
        if found is not None:
            yield Hole(expression.start, expression.end, *found)
            return
        yield from self._below(expression, around, truth=truth)

    def _below(self, expression: Expression, around: Surroundings, *, truth: bool) -> Iterator[Hole]:
        match expression:
            case Binding():
                yield from self._bound(expression, around)
            case If(condition=condition, then=then, otherwise=otherwise):
                yield from self.holes(condition, around, truth=True)
                yield from self.holes(then, around, truth=truth)
                yield from self.holes(otherwise, around, truth=truth)
            case Comparison(sign="is" | "<<" | ">>"):
                return
            case Call(standard=name) if not name:
                return
            case Call() | Connective() | Comparison() | Arithmetic() | Negation():
                holds = isinstance(expression, Connective)
                holds = holds or (isinstance(expression, Call) and expression.standard in _TRUTH)
                for part in parts_of(expression):
                    yield from self.holes(part, around, truth=holds)
            case Sequence() | Range() | Concatenation() | Typed():
                for part in parts_of(expression):
                    yield from self.holes(part, around, truth=False)

    def _bound(self, expression: Binding, around: Surroundings) -> Iterator[Hole]:
        for name, value in expression.bound:
            yield from self.holes(value, around, truth=False)
            around = around.bind(name, self._item(value, around, whole=expression.kind == "let"))
        yield from self.holes(expression.body, around, truth=False)

    def _item(self, expression: Expression, around: Surroundings, *, whole: bool) -> Operand | None:
        try:
            value = around.value(expression)
        except NotAcross:
            return None
        return value if whole or not isinstance(value, Selection) else None

    def _aggregate(
        self, expression: Expression, around: Surroundings, *, truth: bool
    ) -> tuple[Aggregate, bool] | None:
        found: Aggregate | None = None
        match expression:
            case Call(standard=name, arguments=(argument,)) if name:
                return self._call(name, argument, around)
            case Comparison(sign="=" | "!=" as sign, left=left, right=right):
                found = self._comparison(sign, (left, right), around)
            case Binding(kind="some", bound=((name, domain),), body=body):
                found = self._some(name, domain, body, around)
            case Path() | Filter() | Variable() if truth:
                found = self._some_node(expression, around)
            case Step(axis=axis, predicates=predicates) if truth and (predicates or axis in _BESIDE):
                found = self._some_node(expression, around)
        return (found, False) if found else None

    def _some_node(self, expression: Expression, around: Surroundings) -> Aggregate | None:
        value = around.value(expression)
        return Aggregate("exists", value) if isinstance(value, Selection) else None

    def _call(self, name: str, argument: Expression, around: Surroundings) -> tuple[Aggregate, bool] | None:
        if name in ("exists", "empty") or name == "count" or (name in _FOLDS and self._known(name, around)):
            if isinstance(argument, Call) and argument.standard:
                if name == "count":
                    return self._counted(argument.standard, argument.arguments, around)
                if argument.standard not in ("document", "doc", "current"):
                    return None
            value = around.value(argument)
            if not isinstance(value, Selection):
                return None
            if name in _FOLDS and value.target is None:
                raise NotAcross(f"{name}() of records")
            if name in _FOLDS and value.reach != "all":
                raise NotAcross(f"{name}() of what stands before or after")
            fold = _FOLDS.get(name) or ("count" if name == "count" else "exists")
            return Aggregate(fold, value), name == "empty"
        return None

    def _known(self, name: str, around: Surroundings) -> bool:
        return name == "sum" or around.version != "1.0"

    def _counted(
        self, name: str, arguments: tuple[Expression, ...], around: Surroundings
    ) -> tuple[Aggregate, bool] | None:
        """``count(distinct-values(//ID))`` and ``count(index-of(//ID, ID))``."""
        if around.version == "1.0" or name not in ("distinct-values", "index-of"):
            return None
        nodes = around.value(arguments[0])
        if not isinstance(nodes, Selection) or nodes.target is None:
            return None
        if name == "distinct-values" and len(arguments) == 1:
            if not nodes.constant:
                raise NotAcross("distinct values of some records")
            return Aggregate("distinct", nodes), False
        if name == "index-of" and len(arguments) == 2:
            own, mine = around.key(arguments[1], None)
            if not mine or own.kind == "number":
                raise NotAcross("index-of() with a number")
            join = (*nodes.join, (Key("node", (nodes.target,)), own))
            return Aggregate("count", replace(nodes, join=join), own), False
        return None

    def _comparison(
        self, operator: str, sides: tuple[Expression, Expression], around: Surroundings
    ) -> Aggregate | None:
        plain = [_undistinct(side) for side in sides]
        nodes = [self._selection(side, around) for side in plain]
        at = next((i for i, found in enumerate(nodes) if found is not None), None)
        if at is None or nodes[1 - at] is not None:
            return None
        selection = nodes[at]
        assert selection is not None  # noqa: S101 - for the type checker
        if selection.target is None:
            raise NotAcross("whole records are compared")
        other = plain[1 - at]
        if operator == "=" and isinstance(other, Literal) and not isinstance(other.value, float):
            where = Predicate(f". = {other.written}", selection.target, around.scope)
            return Aggregate("exists", replace(selection, where=(*selection.where, where)))
        own, mine = around.key(other, None)
        key = Key("node", (selection.target,))
        if not mine or not around.comparable(key, own) or own.kind == "number":
            raise NotAcross("a comparison by number with other records")
        if operator == "=":
            return Aggregate("exists", replace(selection, join=(*selection.join, (key, own))))
        if not selection.constant:
            raise NotAcross("'!=' with some records")
        return Aggregate("differs", replace(selection, join=((key, own),)), own)

    def _selection(self, expression: Expression, around: Surroundings) -> Selection | None:
        try:
            value = around.value(expression)
        except NotAcross:
            return None
        return value if isinstance(value, Selection) else None

    def _some(self, name: str, domain: Expression, body: Expression, around: Surroundings) -> Aggregate | None:
        """``some $v in //V satisfies $v = V``, which is ``//V = V``."""
        if not (isinstance(body, Comparison) and body.sign in ("=", "eq")):
            return None
        mine = [side for side in (body.left, body.right) if not _is_variable(side, name)]
        value = around.value(domain)
        if len(mine) != 1 or not isinstance(value, Selection):
            return None
        if any(_is_variable(part, name) for part in walk(mine[0])):
            return None
        return self._comparison("=", (domain, mine[0]), around)


def _is_variable(expression: Expression, name: str) -> bool:
    return isinstance(expression, Variable) and expression.name == name


def _undistinct(expression: Expression) -> Expression:
    match expression:
        case Call(standard="distinct-values", arguments=(only,)):
            return only
        case _:
            return expression
