"""Processes that masktron starts: this interpreter with a line of ours, which ends when its parent does.

`multiprocessing` is not used: a started process would import the script that called masktron once more, which runs a
script without ``if __name__ == "__main__"`` again.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess

RULE_SECONDS = 60.0
"""What a rule may take on one record, or on a whole document, where nobody says otherwise."""
MOST_SECONDS = 1e6
"""Eleven days: what somebody says who wants no limit."""
_ENDING = 5.0
"""Seconds after which a process that was killed is not waited for: it hangs in a call of the system."""
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


def started(
    serving: str, *, heard: bool = False, member: bool = True, environment: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start a process that runs a function of a module, with pipes to its standard input and from its output.

    It is in a session of its own, since Ctrl-C is for the parent, which ends it; and it ends with its parent: on
    Linux with the thread that called this.

    Parameters
    ----------
    serving : str
        ``module:function``.
    heard : bool
        Whether standard error is a pipe as well, and not that of this process.
    member : bool
        Whether this process ends it where it takes too long (`is_member`); else it has engines of its own, which it
        ends itself.
    environment : mapping of str to str, optional
        Variables that it has besides those of this process.

    Raises
    ------
    OSError
        It cannot be started.
    """
    import subprocess  # noqa: PLC0415 -- the process that watches a run does not start one

    if (executable := interpreter()) is None:
        raise OSError("masktron runs in a program that is no interpreter")
    module, function = serving.split(":")
    joining = "joined" if member else "end_with"
    begin = (
        "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); import pickle, sys; "
        "sys.path[:], parent = pickle.load(sys.stdin.buffer); "
        f"from masktron.processes import {joining}; {joining}(parent); "
        f"from {module} import {function}; {function}()"
    )
    # -P: no module of this folder
    process = subprocess.Popen(  # noqa: S603 - this interpreter, with a text of ours
        [executable, "-P", "-c", begin],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE if heard else None,
        start_new_session=True,
        env={**import_environment(), **(environment or {})},
    )
    try:
        send(pipe(process.stdin), (import_path(), os.getpid()))
    except BaseException:
        end(process)
        raise
    return process


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


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process, whatever it does, and close its pipes."""
    import subprocess  # noqa: PLC0415

    process.kill()
    with suppress(subprocess.TimeoutExpired):
        process.wait(_ENDING)
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with suppress(BrokenPipeError):  # what was not yet sent to a process that has ended
                stream.close()


def pipe(stream: IO[bytes] | None) -> IO[bytes]:
    """Return the pipe of a process."""
    if stream is None:
        raise OSError("no pipe")
    return stream


def send(stream: IO[bytes], what: object) -> None:
    """Write an object to a pipe."""
    import pickle  # noqa: PLC0415

    pickle.dump(what, stream, protocol=pickle.HIGHEST_PROTOCOL)
    stream.flush()
