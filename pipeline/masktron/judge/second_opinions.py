"""Engines that are not ours over one file: each counts every record, by its own parser.

A file of some size is cut into slices, and so many processes as there are cores take the next one that is waiting,
whichever engine it is for. Saxon holds the lock of the interpreter while it works, so threads would queue. Slices are
counted one by one and added up in the order of the file. Where the request has an executor, its workers do these
tasks; where no process can be started, or rules read the original, which each would hold, this process does.

What cannot be cut, what needs the whole document, and every error is left to `exact.evaluate`, which has the last
word on a rule or a file that an engine does not take.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any, Literal

import numpy as np

from masktron.child_process import ChildLostError, RefusedError
from masktron.engines.engine_process import EngineError, EngineProcess
from masktron.engines.saxon import engine
from masktron.executor.contract import Executor
from masktron.executor.local_processes import LocalProcesses
from masktron.executor.which import Serial
from masktron.judge import exact
from masktron.judge.background import Background
from masktron.judge.findings import Evaluation
from masktron.judge.recount.recount import Asked, EngineRecount, Recount, asked_of
from masktron.judge.request import EvaluationRequest, counts_of
from masktron.judge.runner import EngineChoice, Run, beyond, engine_name, engines_of, runs_of
from masktron.judge.slice_tasks import Opening, Slice, Task, Worker, answers
from masktron.judge.stylesheet import EngineName
from masktron.kernels.cores import usable_cores
from masktron.processes import interpreter, rule_seconds
from masktron.rulebook.locality import locality_within
from masktron.sources.xml.slices import Frame, NotSlicedError, cuts, framed, names_around
from masktron.sources.xml.wellformed import stamp_of_file

SMALL_FILE = 4_000_000
"""Bytes up to which `exact.evaluate` reads a file: there is nothing to win."""
SLICE = 1 << 18
"""Bytes of a slice: what an engine makes of them stays in the caches of the processor."""
ORIGINAL_SLICE = 1 << 24
"""If rules ask for the original, libxml2 reads it again for each slice, and Saxon looks through it again."""
TOGETHER = 16
"""Slices that a worker of an executor gets at a time."""
STARTING = 5.0
"""Seconds for what a process loads and compiles."""
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
        Checks that are not put to engines as they are written, but recounted; see `masktron.judge.recount`.
    records : int
        How many the file has.
    """

    engines: tuple[EngineChoice, ...]
    aside: frozenset[int]
    records: int


@dataclass(frozen=True, slots=True)
class Cutting:
    """From which size on a file is cut, how, and for how many processes.

    Attributes
    ----------
    small : int
        Bytes up to which it is not.
    size : int
        Bytes of a slice.
    by_executor : int
        Bytes up to which a file is not worth the executor of the request, if it has one.
    processes : int or None
        None for one for each core, up to 4.
    """

    small: int = SMALL_FILE
    size: int = SLICE
    by_executor: int = BY_EXECUTOR
    processes: int | None = None


USUAL = Cutting()


def _nobody(_part: EnginePart, _records: int) -> None:
    """Tell nobody."""


def engine_opinions(
    request: EvaluationRequest, question: Question, *, told: PartProgress = _nobody, cutting: Cutting = USUAL
) -> tuple[Evaluation, ...]:
    """Ask engines about every record of a file.

    Parameters
    ----------
    request : EvaluationRequest
        Of which engines and progress are the question's and ``told``.
    question : Question
    told : callable
        Progress; engines take turns.
    cutting : Cutting

    Returns
    -------
    tuple of Evaluation
        Of each engine, in the order of the question: the same whoever does the tasks.

    Raises
    ------
    RulebookError, DocumentError, UsageError
        As `masktron.judge.exact.evaluate`.
    ResourceError
        What the executor says of workers that are lost.
    """
    return _Asking(request.on_document(), question, told, cutting).counts()


