"""Engines that are not ours over one file, all at the same time: in processes, which take slices of it in turn.

Saxon holds the lock of the interpreter while it works, so threads would queue. Every process can do everything: a
slice for libxml2, a slice for Saxon; each takes the next that is waiting, so that the cores are busy to the end. What
is found does not depend on who did what: slices are counted one by one and added up in the order of the file. Each
engine still reads with its own parser, and what a slice has to be is tested by the engine.

Where the request has an executor, its workers do these tasks, several at a time
(`masktron.evaluation.cross_check`).

What cannot be done like that, and every error, is left to `masktron.evaluation.parallel` and `evaluate`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from masktron.engines.engine_process import EngineProcess
from masktron.engines.saxon import engine
from masktron.errors import DocumentError, ResourceError
from masktron.evaluation.parallel import (
    SLICE,
    SMALL,
    EngineCounts,
    SliceJudge,
    Sum,
    count,
    runs_on,
    slice_judge,
)
from masktron.evaluation.programs import EngineError, NotFramedError
from masktron.evaluation.recount import recount as recounting
from masktron.evaluation.recount.recount import Asked, Hand, ReadTask, RecountTask, asked_of
from masktron.evaluation.request import EvaluationRequest
from masktron.evaluation.runner import EngineChoice, Run, beyond, engine_name
from masktron.evaluation.stylesheet import EngineName
from masktron.evaluation.worker_pool import Background, RefusedError, Task, Work, WorkerPool, WorkerPoolError
from masktron.executor.contract import Executor
from masktron.kernels.cores import usable_cores
from masktron.processes import interpreter
from masktron.rulebook.schema import Rulebook
from masktron.scratch import name_to_be
from masktron.sources.record_layout import Layout
from masktron.sources.xml.slices import Frame, NotSlicedError, cuts, framed
from masktron.sources.xml.wellformed import Stamp, stamp_of, stamp_of_file

TOGETHER = 16
"""Tasks that a worker gets at a time."""

type BatchAnswers = tuple[tuple[int, Any], ...]
"""The last answer of each task, with its place among those that were given together."""


class TaskBatch:
    """Does tasks that were given together, in whatever process.

    Parameters
    ----------
    opening : callable
        Returns the `Work` of a process, where it is called once.
    path : Path
        What the tasks read.
    """

    def __init__(self, opening: Callable[[], Work], path: Path) -> None:
        self._opening, self._path = opening, path

    def __getstate__(self) -> dict[str, Any]:
        return {"_opening": self._opening, "_path": self._path}

    @cached_property
    def _work(self) -> Work:
        return self._opening()

    def _answer(self, task: Task) -> Any:
        """Do a task, once more where the process of an engine was ended meanwhile, and return its last answer."""
        try:
            return list(self._work(task))[-1]
        except ResourceError:
            return list(self._work(task))[-1]  # in a new process

    def __call__(self, tasks: tuple[Task, ...]) -> BatchAnswers:
        """Do some tasks; the answer of one that is refused is its error, and nothing else of its lane is done.

        Raises
        ------
        DocumentError
            The file cannot be read here.
        ResourceError
            The process of an engine ends again and again, or cannot be started.
        """
        found: dict[int, Any] = {}
        refused = set[int]()
        for place, task in enumerate(tasks):
            if task.lane in refused:
                continue
            try:
                found[place] = self._answer(task)
            except RefusedError as refusal:
                refused.add(task.lane)
                found[place] = refusal
            except OSError as problem:
                where, reason = self._path.with_name(name_to_be(self._path)), problem.strerror or str(problem)
                raise DocumentError.of("worker-unfit", where, reason=f"cannot read the file: {reason}") from None
        return tuple(found.items())


@dataclass(frozen=True, slots=True)
class TasksByExecutor:
    """Has an executor do tasks.

    Attributes
    ----------
    executor : Executor
        Entered.
    batch : TaskBatch
    stage : str
        What is being done, in words.
    """

    executor: Executor
    batch: TaskBatch
    stage: str

    def answers(self, tasks: Iterable[Task]) -> Iterator[tuple[Any, Any]]:
        """Yield each task with its last answer; as `masktron.evaluation.worker_pool.WorkerPool.answers`.

        Raises
        ------
        MasktronError
            As `masktron.executor.contract.Executor.map`.
        """
        refused = set[int]()
        given: list[tuple[Task, ...]] = []

        def batches() -> Iterator[tuple[Task, ...]]:
            for together in _together(tasks):
                left = tuple(task for task in together if task.lane not in refused)
                if left:
                    given.append(left)
                    yield left

        for number, answers in enumerate(self.executor.map(self.batch, batches(), stage=self.stage)):
            own = given[number]
            for place, answer in answers:
                if isinstance(answer, RefusedError):
                    refused.add(own[place].lane)
                yield own[place], answer


def _together(tasks: Iterable[Task]) -> Iterator[tuple[Task, ...]]:
    """Put tasks of one lane together that follow each other."""
    waiting: list[Task] = []
    for task in tasks:
        if waiting and (len(waiting) == TOGETHER or waiting[0].lane != task.lane):
            yield tuple(waiting)
            waiting = []
        waiting.append(task)
    if waiting:
        yield tuple(waiting)


MOST_PROCESSES = 4
"""Each has Saxon's library and heap, some 170 MB."""
BY_EXECUTOR = 1 << 23
"""Bytes up to which a file is not worth an executor: one slice of those in which rules are evaluated."""

