"""The prototypes of one block: targets, patterns, grids and the judge, handed to settle."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from masktron.aggregators.base import ObservedAggregator, variables_of
from masktron.aggregators.mean import Mean
from masktron.aggregators.medoid import Medoid
from masktron.aggregators.mode import Mode
from masktron.classify.elimination import is_equality
from masktron.constraints import Form
from masktron.evaluation.exact import EngineChoice
from masktron.evaluation.findings import Verdict
from masktron.masking.patterns import Patterns
from masktron.masking.per_record import Reduction, Reductions
from masktron.masking.targets import targets
from masktron.masking.views import Views, aggregator_of, pattern_of
from masktron.methods.grouping import Grouping
from masktron.plan import Block
from masktron.read.lexical import reads_alike
from masktron.read.microdata import chunk_document
from masktron.settle.completion import Completion
from masktron.settle.grid import grid_of, scales
from masktron.settle.hunt import Hunt, Pattern
from masktron.settle.lattice import Candidate, Search
from masktron.settle.prototypes import Judge, Row, Settled, Task, settle
from masktron.settle.system import Recipe


@dataclass(frozen=True, slots=True, eq=False)
class Hunting:
    """The hunt for the prototypes of a block, group by group.

    Attributes
    ----------
    hunts : mapping of Reduction to Hunt
    reductions : sequence of Reduction
        Of each group: what is solved in its records.
    cases : Patterns
    members : tuple of ndarray of intp
        Records of each group.
    """

    hunts: Mapping[Reduction, Hunt]
    reductions: Sequence[Reduction]
    cases: Patterns
    members: Sequence[NDArray[np.intp]]

    def candidates(self, group: int) -> Iterator[Candidate]:
        """Candidates for the prototype of a group, the best first."""
        return self._hunt(group).candidates(self._patterns(group))

    def conflict(self, group: int) -> Sequence[int]:
        """Return rules that no prototype of a group can satisfy together."""
        return self._hunt(group).conflict(self._patterns(group))

    def around(
        self, group: int, texts: Mapping[str, str | None], numbers: Mapping[str, Fraction]
    ) -> tuple[Search, Sequence[Recipe]]:
        """Return how to look for other prototypes of a group beside one, given as lexemes and as numbers."""
        return self._hunt(group).around(self._patterns(group), texts, numbers)

    def _hunt(self, group: int) -> Hunt:
        return self.hunts[self.reductions[group]]

    def _patterns(self, group: int) -> list[Pattern]:
        solved = self.reductions[group].solved
        return [_without(pattern, solved) for pattern in self.cases.group(group, self.members[group])]


def settle_block(views: Views, block: Block, grouping: Grouping) -> Settled:
    """Find the prototypes of one block."""
    task, _ = task_of(views, block, grouping)
    return settle(task, judge_of(views, block))


def task_of(views: Views, block: Block, grouping: Grouping) -> tuple[Task, Hunting]:
    """Put together what settle needs for a block."""
    values = views.coded(block.variables)
    aggregator = aggregator_of(block)
    patterns = np.stack([pattern_of(views.columns[name]) for name in block.variables], axis=1)
    # No aggregate stands for these groups. Zeros keep the aggregator from refusing them.
    beyond = grouping.varying(patterns) | isinstance(aggregator, Medoid)
    usable = np.where(beyond[grouping.labels, None], 0.0, values)
    observed = aggregator if isinstance(aggregator, ObservedAggregator) else None
    middles = views.middles(block.variables, usable, grouping.labels)
    choices = observed.choose(usable, grouping.labels, views.weights) if observed else None
    if isinstance(aggregator, Mode) and not views.numeric.issuperset(block.variables):
        # Ordered categories beside others take their median, which keeps all that the mode was chosen for.
        choices = middles
    members = grouping.members
    cases = Patterns.of(
        views,
        block,
        targets=targets(views, block, usable, grouping),
        centres=Mean().aggregate(usable, grouping.labels, views.weights),
        middles=middles,
        pooled=beyond,
    )
    search = _search(views, block, values)
    reductions = Reductions(views, block)
    of_group = [reductions.group(own) for own in members]
    hunts = {one: Hunt(one.forms, search, views.domains.get, block.derived) for one in of_group}
    completions = {one: _completion(one, search) for one in of_group}
    hunting = Hunting(hunts, of_group, cases, members)
    task = Task(
        variables=block.variables,
        columns=views.columns,
        members=members,
        conditions=block.conditions,
        distances=Medoid().distances(views.points(block.variables), grouping.labels, views.weights),
        candidates=hunting.candidates,
        conflict=lambda group: _names(views, hunting.conflict(group)),
        pooled=beyond,
        medians=None if observed else middles,
        observed=observed.name if observed else None,
        choices=choices,
        completion=lambda group: completions[of_group[group]],
    )
    return task, hunting


def _search(views: Views, block: Block, values: NDArray[np.float64]) -> Search:
    tied = _tied(views.forms(block))
    numbers = [name for name in block.variables if name in views.numeric]
    return Search(
        grids={name: grid_of(views.columns[name], tied=name in tied) for name in numbers},
        scale=dict(zip(block.variables, scales(values).tolist(), strict=True)),
        tied=tied,
        codes=views.codes,
    )


def _completion(reduction: Reduction, search: Search) -> Completion | None:
    if reduction.elimination is None:
        return None
    return Completion(reduction.elimination.steps, search.grids, search.codes)


def _without(pattern: Pattern, solved: frozenset[str]) -> Pattern:
    """Leave the solved variables out of what a prototype aims at."""
    if not solved:
        return pattern
    target = {name: value for name, value in pattern.target.items() if name not in solved}
    return replace(pattern, target=target, solved=solved)


def _names(views: Views, checks: Sequence[int]) -> list[str]:
    return [views.rulebook.checks[check].id for check in checks]


def judge_of(views: Views, block: Block) -> Judge:
    """Return what tells which records obey the rules of a block: the engines, on the original expressions."""
    if not block.checks:
        return lambda rows: np.ones(len(rows), dtype=np.bool_)
    fields = (*block.variables, *block.conditions)
    own = list(block.checks)
    alike = functools.cache(reads_alike)

    def accepted(choice: EngineChoice, rows: Sequence[Row]) -> NDArray[np.bool_]:
        verdicts = views.engine(block.checks, choice).verdicts(chunk_document(views.layout, rows))
        return np.asarray((verdicts[:, own] < Verdict.FAILS).all(axis=1))

    def judge(rows: Sequence[Row]) -> NDArray[np.bool_]:
        fine = accepted("auto", rows)
        # Both engines of XPath 1.0 have to accept a prototype; they differ only in how they read decimals.
        if views.rulebook.version == "1.0":
            unlike = [
                at for at in np.flatnonzero(fine).tolist() if not all(alike(rows[at][name] or "") for name in fields)
            ]
            if unlike:
                fine[unlike] = accepted("saxon", [rows[at] for at in unlike])
        return fine

    return judge


def _tied(forms: Sequence[Form]) -> frozenset[str]:
    """Variables of equalities, whose doubles must come out the same in every engine."""
    return frozenset(
        name
        for form in forms
        for conjunction in form
        for atom in conjunction
        if is_equality(atom)
        for name in variables_of(atom)
    )
