"""A process beside this one that answers questions: how masktron has work done in other processes of a machine.

The process begins with an *opening*, a function of no arguments that returns what answers questions. Opening,
questions and answers are pickled; an answer is a value or an error. The process imports masktron, what the opening
needs, and nothing of the folder in which this one works. It ends with this process, however that ends
(`masktron.processes`), and can be ended at any time, whatever it does.

`multiprocessing` is not used: a started process would import the script that called masktron once more, which runs a
script without ``if __name__ == "__main__"`` again.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import traceback
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import IO, Any

from masktron.errors import MasktronError
from masktron.processes import import_environment, import_path, interpreter

_ENDING = 5.0
"""Seconds after which a process that was killed is not waited for: it hangs in a call of the system."""
_LAST_WORDS = 4000
"""Bytes that are read of what a process said when it ended."""

type Work = Callable[[Any], Any]
"""Answers a question; raises `RefusedError` or a `MasktronError` against it."""


class RefusedError(Exception):
    """What was asked has no answer as it was put; the text is the reason."""


class ChildLostError(Exception):
    """A process cannot be started or has ended; it never reaches the user.

    Parameters
    ----------
    reason : str
    code : int, optional
        With which it ended.
    said : str
        Its last words, where they are heard.
    """

    def __init__(self, reason: str, code: int | None = None, said: str = "") -> None:
        super().__init__(reason)
        self.code, self.said = code, said

    @property
    def how(self) -> str:
        """How it ended, in brackets; empty where it ended in order."""
        if not self.code:
            return ""
        try:
            return f" ({signal.Signals(-self.code).name})" if self.code < 0 else f" (exit code {self.code})"
        except ValueError:
            return f" (signal {-self.code})"


class TooLongError(ChildLostError):
    """A process was ended since an answer took too long; it never reaches the user without the rule."""

    def __init__(self) -> None:
        super().__init__("an answer takes too long")


class ChildProcess:
    """A process that answers questions, one after the other, for one thread.

    It ends with this object and with this process; on Linux with the thread that made this object, too. Where waiting
    for an answer is interrupted it is ended, since nobody knows then when it will be ready for another question.

    Parameters
    ----------
    opening : callable
        Returns the `Work`; it is called once there, and pickled.
    heard : bool
        Whether standard error is a pipe as well, and not that of this process.
    member : bool
        Whether this process ends it where it takes too long (`masktron.processes.is_member`); else it has engines of
        its own, which it ends itself.
    environment : mapping of str to str, optional
        Variables that it has besides those of this process.

    Attributes
    ----------
    process : Popen

    Raises
    ------
    ChildLostError
        It cannot be started.
    """

    def __init__(
        self,
        opening: Callable[[], Work],
        *,
        heard: bool = False,
        member: bool = True,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        try:
            self.process = _started(heard=heard, member=member, environment=environment or {})
        except OSError as problem:
            raise ChildLostError(f"cannot be started: {problem.strerror or problem}") from None
        self._end = weakref.finalize(self, _end, self.process, os.getpid())
        self._is_open = False
        with suppress(ChildLostError):  # whoever waits for the first answer is told
            self.tell(opening)

    def ask(self, question: object, seconds: float | None = None) -> Any:
        """Return the answer to a question.

        Parameters
        ----------
        question : object
        seconds : float, optional
            What it may take.

        Raises
        ------
        RefusedError, MasktronError
            What the process says against the question, or against its opening.
        TooLongError
            It took longer, and the process was ended.
        ChildLostError
            The process has ended.
        RuntimeError
            What should not happen happened there; with its traceback.
        """
        expired = threading.Event()
        timer = None if seconds is None else threading.Timer(seconds, _expire, (self.process, expired))
        try:
            if timer is not None:
                timer.start()
            self.tell(question)
            is_value, said = self._answer()
        except ChildLostError:
            if expired.is_set():
                raise TooLongError from None
            raise
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
        if is_value:
            return said
        raise said

    def tell(self, question: object) -> None:
        """Put a question, whose answer `told` returns later.

        Raises
        ------
        ChildLostError
            The process has ended.
        """
        try:
            _send(_pipe(self.process.stdin), question)
        except (OSError, ValueError):
            raise self._lost() from None

    def told(self) -> Any:
        """Wait for the answer to what `tell` has asked; raises as `ask`."""
        is_value, said = self._answer()
        if is_value:
            return said
        raise said

    def wait_until_open(self) -> None:
        """Wait until the process can work; raises as `ask`."""
        if not self._is_open:
            self._is_open, said = self._loaded()
            if not self._is_open:
                self.close()
                raise said

    def _answer(self) -> tuple[bool, Any]:
        self.wait_until_open()
        return self._loaded()

    def _loaded(self) -> tuple[bool, Any]:
        try:
            is_value, said = pickle.load(_pipe(self.process.stdout))  # noqa: S301 - our own process
        except (OSError, EOFError, pickle.UnpicklingError, ValueError):
            raise self._lost() from None
        except BaseException:
            self.close()  # of its answer, some may not have been read
            raise
        return is_value, said

    def _lost(self) -> ChildLostError:
        """End the process, which most likely has ended, and tell why."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(_ENDING)
        said, heard = b"", self.process.stderr
        if heard is not None and not heard.closed and self.process.returncode is not None:
            said = heard.read(_LAST_WORDS)
        self.close()
        lost = ChildLostError("", self.process.returncode, " ".join(said.decode(errors="replace").split()))
        lost.args = (f"a process ended{lost.how}",)
        return lost

    @property
    def has_ended(self) -> bool:
        """Whether there is nobody to ask."""
        return not self._end.alive or self.process.poll() is not None

    def kill(self) -> None:
        """End the process, whatever it does, from any thread: who waits for an answer gets a `ChildLostError`."""
        self.process.kill()

    def close(self) -> None:
        """End the process, whatever it does, and close its pipes."""
        self._end()


