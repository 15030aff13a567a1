"""Expressions on records of a nested file as expressions on a flat record of figures.

Theorem. An expression of a rule, evaluated at a record, has the value that what it is written as has at a flat record
whose fields are the figures. Proof by induction over the expression: a path leads to a single field, which is a
figure, or to all records of a level in one that is known; some of these satisfy a condition where their number, a
figure, is 1 or more; a comparison with a set of nodes asks whether some of them compares. All else is the same
function of the values of its parts. What is not one of these cases is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from masktron.classify.nested_rules.level_reach import (
    FigureText,
    LevelFocus,
    ListedValues,
    MemberReach,
    Reaches,
    ReadValue,
    countable,
    every,
    exists,
    is_there,
    some,
)
from masktron.classify.nested_rules.level_steps import LevelSteps
from masktron.classify.nested_rules.member_figures import FigureTable, MemberFigure, MemberFunction, Picked
from masktron.rulebook.schema import XPathVersion
from masktron.unrolling.known_functions import OF_CONTEXT, RETURNS
from masktron.unrolling.unit_steps import (
    ARITHMETIC,
    AXES,
    GENERAL,
    LITERALS,
    REVERSE,
    VALUE_COMPARISONS,
    is_prefixed_call,
)
from masktron.unrolling.unrolled_values import NotUnrolled

_OVER_MEMBERS = frozenset({"count", "sum", "min", "max", "avg"})


@dataclass(frozen=True, slots=True)
class TreeReader:
    """Reads expressions of one rule.

    Parameters
    ----------
    version : str
        Of XPath.
    steps : LevelSteps
        Of the file.
    """

    version: XPathVersion
    steps: LevelSteps
    table: FigureTable = field(default_factory=FigureTable)

    def truth(self, expression: str, focus: LevelFocus) -> str:
        """Return the effective boolean value of an expression, as one on figures.

        Raises
        ------
        NotUnrolled
            It reads what is no field, or no figure.
        """
        walk = self._walk(expression)
        return walk.truth(walk.root, focus)

    def bound_to(self, expression: str, focus: LevelFocus) -> _Meant:
        """Return what a variable with this value means."""
        walk = self._walk(expression)
        return _Meant(walk, walk.root, focus)

    def _walk(self, expression: str) -> _LevelWalk:
        return _LevelWalk(self, *self.steps.of_units.read(expression))

    @property
    def first_version(self) -> bool:
        """Whether the expressions are XPath 1.0."""
        return self.version == "1.0"


@dataclass(frozen=True, slots=True)
class _Meant:
    """An expression that a variable stands for, evaluated where the variable is read."""

    walk: _LevelWalk
    token: Any
    focus: LevelFocus

    def value(self, depth: int) -> ReadValue:
        return self.walk.value(self.token, replace(self.focus, depth=max(depth, self.focus.depth)))


@dataclass(frozen=True, slots=True)
class _LevelWalk:
    """One walk over the tokens of an expression."""

    reader: TreeReader
    source: str
    root: Any

    # -- values ----------------------------------------------------------------------------------------------------

    def value(self, token: Any, focus: LevelFocus) -> ReadValue:  # noqa: PLR0911 -- one branch for each kind of token
        """Return the value of a part of the expression."""
        symbol, label = token.symbol, token.label
        if symbol == "(":
            return self.value(token[0], focus) if len(token) else ListedValues(())
        if symbol in LITERALS:
            return FigureText(self.source[slice(*token.span)], "string" if symbol == "(string)" else "number")
        if symbol == "$":
            return self._variable(str(token[0].value), focus)
        if is_prefixed_call(token):
            return self._prefixed(token, focus)
        if label in ("function", "external function") or (symbol in RETURNS and "function" in str(label)):
            return self._call(symbol, list(token), focus)
        if symbol in ("/", "//"):
            return self._path(token, focus)
        if symbol == "[":
            return self._filtered(token, focus)
        if self.reader.steps.of_units.is_step(token):
            return self._step(token, focus)
        if symbol in ("|", "union"):
            return self._united(self.nodes(token[0], focus), self.nodes(token[1], focus))
        if symbol == ",":
            return ListedValues((self.value(token[0], focus), self.value(token[1], focus)))
        if symbol in ("and", "or", "some", "every") or symbol in GENERAL or symbol in VALUE_COMPARISONS:
            return FigureText(self.truth(token, focus), "boolean")
        return self._computed(token, focus)

    def _variable(self, name: str, focus: LevelFocus) -> ReadValue:
        if name not in focus.variables:
            raise NotUnrolled(f"${name}, whose value is not known here")
        meant = focus.variables[name]
        return meant.value(focus.depth) if isinstance(meant, _Meant) else meant

    def _computed(self, token: Any, focus: LevelFocus) -> ReadValue:
        symbol = token.symbol
        if symbol in ("+", "-") and len(token) == 1:
            return FigureText(f"{symbol}({self.text(token[0], focus)})", "number")
        if symbol in ARITHMETIC and len(token) == 2:
            return FigureText(f"({self.text(token[0], focus)}) {symbol} ({self.text(token[1], focus)})", "number")
        if symbol == "||" and len(token) == 2:
            return FigureText(f"({self.text(token[0], focus)}) || ({self.text(token[1], focus)})", "string")
        if symbol == "if" and len(token) == 3:
            then, otherwise = self.text(token[1], focus), self.text(token[2], focus)
            return FigureText(f"if ({self.truth(token[0], focus)}) then ({then}) else ({otherwise})")
        if symbol == "let":
            for name, bound in zip(list(token)[:-1:2], list(token)[1:-1:2], strict=True):
                focus = focus.bind(str(name[0].value), _Meant(self, bound, focus))
            return self.value(token[len(token) - 1], focus)
        raise NotUnrolled(f"'{symbol}' has no form across levels")

    def text(self, token: Any, focus: LevelFocus) -> str:
        """Return a part of the expression, whose value is a single one, as an expression on figures."""
        return self._scalar(self.value(token, focus))

    def _scalar(self, value: ReadValue) -> str:
        if isinstance(value, FigureText):
            return value.text
        if isinstance(value, ListedValues):
            return f"({', '.join(map(self._scalar, value.values))})"
        if len(value) != 1:
            raise NotUnrolled("several fields in the place of a single value")
        return self._single(value[0])

    def _single(self, reach: MemberReach) -> str:
        if reach.field is None:
            raise NotUnrolled(f"the text of {reach.node.level.name}")
        if reach.single:
            return self.reader.table.single(reach.node, reach.field)
        if (
            not self.reader.first_version
            or reach.repeats
            or len(reach.bound) != 1
            or reach.node is not reach.bound[0]
        ):
            raise NotUnrolled(f"one value of {reach.field.name}, of which there may be several")
        there = f"boolean({self.reader.table.single(reach.node, reach.field)})"
        first = self.reader.steps.picked(self.reader.table, reach.node, Picked(reach.node, (*reach.where, there), 1))
        return self.reader.table.single(first, reach.field)

    def nodes(self, token: Any, focus: LevelFocus) -> Reaches:
        """Return the nodes that a part of the expression is."""
        value = self.value(token, focus)
        if not isinstance(value, tuple):
            raise NotUnrolled(f"'{token.symbol}' in the place of nodes")
        return value

    # -- truth -----------------------------------------------------------------------------------------------------

    def truth(self, token: Any, focus: LevelFocus) -> str:  # noqa: PLR0911 -- one branch for each kind of token
        """Return the effective boolean value of a part of the expression."""
        symbol = token.symbol
        if symbol == "(" and len(token) == 1:
            return self.truth(token[0], focus)
        if symbol in ("and", "or"):
            parts = [self.truth(part, focus) for part in token]
            return every(parts) if symbol == "and" else some(parts)
        if symbol in GENERAL:
            return self._compared(token, focus)
        if symbol in VALUE_COMPARISONS:
            return f"({self.text(token[0], focus)}) {symbol} ({self.text(token[1], focus)})"
        if symbol in ("some", "every"):
            return self._quantified(symbol, list(token), focus)
        if symbol == "if" and len(token) == 3:
            condition, then, otherwise = (self.truth(part, focus) for part in token)
            return f"(({condition}) and ({then})) or (not({condition}) and ({otherwise}))"
        return self._holds(self.value(token, focus))

    def _holds(self, value: ReadValue) -> str:
        if isinstance(value, tuple):
            return some([self._met(reach) for reach in value])
        if isinstance(value, ListedValues):
            return f"boolean({self._scalar(value)})"
        return value.text if value.type == "boolean" else f"boolean({value.text})"

    def _met(self, reach: MemberReach) -> str:
        """Return that some node is there."""
        return exists(self.reader.table, reach, self._present(reach))

    # -- comparisons -----------------------------------------------------------------------------------------------

    def _compared(self, token: Any, focus: LevelFocus) -> str:
        left = self.value(token[0], focus)
        bound = [node for reach in left for node in reach.bound] if isinstance(left, tuple) else []
        right = self.value(token[1], focus.under(bound))
        if self.reader.first_version:
            for one, other in ((left, right), (right, left)):
                several = isinstance(one, tuple) and not (len(one) == 1 and one[0].single)
                if several and isinstance(other, FigureText) and other.type == "boolean":
                    raise NotUnrolled("nodes compared with true or false")
        cases = [
            self._matched(first, second, f"({one}) {token.symbol} ({other})")
            for first, one in self._sides(left)
            for second, other in self._sides(right)
        ]
        return some(cases)

    def _sides(self, value: ReadValue) -> Iterator[tuple[MemberReach | None, str]]:
        """Yield the values of a side, each with the nodes that it runs over."""
        if isinstance(value, ListedValues):
            for one in value.values:
                yield from self._sides(one)
        elif isinstance(value, FigureText):
            yield None, value.text
        else:
            for reach in value:
                if reach.field is None:
                    raise NotUnrolled(f"the text of {reach.node.level.name}")
                yield (None if reach.single else reach), self.reader.table.single(reach.node, reach.field)

    def _matched(self, first: MemberReach | None, second: MemberReach | None, condition: str) -> str:
        for reach in (second, first):
            if reach is not None:
                condition = exists(self.reader.table, reach, (condition,))
        return condition

    def _quantified(self, symbol: str, parts: Sequence[Any], focus: LevelFocus) -> str:
        over: list[tuple[LevelFocus, tuple[MemberReach, ...]]] = [(focus, ())]
        for name, items in zip(parts[:-1:2], parts[1:-1:2], strict=True):
            over = [
                (
                    one.under(reach.bound).bind(str(name[0].value), (MemberReach(reach.node, reach.field),)),
                    (*before, reach),
                )
                for one, before in over
                for reach in self.nodes(items, one)
            ]
        cases = []
        for one, reaches in over:
            body = self.truth(parts[-1], one)
            condition = body if symbol == "some" else f"not({body})"
            for reach in reversed(reaches):
                condition = exists(self.reader.table, reach, (*self._present(reach), condition))
            cases.append(condition)
        return some(cases) if symbol == "some" else f"not({some(cases)})"

    def _present(self, reach: MemberReach) -> tuple[str, ...]:
        if reach.field is not None:
            return (f"boolean({self.reader.table.single(reach.node, reach.field)})",)
        return is_there(self.reader.table, reach.node)

    # -- paths -----------------------------------------------------------------------------------------------------

    def _step(self, token: Any, focus: LevelFocus) -> Reaches:
        if focus.node is None:
            raise NotUnrolled("a variable of the schema or pattern that reads the document")
        symbol = token.symbol
        axis, test = (
            (symbol, token[0]) if symbol == "@" or (symbol in AXES and token.label == "axis") else ("", token)
        )
        here = MemberReach(focus.node, focus.field)
        return tuple(self.reader.steps.step(self.reader.table, axis, test, here, focus.depth))

    def _path(self, token: Any, focus: LevelFocus) -> Reaches | FigureText:
        if _outside(token):
            return FigureText(self.source[min(part.span[0] for part in token.iter()) : _end(token)])
        if len(token) < 2:
            raise NotUnrolled("an absolute path, which reads other records")
        base = self.nodes(token[0], focus)
        if token.symbol == "//":
            base = tuple(
                below
                for reach in base
                for below in self.reader.steps.with_below(self.reader.table, reach, focus.depth)
            )
        found: list[MemberReach] = []
        known = len(self.reader.table.missing)
        for reach in base:
            for one in self.nodes(token[1], focus.at(reach)):
                away = bool(reach.bound) and reach.node not in one.node.around()
                bound, where = (*reach.bound, *one.bound), (*reach.where, *one.where)
                found.append(MemberReach(one.node, one.field, bound, where, away or reach.repeats or one.repeats))
        if found and len(base) > 1:  # some of them have it
            del self.reader.table.missing[known:]
        return tuple(found)

    def _filtered(self, token: Any, focus: LevelFocus) -> Reaches:
        base, predicate = self.nodes(token[0], focus), token[1]
        inner = token[0]
        while inner.symbol == "[":
            inner = inner[0]
        reverse = inner.label == "axis" and inner.symbol in REVERSE
        position = self._position(predicate)
        if position is not None:
            return tuple(self._at_position(base, *position, reverse=reverse))
        found = []
        for reach in base:
            here = focus.at(reach)
            value = self.value(predicate, here)
            if isinstance(value, FigureText) and value.type not in ("boolean", "string"):
                raise NotUnrolled("a predicate that is a computed position")
            found.append(replace(reach, where=(*reach.where, self._holds(value))))
        return tuple(found)

    def _position(self, predicate: Any) -> tuple[int, bool] | None:
        """Return the position that a predicate asks for, and whether it counts from the end."""
        if predicate.symbol == "(integer)":
            return int(predicate.value), False
        if predicate.symbol == "last" and not len(predicate):
            return 1, True
        if predicate.symbol == "=" and predicate[0].symbol == "position" and not len(predicate[0]):
            return self._position(predicate[1])
        return None

    def _at_position(self, base: Reaches, position: int, last: bool, *, reverse: bool) -> Iterator[MemberReach]:
        if len(base) != 1:
            raise NotUnrolled("a position among nodes of several kinds")
        reach = countable(base[0])
        if reach.single:
            if position == 1:
                yield reach
            return
        if len(reach.bound) != 1 or reach.node is not reach.bound[0]:
            raise NotUnrolled("a position among records of several others")
        if reach.field is not None:  # each of them has it once at most, so that a step to it counts from 1
            raise NotUnrolled("a position among fields")
        picked = Picked(reach.node, reach.where, position, last is not reverse)
        yield MemberReach(self.reader.steps.picked(self.reader.table, reach.node, picked))

    def _united(self, left: Reaches, right: Reaches) -> Reaches:
        kinds = [(reach.node.path, reach.field) for reach in (*left, *right)]
        if len(set(kinds)) < len(kinds):
            raise NotUnrolled("a union of nodes of one kind")
        return (*left, *right)

    # -- calls -----------------------------------------------------------------------------------------------------

    def _prefixed(self, token: Any, focus: LevelFocus) -> ReadValue:
        prefix, call = str(token[0].value), token[1]
        if self.reader.steps.of_units.has_functions(prefix):
            return self._call(call.symbol, list(call), focus)
        if "constructor" in str(call.label) and len(call) == 1:
            return FigureText(f"{prefix}:{call.symbol}({self.text(call[0], focus)})")
        raise NotUnrolled(f"the function {prefix}:{call.symbol}()")

    def _call(self, name: str, arguments: list[Any], focus: LevelFocus) -> ReadValue:
        if name in ("true", "false") and not arguments:
            return FigureText(f"{name}()", "boolean")
        if name == "current" and not arguments and focus.current is not None:
            return (focus.current,)
        if name not in RETURNS or name in ("position", "last", "current", "name", "local-name", "namespace-uri"):
            raise NotUnrolled(f"the function {name}()")
        if name in ("not", "boolean", "exists", "empty") and len(arguments) == 1:
            holds = self.truth(arguments[0], focus) if name in ("not", "boolean") else self._some(arguments[0], focus)
            return FigureText(f"not({holds})" if name in ("not", "empty") else holds, "boolean")
        if name in _OVER_MEMBERS and len(arguments) == 1:
            argument = arguments[0]
            if name == "count" and argument.symbol == "distinct-values" and len(argument) == 1:
                name, argument = "distinct", argument[0]
            text = combined_figure(
                self.reader.table, name, self.value(argument, focus), first=self.reader.first_version
            )
            return FigureText(text, "number" if name in ("count", "distinct", "sum") else "any")
        if not arguments and name in OF_CONTEXT and focus.node is not None:
            return FigureText(f"{name}({self._single(MemberReach(focus.node, focus.field))})", RETURNS[name])
        return FigureText(f"{name}({', '.join(self.text(one, focus) for one in arguments)})", RETURNS[name])

    def _some(self, token: Any, focus: LevelFocus) -> str:
        value = self.value(token, focus)
        if not isinstance(value, tuple):
            raise NotUnrolled("exists() or empty() of values")
        return some([self._met(reach) for reach in value])


def _outside(token: Any) -> bool:
    """Whether a path leads through another document, and asks for nothing of this one."""
    first = token
    while first.symbol in ("/", "//") and len(first) > 1:
        first = first[0]
    return first.symbol in ("document", "doc") and all(part.symbol not in ("[", "current") for part in token.iter())


def _end(token: Any) -> int:
    return max(int(part.span[1]) for part in token.iter())


_OF_MEMBERS: dict[str, MemberFunction] = {
    "count": "count", "sum": "sum", "min": "min", "max": "max", "avg": "avg", "distinct": "distinct",
}  # fmt: skip


def combined_figure(table: FigureTable, name: str, value: ReadValue, *, first: bool) -> str:
    """Return a function of all values as an expression on figures.

    Parameters
    ----------
    table : FigureTable
    name : str
        ``count``, ``sum``, ``min``, ``max``, ``avg`` or ``distinct``.
    value : ReadValue
    first : bool
        Whether this is XPath 1.0.

    Raises
    ------
    NotUnrolled
        There is no such expression.
    """
    parts = [part if isinstance(part, FigureText) else countable(part) for part in _parts(value)]
    single = [part for part in parts if isinstance(part, FigureText) or (part.single and part.field is not None)]
    if len(single) == len(parts) and name != "distinct":
        between = " | " if first else ", "
        texts = [part.text if isinstance(part, FigureText) else _field(table, part) for part in single]
        return f"{name}({between.join(texts)})" if first else f"{name}(({between.join(texts)}))"
    if name not in ("count", "sum") and len(parts) != 1:
        raise NotUnrolled(f"{name}() of values of several kinds")
    return " + ".join(f"({_part(table, name, part, first=first)})" for part in parts)


def _parts(value: ReadValue) -> Iterator[MemberReach | FigureText]:
    if isinstance(value, ListedValues):
        for one in value.values:
            yield from _parts(one)
    elif isinstance(value, FigureText):
        yield value
    else:
        yield from value


def _part(table: FigureTable, name: str, part: MemberReach | FigureText, *, first: bool) -> str:
    if isinstance(part, FigureText):
        raise NotUnrolled(f"{name}() of members and of computed values")
    if name == "count":
        return _counted(table, part)
    if part.field is None:
        raise NotUnrolled(f"the text of {part.node.level.name}")
    if part.single and name == "sum":
        return f"sum({_field(table, part)})"
    if not part.bound:
        raise NotUnrolled(f"{name}() of a field under a condition")
    figure = table.figure(MemberFigure(_OF_MEMBERS[name], part.bound, part.where, _field(table, part)))
    # of a text that is no number, a sum is none in XPath 1.0, and a dynamic error later
    return f"number({figure})" if first or name == "distinct" else f"({figure} + 0)"


def _counted(table: FigureTable, part: MemberReach) -> str:
    there = is_there(table, part.node) if part.field is None else (f"boolean({_field(table, part)})",)
    where = (*part.where, *there)
    if part.bound:
        return f"number({table.figure(MemberFigure('count', part.bound, where))})"
    if not where:
        return "1"
    return f"number({every(where)})"


def _field(table: FigureTable, part: MemberReach) -> str:
    if part.field is None:
        raise NotUnrolled(f"the text of {part.node.level.name}")
    return table.single(part.node, part.field)
