"""An engine in a process of its own, where it can be ended: it answers to no signal while it evaluates."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import traceback
import weakref
from collections.abc import Callable
from typing import Any, Protocol

from masktron.errors import ResourceError
from masktron.memory import address_space
from masktron.processes import end, pipe, send, started

_LAST_WORDS = 4000
"""Bytes that are read of what a process said when it could not start."""


class Engine(Protocol):
    """What can be asked, in this process or in another."""

    def ask(self, question: str, *given: Any) -> Any:
        """Answer a question."""
        ...


class AnsweredError(Exception):
    """What an engine says against what it was asked."""


class TooLongError(Exception):
    """An engine was ended since an answer took too long; it never reaches the user without the rule."""


class EngineProcess:
    """An engine in another process, which is started with the first question, and again where it was ended.

    For one thread. The process ends with this object, with the thread and with this process, however that ends; and
    where waiting for an answer is interrupted, since nobody knows then when it will be ready for another question.

    Parameters
    ----------
    name : str
        What the engine is called in messages.
    function : str
        ``module:function`` that calls `serving`.
    """

    def __init__(self, name: str, function: str) -> None:
        self._name = name
        self._function = function
        self._process: subprocess.Popen[bytes] | None = None
        self._finalizer: weakref.finalize[..., Any] | None = None
        self._owner = os.getpid()
        self._abandoned = False
        self.started = 0
        """How many processes there have been: what was compiled in a former one is gone."""

    def ask(self, question: str, *given: Any) -> Any:
        """Answer a question."""
        return self.within(None, question, *given)

    def within(self, seconds: float | None, question: str, *given: Any) -> Any:
        """Answer a question.

        Raises
        ------
        AnsweredError
            The engine does not take it.
        TooLongError
            It took longer, and the engine was ended.
        ResourceError
            The process could not be started, or was ended from outside.
        RuntimeError
            What should not happen happened there; with its traceback.
        """
        process = self.process()
        expired = threading.Event()
        timer = None if seconds is None else threading.Timer(seconds, _expire, (process, expired))
        try:
            if timer is not None:
                timer.start()
            send(pipe(process.stdin), (question, given))
            kind, answer = pickle.load(pipe(process.stdout))  # noqa: S301 - our own process
        except (OSError, EOFError, pickle.UnpicklingError) as problem:
            error = TooLongError(question) if expired.is_set() else self._lost(process)
            self.close()
            raise error from (None if expired.is_set() else problem)
        except BaseException:
            self.close()
            raise
        finally:
            if timer is not None:
                timer.cancel()
                if timer.is_alive():  # it may be about to end the process, which has answered
                    timer.join()
            if expired.is_set():
                self.close()
        match kind:
            case "answered":
                raise AnsweredError(answer)
            case "crashed":
                raise RuntimeError(f"the process of {self._name} failed:\n{answer}")
            case _:
                return answer

    def process(self) -> subprocess.Popen[bytes]:
        """Return the process, in which nothing may have been compiled yet."""
        if self._abandoned:
            raise ResourceError.of("engine-ended", name=self._name, how="was ended, since nobody waits for it")
        if self._owner != os.getpid():  # that of the process that this one is a copy of
            self._process, self._owner = None, os.getpid()
        if self._process is not None and self._process.poll() is not None:
            self.close()
        if self._process is None:
            try:
                self._process = started(self._function, heard=True)
            except OSError as problem:
                how = f"cannot be started: {problem.strerror or problem}"
                raise ResourceError.of("engine-ended", name=self._name, how=how) from None
            self._finalizer = weakref.finalize(self, _end, self._process, self._owner)
            self.started += 1
        return self._process

    def abandon(self) -> None:
        """End the process for good, from any thread: the one that waits for an answer gets a `ResourceError`."""
        self._abandoned = True
        process = self._process
        if process is not None:
            process.kill()

    def close(self) -> None:
        """End the process, whatever it does."""
        if self._finalizer is not None:
            self._finalizer()
        self._process = self._finalizer = None

    def _lost(self, process: subprocess.Popen[bytes]) -> ResourceError:
        """Say why the process ended."""
        code = process.wait()
        said = pipe(process.stderr).read(_LAST_WORDS).decode(errors="replace").strip()
        limit = address_space()
        if limit is not None and (code > 0 or code == -signal.SIGABRT):
            return ResourceError.of("too-few-addresses", name=self._name, limit=limit)
        if code == -getattr(signal, "SIGKILL", 9):
            return ResourceError.of("engine-ended", name=self._name, how="was killed from outside")
        how = f"ended by itself ({f'signal {-code}' if code < 0 else f'exit code {code}'})"
        how += f": {' '.join(said.split())}" if said else ""
        return ResourceError.of("engine-ended", name=self._name, how=how)


def _expire(process: subprocess.Popen[bytes], expired: threading.Event) -> None:
    expired.set()
    process.kill()


def _end(process: subprocess.Popen[bytes], owner: int) -> None:
    if owner == os.getpid():
        end(process)


def serving(opening: Callable[[], Engine], is_answer: Callable[[Exception], bool]) -> None:
    """Answer questions that come by standard input until it ends; the answers go to standard output.

    Parameters
    ----------
    opening : callable
        Makes the engine.
    is_answer : callable
        Tells whether an error is what the engine says of a question.
    """
    questions = sys.stdin.buffer
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)  # what a library prints is no answer
        heard = True
        engine: Engine | None = None
        try:
            while True:
                question, given = pickle.load(questions)  # noqa: S301 - from the process that started this one
                try:
                    engine = engine or opening()
                    if heard and engine.ask("version"):
                        # it runs: what it prints from now on quotes values of records
                        nowhere = os.open(os.devnull, os.O_WRONLY)
                        os.dup2(nowhere, 2)
                        os.dup2(nowhere, 1)
                        heard = False
                    answer = "answer", engine.ask(question, *given)
                except Exception as error:  # noqa: BLE001 - the parent raises it again
                    answer = ("answered", str(error)) if is_answer(error) else ("crashed", traceback.format_exc())
                send(answers, answer)
        except (EOFError, BrokenPipeError):
            # nobody is there any more; without the ends of engines that have much to take down
            os._exit(0)
