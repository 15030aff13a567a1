"""Work beside what a run waits for: processes that share tasks, and a call in a thread of its own."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, Protocol, Self

from masktron.child_process import ChildLostError, ChildProcess, RefusedError, Work
from masktron.processes import rule_seconds

_STARTING = 5.0
"""Seconds for what a process loads and compiles."""


class Task(Protocol):
    """What a worker is told to do; it is pickled."""

    @property
    def lane(self) -> int:
        """What the task is a part of: where one is refused, the others are pointless."""
        ...


class WorkerPool:
    """Processes that take tasks one by one, each the next one that is there.

    Parameters
    ----------
    size : int
        Number of processes.
    opening : callable
        Returns the `Work` of a process, where it is called once; it is pickled.

    Raises
    ------
    ChildLostError
        A process cannot be started.
    """

    def __init__(self, size: int, opening: Callable[[], Work]) -> None:
        self._workers: list[ChildProcess] = []
        self._threads: list[threading.Thread] = []
        self._answers: queue.SimpleQueue[tuple[Any, Any]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._dropped: set[int] = set()
        self._seconds = rule_seconds() + _STARTING
        try:
            for _ in range(size):
                self._workers.append(ChildProcess(opening))
        except ChildLostError:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def answers(self, tasks: Iterable[Task]) -> Iterator[tuple[Any, Any]]:
        """Yield each task with its answer, as they come; that of a task that is refused is its error.

        Parameters
        ----------
        tasks : iterable of Task
            Those that stand first are begun first. More can be given when all of these are done.

        Raises
        ------
        ChildLostError
            A process ended, or was ended since a task took longer than a rule may: who has the last word finds out
            which rule.
        MasktronError, RuntimeError
            As `ChildProcess.ask`.
        """
        waiting = iter(tasks)
        self._threads = [
            threading.Thread(target=self._lead, args=(worker, waiting), name="masktron-pool", daemon=True)
            for worker in self._workers
        ]
        for thread in self._threads:
            thread.start()
        working = len(self._threads)
        while working:
            task, answer = self._answers.get()
            if task is not None:
                yield task, answer
            elif answer is not None:
                raise answer
            else:
                working -= 1

    def _lead(self, worker: ChildProcess, waiting: Iterator[Task]) -> None:
        """Hand tasks to a worker, in a thread of its own, and pass on what it answers."""
        try:
            while (task := self._next(waiting)) is not None:
                try:
                    self._answers.put((task, worker.ask(task, self._seconds)))
                except RefusedError as refusal:
                    self._dropped.add(task.lane)
                    self._answers.put((task, refusal))
        except Exception as error:  # noqa: BLE001 - raised again where answers are read
            self._answers.put((None, error))
        else:
            self._answers.put((None, None))

    def _next(self, waiting: Iterator[Task]) -> Task | None:
        with self._lock:
            return next((task for task in waiting if task.lane not in self._dropped), None)

    def close(self) -> None:
        """End the processes, whatever they do."""
        for worker in self._workers:
            worker.kill()
        for thread in self._threads:
            thread.join()
        for worker in self._workers:
            worker.close()
        self._workers, self._threads = [], []


class LeftError(Exception):
    """Nobody waits for what is under way any more."""


class Background[T]:
    """A call that waits for other processes or for the lock of the interpreter, while this thread goes on.

    It has the context of this thread, with the time that a rule may take. Who leaves the ``with`` statement waits for
    the call to end.

    Parameters
    ----------
    name : str
        Of the thread.
    call : callable
        Is given a function that raises `LeftError` where nobody waits any more, to be called now and then.
    leaving : callable, optional
        Is called where nobody waits any more and the call has not ended.
    """

    def __init__(
        self, name: str, call: Callable[[Callable[[], None]], T], leaving: Callable[[], None] | None = None
    ) -> None:
        self._left = threading.Event()
        self._leaving = leaving
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._begun = self._pool.submit(copy_context().run, call, self._go_on)

    def _go_on(self) -> None:
        if self._left.is_set():
            raise LeftError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._left.set()
        if self._leaving is not None and not self._begun.done():
            self._leaving()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def result(self) -> T:
        """Wait for the call and return what it returns, or raise what it raises."""
        return self._begun.result()
