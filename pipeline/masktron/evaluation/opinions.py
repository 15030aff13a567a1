"""Engines that are not ours over one file, all at the same time: in processes, which take slices of it in turn.

Saxon and pyschematron hold the lock of the interpreter while they work, so threads would queue. Every process can do
everything: a slice for libxml2, a slice for Saxon, the sample for pyschematron; each takes the next that is waiting,
so that the cores are busy to the end. What is found does not depend on who did what: slices are counted one by one
and added up in the order of the file, and the sample, in which one document may change what is said of the next, is
one task. Each engine still reads with its own parser, and what a slice has to be is tested by the engine.

What cannot be done like that, and every error, is left to `masktron.evaluation.parallel` and `evaluate`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.evaluation.crew import Crew, CrewError, RefusedError
from masktron.evaluation.engines import EngineError, Guard, NotFramedError
from masktron.evaluation.oracle import NotSampledError, Opinion, evaluate_cut, evaluate_with_pyschematron
from masktron.evaluation.parallel import SLICE, SMALL, Counts, Judge, Sum, cores, count, runs_on, slice_judge
from masktron.evaluation.runner import EngineChoice, Run, described
from masktron.read.records import Layout
from masktron.read.rulebook import Rulebook
from masktron.read.slices import Frame, NotSlicedError, cuts, framed, framed_test, places

MOST_PROCESSES = 4
"""Each has Saxon's library and heap, some 350 MB."""
CHUNK = 25
"""Records in each document that pyschematron sees."""
_SAMPLE = -1
"""The lane of the sample; the others are the places of the engines in what was asked."""

type Told = Callable[[EngineChoice | None, int], None]
"""Called with an engine, or None for pyschematron, and the number of records that it has judged."""


@dataclass(frozen=True, slots=True, eq=False)
class SampleOf:
    """Some records of a file.

    Attributes
    ----------
    positions : ndarray of intp, shape (m,)
        From 0, ascending.
    records : int
        How many the file has.
    """

    positions: NDArray[np.intp]
    records: int


@dataclass(frozen=True, slots=True, eq=False)
class Opinions:
    """What was asked.

    Attributes
    ----------
    counts : tuple of Counts
        Of each engine, in the order of the question.
    sampled : Opinion or None
        Of pyschematron, if it was asked.
    """

    counts: tuple[Counts, ...]
    sampled: Opinion | None


def ask(
    path: Path,
    rulebook: Rulebook,
    layout: Layout,
    engines: Sequence[EngineChoice],
    *,
    sample: SampleOf | None = None,
    original: Path | None = None,
    leave_out: Collection[int] = (),
    processes: int | None = None,
    small: int = SMALL,
    size: int = SLICE,
    told: Told | None = None,
) -> Opinions:
    """Ask engines about every record of a file, and pyschematron about some.

    Parameters
    ----------
    path, rulebook, layout, original
        As for `masktron.evaluation.exact.evaluate`.
    engines : sequence of {"auto", "libxml2", "saxon"}
    sample : SampleOf, optional
        The records that pyschematron judges; it is not asked by default.
    leave_out : collection of int
        As for `masktron.evaluation.parallel.count`.
    processes : int, optional
        By default one for each core, up to 4; 0 for none but this one.
    small : int
        Bytes up to which a file is read in this process.
    size : int
        Bytes of a slice.
    told : callable, optional
        Progress; engines take turns.

    Returns
    -------
    Opinions
        The same for any number of processes.

    Raises
    ------
    RulebookError, DocumentError, UsageError
        As `evaluate`.
    """
    number = cores(MOST_PROCESSES) if processes is None else processes
    sampled: Opinion | None = None
    done: dict[int, Counts] = {}
    if number and path.stat().st_size > small and not rulebook.documents:
        done, sampled = _by_crew(path, rulebook, layout, engines, sample, leave_out, (number, size), told)
    tell = told or _nobody
    counts = tuple(
        done[lane]
        if lane in done
        else count(
            path,
            rulebook,
            layout,
            original=original,
            engine=choice,
            leave_out=leave_out,
            progress=lambda records, choice=choice: tell(choice, records),  # type: ignore[misc]
        )
        for lane, choice in enumerate(engines)
    )
    if sample is not None and sampled is None:
        sampled = evaluate_with_pyschematron(
            path,
            rulebook,
            layout,
            records=sample.positions,
            chunk=CHUNK,
            original=original,
            progress=lambda records: tell(None, records),
        )
    return Opinions(counts, sampled)


def _nobody(_engine: EngineChoice | None, _records: int) -> None:
    """Tell nobody."""


def _by_crew(
    path: Path,
    rulebook: Rulebook,
    layout: Layout,
    engines: Sequence[EngineChoice],
    sample: SampleOf | None,
    leave_out: Collection[int],
    limits: tuple[int, int],
    told: Told | None,
) -> tuple[dict[int, Counts], Opinion | None]:
    """Return what processes could find out, by lane."""
    before = _stamp(path)
    frame = framed(path, layout)
    if frame is None:
        return {}, None
    processes, size = limits
    try:
        pieces = list(cuts(frame, size))
        gathered = _Gathered(rulebook, engines, told or _nobody)
        tasks: list[Slice | Sample] = [*_sampling(frame, sample, size)]
        tasks += _slicing(frame, rulebook, layout, engines, leave_out, pieces)
        if not tasks:
            return {}, None
        with Crew(min(processes, len(tasks)), Opening(frame, rulebook, layout)) as crew:
            for task, answer in crew.answers(tasks):
                gathered.take(task, answer)
    except (NotSlicedError, CrewError):
        return {}, None
    return ({}, None) if _stamp(path) != before else (gathered.counts(), gathered.opinion)


