"""An engine in a process of its own, where it can be ended: it answers to no signal while it evaluates."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

from masktron.child_process import ChildLostError, ChildProcess, RefusedError, TooLongError, Work
from masktron.errors import ResourceError
from masktron.memory import address_space
from masktron.processes import rule_seconds


class EngineError(RefusedError):
    """An engine stopped; the text is its message. It never reaches the user without the rule that caused it."""


class InternalEngineError(EngineError):
    """An engine stopped by a fault of its own: what it was asked has an answer, and may be asked in another way."""


class EngineTimeError(EngineError):
    """An engine was ended since it took longer than it may."""

    def __init__(self, seconds: float | None = None) -> None:
        super().__init__(f"it took more than {rule_seconds() if seconds is None else seconds:g} s")


class EngineProcess:
    """An engine in another process, which is started with the first question, and again where it was ended.

    For one thread. The process ends with this object, with the thread and with this process, however that ends; and
    where waiting for an answer is interrupted.

    Parameters
    ----------
    name : str
        What the engine is called in messages.
    opening : callable
        Returns in its process what answers questions: their names, and what is given with them.
    """

    def __init__(self, name: str, opening: Callable[[], Work]) -> None:
        self._name = name
        self._opening = opening
        self._child: ChildProcess | None = None
        self._owner = os.getpid()
        self._abandoned = False
        self.started = 0
        """How many processes there have been: what was compiled in a former one is gone."""

    def within(self, seconds: float | None, question: str, *given: Any) -> Any:
        """Answer a question.

        Raises
        ------
        EngineError
            The engine does not take it.
        EngineTimeError
            It took longer, and the engine was ended.
        ResourceError
            The process could not be started, or was ended from outside.
        RuntimeError
            What should not happen happened there; with its traceback.
        """
        child = self.child()
        try:
            return child.ask((question, given), seconds)
        except TooLongError:
            raise EngineTimeError(seconds) from None
        except ChildLostError as lost:
            raise self._lost(lost) from None

    def child(self) -> ChildProcess:
        """Return the process, in which nothing may have been compiled yet."""
        if self._abandoned:
            raise self._ended("was ended, since nobody waits for it")
        if self._owner != os.getpid():  # that of the process that this one is a copy of
            self._child, self._owner = None, os.getpid()
        if self._child is None or self._child.has_ended:
            self.close()
            try:
                self._child = ChildProcess(self._opening, heard=True)
            except ChildLostError as lost:
                raise self._ended(str(lost)) from None
            self.started += 1
        return self._child

    def abandon(self) -> None:
        """End the process for good, from any thread: the one that waits for an answer gets a `ResourceError`."""
        self._abandoned = True
        child = self._child
        if child is not None:
            child.kill()

    def close(self) -> None:
        """End the process, whatever it does."""
        if self._child is not None:
            self._child.close()
        self._child = None

    def _ended(self, how: str) -> ResourceError:
        return ResourceError.of("engine-ended", name=self._name, how=how)

    def _lost(self, lost: ChildLostError) -> ResourceError:
        """Say why the process ended."""
        code = lost.code or 0
        limit = address_space()
        if limit is not None and (code > 0 or code == -signal.SIGABRT):
            return ResourceError.of("too-few-addresses", name=self._name, limit=limit)
        if code == -getattr(signal, "SIGKILL", 9):
            return self._ended("was killed from outside")
        how = f"ended by itself ({f'signal {-code}' if code < 0 else f'exit code {code}'})"
        return self._ended(f"{how}: {lost.said}" if lost.said else how)
