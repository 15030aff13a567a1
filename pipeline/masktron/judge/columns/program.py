"""A rulebook over columns: contexts, first match and tests of all checks that can be evaluated on whole batches."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from masktron.judge.columns.expressions import CompiledTest, compile_let, compile_test
from masktron.judge.columns.items import NotColumnar, Outcome, Truth
from masktron.judge.columns.state import DOCUMENT, ColumnScope, Dialect
from masktron.judge.stylesheet import needs_saxon
from masktron.rulebook.context_match import ContextPath, ContextStep, parse_context
from masktron.rulebook.expressions.tree import ANY, Expression, KindTest, NameTest, Step
from masktron.rulebook.schema import Check, Let, Pattern, Rule, Rulebook, XPathVersion
from masktron.sources.columns import Batch, Cell
from masktron.sources.record_layout import Layout

type Target = int | None
"""A node of a record: None for itself, else a field by its position in the layout."""


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """What a context matches.

    Attributes
    ----------
    beyond : str
        Why it may match other nodes than records and fields; empty where it cannot.
    targets : mapping of Target to condition
        The nodes of a record that it may match, each with the condition.
    unknown : mapping of Target to str
        Nodes of a record that it may match under a condition that has no evaluation over columns, with the reason.
    """

    beyond: str
    targets: Mapping[Target, _AnyOf]
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

    groups: tuple[tuple[CompiledTest, ...], ...]

    @property
    def fields(self) -> frozenset[int]:
        return frozenset().union(*(test.fields for group in self.groups for test in group))

    @property
    def certain(self) -> bool:
        """Whether it holds on every node that it is about."""
        return any(not group for group in self.groups)

    def truth(self, batch: Batch) -> Truth:
        if self.certain:
            return Truth(np.ones(len(batch), dtype=np.bool_), np.zeros((), dtype=np.bool_))
        truths = [[test.truth(batch) for test in group] for group in self.groups]
        holds = reduce(np.logical_or, (reduce(np.logical_and, (t.holds for t in group)) for group in truths))
        return Truth(holds, reduce(np.logical_or, (t.unsure for group in truths for t in group)))


def compile_context(context: str, scope: ColumnScope) -> Context:
    """Compile a context.

    Parameters
    ----------
    context : str
    scope : ColumnScope
        With the variables of the schema and of the pattern.
    """
    paths = parse_context(context, scope.namespaces)
    if paths is None:
        reason = "the context is not a plain path"
        return Context(reason, {}, dict.fromkeys(_all_targets(scope), reason))
    beyond = ""
    found: dict[Target, list[tuple[CompiledTest, ...]]] = {}
    unknown: dict[Target, str] = {}
    for path in paths:
        beyond = beyond or _beyond(path, scope)
        if path.kind in ("node", "any"):
            unknown |= dict.fromkeys(_all_targets(scope), beyond)
        for target in _all_targets(scope) if path.kind in ("element", "attribute") else ():
            try:
                found.setdefault(target, []).extend(_groups(path, target, scope))
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
            if path.kind == "element" and any(_alignments(path, way)):
                return "the context may match an element above the records"
            if path.kind == "attribute" and _attribute_above(path, way, scope):
                return "the context may match an attribute above the records"
        except NotColumnar as why:
            return str(why)
    return ""


def _attribute_above(path: ContextPath, way: tuple[_Place, ...], scope: ColumnScope) -> bool:
    """Tell whether a path may match an attribute above the records, of which only those of the root are known."""
    if len(way) > 1:
        return any(_alignments(path, (*way, _Place(_tag(path.steps[-1]), attribute=True))))
    places = (_Place(tag, attribute=True) for tag, _ in scope.layout.root_attributes)
    return any(any(_alignments(path, (*way, place))) for place in places)


def _tag(step: ContextStep) -> str:
    """Return a name that a step matches."""
    test = step.node_test
    if not isinstance(test, NameTest) or test.space in ("", ANY):
        return step.name.rpartition(":")[2].replace(ANY, "any")
    return f"{{{test.space}}}{test.local.replace(ANY, 'any')}"


def _way(scope: ColumnScope) -> tuple[_Place, ...]:
    path = scope.layout.record_path
    return (*(_Place(tag, above=True) for tag in path[:-1]), _Place(path[-1]))


def _groups(path: ContextPath, target: Target, scope: ColumnScope) -> Iterator[tuple[CompiledTest, ...]]:
    """Yield for each way to lay a path against a target the predicates that have to hold."""
    way = _way(scope)
    if target is not None:
        field = scope.layout.fields[target]
        way = (*way, _Place(field.tag, field.attribute, target=target))
    for alignment in _alignments(path, way):
        yield tuple(
            compile_test(predicate, scope.on(target).at(place.target))
            for step, place in alignment
            for predicate in _predicates(step, place)
        )


def _predicates(step: ContextStep, place: _Place) -> Iterator[Expression]:
    if step.predicates and place.above:
        raise NotColumnar("the context has a predicate on an element above the records")
    if step.positional and (place.target is None or step.plain_name is None):
        raise NotColumnar("the context may depend on the position of a record or among several fields")
    for predicate in step.predicates:
        # of each name a record has one field, so that a position is one among a single node
        where = predicate.source, predicate.start, predicate.end
        yield Step(*where, "self", KindTest("node"), (predicate,)) if step.positional else predicate


def _alignments(path: ContextPath, way: tuple[_Place, ...]) -> Iterator[list[tuple[ContextStep, _Place]]]:
    yield from _aligned(path, len(path.steps) - 1, way)


def _aligned(path: ContextPath, k: int, way: tuple[_Place, ...]) -> Iterator[list[tuple[ContextStep, _Place]]]:
    """Yield the ways in which the steps up to the k-th fit a way down, the k-th its end."""
    if not way or not _fits(path.steps[k], way[-1]):
        return
    here = (path.steps[k], way[-1])
    if k == 0:
        if not path.absolute or path.steps[0].gap or len(way) == 1:
            yield [here]
        return
    ends = range(1, len(way)) if path.steps[k].gap else (len(way) - 1,)
    for end in ends:
        yield from ([*before, here] for before in _aligned(path, k - 1, way[:end]))


def _fits(step: ContextStep, place: _Place) -> bool:
    if not isinstance(step.node_test, NameTest):
        raise NotColumnar("the context has a step that is no name")
    return (step.kind == "attribute") == place.attribute and step.node_test.takes(place.tag)


@dataclass(frozen=True, slots=True, eq=False)
class NodeCheck:
    """A check on one kind of node."""

    check: int
    wanted: bool
    """What the test has to be: true for an assert, false for a report."""
    test: CompiledTest


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """A rule on one kind of node; without a condition it takes all that are left."""

    condition: _AnyOf | None
    jobs: tuple[NodeCheck, ...]


@dataclass(frozen=True, slots=True, eq=False)
class RuleWalk:
    """The rules of a pattern that one kind of node may fire, in order."""

    target: Target
    stages: tuple[Stage, ...]

    def reads(self) -> Iterator[tuple[int, frozenset[int]]]:
        """Yield the checks with the fields that decide them here."""
        before = frozenset[int]() if self.target is None else frozenset({self.target})
        for stage in self.stages:
            before |= stage.condition.fields if stage.condition else frozenset()
            for job in stage.jobs:
                yield job.check, before | job.test.fields


@dataclass(frozen=True, slots=True, eq=False)
class OddCells:
    """Which records have an odd cell among some fields; each field is looked at once."""

    batch: Batch
    _seen: dict[int, NDArray[np.bool_] | None] = field(default_factory=dict)

    def among(self, fields: Collection[int]) -> NDArray[np.bool_]:
        """Return the records; without dimension where there is none."""
        found = np.zeros((), dtype=np.bool_)
        for at in fields:
            if at not in self._seen:
                mask = self.batch.cells[at].status == Cell.ODD
                self._seen[at] = mask if mask.any() else None
            mask_or_none = self._seen[at]
            if mask_or_none is not None:
                found = found | mask_or_none
        return found


def follow(walk: RuleWalk, batch: Batch, odd: OddCells, outcome: Outcome) -> None:
    """Send the nodes of one kind through the rules of a pattern: each fires the first that takes it."""
    own = () if walk.target is None else (walk.target,)
    doubt = batch.odd | odd.among(own)
    left = ~doubt
    if walk.target is not None:
        left &= batch.cells[walk.target].status != Cell.ABSENT
    for stage in walk.stages:
        hit = left
        if stage.condition is not None:
            truth = stage.condition.truth(batch)
            open_ = left & (truth.unsure | odd.among(stage.condition.fields))
            doubt = doubt | open_
            hit = left & truth.holds & ~open_
            left = left & ~hit & ~open_
        else:
            left = np.zeros(len(batch), dtype=np.bool_)
        for job in stage.jobs:
            _judge(job, hit, doubt, batch, odd, outcome)


def _judge(
    job: NodeCheck, hit: NDArray[np.bool_], doubt: NDArray[np.bool_], batch: Batch, odd: OddCells, outcome: Outcome
) -> None:
    outcome.unsure[:, job.check] |= doubt
    if not hit.any():
        return
    truth = job.test.truth(batch)
    open_ = hit & (truth.unsure | odd.among(job.test.fields))
    outcome.unsure[:, job.check] |= open_
    outcome.fired[:, job.check] += hit
    outcome.failed[:, job.check] += hit & (truth.holds != job.wanted)


MOST_NODES = 255
"""Nodes of a record on which a check is counted."""
_NOT_ASKED = "it was not asked for"


@dataclass(frozen=True, slots=True, eq=False)
class ColumnProgram:
    """Checks of a rulebook compiled for the files of one layout.

    The files are flat: fields have no elements and no attributes of their own. Where a field occurs twice in a record
    the reader says that its cell is odd.

    Attributes
    ----------
    width : int
        Number of checks of the rulebook.
    checks : frozenset of int
        Those that are evaluated here.
    """

    width: int
    checks: frozenset[int]
    _walks: tuple[RuleWalk, ...]
    _reads: Mapping[int, frozenset[int]]

    def reads(self, check: int) -> frozenset[int]:
        """Return the fields that decide a check: those in its test, its context, and the contexts before it."""
        return self._reads.get(check, frozenset())

    def evaluate(self, batch: Batch) -> Outcome:
        """Evaluate all checks on all records of a batch."""
        outcome = Outcome.blank(len(batch), self.width)
        odd = OddCells(batch)
        for walk in self._walks:
            follow(walk, batch, odd, outcome)
        return outcome.cleared(self.checks)


def compile_program(
    rulebook: Rulebook, layout: Layout, checks: Collection[int]
) -> tuple[ColumnProgram, tuple[str, ...]]:
    """Compile checks of a rulebook.

    Parameters
    ----------
    rulebook : Rulebook
    layout : Layout
    checks : collection of int
        Which are wanted.

    Returns
    -------
    ColumnProgram
    tuple of str
        For each check of the rulebook why it is not in the program; empty where it is.
    """
    builder = _Builder(rulebook, layout, frozenset(checks))
    scope = ColumnScope(rulebook.namespaces, layout, _dialect(rulebook.version))
    scope = builder.bound(rulebook.lets, scope.on(DOCUMENT))
    walks = [walk for pattern in rulebook.patterns for walk in builder.pattern(pattern, scope)]
    reasons = tuple(builder.reasons.get(check.index, _NOT_ASKED) for check in rulebook.checks)
    reads: dict[int, frozenset[int]] = {}
    for walk in walks:
        for check, fields in walk.reads():
            reads[check] = reads.get(check, frozenset()) | fields
    done = frozenset(check for check, reason in enumerate(reasons) if not reason)
    return ColumnProgram(len(reasons), done, tuple(walks), MappingProxyType(reads)), reasons


def _dialect(version: XPathVersion) -> Dialect:
    """Return the dialect of a version; the other is not loaded."""
    if version == "1.0":
        from masktron.judge.columns.xpath1 import XPATH1  # noqa: PLC0415

        return XPATH1
    from masktron.judge.columns.xpath2 import XPATH2  # noqa: PLC0415

    return XPATH2


@dataclass(frozen=True, slots=True)
class _Builder:
    """What the compilation of the patterns of a rulebook shares."""

    rulebook: Rulebook
    layout: Layout
    checks: frozenset[int]
    reasons: dict[int, str] = field(default_factory=dict)

    def bound(self, lets: tuple[Let, ...], scope: ColumnScope) -> ColumnScope:
        """Return the scope with variables that are evaluated in it, each with those before it."""
        for let in lets:
            try:
                scope = scope.bind(let.name, compile_let(let.value, scope))
            except NotColumnar as why:
                scope = scope.bind(let.name, why)
        return scope

    def pattern(self, pattern: Pattern, outer: ColumnScope) -> list[RuleWalk]:
        """Compile a pattern to the walks of the nodes that may fire its rules."""
        if not any(check.index in self.checks for rule in pattern.rules for check in rule.checks):
            return []
        if self.is_foreign(pattern):
            asked = (check.index for rule in pattern.rules for check in rule.checks if check.index in self.checks)
            self.reasons.update(dict.fromkeys(asked, "a context of its pattern is for Saxon in XPath 1.0 mode"))
            return []
        scope = self.bound(pattern.lets, replace(outer, dialect=_dialect(pattern.version)))
        stages: dict[Target, list[Stage]] = {}
        closed: dict[Target, str] = {}
        for rule in pattern.rules:
            context = compile_context(rule.context, scope)
            jobs = self.rule(rule, context, closed, scope)
            for target, condition in context.targets.items():
                made = Stage(None if condition.certain else condition, tuple(jobs.get(target, ())))
                stages.setdefault(target, []).append(made)
            for target, reason in context.unknown.items():
                closed.setdefault(target, f"an earlier rule of the pattern: {reason}")
        return [walk for target, made in stages.items() if (walk := _trimmed(target, made)).stages]

    def is_foreign(self, pattern: Pattern) -> bool:
        """Tell whether another engine decides a pattern than the one whose semantics the compilers have."""
        asked = pattern.version == "1.0"
        return asked and any(needs_saxon(rule, self.rulebook, self.layout) for rule in pattern.rules)

    def rule(
        self, rule: Rule, context: Context, closed: Mapping[Target, str], scope: ColumnScope
    ) -> dict[Target, list[NodeCheck]]:
        """Compile the checks of a rule on all nodes that it may fire on, and note those that cannot be."""
        reason = _why_not(context, closed)
        inner = {target: self.bound(rule.lets, scope.on(target)) for target in context.targets} if not reason else {}
        jobs: dict[Target, list[NodeCheck]] = {}
        for check in (check for check in rule.checks if check.index in self.checks):
            try:
                made = self.check(check, inner)
            except NotColumnar as why:
                self.reasons[check.index] = str(why)
                continue
            self.reasons[check.index] = reason
            for target, job in made:
                jobs.setdefault(target, []).append(job)
        return jobs

    def check(self, check: Check, scopes: Mapping[Target, ColumnScope]) -> list[tuple[Target, NodeCheck]]:
        wanted = check.kind == "assert"
        return [
            (target, NodeCheck(check.index, wanted, compile_test(check.test, scope)))
            for target, scope in scopes.items()
        ]


def _why_not(context: Context, closed: Mapping[Target, str]) -> str:
    """Return why no check of a rule can be evaluated over columns."""
    if context.beyond or context.unknown:
        return context.beyond or next(iter(context.unknown.values()))
    if len(context.targets) > MOST_NODES:
        return f"the context may match more than {MOST_NODES} nodes of a record"
    return next((closed[target] for target in context.targets if target in closed), "")


def _trimmed(target: Target, stages: list[Stage]) -> RuleWalk:
    """Return the walk up to the last rule with something to evaluate."""
    last = max((k for k, stage in enumerate(stages) if stage.jobs), default=-1)
    return RuleWalk(target, tuple(stages[: last + 1]))
