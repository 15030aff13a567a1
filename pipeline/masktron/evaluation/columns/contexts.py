"""Rule contexts over columns: which nodes of a flat record a context may match, and in which records it does.

A flat file has the elements above its records, the records, and their fields; a context is laid against the way down
to each of them. Theorem: a path matches a node if and only if its last step fits the node, each step before it fits
the parent of the next (any ancestor of it after ``//``), an absolute path begins at the root element, and all
predicates hold on the nodes that their steps lie on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce

import numpy as np

from masktron.evaluation.columns.outcome import NotColumnar, Test, Truth
from masktron.evaluation.columns.scope import ColumnScope
from masktron.sources.columns import Batch
from masktron.xpath.context_match import ContextPath, Step, parse_context

type Target = int | None
"""A node of a record: None for itself, else a field by its position in the layout."""
type TestCompiler = Callable[[str, ColumnScope], Test]


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """What a context matches.

    Attributes
    ----------
    beyond : str
        Why it may match other nodes than records and fields; empty where it cannot.
    targets : mapping of Target to Test
        The nodes of a record that it may match, each with the condition.
    unknown : mapping of Target to str
        Nodes of a record that it may match under a condition that has no evaluation over columns, with the reason.
    """

    beyond: str
    targets: Mapping[Target, Test]
    unknown: Mapping[Target, str]


@dataclass(frozen=True, slots=True)
class _Place:
    """An element or attribute on the way down; ``above`` the records, or a target."""

    tag: str
    attribute: bool = False
    above: bool = False
    target: Target = None


@dataclass(frozen=True, slots=True, eq=False)
class _AnyOf:
    """Whether all tests of one of some groups hold; strict: unsure where one of the tests is.

    Engines may evaluate the parts of a condition in any order, and one of them may be an error.
    """

    groups: tuple[tuple[Test, ...], ...]

    @property
    def fields(self) -> frozenset[int]:
        return frozenset().union(*(test.fields for group in self.groups for test in group))

    def truth(self, batch: Batch) -> Truth:
        if any(not group for group in self.groups):
            return Truth(np.ones(len(batch), dtype=np.bool_), np.zeros((), dtype=np.bool_))
        truths = [[test.truth(batch) for test in group] for group in self.groups]
        holds = reduce(np.logical_or, (reduce(np.logical_and, (t.holds for t in group)) for group in truths))
        return Truth(holds, reduce(np.logical_or, (t.unsure for group in truths for t in group)))


def is_certain(test: Test) -> bool:
    """Tell whether a condition of a context holds on every node that it is about."""
    return isinstance(test, _AnyOf) and any(not group for group in test.groups)


def compile_context(context: str, scope: ColumnScope, compile_test: TestCompiler) -> Context:
    """Compile a context.

    Parameters
    ----------
    context : str
    scope : ColumnScope
        With the variables of the schema and of the pattern.
    compile_test : callable
        Of the XPath version.
    """
    paths = parse_context(context, scope.namespaces)
    if paths is None:
        reason = "the context is not a plain path"
        return Context(reason, {}, dict.fromkeys(_all_targets(scope), reason))
    beyond = ""
    found: dict[Target, list[tuple[Test, ...]]] = {}
    unknown: dict[Target, str] = {}
    for path in paths:
        beyond = beyond or _beyond(path, scope)
        if path.kind in ("node", "any"):
            unknown |= dict.fromkeys(_all_targets(scope), beyond)
        for target in _all_targets(scope) if path.kind in ("element", "attribute") else ():
            try:
                found.setdefault(target, []).extend(_groups(path, target, scope, compile_test))
            except NotColumnar as why:
                unknown.setdefault(target, str(why))
    targets = {target: _AnyOf(tuple(groups)) for target, groups in found.items() if groups and target not in unknown}
    return Context(beyond, targets, unknown)


def _all_targets(scope: ColumnScope) -> list[Target]:
    return [None, *range(len(scope.layout.fields))]


def _beyond(path: ContextPath, scope: ColumnScope) -> str:
    """Return why a path may match nodes that are neither records nor fields."""
    if path.kind not in ("element", "attribute"):
        return f"the context may match {'the document' if path.kind == 'document' else 'other nodes than fields'}"
    for depth in range(1, len(scope.layout.record_path)):
        way = _way(scope)[:depth]
        try:
            if path.kind == "element" and any(_alignments(path, way, scope)):
                return "the context may match an element above the records"
            if path.kind == "attribute" and _attribute_above(path, way, scope):
                return "the context may match an attribute above the records"
        except NotColumnar as why:
            return str(why)
    return ""


def _attribute_above(path: ContextPath, way: tuple[_Place, ...], scope: ColumnScope) -> bool:
    """Tell whether a path may match an attribute above the records, of which only those of the root are known."""
    if len(way) > 1:
        return any(_alignments(path, (*way, _Place(_tag(path.steps[-1], scope), attribute=True)), scope))
    places = (_Place(tag, attribute=True) for tag, _ in scope.layout.root_attributes)
    return any(any(_alignments(path, (*way, place), scope)) for place in places)


def _tag(step: Step, scope: ColumnScope) -> str:
    """Return a name that a step matches."""
    uri, local = _expanded(step, scope)
    return f"{{{uri}}}{local or 'any'}" if uri else local or "any"


def _way(scope: ColumnScope) -> tuple[_Place, ...]:
    path = scope.layout.record_path
    return (*(_Place(tag, above=True) for tag in path[:-1]), _Place(path[-1]))


def _groups(
    path: ContextPath, target: Target, scope: ColumnScope, compile_test: TestCompiler
) -> Iterator[tuple[Test, ...]]:
    """Yield for each way to lay a path against a target the predicates that have to hold."""
    way = _way(scope)
    if target is not None:
        field = scope.layout.fields[target]
        way = (*way, _Place(field.tag, field.attribute, target=target))
    for alignment in _alignments(path, way, scope):
        yield tuple(
            compile_test(source, scope.on(target).at(place.target))
            for step, place in alignment
            for source in _predicates(step, place)
        )


def _predicates(step: Step, place: _Place) -> Iterator[str]:
    if step.predicates and place.above:
        raise NotColumnar("the context has a predicate on an element above the records")
    if step.positional and (place.target is None or step.plain_name is None):
        raise NotColumnar("the context may depend on the position of a record or among several fields")
    for predicate in step.predicates:
        # of each name a record has one field, so that a position is one among a single node
        yield f"self::node()[{predicate}]" if step.positional else predicate


def _alignments(
    path: ContextPath, way: tuple[_Place, ...], scope: ColumnScope
) -> Iterator[list[tuple[Step, _Place]]]:
    yield from _aligned(path, len(path.steps) - 1, way, scope)


def _aligned(
    path: ContextPath, k: int, way: tuple[_Place, ...], scope: ColumnScope
) -> Iterator[list[tuple[Step, _Place]]]:
    """Yield the ways in which the steps up to the k-th fit a way down, the k-th its end."""
    if not way or not _fits(path.steps[k], way[-1], scope):
        return
    here = (path.steps[k], way[-1])
    if k == 0:
        if not path.absolute or path.steps[0].gap or len(way) == 1:
            yield [here]
        return
    ends = range(1, len(way)) if path.steps[k].gap else (len(way) - 1,)
    for end in ends:
        yield from ([*before, here] for before in _aligned(path, k - 1, way[:end], scope))


def _fits(step: Step, place: _Place, scope: ColumnScope) -> bool:
    if step.kind not in ("element", "attribute"):
        raise NotColumnar("the context has a step that is no name")
    if (step.kind == "attribute") != place.attribute:
        return False
    namespace, local = _expanded(step, scope)
    uri, _, name = place.tag.rpartition("}")
    return local in (None, name) and namespace in (None, uri.removeprefix("{"))


def _expanded(step: Step, scope: ColumnScope) -> tuple[str | None, str | None]:
    """Return namespace and local name of a step; None for a wildcard."""
    if step.name == "*":
        return None, None
    prefix, colon, local = step.name.rpartition(":")
    if "{" in step.name or (colon and prefix != "*" and scope.uri(prefix) is None):
        raise NotColumnar(f"the name {step.name!r} of the context")
    uri = "" if not colon else None if prefix == "*" else scope.uri(prefix)
    return uri, None if local == "*" else local
