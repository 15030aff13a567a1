"""What a process of masktron knows of itself and of others: its interpreter, its parent, the time that a rule has.

Whatever starts processes or watches one imports this, so it loads nothing; `masktron.child_process` starts them.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

RULE_SECONDS = 60.0
"""What a rule may take on one record, or on a whole document, where nobody says otherwise."""
MOST_SECONDS = 1e6
"""Eleven days: what somebody says who wants no limit."""
_RULE_SECONDS: ContextVar[float] = ContextVar("rule_seconds", default=RULE_SECONDS)
_MEMBER: ContextVar[bool] = ContextVar("member", default=False)
_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG


def rule_seconds() -> float:
    """Return how many seconds an engine may take for one rule on one record, or on a whole document."""
    return _RULE_SECONDS.get()


@contextmanager
def rules_within(seconds: float | None) -> Iterator[None]:
    """Give engines so many seconds for a rule on a record, or on a whole document; None changes nothing."""
    token = _RULE_SECONDS.set(_RULE_SECONDS.get() if seconds is None else seconds)
    try:
        yield
    finally:
        _RULE_SECONDS.reset(token)


def is_member() -> bool:
    """Tell whether this is a process that another one of masktron's has started, and ends where it takes too long."""
    return _MEMBER.get()


def interpreter() -> str | None:
    """Return the interpreter that this process runs in; None where it is a program that holds one, or is gone."""
    if getattr(sys, "frozen", False) or not sys.executable or not os.path.isfile(sys.executable):  # noqa: PTH113 -- light
        return None
    return sys.executable


def import_path() -> list[str]:
    """Return where other processes of masktron look for modules: where this one does, but in no working folder.

    The folder that holds masktron stays, also where this process found it as its working folder.
    """
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 -- light
    entries = [entry for entry in sys.path if os.path.isabs(entry)]  # noqa: PTH117 -- likewise
    return entries if own in entries else [*entries, own]


def import_environment() -> dict[str, str]:
    """Return the environment with a ``PYTHONPATH`` that leads into no working folder, as an empty entry would."""
    entries = filter(os.path.isabs, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    return {**os.environ, "PYTHONPATH": os.pathsep.join(entries)}


def joined(parent: int) -> None:
    """Take note that this process was started by another one, and ends with it."""
    _MEMBER.set(True)
    end_with(parent)


def end_with(parent: int) -> None:
    """Let the kernel end this process, whatever it does, when the thread of the parent that started it ends.

    Linux alone knows that; elsewhere a process sees that its standard input has ended when it is done with a task.
    """
    if sys.platform != "linux":
        return
    import ctypes  # noqa: PLC0415 -- takes its time

    ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before that
        os._exit(0)