type EnginePart = EngineChoice | Literal["auto across", "unaided across", "saxon across", "libxml2 across"]
"""What engines are asked in: an engine, or the recount of an engine across records."""
type PartProgress = Callable[[EnginePart, int], None]
"""Called with a part and the number of records that it has judged."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked about a file.

    Attributes
    ----------
    engines : tuple of {"auto", "unaided", "libxml2", "saxon"}
        Those that judge every record, each the checks that are not `beyond` it.
    aside : frozenset of int
        Checks that are not put to engines as they are written, but recounted; see `masktron.evaluation.recount`.
    records : int
        How many the file has.
    """

    engines: tuple[EngineChoice, ...]
    aside: frozenset[int]
    records: int

    def left(self, engine: EngineChoice, rulebook: Rulebook) -> dict[int, str]:
        """Return the checks that are not put to an engine as they are written, with a reason where it gets none."""
        return {**dict.fromkeys(self.aside, ""), **beyond(engine, rulebook)}


@dataclass(frozen=True, slots=True, eq=False)
class PoolResults:
    """What processes have found out.

    Attributes
    ----------
    counts : mapping of int to EngineCounts
        By the place of an engine in the question.
    recounted : tuple of masktron.evaluation.recount.recount.EngineRecount, or None
        What each engine says of the checks that are recounted.
    """

    counts: Mapping[int, EngineCounts]
    recounted: tuple[recounting.EngineRecount, ...] | None = None


def ask(
    request: EvaluationRequest,
    question: Question,
    *,
    found: PoolResults | None = None,
    prefetched: Background[EngineCounts] | None = None,
    told: PartProgress | None = None,
) -> tuple[EngineCounts, ...]:
    """Ask engines about every record of a file.

    Parameters
    ----------
    request : EvaluationRequest
        Of which engines and progress are the question's and ``told``.
    question : Question
    found : PoolResults, optional
        What `by_processes` has found out about the same question; by default it is called.
    prefetched : Background of EngineCounts, optional
        `saxon_in_background`, begun before about the same records and with nothing left out.
    told : callable, optional
        Progress; engines take turns.

    Returns
    -------
    tuple of EngineCounts
        Of each engine, in the order of the question: the same for any number of processes, none included.

    Raises
    ------
    RulebookError, DocumentError, UsageError
        As `masktron.evaluation.exact.evaluate`.
    """
    rulebook, layout, tell = request.rulebook, request.layout, told or _nobody
    found = found or by_processes(request, question, told=tell)
    with ExitStack() as stack:
        counts = []
        here = [lane for lane in range(len(question.engines)) if lane not in found.counts]
        begun = prefetched if not question.aside else None
        if len(here) > 1 and "saxon" in question.engines and begun is None and interpreter() is not None:
            # it has a process of its own, beside which libxml2 works here
            begun = stack.enter_context(saxon_in_background(request, tell, question.aside))
        for lane, choice in enumerate(question.engines):
            left = question.left(choice, rulebook)
            if lane in found.counts:
                name = engine_name(rulebook, layout, choice, left)
                counts.append(replace(found.counts[lane], engine=name, left=left))
            elif len(left) == len(rulebook.checks):
                name = engine_name(rulebook, layout, choice, beyond(choice, rulebook))
                counts.append(replace(Sum(len(left)).counts(question.records, name), left=left))
            elif choice == "saxon" and begun is not None:
                counts.append(begun.result())
            else:
                counts.append(_counted(request, choice, question.aside, tell))
        if question.aside:
            recounted = found.recounted or _recounted(request, question, tell)
            counts = [more.joined(one) for one, more in zip(counts, recounted, strict=True)]
        return tuple(counts)


def _counted(
    request: EvaluationRequest, choice: EngineChoice, aside: frozenset[int], tell: PartProgress
) -> EngineCounts:
    asked = replace(request, engine=choice, progress=lambda done: tell(choice, done))
    return count(asked, leave_out=aside)


