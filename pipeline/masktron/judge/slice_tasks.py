"""What an engine has to do to count a file: each slice of it, in whatever process.

Records are cut from the bytes of the file and each slice is read by the engine's own parser, so that nothing but the
end tag of a record is looked for by us, and what a slice has to be is tested by the engine
(`masktron.sources.xml.slices`). Whatever is not as it should be is refused, and left to `exact.evaluate`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import batched, groupby
from typing import Any

from masktron.child_process import RefusedError
from masktron.engines.engine_process import EngineError
from masktron.errors import DocumentError, ResourceError
from masktron.executor.contract import Executor
from masktron.judge.across.selection import NotAcross, RecordSource
from masktron.judge.findings import Evaluation
from masktron.judge.programs import APART, Documents, Guard, NotFramedError, Program, compile_program
from masktron.judge.recount.aggregates import carrying, carrying_guard
from masktron.judge.recount.field_values import FieldValues, Reader, program_of, wanted_of
from masktron.judge.recount.recount import Asked, JudgeTask, ReadTask, RecountTask, TryTask
from masktron.judge.recount.sample import Tried, proved
from masktron.judge.report_reader import Events
from masktron.judge.request import counts_of
from masktron.judge.runner import Run, time_for
from masktron.judge.stylesheet import CheckSelection, EngineName, stylesheet
from masktron.rulebook.schema import Rulebook
from masktron.scratch import name_to_be
from masktron.sources.record_layout import Layout
from masktron.sources.xml.parser import parse_tree
from masktron.sources.xml.slices import Frame, NotSlicedError, framed_test

type SliceJudge = Callable[[bytes], Events]
"""Evaluates the records of a slice."""


@dataclass(frozen=True, slots=True)
class Slice:
    """Some bytes of a file for a run of an engine; ``number`` counts them in the order of the file."""

    lane: int
    run: Run
    number: int
    begin: int
    end: int


type Task = Slice | RecountTask
"""Of a lane, an engine in one way of asking: where one of its tasks is refused, the others are pointless."""


@dataclass(frozen=True, slots=True)
class Opening:
    """What a process has to know."""

    frame: Frame
    rulebook: Rulebook
    layout: Layout
    documents: Documents | None = None
    asked: Asked | None = None

    def whole(self, run: Run) -> Evaluation:
        """Count a run that needs the whole document, in this process.

        Raises
        ------
        EngineError
            The engine stops.
        """
        with time_for(run):
            events = Events.of(self.program(run).run(parse_tree(self.frame.path).getroot()))
        return counts_of(len(self.rulebook.checks), [events])

    def program(self, run: Run) -> Program:
        """Compile a run, for one thread."""
        selection = CheckSelection(run.checks, whole=run.whole)
        text = stylesheet(self.rulebook, self.layout, run.engine, selection)
        return compile_program(text, run.engine, self.documents, apart=APART if run.whole else None)

    def judge(self, run: Run) -> SliceJudge:
        """Compile a run for slices of the file, for one thread.

        Raises
        ------
        EngineError
            The engine does not take an expression.
        NotFramedError, NotSlicedError
            What stands around the records does not suit, or has records itself.
        """
        program, frame = self.program(run), self.frame
        test, prefixes = framed_test(frame, self.layout)
        guard = Guard(test, tuple(prefixes.items()))

        def judge(records: bytes) -> Events:
            return Events.of(program.run_bytes(frame.document(records), frame.encoding, guard))

        if judge(b"").records:
            raise NotSlicedError("records that do not end as the first one does")
        return judge


def answers(
    executor: Executor, worker: Worker, tasks: Iterable[Task], together: int = 1
) -> Iterator[tuple[Any, Any]]:
    """Have an executor do tasks, and yield each with its answer; that of one that is refused is its error.

    What follows a refused task in its lane is dropped. What is found does not depend on who did what.

    Parameters
    ----------
    executor : Executor
        Entered.
    worker : Worker
    tasks : iterable of Task
        They are taken as they are needed.
    together : int
        Tasks of a lane that a process gets at a time.

    Raises
    ------
    MasktronError, Exception
        As `masktron.executor.contract.Executor.map`.
    """
    refused = set[int]()
    given: deque[tuple[Task, ...]] = deque()

    def batches() -> Iterator[tuple[Task, ...]]:
        for lane, own in groupby(tasks, key=lambda task: task.lane):
            for batch in batched(own, together):
                if lane not in refused:
                    given.append(batch)
                    yield batch

    stage = f"asking engines about {name_to_be(worker.known.frame.path)}"
    for done in executor.map(worker, batches(), stage=stage):
        for task, answer in zip(given.popleft(), done, strict=False):
            if isinstance(answer, RefusedError):
                refused.add(task.lane)
            yield task, answer


@dataclass(frozen=True, slots=True, eq=False)
class Worker:
    """Does tasks, with what it has compiled for those before."""

    known: Opening
    judges: dict[Run, SliceJudge] = field(default_factory=dict)
    readers: dict[tuple[EngineName, RecordSource], Reader] = field(default_factory=dict)
    programs: dict[tuple[int, bool], Program] = field(default_factory=dict)

    def __call__(self, tasks: Iterable[Task]) -> tuple[Any, ...]:
        """Do tasks of a lane until one is refused; its answer is the error.

        Raises
        ------
        DocumentError
            The file cannot be read here.
        ResourceError
            The process of an engine ends again and again, or cannot be started.
        """
        found: list[Any] = []
        try:
            for task in tasks:
                try:
                    found.append(self._answer(task))
                except ResourceError:
                    found.append(self._answer(task))  # by a new process of the engine
        except RefusedError as refusal:
            found.append(refusal)
        except OSError as problem:
            path, reason = self.known.frame.path, problem.strerror or str(problem)
            where, said = path.with_name(name_to_be(path)), f"cannot read the file: {reason}"
            raise DocumentError.of("worker-unfit", where, reason=said) from None
        return tuple(found)

    def _answer(self, task: Task) -> Evaluation | FieldValues | Tried:
        try:
            match task:
                case Slice():
                    return self._counted(task)
                case ReadTask():
                    return self._read(task)
                case JudgeTask():
                    return self._judged(task)
                case TryTask():
                    return self._tried(task)
        except (EngineError, NotFramedError, NotSlicedError, NotAcross) as problem:
            raise RefusedError(str(problem)) from None

    def _counted(self, task: Slice) -> Evaluation:
        if (judge := self.judges.get(task.run)) is None:
            judge = self.judges[task.run] = self.known.judge(task.run)
        records = self.known.frame.read(task.begin, task.end)
        return counts_of(len(self.known.rulebook.checks), [judge(records)])

    @property
    def _asked(self) -> Asked:
        if self.known.asked is None:
            raise TypeError("a task of a recount, which was not asked for")
        return self.known.asked

    def _read(self, task: ReadTask) -> FieldValues:
        key, kin = (task.engine, task.source), self._asked.files[task.source]
        if key not in self.readers:
            planned = self._asked.plan(task.engine)
            self.readers[key] = Reader(
                kin.frame,
                kin.layout,
                task.engine,
                wanted_of(planned.aggregates, task.source),
                planned.predicates[task.source],
                planned.conditions(task.source),
            )
        return self.readers[key](kin.frame.read(task.begin, task.end))

    def _judged(self, task: JudgeTask) -> Evaluation:
        key, kin = (task.lane, task.around), self._asked.files["file"]
        if key not in self.programs:
            selection = CheckSelection(task.checks, whole=task.around)
            self.programs[key] = program_of(task.book, task.layout, task.engine, selection)
        records = len(task.attributes)
        document = carrying(kin.frame, kin.frame.read(task.begin, task.end), task.attributes)
        guard = carrying_guard(kin.frame, kin.layout, records)
        events = Events.of(self.programs[key].run_bytes(document, kin.frame.encoding, guard))
        if events.records != records:
            raise RefusedError("a slice with another number of records than it had")
        return counts_of(len(task.book.checks), [events])

    def _tried(self, task: TryTask) -> Tried:
        files = self._asked.files
        records = {source: [files[source].frame.read(*place) for place in own] for source, own in task.places.items()}
        return proved(self._asked.plan(task.engine), task.engine, files, records)
