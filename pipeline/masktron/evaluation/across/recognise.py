"""Expressions over other records as aggregates, with their places in the source."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from masktron.evaluation.across.paths import NotAcross, bare, called, extent
from masktron.evaluation.across.resolve import Operand, Surroundings
from masktron.evaluation.across.selection import Aggregate, Fold, Key, Predicate, Selection

type HoleType = Literal["integer", "double", "boolean"]
_FOLDS: dict[str, Fold] = {"sum": "sum", "avg": "avg", "min": "min", "max": "max"}
_TRUTH = frozenset({"not", "boolean"})
_WORDS = "and or = != < <= > >= eq ne lt le gt ge + - * div mod idiv , to || if ( instance castable cast treat"
_STAYING = frozenset(_WORDS.split())


@dataclass(frozen=True, slots=True)
class Hole:
    """A part of an expression, at ``[start:end]``, whose value is an aggregate; `negated` for ``empty()``."""

    start: int
    end: int
    aggregate: Aggregate
    negated: bool = False

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

    def __init__(self, around: Surroundings) -> None:
        self.reasons: list[str] = []
        self._source = around.source

    def holes(self, token: Any, around: Surroundings, *, truth: bool) -> Iterator[Hole]:
        """Yield the holes of an expression, outermost first.

        Parameters
        ----------
        truth : bool
            Whether only the effective boolean value of the expression counts.
        """
        try:
            found = self._aggregate(token, around, truth=truth)
        except NotAcross as problem:
            self.reasons.append(str(problem))
            found = None
        if found is not None:
            start, end = extent(token, self._source)
            yield Hole(start, end, *found)
            return
        yield from self._below(token, around, truth=truth)

    def _below(self, token: Any, around: Surroundings, *, truth: bool) -> Iterator[Hole]:
        symbol = token.symbol
        if symbol in ("for", "some", "every", "let"):
            yield from self._bound(token, around)
            return
        call = called(token)
        if call is not None:
            inner = call[0] in _TRUTH
            for argument in call[1]:
                yield from self.holes(argument, around, truth=inner)
        elif symbol in _STAYING:
            for at, part in enumerate(token):
                holds = symbol in ("and", "or") or (symbol == "if" and at == 0)
                passed = truth and (symbol == "(" or (symbol == "if" and at > 0))
                yield from self.holes(part, around, truth=holds or passed)

    def _bound(self, token: Any, around: Surroundings) -> Iterator[Hole]:
        parts = list(token)
        for name, value in zip(parts[:-1:2], parts[1:-1:2], strict=True):
            yield from self.holes(value, around, truth=False)
            around = around.bind(str(name[0].value), self._item(value, around, whole=token.symbol == "let"))
        yield from self.holes(parts[-1], around, truth=False)

    def _item(self, token: Any, around: Surroundings, *, whole: bool) -> Operand | None:
        try:
            value = around.value(token)
        except NotAcross:
            return None
        return value if whole or not isinstance(value, Selection) else None

    def _aggregate(self, token: Any, around: Surroundings, *, truth: bool) -> tuple[Aggregate, bool] | None:
        token = bare(token)
        call = called(token)
        if call is not None:
            return self._call(*call, around)
        if token.symbol in ("=", "!=") and len(token) == 2:
            found = self._comparison(token.symbol, list(token), around)
            return (found, False) if found else None
        if token.symbol == "some" and len(token) == 3:
            found = self._some(list(token), around)
            return (found, False) if found else None
        if truth and token.symbol in ("/", "//", "[", "$", "preceding-sibling", "following-sibling", "preceding"):
            value = around.value(token)
            return (Aggregate("exists", value), False) if isinstance(value, Selection) else None
        return None

    def _call(self, name: str, arguments: list[Any], around: Surroundings) -> tuple[Aggregate, bool] | None:
        if len(arguments) != 1:
            return None
        if name in ("exists", "empty") or name == "count" or (name in _FOLDS and self._known(name, around)):
            inner = called(bare(arguments[0]))
            if name == "count" and inner is not None:
                return self._counted(*inner, around)
            if inner is not None and inner[0] not in ("document", "doc", "current"):
                return None
            value = around.value(arguments[0])
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

    def _counted(self, name: str, arguments: list[Any], around: Surroundings) -> tuple[Aggregate, bool] | None:
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

    def _comparison(self, operator: str, sides: list[Any], around: Surroundings) -> Aggregate | None:
        plain = [self._undistinct(side, around) for side in sides]
        nodes = [self._selection(side, around) for side in plain]
        at = next((i for i, found in enumerate(nodes) if found is not None), None)
        if at is None or nodes[1 - at] is not None:
            return None
        selection = nodes[at]
        assert selection is not None  # noqa: S101 - for the type checker
        if selection.target is None:
            raise NotAcross("whole records are compared")
        other = bare(plain[1 - at])
        if operator == "=" and other.symbol in ("(string)", "(integer)", "(decimal)"):
            start, end = extent(other, self._source)
            where = Predicate(f". = {self._source[start:end]}", selection.target, around.scope)
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

    def _undistinct(self, token: Any, around: Surroundings) -> Any:
        call = called(bare(token))
        return call[1][0] if call and call[0] == "distinct-values" and len(call[1]) == 1 else token

    def _selection(self, token: Any, around: Surroundings) -> Selection | None:
        try:
            value = around.value(token)
        except NotAcross:
            return None
        return value if isinstance(value, Selection) else None

    def _some(self, parts: list[Any], around: Surroundings) -> Aggregate | None:
        """``some $v in //V satisfies $v = V``, which is ``//V = V``."""
        condition = bare(parts[2])
        name = str(parts[0][0].value)
        if condition.symbol not in ("=", "eq") or len(condition) != 2:
            return None
        items = [bare(side) for side in condition]
        mine = [i for i in items if not (i.symbol == "$" and str(i[0].value) == name)]
        value = around.value(parts[1])
        if len(mine) != 1 or not isinstance(value, Selection):
            return None
        if any(t.symbol == "$" and str(t[0].value) == name for t in mine[0].iter()):
            return None
        return self._comparison("=", [parts[1], mine[0]], around)
