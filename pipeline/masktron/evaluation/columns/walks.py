"""The rules of a pattern on one kind of node: each node of a record fires the first rule that takes it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from masktron.evaluation.columns.contexts import Target
from masktron.evaluation.columns.outcome import Outcome, Test
from masktron.sources.columns import Batch, Cell


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
