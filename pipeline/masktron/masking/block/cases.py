"""The targets of many groups, projected on what the cases of their rules ask."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import FloatColumns
from masktron.masking.block.group_contexts import GroupContexts
from masktron.settle.bulk import Bulk
from masktron.settle.candidate_search import CandidateSearch, PrototypePattern
from masktron.settle.case_projection import CaseProjection

MAX_RANKS = 4
"""Cases that are tried for one target."""


@dataclass(frozen=True, slots=True, eq=False)
class ProjectedTargets:
    """Targets projected on one case.

    Attributes
    ----------
    bulk : Bulk
        How to look around them.
    points : mapping of field name to ndarray of float64, shape (m,)
    distances : ndarray of float64, shape (m,)
        Squared, from the targets, in units of the fields' spreads; infinite where there is no point.
    """

    bulk: Bulk
    points: FloatColumns
    distances: NDArray[np.float64]

    def upto(self, most: float) -> ProjectedTargets:
        """Return the same without points that are farther."""
        return replace(self, distances=np.where(self.distances <= most, self.distances, np.inf))

    def take(self, which: NDArray[np.intp]) -> ProjectedTargets:
        """Return some of the targets."""
        return ProjectedTargets(
            self.bulk, {n: values[which] for n, values in self.points.items()}, self.distances[which]
        )


def by_distance(projected: Sequence[ProjectedTargets]) -> Iterator[list[ProjectedTargets]]:
    """Yield for each target its nearest point alone, then the next, `MAX_RANKS` at most; of equal ones the first."""
    if projected:
        order = np.argsort([one.distances for one in projected], axis=0, kind="stable")
        for best in order[:MAX_RANKS]:
            yield [
                replace(one, distances=np.where(best == at, one.distances, np.inf))
                for at, one in enumerate(projected)
            ]


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One disjunct of every rule, for groups of one kind."""

    bulk: Bulk
    nearest: CaseProjection
    contexts: GroupContexts

    def project(self, groups: NDArray[np.intp], targets: FloatColumns, *, wide: bool) -> ProjectedTargets:
        """Project the targets of some groups; see `CaseProjection.project`."""
        asked = {
            condition: terms for condition in self.nearest.conditions if (terms := self.nearest.others(condition))
        }
        others = {condition: self.contexts.largest(terms, groups) for condition, terms in asked.items()}
        points, found = self.nearest.project(targets, others, wide=wide)
        distances = self.bulk.search.distances(points, targets)
        return ProjectedTargets(self.bulk, points, np.where(found, distances, np.inf))


class DisjunctCases:
    """The cases of groups of one kind.

    Parameters
    ----------
    search : CandidateSearch
    pattern : PrototypePattern
        Of the groups.
    targets : mapping of field name to ndarray of float64, shape (m,)
    contexts : GroupContexts
    """

    def __init__(
        self, search: CandidateSearch, pattern: PrototypePattern, targets: FloatColumns, contexts: GroupContexts
    ) -> None:
        self._search = search
        self._pattern = pattern
        self._sizes = {name: float(np.abs(values).max()) for name, values in targets.items()}
        self._contexts = contexts
        self._others = search.choices(pattern)

    @property
    def several(self) -> bool:
        """Whether a rule leaves a choice."""
        return bool(self._others)

    @functools.cached_property
    def likeliest(self) -> list[Case]:
        """The case that most records satisfy, where it can be projected on."""
        return list(self._made([{}]))

    @functools.cached_property
    def all(self) -> list[Case]:
        """That, and those in which one rule takes another disjunct."""
        return [*self.likeliest, *self._made(self._others)]

    def _made(self, choices: Sequence[Mapping[int, int]]) -> Iterator[Case]:
        for positions in choices:
            case = self._search.likeliest(self._pattern, positions)
            bulk = None if case is None else Bulk.of(case)
            if case is not None and bulk is not None:
                conditions = self._search.asked(self._pattern, positions)
                nearest = CaseProjection.of(case, conditions, self._sizes)
                if nearest is not None:
                    yield Case(bulk, nearest, self._contexts)