@dataclass(frozen=True, slots=True, eq=False)
class _Asking:
    request: EvaluationRequest
    question: Question
    told: PartProgress
    cutting: Cutting

    def counts(self) -> tuple[Evaluation, ...]:
        """Return what each engine counts."""
        question, rulebook, layout = self.question, self.request.rulebook, self.request.layout
        found, recounted = self._by_tasks()
        none = {lane for lane, one in enumerate(question.engines) if len(self._left(one)) == len(rulebook.checks)}
        here = [lane for lane in range(len(question.engines)) if lane not in none.union(found)]
        with ExitStack() as stack:
            whole: dict[int, Callable[[], Evaluation]] = {}
            for lane in here:
                exactly = partial(self._exactly, question.engines[lane])
                if question.engines[lane] == "saxon" and len(here) > 1 and interpreter() is not None:
                    # it has a process of its own, beside which libxml2 works here
                    whole[lane] = stack.enter_context(in_background(exactly)).result
                else:
                    whole[lane] = exactly
            counts = []
            for lane, choice in enumerate(question.engines):
                if lane in whole:
                    counts.append(whole[lane]())
                    continue
                left = self._left(choice)
                name = engine_name(rulebook, layout, choice, beyond(choice, rulebook) if lane in none else left)
                own = found[lane] if lane not in none else replace(self._nothing(), records=question.records)
                counts.append(replace(own, engine=name, left=left))
        if not recounted:
            return tuple(counts)
        return tuple(more.joined(one) for one, more in zip(counts, recounted, strict=True))

    def _left(self, choice: EngineChoice) -> dict[int, str]:
        """Return the checks that are not put to an engine as they are written, with a reason where it gets none."""
        return {**dict.fromkeys(self.question.aside, ""), **beyond(choice, self.request.rulebook)}

    def _exactly(self, choice: EngineChoice, go_on: Callable[[], None] = lambda: None) -> Evaluation:
        """Return what an engine counts on the file as a whole, of all checks that it knows."""

        def told(done: int) -> None:
            go_on()
            self.told(choice, done)

        never = beyond(choice, self.request.rulebook)
        asked = replace(self.request, engine=choice, limit=1, progress=told)
        return replace(exact.evaluate(asked, leave_out=never), left=never)

    def _nothing(self) -> Evaluation:
        """Return the counts of an engine that is asked about no check."""
        return counts_of(len(self.request.rulebook.checks))

    def _by_tasks(self) -> tuple[dict[int, Evaluation], tuple[EngineRecount, ...]]:
        """Return what engines count on slices, by their places in the question, and what is recounted."""
        path, aside = self.request.path, self.question.aside
        asked = asked_of(self.request, aside) if aside else "nothing"
        large = path.stat().st_size > self.cutting.small
        frame = framed(path, self.request.layout) if large or aside else None
        if frame is None:
            return {}, self._not_recounted(str(asked))
        opening = Opening(
            frame,
            self.request.rulebook,
            self.request.layout,
            self.request.documents(),
            asked if isinstance(asked, Asked) else None,
        )
        for place in (self._processes, Serial) if large and interpreter() is not None else (Serial,):
            try:
                found = self._done(opening, place)
            except ChildLostError:
                continue
            except NotSlicedError as problem:
                return {}, self._not_recounted(str(problem))
            if stamp_of_file(path) != frame.stamp:
                return {}, self._not_recounted("the file has changed")
            return found[0], found[1] or self._not_recounted(str(asked))
        raise TypeError("this process does every task")

    def _not_recounted(self, why: str) -> tuple[EngineRecount, ...]:
        aside, engines = self.question.aside, self.question.engines
        return (EngineRecount(None, dict.fromkeys(aside, why)),) * len(engines) if aside else ()

    def _processes(self) -> Executor:
        count = self.cutting.processes or min(usable_cores(), MOST_PROCESSES)
        return LocalProcesses(count, rule_seconds() + STARTING)

    def _done(
        self, opening: Opening, place: Callable[[], Executor]
    ) -> tuple[dict[int, Evaluation], tuple[EngineRecount, ...]]:
        """Have all tasks done.

        Raises
        ------
        ChildLostError, NotSlicedError
        """
        request, question = self.request, self.question
        gathered = _Gathered(len(request.rulebook.checks), question.engines, self.told)
        runs = self._runs(opening.frame)
        size = self.cutting.size if opening.documents is None else max(self.cutting.size, ORIGINAL_SLICE)
        tasks: list[Task] = list(_slicing(runs, list(cuts(opening.frame, size))))
        if opening.documents is not None:  # which each process would hold
            gathered.take_all(answers(Serial(), Worker(opening), tasks))
            tasks = []
        elif request.executor is not None and request.path.stat().st_size > self.cutting.by_executor:
            frame = replace(opening.frame, path=request.path.absolute())
            with request.executor as entered:
                own = Worker(replace(opening, asked=None, frame=frame))
                gathered.take_all(answers(entered, own, tasks, TOGETHER))
            tasks = []
        recount: Recount | None = None
        if opening.asked is not None:
            # values of records travel with these tasks: they stay on this machine
            recount = self._recount(opening.asked)
            tasks += recount.reading()
        worker = Worker(replace(opening, documents=None))
        with place() as doing:
            for task, answer in answers(doing, worker, tasks):
                if recount is not None and recount.has(task.lane):
                    recount.take(task, answer)
                else:
                    gathered.take(task, answer)
            if recount is not None:
                for task, answer in answers(doing, worker, recount.judging()):
                    recount.take(task, answer)
        for lane, run in runs:
            if run.whole:
                gathered.take_whole(lane, run, opening)
        return gathered.found(), () if recount is None else recount.results()

    def _runs(self, frame: Frame) -> list[tuple[int, Run]]:
        """Return the runs of each engine, by its place; Saxon's first: they take longest.

        Raises
        ------
        NotSlicedError
            What stands around the records is no document.
        """
        rulebook, layout = self.request.rulebook, self.request.layout
        reasons = locality_within(rulebook, layout, lambda: names_around(frame, layout))
        found = []
        for lane, choice in enumerate(self.question.engines):
            left = self._left(choice)
            counted = [index for index in range(len(rulebook.checks)) if index not in left]
            found += [(lane, run) for run in runs_of(engines_of(rulebook, layout, choice), reasons, counted)]
        return sorted(found, key=lambda one: one[1].engine != "saxon")

    def _recount(self, asked: Asked) -> Recount:
        engines = self.question.engines

        def told(place: int, done: int) -> None:
            part: Any = f"{engines[place]} across"
            self.told(part, done)

        names: list[EngineName] = ["saxon" if choice == "saxon" else "libxml2" for choice in engines]
        return Recount(asked, names, self.cutting.size, told)


