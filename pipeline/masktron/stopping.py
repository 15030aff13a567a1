"""Signals that end a run: it cleans up as after an error, and one line says what has been written."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, NoReturn

_SAID = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "ended with its terminal"}
_SETTLING = 2.0
"""Seconds in which more signals change nothing: whoever sends one to a group of processes often sends two."""


class Stopped(SystemExit):
    """A signal ended the run, everything is cleaned up, and the line has been written."""


class _Signals:
    """Ends the main thread on the first signal, and again on one that comes when cleaning up takes long."""

    def __init__(self) -> None:
        self.received: int | None = None
        self._since = 0.0
        self._former: dict[signal.Signals, Any] = {}

    def install(self) -> None:
        """Listen; what whoever started the process had it ignore, as ``nohup`` does a hangup, stays ignored."""
        if threading.current_thread() is not threading.main_thread():
            return
        for name in _SAID:
            if name not in signal.Signals.__members__:  # Windows has no SIGHUP
                continue
            number = signal.Signals[name]
            # a shell has what it runs in the background ignore SIGINT; but who sends one, wants this to end
            if name == "SIGINT" or signal.getsignal(number) is not signal.SIG_IGN:
                self._former[number] = signal.signal(number, self._stop)

    def put_back(self, instead: signal.Handlers | None) -> None:
        """Listen no longer."""
        for number, former in self._former.items():
            signal.signal(number, signal.SIG_DFL if former is None else former if instead is None else instead)

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
    signals.install()
    try:
        from masktron.write.atomic import publishing  # noqa: PLC0415 -- from here on, a signal finds us prepared

        with publishing() as published:
            try:
                yield
            except Stopped:
                raise
            except BaseException as error:
                if (number := signals.received or _interrupted(error)) is None:
                    raise
                _tell(number, published.names)
            else:
                if signals.received is not None:  # in a place where Python drops what is raised
                    _tell(signals.received, published.names)
    finally:
        signals.put_back(afterwards)


def _interrupted(error: BaseException) -> int | None:
    """Return SIGINT for an interrupt that did not come as a signal; the command line turns it into an exit code."""
    code = 128 + signal.SIGINT
    if isinstance(error, KeyboardInterrupt) or (isinstance(error, SystemExit) and error.code == code):
        return signal.SIGINT
    return None


def _tell(number: int, written: tuple[str, ...]) -> NoReturn:
    from masktron.report.text import printable  # noqa: PLC0415

    what = (
        f"written before that: {', '.join(printable(name.replace('\n', ' ')) for name in written)}"
        if written
        else "nothing was written"
    )
    with suppress(OSError, ValueError):  # the terminal may be gone, or standard error closed
        sys.stderr.write(f"{_SAID[signal.Signals(number).name]}; {what}\n")
        sys.stderr.flush()
    raise Stopped(128 + number) from None
