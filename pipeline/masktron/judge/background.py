"""A call in a thread of its own, which waits for engines while a run goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Self


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
