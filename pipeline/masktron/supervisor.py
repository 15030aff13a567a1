"""The process that a terminal or a script sees: it watches the one that works, and ends it where it hears no signal.

Python runs what a signal asks for between two instructions: not while Saxon, a compiled kernel, HiGHS or libxml2
works. So the work is done in a copy of the process, made before anything heavy is loaded. Signals are passed on to
it; if it has not ended soon after the first one, it is killed, what it would have removed is removed, and the line
that it would have written is written here.
"""

from __future__ import annotations

import marshal
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from masktron.processes import end_with

GRACE = 1.0
"""Seconds that the process has to clean up after a signal, before it is killed, unless it asks for more."""
JOURNAL = "journal"
"""Name of the file in a folder of parts of a run that names those that are finished."""
_HEAD = 4
"""Bytes that say how long a message is."""
_CRASHES = frozenset(
    signal.Signals[name]
    for name in ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL")
    if name in signal.Signals.__members__
)
"""How a process ends in which a library has a mistake."""
_UNREADABLE = 4
"""Exit code for a data file that cannot be read: `masktron.errors.Exit.DOCUMENT`, which is not loaded here."""
_SHOW_CURSOR = b"\r\x1b[K\x1b[?25h"


class _Channel:
    """What the process that works tells the one that watches it; to nobody where there is none."""

    def __init__(self) -> None:
        self._descriptor: int | None = None
        self._owner = 0
        self._lock = threading.Lock()

    def open(self, descriptor: int) -> None:
        self._descriptor, self._owner = descriptor, os.getpid()

    def tell(self, *what: Any) -> bool:
        """Write a message, and return whether somebody reads it."""
        if self._descriptor is None or self._owner != os.getpid():
            return False
        message = marshal.dumps(what)
        try:
            with self._lock:
                os.write(self._descriptor, len(message).to_bytes(_HEAD, "big") + message)
        except OSError:
            return False
        return True


_CHANNEL = _Channel()


def tell_folder(folder: Path, *, folders: bool = False) -> None:
    """Say where temporary files are made, or folders: there something may be left if this process is killed."""
    _CHANNEL.tell("scratch", str(folder.absolute()), folders)


def tell_parts(folder: Path) -> None:
    """Say where parts of the run are, which stay where it is ended."""
    _CHANNEL.tell("parts", str(folder.absolute()))


def has_parts(folder: str) -> bool:
    """Tell whether there are finished parts: their journal has a line of its own for each."""
    try:
        return (Path(folder) / JOURNAL).read_bytes().count(b"\n") > 1
    except OSError:
        return False


def tell_output(target: str, final: Path, identity: os.stat_result) -> None:
    """Say which output is about to get its name."""
    _CHANNEL.tell("output", target, str(final.absolute()), identity.st_dev, identity.st_ino)


def tell_reading(path: str) -> None:
    """Say which file a library is about to read, or by an empty text that it has been read."""
    _CHANNEL.tell("reading", path)


def tell_grace(seconds: float) -> None:
    """Say how long this process may take to end after a signal: a server has requests to answer first."""
    _CHANNEL.tell("grace", seconds)


def tell_stopped(number: int, line: str) -> bool:
    """Say that a signal has ended the run; return whether somebody else is going to write the line."""
    return _CHANNEL.tell("stopped", number, line)


class Afterwards(Protocol):
    """What is done for a process that was killed."""

    def line(
        self, number: int, written: tuple[str, ...], kept: tuple[str, ...], *, asked: bool, reading: str = ""
    ) -> str:
        """Return the line about the signal that ended the run, one that was sent to it or (not asked) another.

        It names what was written, the folders in which finished parts stay, and the file on which a library crashed.
        """
        ...

    def clean(self, folder: Path, *, folders: bool) -> None:
        """Remove what it has left in a folder."""
        ...

    def clean_parts(self, folder: Path) -> None:
        """Remove the parts in a folder that it was removing."""
        ...


