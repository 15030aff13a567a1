"""The tasks of a recount, and who does them: an engine, in whatever process."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from masktron.evaluation.across.paths import NotAcross
from masktron.evaluation.across.planned import Planned
from masktron.evaluation.across.selection import RecordSource
from masktron.evaluation.events import Events
from masktron.evaluation.parallel import EngineCounts, Sum
from masktron.evaluation.programs import EngineError, NotFramedError, Program
from masktron.evaluation.recount.carrying import carrying, carrying_guard
from masktron.evaluation.recount.field_values import FieldValues, Reader, program_of, wanted_of
from masktron.evaluation.recount.sample import Kin, Tried, proved
from masktron.evaluation.request import EvaluationRequest
from masktron.evaluation.runner import beyond
from masktron.evaluation.stylesheet import CheckSelection, EngineName
from masktron.evaluation.worker_pool import RefusedError
from masktron.files import same_file
from masktron.rulebook.analysis import once
from masktron.rulebook.schema import Rulebook
from masktron.sources.record_layout import Layout
from masktron.sources.xml.plain import survey_plain
from masktron.sources.xml.slices import NotSlicedError, framed, names_around


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


@dataclass(eq=False)
class Hand:
    """Does the tasks of a recount, in whatever process.

    Raises
    ------
    RefusedError
        When it is called with a task that an engine cannot do.
    """

    asked: Asked
    _readers: dict[tuple[EngineName, RecordSource], Reader] = field(default_factory=dict)
    _programs: dict[tuple[int, bool], Program] = field(default_factory=dict)

    def __call__(self, task: RecountTask) -> Iterator[Any]:
        """Do a task."""
        try:
            match task:
                case ReadTask():
                    yield self._read(task)
                case JudgeTask():
                    yield self._judged(task)
                case TryTask():
                    yield self._tried(task)
        except (EngineError, NotFramedError, NotSlicedError, NotAcross) as problem:
            raise RefusedError(str(problem)) from None

    def _bytes(self, source: RecordSource, begin: int, end: int) -> bytes:
        with self.asked.files[source].frame.path.open("rb") as stream:
            stream.seek(begin)
            return stream.read(end - begin)

    def _read(self, task: ReadTask) -> FieldValues:
        key = task.engine, task.source
        if key not in self._readers:
            planned, kin = self.asked.plan(task.engine), self.asked.files[task.source]
            self._readers[key] = Reader(
                kin.frame,
                kin.layout,
                task.engine,
                wanted_of(planned.aggregates, task.source),
                planned.predicates[task.source],
                planned.conditions(task.source),
            )
        return self._readers[key](self._bytes(task.source, task.begin, task.end))

    def _judged(self, task: JudgeTask) -> EngineCounts:
        kin = self.asked.files["file"]
        key = task.lane, task.around
        if key not in self._programs:
            selection = CheckSelection(task.checks, whole=task.around)
            self._programs[key] = program_of(task.book, task.layout, task.engine, selection)
        records = len(task.attributes)
        document = carrying(kin.frame, self._bytes("file", task.begin, task.end), task.attributes)
        guard = carrying_guard(kin.frame, kin.layout, records)
        events = Events.of(self._programs[key].run_bytes(document, kin.frame.encoding, guard))
        if events.records != records:
            raise RefusedError("a slice with another number of records than it had")
        total = Sum(len(task.book.checks))
        total.add(events, 0)
        return total.counts(records, "")

    def _tried(self, task: TryTask) -> Tried:
        records = {
            source: [self._bytes(source, begin, end) for begin, end in own] for source, own in task.places.items()
        }
        return proved(self.asked.plan(task.engine), task.engine, self.asked.files, records)
