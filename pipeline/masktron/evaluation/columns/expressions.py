"""Expressions over a batch: a walk over the tree, each step with a value for all records.

Nothing here depends on what the records say but the values themselves, so that an expression that can be evaluated on
no records at all can be evaluated on any: it is tried without records, which tells what it reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from types import MappingProxyType

import numpy as np

from masktron.errors import RulebookError
from masktron.evaluation.columns.comparisons import conjunction, disjunction, holding
from masktron.evaluation.columns.field_source import BatchSource, DrySource, FieldSource
from masktron.evaluation.columns.items import Items, Node, in_document_order, joined, one, restricted
from masktron.evaluation.columns.operators import arithmetic, negated
from masktron.evaluation.columns.outcome import NotColumnar, Truth
from masktron.evaluation.columns.state import ColumnScope, ScopedLet, State, start
from masktron.evaluation.columns.steps import context_item, read_below, step
from masktron.rulebook.expressions.parsing import parsed
from masktron.rulebook.expressions.tree import (
    Arithmetic,
    Call,
    Comparison,
    Connective,
    ContextItem,
    Expression,
    Filter,
    Hop,
    Literal,
    NameTest,
    Negation,
    NodeSet,
    Path,
    Root,
    Step,
    Variable,
)
from masktron.sources.columns import Batch

MAX_STEPS = 256
_MOST_NESTED = 120
_CONNECTED: Mapping[str, Callable[[Items, Items, FieldSource], Items]] = MappingProxyType(
    {"and": conjunction, "or": disjunction}
)


def evaluate(expression: Expression, state: State) -> Items:
    """Return the value of an expression in all records.

    Raises
    ------
    NotColumnar
        An engine has to evaluate it.
    """
    match expression:
        case Literal(value=value):
            return one(state.dialect.constant(value))
        case Step(predicates=()):
            return step(expression, state)
        case ContextItem():
            return one(context_item(state))
        case Root():
            raise NotColumnar("an absolute path")
        case _ if state.depth > _MOST_NESTED:
            raise NotColumnar("the expression is nested too deeply")
        case Variable(name=name):
            return _variable(name, state)
        case _:
            return _composed(expression, replace(state, depth=state.depth + 1))


def _composed(expression: Expression, state: State) -> Items:  # noqa: PLR0911 -- one branch per construct
    dialect, source = state.dialect, state.source
    match expression:
        case Step(predicates=predicates):
            return _filtered(step(expression, state), predicates, state)
        case Filter(base=base, predicates=predicates):
            return _filtered(evaluate(base, state), predicates, state)
        case Path(first=first, hops=hops):
            return reduce(lambda nodes, hop: _onward(nodes, hop, state), hops, evaluate(first, state))
        case Call():
            return dialect.call(expression, state)
        case Connective(sign=sign, operands=operands):
            connected = _CONNECTED[sign]
            return reduce(lambda a, b: connected(a, b, source), [evaluate(part, state) for part in operands])
        case Comparison(sign=sign, left=left, right=right):
            return dialect.compare(sign, evaluate(left, state), evaluate(right, state), source)
        case Arithmetic(sign=sign, operands=operands):
            numbers = [dialect.operand(evaluate(part, state), source) for part in operands]
            return reduce(lambda a, b: arithmetic(sign, a, b, source), numbers)
        case Negation(sign=sign, operand=operand):
            once = negated(dialect.operand(evaluate(operand, state), source), source)
            return once if sign == "-" else negated(once, source)
        case NodeSet(sign="|", operands=operands):
            return in_document_order(joined([evaluate(part, state) for part in operands]))
        case _:
            return dialect.other(expression, state)


def refused(expression: Expression, state: State) -> Items:
    """Leave an expression to an engine."""
    raise NotColumnar(f"'{expression}' has no evaluation over columns")


def _variable(name: str, state: State) -> Items:
    """Return the value of a variable that the expression or the rulebook binds."""
    if name in state.local:
        return state.local[name]
    let = state.scope.variable(name)
    if id(let) not in state.lets:
        state.lets[id(let)] = evaluate(let.value, state.outside(let.scope))
    return state.lets[id(let)]


def _filtered(items: Items, predicates: tuple[Expression, ...], state: State) -> Items:
    return reduce(lambda left, predicate: state.dialect.chosen(left, predicate, state), predicates, items)


def _onward(items: Items, hop: Hop, state: State) -> Items:
    """Return what one more part of a path reaches."""
    if hop.deep:
        if not (isinstance(hop.to, Step) and hop.to.axis == "child" and isinstance(hop.to.test, NameTest)):
            raise NotColumnar("'//' before what is no name")
        for item in items.items:
            if isinstance(item, Node):
                read_below(item, state)
    reached = each(items, hop.to, state)
    return in_document_order(reached) if reached.items and isinstance(reached.items[0], Node) else reached


def each(items: Items, to: Expression, state: State) -> Items:
    """Return the values of an expression with each item as context item."""
    if len(items.items) > MAX_STEPS:
        raise NotColumnar("a step for each of many items")
    parts = [restricted(evaluate(to, state.at(item)), item.present) for item in items.items]
    result = joined([*parts, Items((), items.unsure)], exclusive=items.single)
    return replace(result, ordered=result.ordered and items.ordered)


@dataclass(frozen=True, slots=True, eq=False)
class CompiledTest:
    """A test that is evaluated over columns.

    Attributes
    ----------
    fields : frozenset of int
        Positions in the layout of the fields that it reads.
    """

    expression: Expression
    scope: ColumnScope
    fields: frozenset[int]
    _never: set[tuple[int, int]]

    def truth(self, batch: Batch) -> Truth:
        """Evaluate it in every record of a batch; records and cells that are odd may get any answer."""
        source = BatchSource(batch)
        # divisions by zero and the like are answers of IEEE, or unsure
        with np.errstate(all="ignore"):
            holds, unsure = holding(evaluate(self.expression, start(source, self.scope, self._never)), source)
        rows = (len(batch),)
        return Truth(np.broadcast_to(holds, rows), np.broadcast_to(unsure, rows))


def compile_test(test: str | Expression, scope: ColumnScope) -> CompiledTest:
    """Compile a test, as a text or as a part of one that was read, to its effective boolean value.

    Raises
    ------
    NotColumnar
        An engine has to evaluate it; the text says why.
    """
    expression, dry = _parsed(test, scope) if isinstance(test, str) else test, DrySource()
    tried = start(dry, scope)
    with np.errstate(all="ignore"):
        holding(evaluate(expression, tried), dry)
    return CompiledTest(expression, scope, frozenset(dry.read), tried.never)


def compile_let(text: str, scope: ColumnScope) -> ScopedLet:
    """Compile the value of a variable, for `ColumnScope.bind`.

    Raises
    ------
    NotColumnar
        An engine has to evaluate it; the text says why.
    """
    expression = _parsed(text, scope)
    with np.errstate(all="ignore"):
        evaluate(expression, start(DrySource(), scope))
    return ScopedLet(expression, scope)


def _parsed(text: str, scope: ColumnScope) -> Expression:
    try:
        return parsed(text, scope.namespaces)
    except RulebookError as error:
        raise NotColumnar(f"the expression is not understood: {error}") from None
