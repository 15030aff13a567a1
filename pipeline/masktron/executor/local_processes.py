"""Slices in processes of this machine.

A thread leads each process: it starts it, hands it slices, and starts another one where it was lost. A process ends
with its thread, and so with this process, however that ends.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field
from typing import Self

from masktron.child_process import ChildLostError, ChildProcess, Work
from masktron.errors import ResourceError
from masktron.executor.contract import AHEAD, ended_twice, number_of
from masktron.executor.travelling import ALONE, answer, carried, result
from masktron.processes import rule_seconds
from masktron.progress import Told, untold

_TRIES = 3


class LocalProcesses:
    """An `Executor` whose workers are processes of this machine, started when the first slice is there.

    Parameters
    ----------
    workers : int
    limit : float, optional
        Seconds that a slice may take. The processes then are engines themselves, which nobody in them ends. A map
        ends with `ChildLostError` where one takes longer, is lost or cannot be started: the caller has another way.
    """

    name = "local"
    elsewhere = False
    notes: tuple[str, ...] = ()

    def __init__(self, workers: int, limit: float | None = None) -> None:
        self.workers = workers
        self._limit = limit
        self._changed = threading.Condition()
        self._ready: deque[_Task] = deque()
        self._processes: set[ChildProcess] = set()
        self._leaders: list[threading.Thread] = []
        self._closing = False

    def __enter__(self) -> Self:
        self._closing = False
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def map[S, R](
        self, function: Callable[[S], R], slices: Iterable[S], *, stage: str, told: Told = untold
    ) -> Generator[R]:
        """Yield the result for each slice: `masktron.executor.contract.Executor.map`."""
        run = _Run(stage, carried(function), rule_seconds())
        size, waiting = number_of(slices), iter(slices)
        self._lead_all()
        given = taken = 0
        try:
            while True:
                while given < taken + AHEAD * self.workers:
                    piece = next(waiting, run)  # no slice is this
                    if piece is run:
                        break
                    with self._changed:
                        self._ready.append(_Task(run, given, carried(piece)))
                        self._changed.notify_all()  # another map may wait, too
                    given += 1
                if taken == given:
                    return
                said = self._said(run, taken)
                taken += 1
                value = result(said)
                if size is not None:
                    told(taken, size)
                yield value
        finally:
            with self._changed:
                run.over = True
                self._ready = deque(task for task in self._ready if task.run is not run)

    def _said(self, run: _Run, number: int) -> bytes:
        """Wait for what is said of a slice."""
        with self._changed:
            while number not in run.said and run.failure is None:
                self._changed.wait()
            if number not in run.said and run.failure is not None:
                raise run.failure
            return run.said.pop(number)

    def _lead_all(self) -> None:
        if self._closing:
            raise RuntimeError("an executor that is closed")
        with self._changed:
            new = [
                threading.Thread(target=self._lead, name="masktron-executor", daemon=True)
                for _ in range(len(self._leaders), self.workers)
            ]
            self._leaders += new
        for leader in new:
            leader.start()

    def _lead(self) -> None:
        """Hand slices to a process, in a thread of its own."""
        worker: _Worker | None = None
        try:
            while (task := self._next()) is not None:
                try:
                    worker = worker or self._worker()
                except ChildLostError as lost:
                    reason = f"a worker cannot be started: {lost}"
                    told = ResourceError.of("worker-lost", reason=reason)
                    self._fail(task.run, told if self._limit is None else lost)
                    continue
                try:
                    said = worker.answer(task, self._limit)
                except ChildLostError as lost:
                    self._lost(task, worker, lost)
                    worker = None
                except Exception as error:  # noqa: BLE001 -- raised again where results are asked for
                    self._fail(task.run, error)
                    self._end(worker)
                    worker = None
                else:
                    with self._changed:
                        if not task.run.over:
                            task.run.said[task.number] = said
                        self._changed.notify_all()
        finally:
            if worker is not None:
                self._end(worker)

    def _next(self) -> _Task | None:
        """Wait for a slice; None when there will be none."""
        with self._changed:
            while not self._ready and not self._closing:
                self._changed.wait()
            return None if self._closing else self._ready.popleft()

    def _worker(self) -> _Worker:
        """Start a process, and wait until it can work: how it ends before that is no slice's fault.

        Raises
        ------
        ChildLostError
            It cannot be started, or ends at once, again and again.
        """
        how = ""
        for _ in range(_TRIES):
            worker = _Worker(ChildProcess(opened_worker, member=self._limit is not None, environment=ALONE))
            with self._changed:
                self._processes.add(worker.child)
                if self._closing:  # nobody ends it any more
                    worker.child.kill()
            try:
                worker.child.wait_until_open()
            except ChildLostError as lost:
                how = lost.how
                self._end(worker)
            else:
                return worker
        raise ChildLostError(f"it ends at once{how}")

    def _lost(self, task: _Task, worker: _Worker, lost: ChildLostError) -> None:
        """Give a slice to another process, or up."""
        self._end(worker)
        task.ended += 1
        if self._limit is not None or task.ended > 1:
            given_up = ended_twice(task.run.stage, task.number, lost.how)
            self._fail(task.run, given_up if self._limit is None else lost)
            return
        with self._changed:
            if not task.run.over:
                self._ready.appendleft(task)
            self._changed.notify_all()

    def _fail(self, run: _Run, failure: Exception) -> None:
        with self._changed:
            run.failure = run.failure or failure
            self._changed.notify_all()

    def _end(self, worker: _Worker) -> None:
        worker.child.close()
        with self._changed:
            self._processes.discard(worker.child)

    def close(self) -> None:
        """End the processes, whatever they do."""
        with self._changed:
            self._closing = True
            for process in self._processes:
                process.kill()
            self._changed.notify_all()
        for leader in self._leaders:
            leader.join()
        self._leaders = []


@dataclass(slots=True, eq=False)
class _Run:
    """A map, while it lasts.

    Attributes
    ----------
    said : dict of int to bytes
        By slice.
    over : bool
        Nobody asks for more.
    """

    stage: str
    function: bytes
    seconds: float
    said: dict[int, bytes] = field(default_factory=dict)
    failure: Exception | None = None
    over: bool = False


@dataclass(slots=True, eq=False)
class _Task:
    run: _Run
    number: int
    piece: bytes
    ended: int = 0
    """Processes that ended while they worked on it."""


class _Worker:
    """A process, as its thread sees it."""

    def __init__(self, child: ChildProcess) -> None:
        self.child = child
        self._knows: _Run | None = None

    def answer(self, task: _Task, limit: float | None) -> bytes:
        """Have a slice done.

        Raises
        ------
        ChildLostError
            The process has ended, or was ended after so many seconds.
        """
        known, self._knows = self._knows is task.run, task.run
        said: bytes = self.child.ask((None if known else task.run.function, task.run.seconds, task.piece), limit)
        return said


def opened_worker() -> Work:
    """Return what does slices, each by the function that came last."""
    function = b""

    def work(asked: tuple[bytes | None, float, bytes]) -> bytes:
        nonlocal function
        function = function if asked[0] is None else asked[0]
        return answer(function, asked[2], asked[1])

    return work