def supervised(numbers: Collection[signal.Signals], afterwards: Callable[[], Afterwards]) -> None:
    """Go on in a copy of this process, which waits here for its end and takes over its exit code.

    Signals are blocked from here on until `listening`. To be called with one thread only.

    Parameters
    ----------
    numbers : collection of Signals
        Those that end the run.
    afterwards : callable
        Returns what is done for a process that was killed.
    """
    if sys.platform == "win32" or threading.active_count() > 1:
        return
    messages, written = os.pipe()
    signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    own = os.getpid()
    try:
        child = os.fork()
    except OSError:  # no more processes: then signals wait for the end of what is being done
        os.close(messages)
        os.close(written)
        return
    if child == 0:
        os.close(messages)
        end_with(own)
        _CHANNEL.open(written)
        return
    os.close(written)
    code = 1
    try:
        code = _Watch(child, messages, numbers, afterwards).code()
    finally:
        os._exit(code)


def listening(numbers: Collection[signal.Signals]) -> None:
    """Let signals through, now that somebody listens."""
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)


class _Watch:
    """The watch over a process.

    Parameters
    ----------
    child : int
        Its number.
    messages : int
        What it tells; it ends when the process does.
    """

    def __init__(
        self, child: int, messages: int, numbers: Collection[signal.Signals], afterwards: Callable[[], Afterwards]
    ) -> None:
        self._child = child
        self._messages = messages
        self._numbers = numbers
        self._afterwards = afterwards
        self._read = b""
        self._first: int | None = None
        self._told: list[tuple[Any, ...]] = []

    def code(self) -> int:
        """Wait for the end of the process, and return the exit code."""
        killed = self._wait()
        _, status = os.waitpid(self._child, 0)
        code = os.waitstatus_to_exitcode(status)
        for kind, *what in self._told:
            if kind == "stopped":
                _say(what[1])
                return 128 + int(what[0])
        if killed or code < 0:
            number = self._first if killed and self._first is not None else -code
            reading = "" if killed or number not in _CRASHES else self._reading()
            self._finish(number, asked=killed, reading=reading)
            return _UNREADABLE if reading else 128 + number
        return code

    def _wait(self) -> bool:
        """Wait until the process has ended, and return whether it had to be killed."""
        woken, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake)
        for heeded in self._numbers:
            signal.signal(heeded, lambda *_: None)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, self._numbers)
        until: float | None = None
        while True:
            left = None if until is None else max(0.0, until - time.monotonic())
            ready, _, _ = select.select([self._messages, woken], [], [], left)
            if woken in ready:
                for number in os.read(woken, 64):
                    self._first = self._first or number
                    os.kill(self._child, number)
                until = until or time.monotonic() + self._grace()
            if self._messages in ready:
                if not self._take():
                    return False
            elif not ready:
                os.kill(self._child, signal.SIGKILL)
                while self._take():
                    pass
                return True

    def _reading(self) -> str:
        """Return the file that a library was reading."""
        return next((str(what[0]) for kind, *what in reversed(self._told) if kind == "reading"), "")

    def _grace(self) -> float:
        """Return how long the process may take to end."""
        return max((what[0] for kind, *what in self._told if kind == "grace"), default=GRACE)

    def _take(self) -> bool:
        """Read what there is; return whether there may be more."""
        if not (more := os.read(self._messages, 1 << 16)):
            return False
        self._read += more
        while len(self._read) >= _HEAD:
            end = _HEAD + int.from_bytes(self._read[:_HEAD], "big")
            if len(self._read) < end:
                break
            self._told.append(marshal.loads(self._read[_HEAD:end]))  # noqa: S302 - from our own copy
            self._read = self._read[end:]
        return True

    def _finish(self, number: int, *, asked: bool, reading: str) -> None:
        """Do what the process would have done."""
        afterwards = self._afterwards()
        for folder, folders in dict.fromkeys(tuple(what) for kind, *what in self._told if kind == "scratch"):
            afterwards.clean(Path(folder), folders=folders)
        parts = dict.fromkeys(what[0] for kind, *what in self._told if kind == "parts")
        for folder in parts:
            afterwards.clean_parts(Path(folder))
        written = [what[0] for kind, *what in self._told if kind == "output" and _is_there(*what[1:])]
        kept = tuple(filter(has_parts, parts))
        _say(afterwards.line(number, tuple(dict.fromkeys(written)), kept, asked=asked, reading=reading))


def _is_there(final: str, device: int, node: int) -> bool:
    try:
        found = Path(final).stat()
    except OSError:
        return False
    return (found.st_dev, found.st_ino) == (device, node)


def _say(line: str) -> None:
    with suppress(OSError):  # the terminal may be gone, or standard error closed
        if os.isatty(2):
            os.write(2, _SHOW_CURSOR)
        os.write(2, line.encode(errors="backslashreplace"))
