"""The candidates for the prototypes of a block, group by group."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from masktron.aggregators.base import variables_of
from masktron.aggregators.medoid import Medoid
from masktron.arrays import Floats
from masktron.classify.elimination import is_equality
from masktron.constraints import Form
from masktron.grouping.record_groups import RecordGroups
from masktron.masking.block.patterns import GroupPatterns, aggregates_of
from masktron.masking.file_values import FileValues
from masktron.masking.inputs import MaskingInputs
from masktron.masking.judging import RecordRules
from masktron.masking.per_record import Reduction, Reductions
from masktron.plan import Block
from masktron.settle.candidate_search import CandidateSearch, PrototypePattern
from masktron.settle.completion import Completion
from masktron.settle.lattice import Lexemes, Prototype, Search
from masktron.settle.prototypes import BlockRecords


class GroupSearches:
    """The searches for the prototypes of a block; groups with the same reduction share one.

    Parameters
    ----------
    inputs : MaskingInputs
    block : Block
    grouping : RecordGroups
    aims : ndarray of float64, shape (groups, p), optional
        What stands in for aggregates, where it was drawn.

    Attributes
    ----------
    aggregates : Aggregates
    patterns : GroupPatterns
    records : BlockRecords
        Into which the candidates are written.
    """

    def __init__(
        self, inputs: MaskingInputs, block: Block, grouping: RecordGroups, aims: Floats | None = None
    ) -> None:
        self.aggregates = aggregates_of(inputs, block, grouping, aims)
        self.patterns = GroupPatterns.of(inputs.rules, block, self.aggregates)
        completion = self._completion if block.solved else None
        self.records = BlockRecords(
            block.variables, block.conditions, inputs.file.columns, grouping.members, completion
        )
        self._rules = inputs.rules
        self._block = block
        self._empty = _search(inputs.rules, block)
        self._reductions = Reductions(inputs.rules, block)
        self._search_of = functools.cache(self._made)
        self._completion_of = functools.cache(self._completed)
        self._only = None if block.solved else self._reductions.group(np.empty(0, dtype=np.intp))

    def candidates(self, group: int) -> Iterator[Prototype]:
        """Yield all candidates of a group, the best first.

        What its aggregator observed comes first, what was searched next, then the medians and the members, the
        nearest to their mean first.
        """
        own, aggregated = self.aggregates, not self.aggregates.pooled[group]
        if own.exit is not None and own.choices is not None and aggregated:
            yield self.records.held_by(own.choices[group].tolist(), own.exit)
        yield from self.searched(group)
        if own.exit is None and aggregated:
            yield self.records.held_by(self._medians(group).tolist(), "median")
        for record in self._by_distance(group).tolist():
            yield self.records.held_by([record] * len(self.records.variables), "medoid")

    def searched(self, group: int) -> Iterator[Prototype]:
        """Yield the candidates of a group that are searched for."""
        if not self.aggregates.whole:
            yield from self.of(group).candidates(self._patterns_of(group))

    def conflict(self, group: int) -> Sequence[str]:
        """Return the ids of rules that no prototype of a group can satisfy together."""
        checks = self._rules.rulebook.checks
        return [checks[check].id for check in self.of(group).conflict(self._patterns_of(group))]

    def around(self, group: int, texts: Lexemes, numbers: Mapping[str, Fraction]) -> Search:
        """Return how to look for other prototypes of a group beside one, given as lexemes and as numbers."""
        return self.of(group).around(self._patterns_of(group), texts, numbers)

    def of(self, group: int) -> CandidateSearch:
        """Return the search of a group."""
        return self._search_of(self._reduction(group))

    def _completion(self, group: int) -> Completion | None:
        """Return what gives the solved variables of the records of a group."""
        return self._completion_of(self._reduction(group))

    def _reduction(self, group: int) -> Reduction:
        return self._reductions.group(self.records.members[group]) if self._only is None else self._only

    def _made(self, reduction: Reduction) -> CandidateSearch:
        return CandidateSearch(reduction.forms, self._empty, self._rules.domains.get, self._block.derived)

    def _completed(self, reduction: Reduction) -> Completion | None:
        if reduction.elimination is None:
            return None
        return Completion(reduction.elimination.steps, self._empty.grids, self._empty.codes)

    def _patterns_of(self, group: int) -> list[PrototypePattern]:
        solved = self._reduction(group).solved
        return [_without(pattern, solved) for pattern in self.patterns.group(group, self.records.members[group])]

    @functools.cached_property
    def _points(self) -> Floats:
        return self._file.points(self._block.variables)

    @property
    def _file(self) -> FileValues:
        return self._rules.file

    def _by_distance(self, group: int) -> NDArray[np.intp]:
        """Members of a group, the nearest to their mean first: the first is the medoid."""
        members, weights = self.records.members[group], self._file.weights
        distances = Medoid().distances(
            self._points[members],
            np.zeros(len(members), dtype=np.intp),
            None if weights is None else weights[members],
        )
        return members[np.lexsort((members, distances))]

    def _medians(self, group: int) -> NDArray[np.intp]:
        """Members with the middle value of each variable."""
        members, names = self.records.members[group], self._block.variables
        own = self.aggregates.values[members]
        (chosen,) = self._file.middles(names, own, np.zeros(len(members), dtype=np.intp), members)
        return np.asarray(members[chosen])


def _search(rules: RecordRules, block: Block) -> Search:
    """Return the search on the grids of the original, without rules."""
    file, tied = rules.file, _tied(rules.forms(block))
    numbers = [name for name in block.variables if name in file.numeric]
    return Search(
        grids={name: file.grid(name, tied=name in tied) for name in numbers},
        scale={name: file.measured_in(name) for name in block.variables},
        tied=tied,
        codes=file.codes,
    )


def _without(pattern: PrototypePattern, solved: frozenset[str]) -> PrototypePattern:
    """Leave the solved variables out of what a prototype aims at."""
    if not solved:
        return pattern
    target = {name: value for name, value in pattern.target.items() if name not in solved}
    return replace(pattern, target=target, solved=solved)


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
