"""A rulebook over columns: contexts, first match and tests of all checks that can be evaluated on whole batches."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from masktron.evaluation.columns.contexts import Context, Target, compile_context, is_certain
from masktron.evaluation.columns.dialect import Dialect
from masktron.evaluation.columns.outcome import NotColumnar, Outcome, Test
from masktron.evaluation.columns.scope import DOCUMENT, ColumnScope
from masktron.evaluation.stylesheet import needs_saxon
from masktron.rulebook.schema import Check, Let, Pattern, Rule, Rulebook, XPathVersion
from masktron.sources.columns import Batch, Cell
from masktron.sources.records import Layout


@dataclass(frozen=True, slots=True, eq=False)
class NodeCheck:
    """A check on one kind of node."""

    check: int
    wanted: bool
    """What the test has to be: true for an assert, false for a report."""
    test: Test


@dataclass(frozen=True, slots=True, eq=False)
class Stage:
    """A rule on one kind of node; without a condition it takes all that are left."""

    condition: Test | None
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


_MOST_NODES = 255
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
        shape = (len(batch), self.width)
        # one check after the other is written, so columns are what should lie together
        outcome = Outcome(
            np.zeros(shape, dtype=np.uint8, order="F"),
            np.zeros(shape, dtype=np.uint8, order="F"),
            np.zeros(shape, dtype=np.bool_, order="F"),
        )
        odd = OddCells(batch)
        for walk in self._walks:
            follow(walk, batch, odd, outcome)
        for check in self.checks:
            unsure = outcome.unsure[:, check]
            if unsure.any():
                outcome.fired[unsure, check] = 0
                outcome.failed[unsure, check] = 0
        return outcome


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
    builder = _Builder(rulebook, _dialect(rulebook.version), layout, frozenset(checks))
    scope = ColumnScope(rulebook.namespaces, layout, rulebook.version)
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
        from masktron.evaluation.columns.xpath1 import XPATH1  # noqa: PLC0415

        return XPATH1
    from masktron.evaluation.columns.xpath2_expressions import XPATH2  # noqa: PLC0415

    return XPATH2


@dataclass(frozen=True, slots=True)
class _Builder:
    """What the compilation of the patterns of a rulebook shares."""

    rulebook: Rulebook
    dialect: Dialect
    layout: Layout
    checks: frozenset[int]
    reasons: dict[int, str] = field(default_factory=dict)

    def bound(self, lets: tuple[Let, ...], scope: ColumnScope) -> ColumnScope:
        """Return the scope with variables that are evaluated in it, each with those before it."""
        for let in lets:
            try:
                scope = scope.bind(let.name, self.dialect.compile_let(let.value, scope))
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
        scope = self.bound(pattern.lets, outer)
        stages: dict[Target, list[Stage]] = {}
        closed: dict[Target, str] = {}
        for rule in pattern.rules:
            context = compile_context(rule.context, scope, self.dialect.compile_test)
            jobs = self.rule(rule, context, closed, scope)
            for target, condition in context.targets.items():
                made = Stage(None if is_certain(condition) else condition, tuple(jobs.get(target, ())))
                stages.setdefault(target, []).append(made)
            for target, reason in context.unknown.items():
                closed.setdefault(target, f"an earlier rule of the pattern: {reason}")
        return [walk for target, made in stages.items() if (walk := _trimmed(target, made)).stages]

    def is_foreign(self, pattern: Pattern) -> bool:
        """Tell whether another engine decides a pattern than the one whose semantics the compilers have."""
        asked = self.rulebook.version == "1.0"
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
            (target, NodeCheck(check.index, wanted, self.dialect.compile_test(check.test, scope)))
            for target, scope in scopes.items()
        ]


def _why_not(context: Context, closed: Mapping[Target, str]) -> str:
    """Return why no check of a rule can be evaluated over columns."""
    if context.beyond or context.unknown:
        return context.beyond or next(iter(context.unknown.values()))
    if len(context.targets) > _MOST_NODES:
        return f"the context may match more than {_MOST_NODES} nodes of a record"
    return next((closed[target] for target in context.targets if target in closed), "")


def _trimmed(target: Target, stages: list[Stage]) -> RuleWalk:
    """Return the walk up to the last rule with something to evaluate."""
    last = max((k for k, stage in enumerate(stages) if stage.jobs), default=-1)
    return RuleWalk(target, tuple(stages[: last + 1]))
