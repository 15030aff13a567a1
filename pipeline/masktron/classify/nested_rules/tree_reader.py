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
from functools import reduce

from masktron.classify.nested_rules.level_steps import (
    FigureText,
    LevelFocus,
    LevelSteps,
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
from masktron.classify.nested_rules.member_figures import FigureTable, MemberFigure, MemberFunction, Picked
from masktron.rulebook.expressions import tree
from masktron.rulebook.expressions.tree import Expression
from masktron.rulebook.expressions.words import STANDARD_NAMESPACES
from masktron.rulebook.schema import XPathVersion
from masktron.unrolling.unrolled_values import NAMES, OF_CONTEXT, RETURNS, NotUnrolled

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

    @property
    def first_version(self) -> bool:
        """Whether the expressions are XPath 1.0."""
        return self.version == "1.0"

    # -- values ----------------------------------------------------------------------------------------------------

    def value(  # noqa: PLR0911 -- one branch for each construct
        self, expression: Expression, focus: LevelFocus
    ) -> ReadValue:
        """Return the value of an expression at a node.

        Raises
        ------
        NotUnrolled
            It reads what is no field, or no figure.
        """
        match expression:
            case tree.Literal(value=value):
                return FigureText(expression.written, "string" if isinstance(value, str) else "number")
            case tree.Variable(name=name):
                return self._variable(name, focus)
            case tree.Call():
                return self._call(expression, focus)
            case tree.Path():
                return self._path(expression, focus)
            case tree.ContextItem():
                return (_here(focus),)
            case tree.Step(axis=axis, test=test, predicates=predicates):
                nodes = tuple(self.steps.step(self.table, axis, test, _here(focus), focus.depth))
                return self._filtered(nodes, predicates, focus, reverse=axis in tree.REVERSE)
            case tree.Filter(base=base, predicates=predicates):
                return self._filtered(self.nodes(base, focus), predicates, focus)
            case tree.NodeSet(sign="|", operands=(first, *rest)):
                return reduce(lambda left, one: _united(left, self.nodes(one, focus)), rest, self.nodes(first, focus))
            case tree.Sequence(items=items):
                return ListedValues(tuple(self.value(one, focus) for one in items))
            case tree.Connective() | tree.Comparison() | tree.Binding(kind="some" | "every"):
                return FigureText(self.truth(expression, focus), "boolean")
            case _:
                return self._computed(expression, focus)

    def _variable(self, name: str, focus: LevelFocus) -> ReadValue:
        if name not in focus.variables:
            raise NotUnrolled(f"${name}, whose value is not known here")
        meant: ReadValue | Meant = focus.variables[name]
        if not isinstance(meant, Meant):
            return meant
        return self.value(meant.expression, replace(meant.focus, depth=max(focus.depth, meant.focus.depth)))

    def _computed(self, expression: Expression, focus: LevelFocus) -> ReadValue:
        match expression:
            case tree.Negation(sign=sign, operand=operand):
                return FigureText(f"{sign}({self.text(operand, focus)})", "number")
            case tree.Arithmetic(sign=sign, operands=operands):
                return FigureText(self._chain(sign, operands, focus), "number")
            case tree.Concatenation(operands=operands):
                return FigureText(self._chain("||", operands, focus), "string")
            case tree.If(condition=condition, then=one, otherwise=other):
                then, otherwise = self.text(one, focus), self.text(other, focus)
                return FigureText(f"if ({self.truth(condition, focus)}) then ({then}) else ({otherwise})")
            case tree.Binding(kind="let", bound=bound, body=body):
                for name, value in bound:
                    focus = focus.bind(name, Meant(value, focus))
                return self.value(body, focus)
            case tree.Root():
                raise NotUnrolled("an absolute path, which reads other records")
            case _:
                raise NotUnrolled(f"'{expression}' has no form across levels")

    def _chain(self, sign: str, operands: Sequence[Expression], focus: LevelFocus) -> str:
        first, *rest = operands
        return reduce(lambda left, one: f"({left}) {sign} ({self.text(one, focus)})", rest, self.text(first, focus))

    def text(self, expression: Expression, focus: LevelFocus) -> str:
        """Return an expression, whose value is a single one, as an expression on figures."""
        return self._scalar(self.value(expression, focus))

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
            return self.table.single(reach.node, reach.field)
        if not self.first_version or reach.repeats or len(reach.bound) != 1 or reach.node is not reach.bound[0]:
            raise NotUnrolled(f"one value of {reach.field.name}, of which there may be several")
        there = f"boolean({self.table.single(reach.node, reach.field)})"
        first = self.steps.picked(self.table, reach.node, Picked(reach.node, (*reach.where, there), 1))
        return self.table.single(first, reach.field)

    def nodes(self, expression: Expression, focus: LevelFocus) -> Reaches:
        """Return the nodes that an expression is."""
        value = self.value(expression, focus)
        if not isinstance(value, tuple):
            raise NotUnrolled(f"'{expression}' in the place of nodes")
        return value

    # -- truth -----------------------------------------------------------------------------------------------------

    def truth(self, expression: Expression, focus: LevelFocus) -> str:
        """Return the effective boolean value of an expression, as one on figures.

        Raises
        ------
        NotUnrolled
            It reads what is no field, or no figure.
        """
        match expression:
            case tree.Connective(sign=sign, operands=(first, *rest)):
                together = every if sign == "and" else some
                truth = self.truth(first, focus)
                return reduce(lambda left, one: together([left, self.truth(one, focus)]), rest, truth)
            case tree.Comparison(sign="is" | "<<" | ">>"):
                raise NotUnrolled(f"'{expression}' has no form across levels")
            case tree.Comparison(sign="=" | "!=" | "<" | "<=" | ">" | ">="):
                return self._compared(expression, focus)
            case tree.Comparison(sign=sign, left=left, right=right):
                return self._chain(sign, (left, right), focus)
            case tree.Binding(kind="some" | "every"):
                return self._quantified(expression, focus)
            case tree.If():
                parts = (expression.condition, expression.then, expression.otherwise)
                condition, then, otherwise = (self.truth(part, focus) for part in parts)
                return f"(({condition}) and ({then})) or (not({condition}) and ({otherwise}))"
            case _:
                return self._holds(self.value(expression, focus))

    def _holds(self, value: ReadValue) -> str:
        if isinstance(value, tuple):
            return some([self._met(reach) for reach in value])
        if isinstance(value, ListedValues):
            return f"boolean({self._scalar(value)})"
        return value.text if value.type == "boolean" else f"boolean({value.text})"

    def _met(self, reach: MemberReach) -> str:
        """Return that some node is there."""
        return exists(self.table, reach, self._present(reach))

    # -- comparisons -----------------------------------------------------------------------------------------------

    def _compared(self, comparison: tree.Comparison, focus: LevelFocus) -> str:
        left = self.value(comparison.left, focus)
        bound = [node for reach in left for node in reach.bound] if isinstance(left, tuple) else []
        right = self.value(comparison.right, focus.under(bound))
        if self.first_version:
            for one, other in ((left, right), (right, left)):
                several = isinstance(one, tuple) and not (len(one) == 1 and one[0].single)
                if several and isinstance(other, FigureText) and other.type == "boolean":
                    raise NotUnrolled("nodes compared with true or false")
        cases = [
            self._matched(first, second, f"({one}) {comparison.sign} ({other})")
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
                yield (None if reach.single else reach), self.table.single(reach.node, reach.field)

    def _matched(self, first: MemberReach | None, second: MemberReach | None, condition: str) -> str:
        for reach in (second, first):
            if reach is not None:
                condition = exists(self.table, reach, (condition,))
        return condition

    def _quantified(self, binding: tree.Binding, focus: LevelFocus) -> str:
        over: list[tuple[LevelFocus, tuple[MemberReach, ...]]] = [(focus, ())]
        for name, items in binding.bound:
            over = [
                (
                    one.under(reach.bound).bind(name, (MemberReach(reach.node, reach.field),)),
                    (*before, reach),
                )
                for one, before in over
                for reach in self.nodes(items, one)
            ]
        cases = []
        for one, reaches in over:
            body = self.truth(binding.body, one)
            condition = body if binding.kind == "some" else f"not({body})"
            for reach in reversed(reaches):
                condition = exists(self.table, reach, (*self._present(reach), condition))
            cases.append(condition)
        return some(cases) if binding.kind == "some" else f"not({some(cases)})"

    def _present(self, reach: MemberReach) -> tuple[str, ...]:
        if reach.field is not None:
            return (f"boolean({self.table.single(reach.node, reach.field)})",)
        return is_there(self.table, reach.node)

    # -- paths -----------------------------------------------------------------------------------------------------

    def _path(self, path: tree.Path, focus: LevelFocus) -> Reaches | FigureText:
        if _outside(path):
            return FigureText(path.source[path.first.start : path.hops[-1].to.end])
        base = self.nodes(path.first, focus)
        for hop in path.hops:
            base = self._hop(base, hop, focus)
        return base

    def _hop(self, base: Reaches, hop: tree.Hop, focus: LevelFocus) -> Reaches:
        if hop.deep:
            base = tuple(below for reach in base for below in self.steps.with_below(self.table, reach, focus.depth))
        found: list[MemberReach] = []
        known = len(self.table.missing)
        for reach in base:
            for one in self.nodes(hop.to, focus.at(reach)):
                away = bool(reach.bound) and reach.node not in one.node.around()
                bound, where = (*reach.bound, *one.bound), (*reach.where, *one.where)
                found.append(MemberReach(one.node, one.field, bound, where, away or reach.repeats or one.repeats))
        if found and len(base) > 1:  # some of them have it
            del self.table.missing[known:]
        return tuple(found)

    def _filtered(
        self, base: Reaches, predicates: Sequence[Expression], focus: LevelFocus, *, reverse: bool = False
    ) -> Reaches:
        for predicate in predicates:
            position = _position(predicate)
            if position is not None:
                base = tuple(self._at_position(base, *position, reverse=reverse))
            else:
                base = tuple(self._fulfilling(reach, predicate, focus) for reach in base)
        return base

    def _fulfilling(self, reach: MemberReach, predicate: Expression, focus: LevelFocus) -> MemberReach:
        value = self.value(predicate, focus.at(reach))
        if isinstance(value, FigureText) and value.type not in ("boolean", "string"):
            raise NotUnrolled("a predicate that is a computed position")
        return replace(reach, where=(*reach.where, self._holds(value)))

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
        yield MemberReach(self.steps.picked(self.table, reach.node, picked))

    # -- calls -----------------------------------------------------------------------------------------------------

    def _call(self, call: tree.Call, focus: LevelFocus) -> ReadValue:
        if call.standard:
            return self._standard(call.standard, call.arguments, focus)
        name = f"{call.prefix}:{call.name}"
        if call.space == STANDARD_NAMESPACES["xs"] and call.prefix and len(call.arguments) == 1:
            return FigureText(f"{name}({self.text(call.arguments[0], focus)})")
        raise NotUnrolled(f"the function {name}()")

    def _standard(self, name: str, arguments: Sequence[Expression], focus: LevelFocus) -> ReadValue:
        if name in ("true", "false") and not arguments:
            return FigureText(f"{name}()", "boolean")
        if name == "current" and not arguments and focus.current is not None:
            return (focus.current,)
        if name not in RETURNS or name in ("position", "last") or name in NAMES:
            raise NotUnrolled(f"the function {name}()")
        if name in ("not", "boolean", "exists", "empty") and len(arguments) == 1:
            holds = self.truth(arguments[0], focus) if name in ("not", "boolean") else self._some(arguments[0], focus)
            return FigureText(f"not({holds})" if name in ("not", "empty") else holds, "boolean")
        if name in _OVER_MEMBERS and len(arguments) == 1:
            argument = arguments[0]
            if name == "count" and isinstance(argument, tree.Call) and argument.standard == "distinct-values":
                name, argument = "distinct", argument.arguments[0]
            text = combined_figure(self.table, name, self.value(argument, focus), first=self.first_version)
            return FigureText(text, "number" if name in ("count", "distinct", "sum") else "any")
        if not arguments and name in OF_CONTEXT and focus.node is not None:
            return FigureText(f"{name}({self._single(MemberReach(focus.node, focus.field))})", RETURNS[name])
        return FigureText(f"{name}({', '.join(self.text(one, focus) for one in arguments)})", RETURNS[name])

    def _some(self, expression: Expression, focus: LevelFocus) -> str:
        value = self.value(expression, focus)
        if not isinstance(value, tuple):
            raise NotUnrolled("exists() or empty() of values")
        return some([self._met(reach) for reach in value])


@dataclass(frozen=True, slots=True)
class Meant:
    """An expression that a variable stands for, evaluated at its focus where the variable is read."""

    expression: Expression
    focus: LevelFocus


def _here(focus: LevelFocus) -> MemberReach:
    if focus.node is None:
        raise NotUnrolled("a variable of the schema or pattern that reads the document")
    return MemberReach(focus.node, focus.field)


def _united(left: Reaches, right: Reaches) -> Reaches:
    kinds = [(reach.node.path, reach.field) for reach in (*left, *right)]
    if len(set(kinds)) < len(kinds):
        raise NotUnrolled("a union of nodes of one kind")
    return (*left, *right)


def _position(predicate: Expression) -> tuple[int, bool] | None:
    """Return the position that a predicate asks for, and whether it counts from the end."""
    match predicate:
        case tree.Literal(value=int(position)):
            return position, False
        case tree.Call(standard="last"):
            return 1, True
        case tree.Comparison(sign="=", left=tree.Call(standard="position"), right=right):
            return _position(right)
        case _:
            return None


def _outside(path: tree.Path) -> bool:
    """Whether a path leads through another document, and asks for nothing of this one."""
    if not tree.is_document(path.first):
        return False
    parts = list(tree.walk(path))
    asks = any(isinstance(one, tree.Filter | tree.Opaque) or getattr(one, "predicates", ()) for one in parts)
    return not asks and not any(isinstance(one, tree.Call) and one.standard == "current" for one in parts)


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