def saxon_in_background(
    request: EvaluationRequest, told: PartProgress, leave_out: frozenset[int] = frozenset()
) -> Background[EngineCounts]:
    """Have Saxon count in its process, while this one does something else.

    Parameters
    ----------
    request : EvaluationRequest
    told : callable
        Progress.
    leave_out : frozenset of int
        As for `masktron.evaluation.parallel.count`.
    """
    engines: list[EngineProcess] = []

    def work(go_on: Callable[[], None]) -> EngineCounts:
        if (own := engine()) is not None:
            engines.append(own)
        go_on()
        return _counted(request, "saxon", leave_out, _heard(told, go_on))

    def abandon() -> None:
        # its thread waits for an answer, which may take as long as a rule may
        for one in engines:
            one.abandon()

    return Background("masktron-saxon", work, abandon)


def processes_in_background(
    request: EvaluationRequest, question: Question, told: PartProgress
) -> Background[PoolResults]:
    """Call `by_processes`, while this process does something else."""
    return Background("masktron-asking", lambda go_on: by_processes(request, question, told=_heard(told, go_on)))


def _heard(told: PartProgress, go_on: Callable[[], None]) -> PartProgress:
    """Return what tells of progress as long as somebody waits for it."""

    def heard(part: EnginePart, done: int) -> None:
        go_on()
        told(part, done)

    return heard


def _recounted(
    request: EvaluationRequest, question: Question, tell: PartProgress
) -> tuple[recounting.EngineRecount, ...]:
    """Recount in this process."""
    asked = asked_of(request, question.aside)
    if isinstance(asked, Asked):
        try:
            work = _recount_of(asked, question, SLICE, tell)
            return recounting.recount(work, recounting.by_hand(Hand(asked)))
        except NotSlicedError as problem:
            asked = str(problem)
    return (recounting.EngineRecount(None, dict.fromkeys(question.aside, asked)),) * len(question.engines)


def _recount_of(asked: Asked, question: Question, size: int, tell: PartProgress) -> recounting.Recount:
    def told(place: int, done: int) -> None:
        part: Any = f"{question.engines[place]} across"
        tell(part, done)

    engines: list[EngineName] = ["saxon" if choice == "saxon" else "libxml2" for choice in question.engines]
    return recounting.Recount(asked, engines, size, told)


def _nobody(_part: EnginePart, _records: int) -> None:
    """Tell nobody."""


def by_processes(
    request: EvaluationRequest,
    question: Question,
    *,
    processes: int | None = None,
    small: int = SMALL,
    size: int = SLICE,
    by_executor: int = BY_EXECUTOR,
    told: PartProgress | None = None,
) -> PoolResults:
    """Find out what can be found out in other processes; no engine runs in this one.

    Parameters
    ----------
    request, question, told
        As for `ask`.
    processes : int, optional
        By default one for each core, up to 4.
    small : int
        Bytes up to which a file is not worth a process.
    size : int
        Bytes of a slice.
    by_executor : int
        Bytes up to which a file is not worth the executor of the request, if it has one.

    Raises
    ------
    DocumentError, ResourceError
        What the executor says of a worker that cannot read the file, or of workers that are lost.
    """
    request = request.on_document()
    path, rulebook, layout = request.path, request.rulebook, request.layout
    if path.stat().st_size <= small or (rulebook.documents and not question.aside):
        return PoolResults({})
    before = stamp_of_file(path)
    frame = framed(path, layout)
    if frame is None:
        return PoolResults({})
    tell = told or _nobody
    gathered = _Gathered(len(rulebook.checks), question.engines, tell)
    asked = asked_of(request, question.aside) if question.aside else None
    work: recounting.Recount | None = None
    try:
        first: list[Slice] = []
        if not rulebook.documents:
            first += _slicing(frame, rulebook, layout, question, list(cuts(frame, size)))
        if request.executor is not None and path.stat().st_size > by_executor:
            opened = Opening(frame, before, rulebook, layout)
            gathered.take_all(_through(request.executor, opened, first))
            first = []
        tasks: list[Slice | ReadTask] = [*first]
        if isinstance(asked, Asked):
            # values of records travel with these tasks: they stay on this machine
            work = _recount_of(asked, question, size, tell)
            tasks += work.reading()
        number = min(processes or min(usable_cores(), MOST_PROCESSES), len(tasks))
        opening = Opening(frame, before, rulebook, layout, asked if isinstance(asked, Asked) else None)
        with WorkerPool(number, opening) as pool:
            for task, answer in pool.answers(tasks):
                if work is not None and work.has(task.lane):
                    work.take(task, answer)
                else:
                    gathered.take(task, answer)
            if work is not None:
                for task, answer in pool.answers(work.judging()):
                    work.take(task, answer)
    except (NotSlicedError, WorkerPoolError):
        return PoolResults({})
    if stamp_of_file(path) != before:
        return PoolResults({})
    return replace(gathered.found(), recounted=None if work is None else work.results())


