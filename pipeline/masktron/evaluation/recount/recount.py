"""The recount: tasks for engines over slices of a file, in two rounds, and what comes of them.

In the first round each engine reads values. Then aggregates are computed, in this process. In the second round each
engine judges the rewritten rules on every record, and the plan on a sample.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from masktron.evaluation.across.planned import Planned
from masktron.evaluation.across.selection import RecordSource
from masktron.evaluation.parallel import EngineCounts, Sum
from masktron.evaluation.recount.aggregates import Recounted, recounted, writable
from masktron.evaluation.recount.carrying import attributes_of, records_in
from masktron.evaluation.recount.field_values import FieldValues
from masktron.evaluation.recount.sample import Tried, positions_of
from masktron.evaluation.recount.tasks import Asked, Hand, JudgeTask, ReadTask, RecountTask, TryTask
from masktron.evaluation.stylesheet import EngineName
from masktron.evaluation.worker_pool import RefusedError
from masktron.sources.xml.slices import NotSlicedError, cuts, places

FIRST_LANE = -2
"""Of the recount; those of its engines go down from here."""

type Answers = Callable[[Iterable[Any]], Iterator[tuple[Any, Any]]]
"""Has tasks done; yields each with each of its answers."""


@dataclass(frozen=True, slots=True, eq=False)
class EngineRecount:
    """What one engine says of the checks.

    Attributes
    ----------
    counts : EngineCounts or None
        Those of the checks that it judged, on the records that it read.
    left : mapping of int to str
        Checks that it did not judge, with the reason.
    objections : mapping of int to str
        Checks of which the plan is wrong, as a sample shows.
    """

    counts: EngineCounts | None
    left: Mapping[int, str]
    objections: Mapping[int, str] = field(default_factory=dict)

    def joined(self, counts: EngineCounts) -> EngineCounts:
        """Return the counts of the engine with these, which it was left to."""
        own = [check for check, why in counts.left.items() if not why and check not in self.left]
        left = {check: why or self.left[check] for check, why in counts.left.items() if check not in own}
        if self.counts is None or not own:
            return replace(counts, left=left)
        if self.counts.records != counts.records:
            return replace(counts, left={**left, **dict.fromkeys(own, "another number of records")})
        chosen = np.zeros(len(counts.fired), dtype=np.bool_)
        chosen[own] = True
        return EngineCounts(
            counts.records,
            fired=np.where(chosen, self.counts.fired, counts.fired),
            failed=np.where(chosen, self.counts.failed, counts.failed),
            errors=np.where(chosen, self.counts.errors, counts.errors),
            first=np.where(chosen, self.counts.first, counts.first),
            engine=counts.engine,
            left=left,
            objections=self.objections,
        )


class Recount:
    """The recount of some checks by some engines.

    Parameters
    ----------
    asked : Asked
    engines : sequence of {"libxml2", "saxon"}
    size : int
        Bytes of a slice.
    told : callable
        Progress: called with the place of an engine and the number of records that it has judged.

    Raises
    ------
    NotSlicedError
        A file cannot be cut.
    """

    def __init__(
        self, asked: Asked, engines: Sequence[EngineName], size: int, told: Callable[[int, int], None]
    ) -> None:
        self._asked = asked
        self._size = size
        self._told = told
        self._lanes = {FIRST_LANE - k: engine for k, engine in enumerate(engines)}
        self._pieces: dict[RecordSource, list[tuple[int, int]]] = {
            source: list(cuts(kin.frame, size)) for source, kin in asked.files.items()
        }
        self._read: dict[tuple[int, RecordSource], dict[int, FieldValues]] = {}
        self._judged: dict[int, dict[int, EngineCounts]] = {}
        self._found: dict[int, Recounted] = {}
        self._refused: dict[int, str] = {}
        self._records: dict[int, int] = {}
        self._tried: dict[int, Tried] = {}

    def has(self, lane: int) -> bool:
        """Whether a lane is one of the recount."""
        return lane in self._lanes

    def reading(self) -> Iterator[ReadTask]:
        """Yield the tasks of the first round."""
        for lane, engine, planned in self._plans():
            for source, pieces in self._pieces.items():
                if source == "file" or planned.reads_original:
                    yield from (ReadTask(lane, engine, source, n, *piece) for n, piece in enumerate(pieces))

    def take(self, task: RecountTask, answer: Any) -> None:
        """Take an answer."""
        match answer:
            case RefusedError():
                self._refused[task.lane] = str(answer)
            case FieldValues() if isinstance(task, ReadTask):
                self._read.setdefault((task.lane, task.source), {})[task.number] = answer
            case EngineCounts() if isinstance(task, JudgeTask):
                own = self._judged.setdefault(task.lane, {})
                own[task.number] = answer
                self._told(FIRST_LANE - task.lane, sum(part.records for part in own.values()))
            case _:
                self._tried[task.lane] = answer

    def judging(self) -> Iterator[RecountTask]:
        """Yield the tasks of the second round, after the first."""
        for lane, engine, planned in self._plans():
            if lane not in self._refused:
                try:
                    yield from self._second_round(lane, engine, planned)
                except NotSlicedError as problem:
                    self._refused[lane] = str(problem)

    def _plans(self) -> Iterator[tuple[int, EngineName, Planned]]:
        """Yield the lanes of engines that have something to recount."""
        for lane, engine in self._lanes.items():
            if (planned := self._asked.plan(engine)).checks:
                yield lane, engine, planned

    def _second_round(self, lane: int, engine: EngineName, planned: Planned) -> Iterator[RecountTask]:
        counted = [part.records for _, part in sorted(self._read[lane, "file"].items())]
        tables = {source: self._joined(lane, source) for source in self._pieces if (lane, source) in self._read}
        self._records[lane] = sum(counted)
        yield TryTask(lane, engine, self._places(positions_of(planned, tables), tables))
        found = writable(planned, recounted(planned.aggregates, tables, engine))
        del tables
        self._found[lane] = found
        able = frozenset(c for c in planned.checks if planned.used(c) <= found.known)
        book, layout = planned.with_values(found.constants, found.known), planned.carrying(found.columns)
        inside, outside = able - planned.outside, able & planned.outside
        if outside:
            yield JudgeTask(lane, engine, -1, 0, 0, (), book, layout, outside, around=True)
        for number, (begin, end, first, after) in enumerate(records_in(self._pieces["file"], counted)):
            if inside:
                attributes = attributes_of(planned, found, first, after)
                yield JudgeTask(lane, engine, number, begin, end, attributes, book, layout, inside)

    def _joined(self, lane: int, source: RecordSource) -> FieldValues:
        whole = FieldValues()
        for _, part in sorted(self._read.pop((lane, source)).items()):
            whole.add(part)
        return whole

    def _places(
        self, positions: Mapping[RecordSource, Sequence[int]], tables: Mapping[RecordSource, FieldValues]
    ) -> dict[RecordSource, tuple[tuple[int, int], ...]]:
        found: dict[RecordSource, tuple[tuple[int, int], ...]] = {}
        for source, wanted in positions.items():
            own, records = places(self._asked.files[source].frame, wanted, self._size)
            if records != tables[source].records or len(own) != len(wanted):
                raise NotSlicedError("end tags of records that are none")
            found[source] = tuple(own)
        return found

    def results(self) -> tuple[EngineRecount, ...]:
        """Return what each engine says, in the order in which they were given."""
        return tuple(self._result(lane) for lane in self._lanes)

    def _result(self, lane: int) -> EngineRecount:
        planned = self._asked.plan(self._lanes[lane])
        left = {check: planned.reasons.get(check, "it has no plan") for check in self._asked.checks - planned.checks}
        if lane in self._refused or lane not in self._tried:
            why = self._refused.get(lane, "it was not tried on a sample")
            return EngineRecount(None, {**left, **dict.fromkeys(planned.checks, why)})
        found = self._found[lane]
        tried = self._tried[lane]
        left |= tried.untried
        left |= {c: why for c in planned.checks if (why := found.why(planned.used(c)))}
        total, done = Sum(len(self._asked.rulebook.checks)), 0
        for _, part in sorted(self._judged.get(lane, {}).items()):
            total.add_counts(part, done)
            done += part.records
        said = {c: why for c, why in tried.objections.items() if c not in left}
        return EngineRecount(total.counts(self._records[lane], ""), left, said)


def recount(work: Recount, answers: Answers) -> tuple[EngineRecount, ...]:
    """Have both rounds done."""
    for round_ in (work.reading, work.judging):
        for task, answer in answers(round_()):
            work.take(task, answer)
    return work.results()


def by_hand(hand: Hand) -> Answers:
    """Do tasks in this process."""
    dropped: set[int] = set()

    def answers(tasks: Iterable[RecountTask]) -> Iterator[tuple[RecountTask, Any]]:
        for task in tasks:
            if task.lane in dropped:
                continue
            try:
                for answer in hand(task):
                    yield task, answer
            except RefusedError as refusal:
                dropped.add(task.lane)
                yield task, refusal

    return answers