def _started(*, heard: bool, member: bool, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start `_serve` in a session of its own, since Ctrl-C is for this process, which ends it."""
    if (executable := interpreter()) is None:
        raise OSError("masktron runs in a program that is no interpreter")
    joining = "joined" if member else "end_with"
    begin = (
        "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); import pickle, sys; "
        "sys.path[:], parent = pickle.load(sys.stdin.buffer); "
        f"from masktron.processes import {joining}; {joining}(parent); "
        f"from {__name__} import _serve; _serve()"
    )
    # -P: no module of this folder
    process = subprocess.Popen(  # noqa: S603 - this interpreter, with a text of ours
        [executable, "-P", "-c", begin],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE if heard else None,
        start_new_session=True,
        env={**import_environment(), **environment},
    )
    try:
        _send(_pipe(process.stdin), (import_path(), os.getpid()))
    except BaseException:
        _end(process, os.getpid())
        raise
    return process


def _end(process: subprocess.Popen[bytes], owner: int) -> None:
    """Kill a process and close its pipes, unless this process is a copy of the one that started it."""
    if owner != os.getpid():
        return
    process.kill()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_ENDING)
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with suppress(BrokenPipeError):  # what was not yet sent to a process that has ended
                stream.close()


def _expire(process: subprocess.Popen[bytes], expired: threading.Event) -> None:
    expired.set()
    process.kill()


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise OSError("no pipe")
    return stream


def _send(stream: IO[bytes], what: object) -> None:
    pickle.dump(what, stream, protocol=pickle.HIGHEST_PROTOCOL)
    stream.flush()


def _serve() -> None:
    """Answer what comes by standard input until it ends; the answers go to standard output."""
    questions = sys.stdin.buffer
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)  # what a library prints is no answer
        work: Work | None = None
        try:
            while True:
                question = pickle.load(questions)  # noqa: S301 - from the process that started this one
                try:
                    if work is None:  # the first is the opening
                        work, value = question(), None
                    else:
                        value = work(question)
                    said = pickle.dumps((True, value), pickle.HIGHEST_PROTOCOL)
                except (RefusedError, MasktronError) as error:
                    said = pickle.dumps((False, error), pickle.HIGHEST_PROTOCOL)
                except Exception:  # noqa: BLE001 - raised again by whoever asked
                    failed = RuntimeError(f"a process that masktron started failed:\n{traceback.format_exc()}")
                    said = pickle.dumps((False, failed), pickle.HIGHEST_PROTOCOL)
                answers.write(said)
                answers.flush()
        except (EOFError, BrokenPipeError):
            # nobody is there any more; without the ends of engines that have much to take down
            os._exit(0)


def silence_streams() -> None:
    """Let nothing through that libraries print in this process from now on, as it quotes values of records."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):
        os.dup2(nowhere, descriptor)
    os.close(nowhere)