def _through(executor: Executor, opening: Opening, tasks: Sequence[Slice]) -> Iterator[tuple[Any, Any]]:
    """Have an executor do tasks."""
    path = opening.frame.path.absolute()
    batch = TaskBatch(replace(opening, frame=replace(opening.frame, path=path)), path)
    with executor as entered:
        through = TasksByExecutor(entered, batch, f"asking engines about {name_to_be(path)}")
        yield from through.answers(tasks)


@dataclass(frozen=True, slots=True)
class Slice:
    """Some bytes of a file for a run of an engine; ``number`` counts them in the order of the file."""

    lane: int
    run: Run
    number: int
    begin: int
    end: int


def _slicing(
    frame: Frame,
    rulebook: Rulebook,
    layout: Layout,
    question: Question,
    pieces: Sequence[tuple[int, int]],
) -> Iterator[Slice]:
    """Yield the tasks of the engines that need no whole document, Saxon's first: they take longest."""
    runs = [runs_on(frame, rulebook, layout, choice, question.left(choice, rulebook)) for choice in question.engines]
    able = [lane for lane, own in enumerate(runs) if own and not any(run.whole for run in own)]
    able.sort(key=lambda lane: all(run.engine != "saxon" for run in runs[lane]))
    for lane in able:
        for run in runs[lane]:
            yield from (Slice(lane, run, number, *piece) for number, piece in enumerate(pieces))


class _Gathered:
    """Puts answers together, in the order of the file."""

    def __init__(self, checks: int, engines: Sequence[EngineChoice], told: PartProgress) -> None:
        self._checks = checks
        self._engines = engines
        self._told = told
        self._parts: dict[int, dict[Run, dict[int, EngineCounts]]] = {}
        self._records: dict[tuple[int, Run], int] = {}
        self._refused: set[int] = set()

    def take(self, task: Slice, answer: EngineCounts | RefusedError) -> None:
        """Take an answer."""
        if isinstance(answer, RefusedError):
            self._refused.add(task.lane)
            return
        self._parts.setdefault(task.lane, {}).setdefault(task.run, {})[task.number] = answer
        done = self._records.get((task.lane, task.run), 0) + answer.records
        self._records[task.lane, task.run] = done
        self._told(self._engines[task.lane], done)

    def take_all(self, answers: Iterable[tuple[Any, Any]]) -> None:
        """Take tasks with their answers."""
        for task, answer in answers:
            self.take(task, answer)

    def found(self) -> PoolResults:
        """Return the counts of the engines that had nothing to refuse."""
        summed = {lane: self._summed(runs) for lane, runs in self._parts.items() if lane not in self._refused}
        return PoolResults({lane: own for lane, own in summed.items() if own is not None})

    def _summed(self, runs: dict[Run, dict[int, EngineCounts]]) -> EngineCounts | None:
        """Add up the runs of an engine; None where they saw different numbers of records."""
        total = Sum(self._checks)
        seen = set()
        for parts in runs.values():
            done = 0
            for number in sorted(parts):
                total.add_counts(parts[number], done)
                done += parts[number].records
            seen.add(done)
        return total.counts(seen.pop(), "") if len(seen) == 1 else None


@dataclass(frozen=True, slots=True)
class Opening:
    """What a process has to know; ``stamp`` tells the file from another of its name, as a worker may see one."""

    frame: Frame
    stamp: Stamp
    rulebook: Rulebook
    layout: Layout
    asked: Asked | None = None

    def __call__(self) -> Callable[[Slice | RecountTask], Iterator[Any]]:
        """Return what does the tasks, in the process that does them."""
        return _Worker(self, None if self.asked is None else Hand(self.asked))


@dataclass(frozen=True, slots=True, eq=False)
class _Worker:
    known: Opening
    hand: Hand | None
    judges: dict[Run, SliceJudge] = field(default_factory=dict)

    def __call__(self, task: Slice | RecountTask) -> Iterator[Any]:
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
                case _ if self.hand is not None:
                    yield from self.hand(task)
        except (EngineError, NotFramedError, NotSlicedError) as problem:
            raise RefusedError(str(problem)) from None

    def _counted(self, task: Slice) -> EngineCounts:
        known = self.known
        if (judge := self.judges.get(task.run)) is None:
            judge = self.judges[task.run] = slice_judge(known.frame, known.rulebook, known.layout, task.run)
        events = judge(self._read(task.begin, task.end))
        total = Sum(len(known.rulebook.checks))
        total.add(events, 0)
        return total.counts(events.records, "")

    def _read(self, begin: int, end: int) -> bytes:
        """Return some bytes of the file."""
        with self.known.frame.path.open("rb") as stream:
            stream.seek(begin)
            read = stream.read(end - begin)
            if stamp_of(stream) != self.known.stamp:
                raise NotSlicedError("this is another file of the name")
        return read
