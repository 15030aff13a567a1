"""The engine that is not ours over a whole file: libxml2 in threads, Saxon in slices; counts, no findings.

`evaluate` defines what is counted. Here records are cut from the bytes of the file and each slice is read by the
engine's own parser, so that nothing but the end tag of a record is looked for by us, and what a slice has to be is
tested by the engine (`masktron.sources.xml.slices`). Whatever is not as it should be is left to `evaluate`.

Threads, not processes: lxml releases the lock of the interpreter while it parses and transforms. Measured on two
cores, threads take the time of processes, without their start, their memory and their orphans.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from masktron.evaluation.exact import evaluate
from masktron.evaluation.findings import Evaluation, Verdict
from masktron.evaluation.programs import Documents, EngineError, Guard, NotFramedError, Program, compile_program
from masktron.evaluation.report_reader import Events
from masktron.evaluation.request import EvaluationRequest
from masktron.evaluation.runner import EngineChoice, Run, beyond, engine_name, engines_of, runs_of, time_for
from masktron.evaluation.stylesheet import CheckSelection, stylesheet
from masktron.kernels.cores import usable_cores
from masktron.rulebook.locality import locality_within
from masktron.rulebook.schema import Rulebook
from masktron.sources.record_layout import Layout
from masktron.sources.xml.parser import parse_tree
from masktron.sources.xml.slices import Frame, NotSlicedError, framed, framed_test, names_around, slices

SMALL = 4_000_000
"""Bytes up to which `evaluate` reads a file: there is nothing to win."""
SLICE = 1 << 18
"""Bytes of a slice: what an engine makes of them stays in the caches of the processor."""
_ORIGINAL_SLICE = 1 << 24
"""If rules ask for the original, libxml2 reads it again for each slice, and Saxon looks through it again."""
_MOST_THREADS = 8

type SliceJudge = Callable[[bytes], Events]
"""Evaluates the records of a slice."""


@dataclass(frozen=True, slots=True, eq=False)
class EngineCounts:
    """What an engine counts on a file.

    Attributes
    ----------
    records : int
    fired, failed, errors : ndarray of int64, shape (checks,)
        As in `Evaluation`.
    first : ndarray of int64, shape (checks,)
        Position, from 0, of the first record with a failure or an error; -1 where no record has one.
    engine : str
        Name and version.
    left : mapping of int to str
        Checks that were not counted, with the reason; empty of those that are left to the recount.
    objections : mapping of int to str
        Checks of which something else than the counts is wrong.
    """

    records: int
    fired: NDArray[np.int64]
    failed: NDArray[np.int64]
    errors: NDArray[np.int64]
    first: NDArray[np.int64]
    engine: str
    left: Mapping[int, str] = field(default_factory=dict)
    objections: Mapping[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, evaluation: Evaluation) -> EngineCounts:
        """Return the counts of an evaluation that kept a finding of each check."""
        first = np.full(len(evaluation.fired), -1, dtype=np.int64)
        for finding in reversed(evaluation.findings):
            first[finding.check] = finding.record
        return cls(
            evaluation.records,
            evaluation.fired,
            evaluation.failed,
            evaluation.errors,
            first,
            evaluation.engine,
        )


def count(
    request: EvaluationRequest,
    *,
    threads: int | None = None,
    small: int = SMALL,
    size: int = SLICE,
    leave_out: Collection[int] = (),
) -> EngineCounts:
    """Count what `evaluate` counts with the same engine, faster and in bounded memory.

    Parameters
    ----------
    request : EvaluationRequest
        Its ``progress`` starts from 0 again, where another engine decides some of the rules.
    threads : int, optional
        Of libxml2; by default one for each core, up to 8.
    small : int
        Bytes up to which `evaluate` reads the file, where nothing is left out.
    size : int
        Bytes of a slice.
    leave_out : collection of int
        Checks that need not be counted, some of all; they are where the file cannot be cut, and else are `left`, as
        are always those that are `beyond` the engine.

    Returns
    -------
    EngineCounts

    Raises
    ------
    RulebookError, DocumentError, UsageError
        As `evaluate`, which has the last word on a rule or a file that an engine does not take.
    """
    request = request.on_document()
    never = beyond(request.engine, request.rulebook)
    cut = leave_out or request.path.stat().st_size > small
    frame = framed(request.path, request.layout) if cut else None
    if frame is not None:
        whole = _Whole(request, frame, request.documents())
        try:
            left = {**dict.fromkeys(leave_out, ""), **never}
            return replace(whole.count(threads or min(usable_cores(), _MOST_THREADS), size, left), left=left)
        except (EngineError, NotFramedError, NotSlicedError):
            pass  # evaluate finds the rule or the record that is to blame, or decides in its own way
    return replace(EngineCounts.of(evaluate(replace(request, limit=1), leave_out=never)), left=never)


class Sum:
    """Counts, slice by slice."""

    def __init__(self, checks: int) -> None:
        self.fired = np.zeros(checks, dtype=np.int64)
        self.failed = np.zeros(checks, dtype=np.int64)
        self.errors = np.zeros(checks, dtype=np.int64)
        self.first = np.full(checks, -1, dtype=np.int64)

    def add(self, events: Events, first: int) -> None:
        """Add what happened on some records, of which the first stands at this position."""
        checks = len(self.fired)
        wrong = (events.verdict == Verdict.ERROR) | (events.verdict == Verdict.NOT_FIRED)
        self.fired += np.bincount(events.check[events.verdict != Verdict.NOT_FIRED], minlength=checks)
        self.failed += np.bincount(events.check[events.verdict == Verdict.FAILS], minlength=checks)
        self.errors += np.bincount(events.check[wrong], minlength=checks)
        inside = events.fails & (events.record >= 0)
        failing, at = np.unique(events.check[inside], return_index=True)
        new = self.first[failing] < 0
        self.first[failing[new]] = first + events.record[inside][at[new]]

    def add_counts(self, part: EngineCounts, first: int) -> None:
        """Add what was counted on some records, of which the first stands at this position."""
        self.fired += part.fired
        self.failed += part.failed
        self.errors += part.errors
        new = (self.first < 0) & (part.first >= 0)
        self.first[new] = first + part.first[new]

    def counts(self, records: int, engine: str) -> EngineCounts:
        """Return the sum."""
        return EngineCounts(records, self.fired, self.failed, self.errors, self.first, engine)


def runs_on(
    frame: Frame, rulebook: Rulebook, layout: Layout, engine: EngineChoice, leave_out: Collection[int]
) -> tuple[Run, ...]:
    """Return the runs of an engine on a file that can be cut.

    Raises
    ------
    NotSlicedError
        What stands around the records is no document.
    """
    reasons = locality_within(rulebook, layout, lambda: names_around(frame, layout))
    counted = [index for index in range(len(rulebook.checks)) if index not in leave_out]
    return runs_of(engines_of(rulebook, layout, engine), reasons, counted)


def slice_judge(
    frame: Frame, rulebook: Rulebook, layout: Layout, run: Run, documents: Documents | None = None
) -> SliceJudge:
    """Compile a run for slices of a file, for one thread.

    Raises
    ------
    EngineError
        The engine does not take an expression.
    NotFramedError, NotSlicedError
        What stands around the records does not suit, or has records itself.
    """
    program = _program(rulebook, layout, run, documents)
    test, prefixes = framed_test(frame, layout)
    guard = Guard(test, tuple(prefixes.items()))

    def judge(records: bytes) -> Events:
        return Events.of(program.run_bytes(frame.document(records), frame.encoding, guard))

    if judge(b"").records:
        raise NotSlicedError("records that do not end as the first one does")
    return judge


def _program(rulebook: Rulebook, layout: Layout, run: Run, documents: Documents | None) -> Program:
    selection = CheckSelection(run.checks, whole=run.whole)
    text = stylesheet(rulebook, layout, run.engine, selection)
    return compile_program(text, run.engine, documents, whole=run.whole)


@dataclass(frozen=True, slots=True)
class _Whole:
    request: EvaluationRequest
    frame: Frame
    documents: Documents | None

    def count(self, threads: int, size: int, leave_out: Collection[int]) -> EngineCounts:
        rulebook, layout, engine = self.request.rulebook, self.request.layout, self.request.engine
        runs = runs_on(self.frame, rulebook, layout, engine, leave_out)
        total = Sum(len(rulebook.checks))
        seen = {self._run(run, total, threads, size) for run in runs}
        if len(seen) != 1:
            raise NotSlicedError(f"different numbers of records, {seen}")
        return total.counts(seen.pop(), engine_name(rulebook, layout, engine, leave_out))

    def _run(self, run: Run, total: Sum, threads: int, size: int) -> int:
        """Add up a run and return the number of records."""
        if run.whole:
            program = _program(self.request.rulebook, self.request.layout, run, self.documents)
            with time_for(run):
                events = Events.of(program.run(parse_tree(self.frame.path).getroot()))
            total.add(events, 0)
            return events.records
        if self.documents is not None:
            threads, size = 1, max(size, _ORIGINAL_SLICE)
        judge = self._judge(run)
        pieces = slices(self.frame, size)
        parallel = run.engine == "libxml2" and threads > 1
        done = 0
        with closing(self._in_threads(run, pieces, threads) if parallel else (judge(p) for p in pieces)) as judged:
            for events in judged:
                total.add(events, done)
                done += events.records
                self.request.tell(done)
        return done

    def _judge(self, run: Run) -> SliceJudge:
        return slice_judge(self.frame, self.request.rulebook, self.request.layout, run, self.documents)

    def _in_threads(self, run: Run, pieces: Iterator[bytes], threads: int) -> Generator[Events]:
        """Yield the events of slices in order, with a bounded number of slices in memory."""
        own = threading.local()

        def judge(records: bytes) -> Events:
            if not hasattr(own, "judge"):
                own.judge = self._judge(run)
            events: Events = own.judge(records)
            return events

        waiting: deque[Future[Events]] = deque()
        pool = ThreadPoolExecutor(threads, thread_name_prefix="masktron-libxml2")
        try:
            for piece in pieces:
                waiting.append(pool.submit(judge, piece))
                if len(waiting) > 2 * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            # also after Ctrl-C: a slice is done in milliseconds
            pool.shutdown(wait=True, cancel_futures=True)
