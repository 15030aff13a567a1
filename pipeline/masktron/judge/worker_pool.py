"""Work beside what a run waits for: processes that share tasks, and a call in a thread of its own.

A worker imports masktron and nothing else. It ends with its parent, and with its standard input, so that none
outlives a parent that was killed; and it is ended where a task takes too long.
"""

from __future__ import annotations

import os
import pickle
import queue
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, Protocol, Self

from masktron.processes import end, pipe, rule_seconds, send, started

_LOOKING = 1.0
_STARTING = 5.0
"""Seconds for what a process loads and compiles."""


class WorkerPoolError(Exception):
    """A worker could not be started, or ended before its task; it never reaches the user."""


class RefusedError(Exception):
    """A task cannot be done as it was put; what belongs to its lane is pointless."""


class Task(Protocol):
    """What a worker is told to do; it is pickled."""

    @property
    def lane(self) -> int:
        """What the task is a part of."""
        ...


type Work = Callable[[Any], Iterable[Any]]
"""Does a task and yields answers, which are pickled; raises `RefusedError`."""


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
    WorkerPoolError
        A process cannot be started.
    """

    def __init__(self, size: int, opening: Callable[[], Work]) -> None:
        self._workers: list[subprocess.Popen[bytes]] = []
        self._threads: list[threading.Thread] = []
        self._answers: queue.SimpleQueue[tuple[Any, str, Any]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._begun: dict[int, float] = {}
        """When a worker began what it does, or gave its last answer."""
        self._dropped: set[int] = set()
        try:
            for _ in range(size):
                self._workers.append(_started(opening))
        except OSError as problem:
            self.close()
            raise WorkerPoolError(str(problem)) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def answers(self, tasks: Iterable[Task]) -> Iterator[tuple[Any, Any]]:
        """Yield each task with each of its answers, as they come; the last of a task that is refused is its error.

        Parameters
        ----------
        tasks : iterable of Task
            Those that stand first are begun first. More can be given when all of these are done.

        Raises
        ------
        WorkerPoolError
            A process ended.
        RuntimeError
            What should not happen happened there; with its traceback.
        """
        waiting = iter(tasks)
        self._threads = [
            threading.Thread(target=self._lead, args=(worker, waiting), name="masktron-pool", daemon=True)
            for worker in self._workers
        ]
        for thread in self._threads:
            thread.start()
        ended = 0
        while ended < len(self._threads):
            task, kind, answer = self._answer()
            match kind:
                case "ended":
                    ended += 1
                case "lost":
                    raise WorkerPoolError(answer)
                case "crashed":
                    raise RuntimeError(f"a process that masktron started failed:\n{answer}")
                case "refused":
                    yield task, RefusedError(answer)
                case _:
                    yield task, answer

    def _answer(self) -> tuple[Any, str, Any]:
        """Wait for the next answer.

        Raises
        ------
        WorkerPoolError
            A worker has said nothing for longer than a rule may take: who has the last word finds out which rule.
        """
        while True:
            try:
                return self._answers.get(timeout=_LOOKING)
            except queue.Empty:
                since = time.monotonic() - rule_seconds() - _STARTING
                if any(begun < since for begun in list(self._begun.values())):
                    raise WorkerPoolError("a task takes too long") from None

    def _lead(self, worker: subprocess.Popen[bytes], waiting: Iterator[Task]) -> None:
        """Hand tasks to a worker, in a thread of its own, and pass on what it answers."""
        try:
            while (task := self._next(waiting)) is not None:
                self._begun[worker.pid] = time.monotonic()
                send(pipe(worker.stdin), task)
                while (said := pickle.load(pipe(worker.stdout)))[0] != "done":  # noqa: S301 - our own process
                    self._begun[worker.pid] = time.monotonic()
                    if said[0] == "refused":
                        self._dropped.add(task.lane)
                    self._answers.put((task, *said))
                del self._begun[worker.pid]
        except (OSError, EOFError, pickle.UnpicklingError, ValueError) as problem:
            self._answers.put((None, "lost", f"a process ended: {problem}"))
        except Exception:  # noqa: BLE001 - raised again where answers are read
            self._answers.put((None, "crashed", traceback.format_exc()))
        else:
            self._answers.put((None, "ended", None))

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
            end(worker)
        self._workers, self._threads = [], []


def _started(opening: Callable[[], Work]) -> subprocess.Popen[bytes]:
    worker = started("masktron.judge.worker_pool:serve")
    try:
        send(pipe(worker.stdin), opening)
    except BaseException:
        end(worker)
        raise
    return worker


def serve() -> None:
    """Do tasks that come by standard input until it ends; the answers go to standard output."""
    tasks = sys.stdin.buffer
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)  # what a library prints is no answer
        opening = pickle.load(tasks)  # noqa: S301 - from the process that started this one
        work: Work | None = None
        try:
            while True:
                task = pickle.load(tasks)  # noqa: S301
                try:
                    work = work or opening()
                    for answer in work(task):
                        send(answers, ("answer", answer))
                except RefusedError as refusal:
                    send(answers, ("refused", str(refusal)))
                except Exception:  # noqa: BLE001 - the parent raises it again
                    send(answers, ("crashed", traceback.format_exc()))
                send(answers, ("done", None))
        except (EOFError, BrokenPipeError):
            # nobody is there any more; without the ends of engines that have much to take down
            os._exit(0)


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
