"""Saxon's process of a thread that has ended serves the next thread, but in tests of how processes begin and end.

In the product a process of Saxon ends with its thread, so that each run of `mask` starts one, for a tenth of a
second. Tests run hundreds.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from masktron.child_process import ChildProcess
from masktron.engines import engine_process, saxon
from masktron.engines.engine_process import EngineProcess
from masktron.engines.saxon_engine import opened_saxon

type Kept = tuple[EngineProcess, list[tuple[int, int]]]
"""An engine, and what nobody needs of it any more."""


class Lending:
    """Engines that no thread has.

    Attributes
    ----------
    pausing : bool
        Whether every thread starts an engine of its own, which ends with it.
    """

    def __init__(self) -> None:
        self.pausing = False
        self._idle: deque[Kept] = deque()
        # Linux ends a process with the thread that started it: this one ends last
        self._keeper = ThreadPoolExecutor(1, thread_name_prefix="starts-engines")

    def taken(self) -> Kept:
        """Return an engine for a thread."""
        if self._idle and not self.pausing:
            return self._idle.pop()
        return EngineProcess("Saxon", opened_saxon), []

    def returned(self, kept: Kept) -> None:
        """Take back what a thread had, unless it was ended for good."""
        if not self.pausing and not kept[0]._abandoned:
            self._idle.append(kept)

    def started(self, *given: Any, **named: Any) -> Any:
        """Stand for `ChildProcess` where an engine is started."""
        if self.pausing:
            return ChildProcess(*given, **named)
        return self._keeper.submit(ChildProcess, *given, **named).result()

    def close(self) -> None:
        """End what is idle."""
        self.pausing = True
        for engine, _ in self._idle:
            engine.close()
        self._keeper.shutdown()


class _Lease:
    """What a thread has; it goes back when the thread ends."""

    def __init__(self, lending: Lending) -> None:
        self._lending = lending
        self.kept = lending.taken()

    def __del__(self) -> None:
        self._lending.returned(self.kept)


class _Lent(threading.local):
    """Stands for `masktron.engines.saxon._OWN`."""

    def __init__(self, lending: Lending) -> None:
        self._lease = _Lease(lending)
        self.engine, self.dropped = self._lease.kept


@contextmanager
def lending_engines() -> Iterator[Lending]:
    """Lend engines within the ``with`` statement."""
    lending = Lending()
    with patch.object(engine_process, "ChildProcess", lending.started), patch.object(saxon, "_OWN", _Lent(lending)):
        try:
            yield lending
        finally:
            lending.close()
