"""The prototypes of one block: targets, patterns, grids and the judge, handed to settle."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from masktron.aggregators.base import ObservedAggregator, variables_of
from masktron.aggregators.mean import Mean
from masktron.aggregators.medoid import Medoid
from masktron.aggregators.mode import Mode
from masktron.classify.elimination import is_equality
from masktron.constraints import Form
from masktron.grouping.record_groups import RecordGroups
from masktron.masking.block.joint_search import JointSearch
from masktron.masking.block.patterns import GroupPatterns
from masktron.masking.block.targets import targets
from masktron.masking.judging import Judging
from masktron.masking.per_record import Reduction, Reductions
from masktron.masking.views import Views, aggregator_of, pattern_of
from masktron.plan import Block
from masktron.progress import Told, untold
from masktron.settle.candidate_search import CandidateSearch, PrototypePattern
from masktron.settle.completion import Completion
from masktron.settle.grid import grid_of, scales
from masktron.settle.lattice import Prototype, Search, SettleExit
from masktron.settle.prototypes import EXITS, Settled, Task, settle
from masktron.settle.system import Recipe


class GroupSearches:
    """The hunt for the prototypes of a block, group by group.

    Attributes
    ----------
    cases : GroupPatterns
    """

    def __init__(
        self, views: Views, block: Block, search: Search, cases: GroupPatterns, members: Sequence[NDArray[np.intp]]
    ) -> None:
        self.cases = cases
        self._views = views
        self._block = block
        self._search = search
        self._members = members
        self._reductions = Reductions(views, block)
        self._hunt_of = functools.cache(self._hunt)
        self._completion_of = functools.cache(self._completion)
        self._only = None if block.solved else self._reductions.group(np.empty(0, dtype=np.intp))

    def candidates(self, group: int) -> Iterator[Prototype]:
        """Candidates for the prototype of a group, the best first."""
        return self.hunt(group).candidates(self._patterns(group))

    def conflict(self, group: int) -> Sequence[int]:
        """Return rules that no prototype of a group can satisfy together."""
        return self.hunt(group).conflict(self._patterns(group))

    def around(
        self, group: int, texts: Mapping[str, str | None], numbers: Mapping[str, Fraction]
    ) -> tuple[Search, Sequence[Recipe]]:
        """Return how to look for other prototypes of a group beside one, given as lexemes and as numbers."""
        return self.hunt(group).around(self._patterns(group), texts, numbers)

    def hunt(self, group: int) -> CandidateSearch:
        """Return the hunt for the prototype of a group; groups with the same reduction share it."""
        return self._hunt_of(self._reduction(group))

    def completion(self, group: int) -> Completion | None:
        """Return what gives the solved variables of the records of a group."""
        return self._completion_of(self._reduction(group))

    def _reduction(self, group: int) -> Reduction:
        return self._reductions.group(self._members[group]) if self._only is None else self._only

    def _hunt(self, reduction: Reduction) -> CandidateSearch:
        return CandidateSearch(reduction.forms, self._search, self._views.domains.get, self._block.derived)

    def _completion(self, reduction: Reduction) -> Completion | None:
        if reduction.elimination is None:
            return None
        return Completion(reduction.elimination.steps, self._search.grids, self._search.codes)

    def _patterns(self, group: int) -> list[PrototypePattern]:
        solved = self._reduction(group).solved
        return [_without(pattern, solved) for pattern in self.cases.group(group, self._members[group])]


def settle_block(views: Views, block: Block, grouping: RecordGroups, told: Told = untold) -> Settled:
    """Find the prototypes of one block; `told` hears how many groups have one."""
    told(0, grouping.groups)
    task, hunting = task_of(views, block, grouping)
    judging = Judging(views, block)
    if block.solved:
        return settle(task, judging, told=told)
    beginning = JointSearch(views, block, grouping, judging, task.pooled, told)
    if task.observed is not None and task.choices is not None:
        beginning.observed(task.choices, task.observed)
    beginning.aggregates(hunting.cases, hunting.hunt(0))
    return settle(task, judging, beginning.begun, told)


def task_of(
    views: Views, block: Block, grouping: RecordGroups, aims: NDArray[np.float64] | None = None
) -> tuple[Task, GroupSearches]:
    """Put together what settle needs for a block; `aims`, shape (groups, p), stand in for aggregates."""
    values = views.coded(block.variables)
    aggregator = aggregator_of(block)
    patterns = np.stack([pattern_of(views.columns[name]) for name in block.variables], axis=1)
    # No aggregate stands for these groups. Zeros keep the aggregator from refusing them.
    beyond = grouping.varying(patterns) | isinstance(aggregator, Medoid)
    usable = np.where(beyond[grouping.labels, None], 0.0, values)
    observed = aggregator if isinstance(aggregator, ObservedAggregator) else None
    categories = not views.numeric.issuperset(block.variables)
    middles = None
    if categories:
        middles = views.middles(block.variables, usable, grouping.labels)
        if aims is not None:
            middles = views.holders(block.variables, aims, middles)
    choices = observed.choose(usable, grouping.labels, views.weights) if observed else None
    if isinstance(aggregator, Mode) and middles is not None:
        # Ordered categories beside others take their median, which keeps all that the mode was chosen for.
        choices = middles
    members = grouping.members
    centres = Mean().aggregate(usable, grouping.labels, views.weights) if aims is None else aims
    cases = GroupPatterns.of(
        views,
        block,
        codes=patterns,
        targets=targets(views, block, usable, grouping, centres) if aims is None else aims,
        centres=centres,
        middles=middles,
        pooled=beyond,
        foreign=aims is not None,
    )
    # Numbers that the medoid was asked for have no better candidate: means would not be what was asked for.
    whole = isinstance(aggregator, Medoid) and not views.numeric.isdisjoint(block.variables)
    hunting = GroupSearches(views, block, _search(views, block, values), cases, members)
    aside = _Aside(views, block, values, members)
    task = Task(
        variables=block.variables,
        columns=views.columns,
        members=members,
        conditions=block.conditions,
        distances=aside.distances,
        candidates=_nothing if whole else hunting.candidates,
        conflict=lambda group: _names(views, hunting.conflict(group)),
        pooled=beyond,
        medians=None if observed else aside.medians,
        observed=_exit_of(observed) if observed else None,
        choices=choices,
        completion=hunting.completion if block.solved else None,
    )
    return task, hunting


def _nothing(group: int) -> Iterator[Prototype]:
    """Offer no candidate for the prototype of a group."""
    del group
    return iter(())


def _exit_of(aggregator: ObservedAggregator) -> SettleExit:
    return next((one for one in EXITS if one == aggregator.name), "observed")


class _Aside:
    """What only groups without an acceptable aggregate need, found group by group."""

    def __init__(
        self, views: Views, block: Block, values: NDArray[np.float64], members: Sequence[NDArray[np.intp]]
    ) -> None:
        self._views = views
        self._block = block
        self._values = values
        self._members = members

    @functools.cached_property
    def _points(self) -> NDArray[np.float64]:
        return self._views.points(self._block.variables)

    def distances(self, group: int) -> NDArray[np.float64]:
        """Squared distance of each member of a group to their mean."""
        members, weights = self._members[group], self._views.weights
        return Medoid().distances(
            self._points[members],
            np.zeros(len(members), dtype=np.intp),
            None if weights is None else weights[members],
        )

    def medians(self, group: int) -> NDArray[np.intp]:
        """Members with the middle value of each variable."""
        members = self._members[group]
        (chosen,) = self._views.middles(
            self._block.variables, self._values[members], np.zeros(len(members), dtype=np.intp), members
        )
        return np.asarray(members[chosen])


def _search(views: Views, block: Block, values: NDArray[np.float64]) -> Search:
    tied = _tied(views.forms(block))
    numbers = [name for name in block.variables if name in views.numeric]
    return Search(
        grids={name: grid_of(views.columns[name], tied=name in tied) for name in numbers},
        scale=dict(zip(block.variables, scales(values).tolist(), strict=True)),
        tied=tied,
        codes=views.codes,
    )


def _without(pattern: PrototypePattern, solved: frozenset[str]) -> PrototypePattern:
    """Leave the solved variables out of what a prototype aims at."""
    if not solved:
        return pattern
    target = {name: value for name, value in pattern.target.items() if name not in solved}
    return replace(pattern, target=target, solved=solved)


def _names(views: Views, checks: Sequence[int]) -> list[str]:
    return [views.rulebook.checks[check].id for check in checks]


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