def in_background[T](call: Callable[[Callable[[], None]], T]) -> Background[T]:
    """Have engines asked while this process does something else.

    Parameters
    ----------
    call : callable
        Is given a function that raises where nobody waits any more. Saxon may work for it as long as a rule may
        take: its process is ended then.
    """
    engines: list[EngineProcess] = []

    def work(go_on: Callable[[], None]) -> T:
        if (own := engine()) is not None:
            engines.append(own)
        go_on()
        return call(go_on)

    def leave() -> None:
        for one in engines:
            one.abandon()

    return Background("masktron-asking", work, leave)


def _slicing(runs: Sequence[tuple[int, Run]], pieces: Sequence[tuple[int, int]]) -> Iterator[Slice]:
    """Yield the tasks of the runs that need no whole document."""
    for lane, run in runs:
        if not run.whole:
            yield from (Slice(lane, run, number, *piece) for number, piece in enumerate(pieces))


class _Gathered:
    """Puts answers together, in the order of the file."""

    def __init__(self, checks: int, engines: Sequence[EngineChoice], told: PartProgress) -> None:
        self._checks = checks
        self._engines = engines
        self._told = told
        self._parts: dict[int, dict[Run, dict[int, Evaluation]]] = {}
        self._records: dict[tuple[int, Run], int] = {}
        self._refused: set[int] = set()

    def take(self, task: Slice, answer: Evaluation | RefusedError) -> None:
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

    def take_whole(self, lane: int, run: Run, opening: Opening) -> None:
        """Count a run that needs the whole document, unless its engine has refused something."""
        if lane in self._refused:
            return
        try:
            self._parts.setdefault(lane, {})[run] = {0: opening.whole(run)}
        except EngineError:
            self._refused.add(lane)

    def found(self) -> dict[int, Evaluation]:
        """Return the counts of the engines that had nothing to refuse, by their places."""
        summed = {lane: self._summed(runs) for lane, runs in self._parts.items() if lane not in self._refused}
        return {lane: own for lane, own in summed.items() if own is not None}

    def _summed(self, runs: dict[Run, dict[int, Evaluation]]) -> Evaluation | None:
        """Add up the runs of an engine; None where they saw different numbers of records."""
        each = [counts_of(self._checks, parts=(parts[number] for number in sorted(parts))) for parts in runs.values()]
        if len({one.records for one in each}) != 1:
            return None
        return reduce(_both, each)


def _both(one: Evaluation, other: Evaluation) -> Evaluation:
    """Return the counts of different checks on the same records as one."""
    kinds = {name: getattr(one, name) + getattr(other, name) for name in ("fired", "failed", "errors")}
    return replace(one, **kinds, first=np.maximum(one.first, other.first))
