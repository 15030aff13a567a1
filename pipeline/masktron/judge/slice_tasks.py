"""What an engine has to do to count a file: each slice of it, in whatever process.

Records are cut from the bytes of the file and each slice is read by the engine's own parser, so that nothing but the
end tag of a record is looked for by us, and what a slice has to be is tested by the engine
(`masktron.sources.xml.slices`). Whatever is not as it should be is refused, and left to `exact.evaluate`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from masktron.judge.findings import Evaluation
from masktron.judge.programs import Documents, EngineError, Guard, NotFramedError, Program, compile_program
from masktron.judge.recount.recount import Asked, Hand, RecountTask
from masktron.judge.report_reader import Events
from masktron.judge.request import counts_of
from masktron.judge.runner import Run, time_for
from masktron.judge.stylesheet import CheckSelection, stylesheet
from masktron.judge.worker_pool import RefusedError
from masktron.rulebook.schema import Rulebook
from masktron.sources.record_layout import Layout
from masktron.sources.xml.parser import parse_tree
from masktron.sources.xml.slices import Frame, NotSlicedError, framed_test
from masktron.sources.xml.wellformed import Stamp, stamp_of

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


@dataclass(frozen=True, slots=True)
class Opening:
    """What a process has to know; ``stamp`` tells the file from another of its name, as a worker may see one."""

    frame: Frame
    stamp: Stamp
    rulebook: Rulebook
    layout: Layout
    documents: Documents | None = None
    asked: Asked | None = None

    def __call__(self) -> Callable[[Slice | RecountTask], Iterator[Evaluation]]:
        """Return what does the tasks, in the process that does them."""
        return _Worker(self, None if self.asked is None else Hand(self.asked))

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
        return compile_program(text, run.engine, self.documents, whole=run.whole)

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


@dataclass(frozen=True, slots=True, eq=False)
class _Worker:
    known: Opening
    hand: Hand | None
    judges: dict[Run, SliceJudge] = field(default_factory=dict)

    def __call__(self, task: Slice | RecountTask) -> Iterator[Evaluation]:
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

    def _counted(self, task: Slice) -> Evaluation:
        if (judge := self.judges.get(task.run)) is None:
            judge = self.judges[task.run] = self.known.judge(task.run)
        return counts_of(len(self.known.rulebook.checks), [judge(self._read(task.begin, task.end))])

    def _read(self, begin: int, end: int) -> bytes:
        """Return some bytes of the file."""
        with self.known.frame.path.open("rb") as stream:
            stream.seek(begin)
            read = stream.read(end - begin)
            if stamp_of(stream) != self.known.stamp:
                raise NotSlicedError("this is another file of the name")
        return read
