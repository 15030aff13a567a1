"""The recount: tasks for engines over slices of a file, in two rounds, who does them, and what comes of them.

In the first round each engine reads values. Then aggregates are computed, in this process. In the second round each
engine judges the rewritten rules on every record, and the plan on a sample.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from masktron.child_process import RefusedError
from masktron.files import same_file
from masktron.judge.across.planned import Planned
from masktron.judge.across.selection import RecordSource
from masktron.judge.findings import Evaluation
from masktron.judge.recount.aggregates import (
    Recounted,
    attributes_of,
    recounted,
)
from masktron.judge.recount.field_values import FieldValues
from masktron.judge.recount.sample import Kin, Tried, positions_of
from masktron.judge.request import EvaluationRequest, counts_of
from masktron.judge.runner import beyond
from masktron.judge.stylesheet import EngineName
from masktron.rulebook.analysis import once
from masktron.rulebook.schema import Rulebook
from masktron.sources.record_layout import Layout
from masktron.sources.xml.plain import survey_plain
from masktron.sources.xml.slices import NotSlicedError, cuts, framed, names_around, places


@dataclass(frozen=True, slots=True)
class Asked:
    """What is recounted.

    Attributes
    ----------
    checks : frozenset of int
        The checks that look across records.
    files : mapping of source to Kin
    """

    rulebook: Rulebook
    checks: frozenset[int]
    files: Mapping[RecordSource, Kin]

    def plan(self, engine: EngineName) -> Planned:
        """Return the plan of the checks that an engine knows."""
        own, other = self.files["file"], self.files.get("original")
        known = self.checks.difference(beyond("unaided", self.rulebook) if engine == "libxml2" else ())
        beside = (None, frozenset[str]()) if other is None else (other.layout, other.outside)
        return _plan(self.rulebook, own.layout, known, own.outside, *beside)


@once
def _plan(
    rulebook: Rulebook,
    layout: Layout,
    checks: frozenset[int],
    outside: frozenset[str],
    original_layout: Layout | None,
    original_outside: frozenset[str],
) -> Planned:
    return Planned(rulebook, layout, checks, outside, original_layout, original_outside)


def asked_of(request: EvaluationRequest, checks: Collection[int]) -> Asked | str:
    """Find out what stands around the records of the file and of the original; a text says why it cannot be."""
    request = request.on_document()
    path, rulebook, layout, original = request.path, request.rulebook, request.layout, request.original
    files: dict[RecordSource, Kin] = {}
    try:
        own = _kin(path, layout)
        if own is None:
            return "the file cannot be cut into slices of records"
        files["file"] = own
        if rulebook.reads_original and original is not None:
            other = own if same_file(original, path) else _original(original, layout)
            if other is None:
                return "the original is no flat file that can be cut into slices of records"
            files["original"] = other
    except NotSlicedError as problem:
        return str(problem)
    return Asked(rulebook, frozenset(checks), files)


def _kin(path: Path, layout: Layout) -> Kin | None:
    frame = framed(path, layout)
    return None if frame is None else Kin(frame, layout, names_around(frame, layout))


def _original(path: Path, layout: Layout) -> Kin | None:
    found = survey_plain(path, record=layout.record_tag.rpartition("}")[2])
    return None if found is None else _kin(path, found[0])


@dataclass(frozen=True, slots=True)
class ReadTask:
    """Some bytes of a file, of which an engine reads the values."""

    lane: int
    engine: EngineName
    source: RecordSource
    number: int
    begin: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class JudgeTask:
    """Some bytes of the file, of which an engine judges the records with what they carry.

    ``around`` asks for what stands around the records instead.
    """

    lane: int
    engine: EngineName
    number: int
    begin: int
    end: int
    attributes: tuple[str, ...]
    book: Rulebook
    layout: Layout
    checks: frozenset[int]
    around: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class TryTask:
    """A sample of the file and of the original, on which an engine tries the plan."""

    lane: int
    engine: EngineName
    places: Mapping[RecordSource, tuple[tuple[int, int], ...]]


type RecountTask = ReadTask | JudgeTask | TryTask


FIRST_LANE = -2
"""Of the recount; those of its engines go down from here."""


@dataclass(frozen=True, slots=True, eq=False)
class EngineRecount:
    """What one engine says of the checks.

    Attributes
    ----------
    counts : Evaluation or None
        Those of the checks that it judged, on the records that it read.
    left : mapping of int to str
        Checks that it did not judge, with the reason.
    objections : mapping of int to str
        Checks of which the plan is wrong, as a sample shows.
    """

    counts: Evaluation | None
    left: Mapping[int, str]
    objections: Mapping[int, str] = field(default_factory=dict)

    def joined(self, counts: Evaluation) -> Evaluation:
        """Return the counts of the engine with these, which it was left to."""
        own = [check for check, why in counts.left.items() if not why and check not in self.left]
        left = {check: why or self.left[check] for check, why in counts.left.items() if check not in own}
        if self.counts is None or not own:
            return replace(counts, left=left)
        if self.counts.records != counts.records:
            return replace(counts, left={**left, **dict.fromkeys(own, "another number of records")})
        chosen = np.zeros(len(counts.fired), dtype=np.bool_)
        chosen[own] = True
        return replace(
            counts,
            fired=np.where(chosen, self.counts.fired, counts.fired),
            failed=np.where(chosen, self.counts.failed, counts.failed),
            errors=np.where(chosen, self.counts.errors, counts.errors),
            first=np.where(chosen, self.counts.first, counts.first),
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
        self._judged: dict[int, dict[int, Evaluation]] = {}
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
            case Evaluation() if isinstance(task, JudgeTask):
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
        tables = {
            source: FieldValues.joined([part for _, part in sorted(self._read.pop((lane, source)).items())])
            for source in self._pieces
            if (lane, source) in self._read
        }
        self._records[lane] = sum(counted)
        yield TryTask(lane, engine, self._places(positions_of(planned, tables), tables))
        found = recounted(planned, tables, engine)
        del tables
        self._found[lane] = found
        able = frozenset(c for c in planned.checks if planned.used(c) <= found.known)
        book, layout = planned.with_values(found.constants, found.known), planned.carrying(found.columns)
        inside, outside = able - planned.outside, able & planned.outside
        if outside:
            yield JudgeTask(lane, engine, -1, 0, 0, (), book, layout, outside, around=True)
        spans = zip(self._pieces["file"], pairwise(accumulate(counted, initial=0)), strict=True)
        for number, ((begin, end), (first, after)) in enumerate(spans):
            if inside:
                attributes = attributes_of(planned, found, first, after)
                yield JudgeTask(lane, engine, number, begin, end, attributes, book, layout, inside)

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
        parts = [part for _, part in sorted(self._judged.get(lane, {}).items())]
        total = counts_of(len(self._asked.rulebook.checks), parts=parts)
        said = {c: why for c, why in tried.objections.items() if c not in left}
        return EngineRecount(replace(total, records=self._records[lane]), left, said)