def _stamp(path: Path) -> tuple[int, int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns, found.st_ino


@dataclass(frozen=True, slots=True)
class Slice:
    """Some bytes of a file for a run of an engine; ``number`` counts them in the order of the file."""

    lane: int
    run: Run
    number: int
    begin: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Single records of a file for pyschematron: where they stand, and which they are."""

    lane: int
    places: tuple[tuple[int, int], ...]
    of: SampleOf


def _sampling(frame: Frame, sample: SampleOf | None, size: int) -> Iterator[Sample]:
    """Yield the task of pyschematron, unless there are end tags that are none."""
    if sample is not None:
        found, records = places(frame, sample.positions.tolist(), size)
        if records == sample.records and len(found) == len(sample.positions):
            yield Sample(_SAMPLE, tuple(found), sample)


def _slicing(
    frame: Frame,
    rulebook: Rulebook,
    layout: Layout,
    engines: Sequence[EngineChoice],
    leave_out: Collection[int],
    pieces: Sequence[tuple[int, int]],
) -> Iterator[Slice]:
    """Yield the tasks of the engines that need no whole document, Saxon's first: they take longest."""
    runs = [runs_on(frame, rulebook, layout, choice, leave_out) for choice in engines]
    able = [lane for lane, own in enumerate(runs) if own and not any(run.whole for run in own)]
    able.sort(key=lambda lane: all(run.engine != "saxon" for run in runs[lane]))
    for lane in able:
        for run in runs[lane]:
            yield from (Slice(lane, run, number, *piece) for number, piece in enumerate(pieces))


class _Gathered:
    """Puts answers together, in the order of the file."""

    def __init__(self, rulebook: Rulebook, engines: Sequence[EngineChoice], told: Told) -> None:
        self._rulebook = rulebook
        self._engines = engines
        self._told = told
        self._parts: dict[int, dict[Run, dict[int, Counts]]] = {}
        self._records: dict[tuple[int, Run], int] = {}
        self._refused: set[int] = set()
        self.opinion: Opinion | None = None

    def take(self, task: Slice | Sample, answer: Any) -> None:
        """Take an answer."""
        match answer:
            case RefusedError():
                self._refused.add(task.lane)
            case Opinion():
                self.opinion = answer
            case Counts() if isinstance(task, Slice):
                self._parts.setdefault(task.lane, {}).setdefault(task.run, {})[task.number] = answer
                done = self._records.get((task.lane, task.run), 0) + answer.records
                self._records[task.lane, task.run] = done
                self._told(self._engines[task.lane], done)
            case _:
                self._told(None, answer)

    def counts(self) -> dict[int, Counts]:
        """Return the counts of the engines that had nothing to refuse."""
        summed = {lane: self._summed(own) for lane, own in self._parts.items() if lane not in self._refused}
        return {lane: counts for lane, counts in summed.items() if counts is not None}

    def _summed(self, runs: dict[Run, dict[int, Counts]]) -> Counts | None:
        """Add up the runs of an engine; None where they saw different numbers of records."""
        total = Sum(len(self._rulebook.checks))
        seen = set()
        for parts in runs.values():
            done = 0
            for number in sorted(parts):
                total.add_counts(parts[number], done)
                done += parts[number].records
            seen.add(done)
        if len(seen) != 1:
            return None
        return total.counts(seen.pop(), described((run.engine for run in runs), self._rulebook))


@dataclass(frozen=True, slots=True)
class Opening:
    """What a process has to know."""

    frame: Frame
    rulebook: Rulebook
    layout: Layout

    def __call__(self) -> Callable[[Slice | Sample], Iterator[Any]]:
        """Return what does the tasks, in the process that does them."""
        return _Worker(self)


@dataclass(frozen=True, slots=True, eq=False)
class _Worker:
    known: Opening
    judges: dict[Run, Judge] = field(default_factory=dict)

    def __call__(self, task: Slice | Sample) -> Iterator[Any]:
        """Do a task.

        Raises
        ------
        RefusedError
            The records are not as they should be, or an engine stopped.
        """
        try:
            match task:
                case Slice():
                    yield self._counted(task)
                case Sample():
                    yield from self._sampled(task)
        except (EngineError, NotFramedError, NotSlicedError, NotSampledError) as problem:
            raise RefusedError(str(problem)) from None

    def _counted(self, task: Slice) -> Counts:
        known = self.known
        if (judge := self.judges.get(task.run)) is None:
            judge = self.judges[task.run] = slice_judge(known.frame, known.rulebook, known.layout, task.run)
        events = judge(self._read([(task.begin, task.end)]))
        total = Sum(len(known.rulebook.checks))
        total.add(events, 0)
        return total.counts(events.records, "")

    def _read(self, parts: Sequence[tuple[int, int]]) -> bytes:
        """Return bytes of the file, one part after the other."""
        read: list[bytes] = []
        with self.known.frame.path.open("rb") as stream:
            for begin, end in parts:
                stream.seek(begin)
                read.append(stream.read(end - begin))
        return b"".join(read)

    def _sampled(self, task: Sample) -> Iterator[Any]:
        known = self.known
        test, prefixes = framed_test(known.frame, known.layout)
        guard = Guard(test, tuple(prefixes.items()))
        documents = (
            (known.frame.document(self._read(task.places[at : at + CHUNK])), task.of.positions[at : at + CHUNK])
            for at in range(0, len(task.places), CHUNK)
        )
        complete = len(task.places) == task.of.records
        yield from evaluate_cut(known.rulebook, known.layout, documents, guard, complete=complete)
