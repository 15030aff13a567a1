"""Rule contexts: which nodes a Schematron rule fires on, and under which conditions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from masktron.reading.nodes import (
    Arithmetic,
    Call,
    ContextRecord,
    Expression,
    FieldRef,
    Negative,
    Number,
    Unknown,
)
from masktron.reading.reader import ROOT, Scope, read_node, unknown
from masktron.rulebook.expressions import tree
from masktron.rulebook.expressions.parsing import parsed
from masktron.rulebook.expressions.spacing import as_written

type NodeSort = tuple[str, str]
"""What sort of node a place is, and the name of the field if it is one: nodes of two sorts are never the same."""

ANY_NODE: NodeSort = ("any", "")


@dataclass(frozen=True, slots=True)
class Place:
    """One kind of node that a context matches.

    Attributes
    ----------
    kind : str
        The record, a field of it, any element, or a node outside the record.
    focus : Expression
        What the test is read against.
    conditions : tuple of Expression
        Predicates of the context, in terms of the record.
    """

    kind: Literal["record", "field", "any", "outside"]
    focus: Expression
    conditions: tuple[Expression, ...] = ()

    @property
    def sort(self) -> NodeSort:
        """What sort of node it is."""
        return self.kind, self.focus.name if self.kind == "field" and isinstance(self.focus, FieldRef) else ""

    def meets(self, other: Place) -> bool:
        """Whether one node can be of both kinds."""
        return meet(self.sort, other.sort)


def meet(one: NodeSort, other: NodeSort) -> bool:
    """Whether a node can be of both sorts."""
    if ANY_NODE in (one, other):
        return True
    return one == other and one[0] != "outside"


def places(context: str, scope: Scope, fields: frozenset[str] | None = None) -> tuple[Place, ...]:
    """Read a rule's context.

    Parameters
    ----------
    context : str
        An XSLT pattern: alternatives of paths, with predicates.
    scope : Scope
        With the variables of the schema and the pattern, and the names of records.
    fields : frozenset of str, optional
        Names of the fields, where they are known; an element of another name lies outside the records.

    Raises
    ------
    RulebookError
        The context is not XPath.
    """
    return tuple(_place(one, scope, fields) for one in tree.alternatives(parsed(context, scope.namespaces)))


def matched_names(context: str, scope: Scope) -> tuple[str, ...]:
    """Return the names of the elements that a context matches, the document's root element left out.

    Raises
    ------
    RulebookError
        The context is not XPath.
    """
    names = []
    for one in tree.alternatives(parsed(context, scope.namespaces)):
        match _steps(one):
            case [*_, tree.Step(axis=axis, test=tree.NameTest(local=name))] if (
                axis != "attribute" and name != tree.ANY
            ):
                names += [] if _is_top(one) else [name]
            case _:
                pass
    return tuple(names)


def _is_top(path: tree.Expression) -> bool:
    """``/Records``"""
    return (
        isinstance(path, tree.Path)
        and isinstance(path.first, tree.Root)
        and len(path.hops) == 1
        and not path.hops[0].deep
    )


def _steps(path: tree.Expression) -> list[tree.Expression]:
    """Return what a path leads through, below the document."""
    match path:
        case tree.Root():
            return []
        case tree.Path(first=first, hops=hops):
            return [*_steps(first), *(hop.to for hop in hops)]
        case _:
            return [path]


def _predicates(step: tree.Expression) -> tuple[tree.Expression, ...]:
    return step.predicates if isinstance(step, tree.Step | tree.Filter) else ()


def _place(path: tree.Expression, scope: Scope, fields: frozenset[str] | None) -> Place:
    """Say which nodes one alternative matches."""
    steps = _steps(path)
    if not steps:
        return Place("outside", ROOT)
    *above, last = steps
    predicates = _predicates(last)
    outside = Place("outside", ROOT, _unknown(predicates, scope))
    match last:
        case tree.Step(axis=axis, test=tree.NameTest(local=name)) if name != tree.ANY:
            if axis != "attribute" and name in scope.record_names:
                inner = scope.starting_at(ContextRecord())
                return Place("record", inner.focus, (*_conditions(predicates, inner), *_above(above, scope)))
            found = FieldRef(f"@{name}" if axis == "attribute" else name, last.test.space)  # type: ignore[union-attr]
            if _is_top(path) or (fields is not None and found.name not in fields) or not _in_record(above, scope):
                return outside
            parent = _conditions(_predicates(above[-1]), scope.starting_at(ContextRecord())) if above else ()
            own = _conditions(predicates, scope.starting_at(found))
            return Place("field", found, (*own, *parent, *_above(above[:-1], scope)))
        case tree.Step(axis=axis, test=tree.NameTest()) if axis != "attribute":
            inner = scope.at(ContextRecord())
            return Place("any", ROOT, (*_conditions(predicates, inner), *_above(above, scope)))
        case tree.Step(axis=axis, test=tree.KindTest(kind="node" | "element")) if axis != "parent":
            kind: Literal["any", "outside"] = "any"
        case _:
            kind = "outside"
    return Place(kind, ROOT, (*_conditions(predicates, scope), *_above(above, scope)))


def _in_record(above: Sequence[tree.Expression], scope: Scope) -> bool:
    """Whether a path leads through a record, as far as it says."""
    if not above or not scope.record_names:
        return True
    match above[-1]:
        case tree.Step(test=tree.NameTest(local=name)):
            return name == tree.ANY or name in scope.record_names
        case _:
            return False


def _above(steps: Iterable[tree.Expression], scope: Scope) -> tuple[Expression, ...]:
    """Predicates on elements above the record: they do not depend on the record's fields, and are not read."""
    return tuple(one for step in steps for one in _unknown(_predicates(step), scope))


def _unknown(predicates: Iterable[tree.Expression], scope: Scope) -> tuple[Expression, ...]:
    return tuple(unknown(predicate, scope.at(ROOT)) for predicate in predicates)


def _conditions(predicates: Iterable[tree.Expression], scope: Scope) -> tuple[Expression, ...]:
    return tuple(_condition(predicate, scope) for predicate in predicates)


def _condition(predicate: tree.Expression, scope: Scope) -> Expression:
    """Read a predicate; a number is a position, which is not a condition on the record's fields."""
    found = read_node(predicate, scope)
    positional = isinstance(found, Number | Arithmetic | Negative) or (
        isinstance(found, Call) and found.name in ("number", "count", "sum", "floor", "ceiling", "round")
    )
    if not positional:
        return found
    return Unknown(as_written(predicate), outside=True, elsewhere=any(map(tree.is_document, tree.walk(predicate))))
