"""The recount: tasks for engines over slices of a file, in two rounds, and what comes of them.

In the first round each engine reads values. Then aggregates are computed, in this process. In the second round each
engine judges the rewritten rules on every record, and the plan on a sample.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from masktron.evaluation.across.paths import NotAcross
from masktron.evaluation.across.planned import Planned
from masktron.evaluation.across.selection import Source
from masktron.evaluation.crew import RefusedError
from masktron.evaluation.engines import EngineError, NotFramedError, Program
from masktron.evaluation.parallel import Counts, Sum
from masktron.evaluation.recount.aggregates import Manner, Recounted, recounted, writable
from masktron.evaluation.recount.carrying import attributes_of, carrying, carrying_guard, records_in
from masktron.evaluation.recount.sample import Kin, positions_of, proved
from masktron.evaluation.recount.values import Reader, Values, program_of, wanted_of
from masktron.evaluation.runner import Events
from masktron.evaluation.stylesheet import EngineName, Selection
from masktron.read.plain import survey_plain
from masktron.read.records import Layout
from masktron.read.rulebook import Rulebook
from masktron.read.slices import NotSlicedError, cuts, framed, names_around, places

FIRST_LANE = -2
"""Of the recount; those of its engines go down from here."""

type Answers = Callable[[Iterable[Any]], Iterator[tuple[Any, Any]]]
"""Has tasks done; yields each with each of its answers."""


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
    files: Mapping[Source, Kin]

    def plan(self) -> Planned:
        """Return the plan of the checks."""
        own, other = self.files["file"], self.files.get("original")
        return Planned(
            self.rulebook,
            own.layout,
            self.checks,
            own.outside,
            None if other is None else other.layout,
            frozenset() if other is None else other.outside,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """What one engine says of the checks.

    Attributes
    ----------
    counts : Counts or None
        Those of the checks that it judged, on the records that it read.
    left : mapping of int to str
        Checks that it did not judge, with the reason.
    objections : mapping of int to str
        Checks of which the plan is wrong, as a sample shows.
    """

    counts: Counts | None
    left: Mapping[int, str]
    objections: Mapping[int, str] = field(default_factory=dict)


def asked_of(
    path: Path, rulebook: Rulebook, layout: Layout, checks: Collection[int], original: Path | None
) -> Asked | str:
    """Find out what stands around the records of the file and of the original; a text says why it cannot be.

    Parameters
    ----------
    original : Path, optional
        What ``document()`` means; the file itself by default.
    """
    files: dict[Source, Kin] = {}
    try:
        own = _kin(path, layout)
        if own is None:
            return "the file cannot be cut into slices of records"
        files["file"] = own
        if rulebook.documents:
            same = original is None or original.samefile(path)
            other = own if same or original is None else _original(original, layout)
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
class Reading:
    """Some bytes of a file, of which an engine reads the values."""

    lane: int
    engine: EngineName
    source: Source
    number: int
    begin: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class Judging:
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
class Trying:
    """A sample of the file and of the original, on which an engine tries the plan."""

    lane: int
    engine: EngineName
    places: Mapping[Source, tuple[tuple[int, int], ...]]


type Task = Reading | Judging | Trying


@dataclass(eq=False)
class Hand:
    """Does the tasks of a recount, in whatever process.

    Raises
    ------
    RefusedError
        When it is called with a task that an engine cannot do.
    """

    asked: Asked
    _readers: dict[tuple[EngineName, Source], Reader] = field(default_factory=dict)
    _programs: dict[tuple[int, bool], Program] = field(default_factory=dict)

    @cached_property
    def _planned(self) -> Planned:
        return self.asked.plan()

    def __call__(self, task: Task) -> Iterator[Any]:
        """Do a task."""
        try:
            match task:
                case Reading():
                    yield self._read(task)
                case Judging():
                    yield self._judged(task)
                case Trying():
                    yield self._tried(task)
        except (EngineError, NotFramedError, NotSlicedError, NotAcross) as problem:
            raise RefusedError(str(problem)) from None

    def _bytes(self, source: Source, begin: int, end: int) -> bytes:
        with self.asked.files[source].frame.path.open("rb") as stream:
            stream.seek(begin)
            return stream.read(end - begin)

    def _read(self, task: Reading) -> Values:
        key = task.engine, task.source
        if key not in self._readers:
            planned, kin = self._planned, self.asked.files[task.source]
            self._readers[key] = Reader(
                kin.frame,
                kin.layout,
                task.engine,
                planned.original.version,
                wanted_of(planned.aggregates, task.source),
                planned.predicates[task.source],
                planned.conditions(task.source),
            )
        return self._readers[key](self._bytes(task.source, task.begin, task.end))

    def _judged(self, task: Judging) -> Counts:
        kin = self.asked.files["file"]
        key = task.lane, task.around
        if key not in self._programs:
            selection = Selection(task.checks, whole=task.around)
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

    def _tried(self, task: Trying) -> dict[int, str]:
        records = {
            source: [self._bytes(source, begin, end) for begin, end in own] for source, own in task.places.items()
        }
        return proved(self._planned, task.engine, self.asked.files, records)


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
        self._planned = asked.plan()
        self._lanes = {FIRST_LANE - k: engine for k, engine in enumerate(engines)}
        self._pieces: dict[Source, list[tuple[int, int]]] = {
            source: list(cuts(kin.frame, size)) for source, kin in asked.files.items()
        }
        self._read: dict[tuple[int, Source], dict[int, Values]] = {}
        self._judged: dict[int, dict[int, Counts]] = {}
        self._found: dict[int, Recounted] = {}
        self._refused: dict[int, str] = {}
        self._records: dict[int, int] = {}
        self._objections: dict[int, Mapping[int, str]] = {}

    def has(self, lane: int) -> bool:
        """Whether a lane is one of the recount."""
        return lane in self._lanes

    def reading(self) -> Iterator[Reading]:
        """Yield the tasks of the first round."""
        for lane, engine in self._lanes.items() if self._planned.checks else ():
            for source, pieces in self._pieces.items():
                if source == "file" or self._planned.reads_original:
                    yield from (Reading(lane, engine, source, n, *piece) for n, piece in enumerate(pieces))

    def take(self, task: Task, answer: Any) -> None:
        """Take an answer."""
        match answer:
            case RefusedError():
                self._refused[task.lane] = str(answer)
            case Values() if isinstance(task, Reading):
                self._read.setdefault((task.lane, task.source), {})[task.number] = answer
            case Counts() if isinstance(task, Judging):
                own = self._judged.setdefault(task.lane, {})
                own[task.number] = answer
                self._told(FIRST_LANE - task.lane, sum(part.records for part in own.values()))
            case _:
                self._objections[task.lane] = answer

    def judging(self) -> Iterator[Task]:
        """Yield the tasks of the second round, after the first."""
        for lane, engine in self._lanes.items() if self._planned.checks else ():
            if lane not in self._refused:
                try:
                    yield from self._second_round(lane, engine)
                except NotSlicedError as problem:
                    self._refused[lane] = str(problem)

    def _second_round(self, lane: int, engine: EngineName) -> Iterator[Task]:
        planned = self._planned
        counted = [part.records for _, part in sorted(self._read[lane, "file"].items())]
        tables = {source: self._joined(lane, source) for source in self._pieces if (lane, source) in self._read}
        self._records[lane] = sum(counted)
        yield Trying(lane, engine, self._places(positions_of(planned, tables), tables))
        found = writable(planned, recounted(planned.aggregates, tables, Manner(engine, planned.original.version)))
        del tables
        self._found[lane] = found
        able = frozenset(c for c in planned.checks if planned.used(c) <= found.known)
        book, layout = planned.with_values(found.constants, found.known), planned.carrying(found.columns)
        inside, outside = able - planned.outside, able & planned.outside
        if outside:
            yield Judging(lane, engine, -1, 0, 0, (), book, layout, outside, around=True)
        for number, (begin, end, first, after) in enumerate(records_in(self._pieces["file"], counted)):
            if inside:
                attributes = attributes_of(planned, found, first, after)
                yield Judging(lane, engine, number, begin, end, attributes, book, layout, inside)

    def _joined(self, lane: int, source: Source) -> Values:
        whole = Values()
        for _, part in sorted(self._read.pop((lane, source)).items()):
            whole.add(part)
        return whole

    def _places(
        self, positions: Mapping[Source, Sequence[int]], tables: Mapping[Source, Values]
    ) -> dict[Source, tuple[tuple[int, int], ...]]:
        found: dict[Source, tuple[tuple[int, int], ...]] = {}
        for source, wanted in positions.items():
            own, records = places(self._asked.files[source].frame, wanted, self._size)
            if records != tables[source].records or len(own) != len(wanted):
                raise NotSlicedError("end tags of records that are none")
            found[source] = tuple(own)
        return found

    def results(self) -> tuple[Told, ...]:
        """Return what each engine says, in the order in which they were given."""
        return tuple(self._result(lane) for lane in self._lanes)

    def _result(self, lane: int) -> Told:
        planned = self._planned
        left = {check: planned.reasons.get(check, "it has no plan") for check in self._asked.checks - planned.checks}
        if lane in self._refused or lane not in self._objections:
            why = self._refused.get(lane, "it was not tried on a sample")
            return Told(None, {**left, **dict.fromkeys(planned.checks, why)})
        found = self._found[lane]
        left |= {c: why for c in planned.checks if (why := found.why(planned.used(c)))}
        total, done = Sum(len(self._asked.rulebook.checks)), 0
        for _, part in sorted(self._judged.get(lane, {}).items()):
            total.add_counts(part, done)
            done += part.records
        said = {c: why for c, why in self._objections[lane].items() if c not in left}
        return Told(total.counts(self._records[lane], ""), left, said)


def recount(work: Recount, answers: Answers) -> tuple[Told, ...]:
    """Have both rounds done."""
    for round_ in (work.reading, work.judging):
        for task, answer in answers(round_()):
            work.take(task, answer)
    return work.results()


def by_hand(hand: Hand) -> Answers:
    """Do tasks in this process."""
    dropped: set[int] = set()

    def answers(tasks: Iterable[Task]) -> Iterator[tuple[Task, Any]]:
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
