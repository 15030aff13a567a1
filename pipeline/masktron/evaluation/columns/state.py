"""What an expression over a batch is evaluated in: where its fields are read, its context node, its variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from masktron.evaluation.columns.field_source import FieldSource
from masktron.evaluation.columns.items import RECORD, YES, Items, Node, one
from masktron.evaluation.columns.outcome import NotColumnar
from masktron.evaluation.columns.scope import DOCUMENT, ColumnScope


@dataclass(frozen=True, slots=True)
class ScopedLet:
    """A variable of the rulebook: an expression in its own scope."""

    token: Any
    scope: ColumnScope


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
        Values of variables of the rulebook, by their `ScopedLet`, made once in a batch.
    never : set of (int, int)
        Predicates, each with a node, that are false whatever the records say: found when the expression is tried.
    depth : int
        How deep the expression is nested.
    alone : bool
        Whether the context node is surely the only one, so that its position is 1 and the last is 1.
    """

    source: FieldSource
    scope: ColumnScope
    focus: Items | None
    local: Mapping[str, Items]
    lets: dict[int, Items]
    never: set[tuple[int, int]]
    depth: int = 0
    alone: bool = False

    def bound(self, name: str, value: Items) -> State:
        """Return the state with one more variable."""
        return replace(self, local=MappingProxyType({**self.local, name: value}))


type Evaluate = Callable[[Any, State], Items]


def node_at(position: int | None) -> Items | None:
    """Return the node of a focus: nothing is evaluated where it is not there."""
    if position == DOCUMENT:
        return None
    return one(Node(YES, RECORD if position is None else position))


def start(source: FieldSource, scope: ColumnScope, never: set[tuple[int, int]] | None = None) -> State:
    """Return the state in which an expression of the rulebook is evaluated."""
    known = set[tuple[int, int]]() if never is None else never
    return State(source, scope, node_at(scope.focus), MappingProxyType({}), {}, known)


def variable(name: str, state: State, evaluate: Evaluate) -> Items:
    """Return the value of a variable that the expression or the rulebook binds."""
    if name in state.local:
        return state.local[name]
    let = state.scope.variable(name)
    if not isinstance(let, ScopedLet):
        raise NotColumnar(f"${name}")
    if id(let) not in state.lets:
        outside = replace(start(state.source, let.scope, state.never), lets=state.lets, depth=state.depth)
        state.lets[id(let)] = evaluate(let.token, outside)
    return state.lets[id(let)]
