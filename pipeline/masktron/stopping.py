"""Signals that end a run: it cleans up as after an error, and one line says what has been written."""

from __future__ import annotations

import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from masktron.supervisor import has_parts, listening, tell_stopped

_SAID = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "ended with its terminal"}
_SETTLING = 2.0
"""Seconds in which more signals change nothing: whoever sends one to a group of processes often sends two."""
_AGAIN = 0.02
"""Seconds after which a signal comes again that Python has dropped."""


def heeded() -> tuple[signal.Signals, ...]:
    """Return the signals that end a run: not those that whoever started the process had it ignore."""
    numbers = [signal.Signals[name] for name in _SAID if name in signal.Signals.__members__]  # Windows has no SIGHUP
    # a shell has what it runs in the background ignore SIGINT; but who sends one, wants this to end
    return tuple(n for n in numbers if n == signal.SIGINT or signal.getsignal(n) is not signal.SIG_IGN)


class Stopped(SystemExit):
    """A signal ended the run, everything is cleaned up, and the line has been written."""


class _Signals:
    """Ends the main thread on the first signal, and again on one that comes when cleaning up takes long."""

    def __init__(self) -> None:
        self.received: int | None = None
        self._since = 0.0
        self._former: dict[signal.Signals, Any] = {}
        self._hook: Callable[[Any], Any] | None = None

    def install(self) -> None:
        """Listen; what whoever started the process had it ignore, as ``nohup`` does a hangup, stays ignored."""
        if threading.current_thread() is not threading.main_thread():
            return
        self._hook, sys.unraisablehook = sys.unraisablehook, self._dropped
        for number in heeded():
            self._former[number] = signal.signal(number, self._stop)
        listening(self._former)

    def put_back(self, instead: signal.Handlers | None) -> None:
        """Listen no longer."""
        if self._hook is not None:
            sys.unraisablehook = self._hook
            self._hook = None
        for number, former in self._former.items():
            signal.signal(number, signal.SIG_DFL if former is None else former if instead is None else instead)

    def _dropped(self, unraisable: Any) -> None:
        """Send a signal again where Python drops what is raised and says so: in callbacks, and where objects end."""
        hook, received = self._hook, self.received
        if received is None or not isinstance(unraisable.exc_value, SystemExit):
            (hook or sys.__unraisablehook__)(unraisable)
            return
        self._since = -math.inf
        again = threading.Timer(_AGAIN, self._again, (received,))
        again.daemon = True
        again.start()

    def _again(self, received: int) -> None:
        if self._hook is not None:  # the run has not ended meanwhile
            os.kill(os.getpid(), received)

    def _stop(self, received: int, _frame: FrameType | None) -> None:
        now = time.monotonic()
        if self.received is not None and now < self._since + _SETTLING:
            return
        self.received, self._since = received, now
        raise SystemExit(128 + received)


@contextmanager
def stoppable(*, afterwards: signal.Handlers | None = None) -> Iterator[None]:
    """Let SIGINT, SIGTERM and SIGHUP end what is done here, with one line on standard error.

    Parameters
    ----------
    afterwards : Handlers, optional
        What the signals do when all is done; as before if not given.

    Raises
    ------
    Stopped
        With 128 and the number of the signal.
    """
    signals = _Signals()
    try:
        from masktron.write.atomic import publishing  # noqa: PLC0415 -- takes a while

        with publishing() as published:
            try:
                # one that was waiting for this comes at once
                signals.install()
                yield
            except Stopped:
                raise
            except BaseException as error:
                if (number := signals.received or _interrupted(error)) is None:
                    raise
                _tell(number, published.names, published.parts)
            else:
                if signals.received is not None:  # in a place where Python drops what is raised
                    _tell(signals.received, published.names, published.parts)
    finally:
        signals.put_back(afterwards)


def _interrupted(error: BaseException) -> int | None:
    """Return SIGINT for an interrupt that did not come as a signal; the command line turns it into an exit code."""
    code = 128 + signal.SIGINT
    if isinstance(error, KeyboardInterrupt) or (isinstance(error, SystemExit) and error.code == code):
        return signal.SIGINT
    return None


def _tell(number: int, written: tuple[str, ...], parts: tuple[str, ...]) -> NoReturn:
    line = Killed().line(number, written, tuple(filter(has_parts, parts)), asked=True)
    if not tell_stopped(number, line):
        with suppress(OSError, ValueError):  # the terminal may be gone, or standard error closed
            sys.stderr.write(line)
            sys.stderr.flush()
    raise Stopped(128 + number) from None


class Killed:
    """What is done for a process that had to be killed, or was: `masktron.supervisor.Afterwards`."""

    def line(
        self, number: int, written: tuple[str, ...], kept: tuple[str, ...], *, asked: bool, reading: str = ""
    ) -> str:
        """Say what ended the run, which outputs are in their place, and where parts are that can be gone on from."""
        from masktron.problems import readers  # noqa: PLC0415
        from masktron.problems.wording import spelled  # noqa: PLC0415
        from masktron.report.text import printable  # noqa: PLC0415

        what = (
            f"written before that: {', '.join(printable(name.replace('\n', ' ')) for name in written)}"
            if written
            else f"{'no output' if kept else 'nothing'} was written"
        )
        if kept:
            folders = ", ".join(printable(name.replace("\n", " ")) for name in kept)
            with readers.reading(readers.Reader.TERMINAL):
                what += spelled("; finished parts of the run stay in {folders} for [[--resume]]", folders=folders)
        name = signal.Signals(number).name
        if asked:
            return f"{_SAID[name]}; {what}\n"
        if reading:
            file = printable(reading.replace("\n", " "))
            return (
                f"error: {file}: the library that reads this file crashed ({name}); {what}\n"
                "  -> the file is damaged, or was made to do this: ask whoever sent it for a new copy\n"
            )
        why = "most likely the system ran out of memory" if name == "SIGKILL" else "please report this"
        return f"error: the process was ended by {name}; {what}\n  -> {why}\n"

    def clean(self, folder: Path, *, folders: bool) -> None:
        """Remove what a killed process has left in a folder."""
        from masktron.scratch import remove_abandoned  # noqa: PLC0415

        remove_abandoned(folder, folders=folders)

    def clean_parts(self, folder: Path) -> None:
        """Remove the parts in a folder that a killed process was removing."""
        from masktron.executor.run_parts import remove_gone  # noqa: PLC0415

        remove_gone(folder)
