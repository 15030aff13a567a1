"""Results that are needed one after the other, found in threads before they are asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future


class Prefetch[T]:
    """Carries out tasks in threads, in their order, a few of them before the first is asked for.

    What a task returns or raises comes out where it is asked for, so that nobody can tell whether it ran before.
    The threads end with the process, whatever they are at: nobody has to wait for them after Ctrl-C.
    """

    def __init__(self, tasks: Sequence[Callable[[], T]], workers: int) -> None:
        """Take tasks; with one worker each is carried out when it is asked for, without a thread."""
        self._tasks = tasks
        self._workers = workers
        self._started: dict[int, Future[T]] = {}
        self._next = 0

    def take(self, position: int) -> T:
        """Return what a task has found; once only, and in their order. Up to `workers` others run meanwhile.

        Raises
        ------
        Exception
            Whatever the task has raised.
        """
        if self._workers == 1:
            return self._tasks[position]()
        self._start_before(position + self._workers)
        result = self._started.pop(position).result()
        self._start_before(position + 1 + self._workers)
        return result

    def _start_before(self, end: int) -> None:
        while self._next < min(end, len(self._tasks)):
            future = self._started[self._next] = Future()
            args = (self._tasks[self._next], future)
            threading.Thread(target=_carry_out, args=args, name="masktron-groups", daemon=True).start()
            self._next += 1


def _carry_out[T](task: Callable[[], T], future: Future[T]) -> None:
    try:
        future.set_result(task())
    except BaseException as error:  # noqa: BLE001 -- raised again where the result is asked for
        future.set_exception(error)
