"""Read files in processes of their own, with limits of memory and time, and say how each process ended.

Run as a program it loads masktron once, and reads each file whose name stands on a line of standard input in a copy
of itself. So a file costs some hundredths of a second, and one that ends the process ends its copy alone.
"""

from __future__ import annotations

import fcntl
import importlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

SECONDS = 20
"""Of the clock, after which a copy is killed."""
ROOM = 3 << 30
"""Bytes of addresses that a copy may take beside those that it has when it begins."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How reading a file ended.

    Attributes
    ----------
    code : int
        The exit code of the command line; a signal as a negative number.
    said : str
        The error, or the traceback of an exception that is no error of masktron.
    memory : int
        Bytes that were in memory at most beside those at the beginning.
    seconds : float
    """

    code: int
    said: str
    memory: int
    seconds: float


class Reader:
    """A process that reads files in copies of itself."""

    def __init__(self) -> None:
        environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
        # others take addresses in advance, which the limit counts
        environment["ARROW_DEFAULT_MEMORY_POOL"] = "system"
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def read(self, path: Path) -> Reading:
        """Read a file as `describe` does, which takes both readings of a table."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{path}\n")
        self._process.stdin.flush()
        return Reading(**json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


@contextmanager
def reader() -> Iterator[Reader]:
    """Give a process that reads files, and end it."""
    made = Reader()
    try:
        yield made
    finally:
        made.close()


def _read_in_copy(path: Path, written: int) -> None:
    before = set(sys.modules)
    import masktron
    from masktron.commands.told_errors import fault_told
    from masktron.errors import Exit, MasktronError

    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + ROOM, size + ROOM))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    code, said = 0, ""
    try:
        masktron.describe(path)
    except MasktronError as error:
        code, said = int(error.exit_code), str(error)
    except MemoryError:
        code, said = int(Exit.RESOURCES), "out of memory"
    except OSError as error:
        code, said = int(Exit.DOCUMENT), f"{type(error).__name__}: {error}"
    except BaseException as error:  # noqa: BLE001 -- told by its place
        code, said = int(Exit.FAULT), f"{fault_told(error)[0]}: {error}"[:600]  # type: ignore[arg-type]
    answer = json.dumps([code, said[:3000], sorted(set(sys.modules) - before)]).encode()
    # whoever reads begins when this process has ended
    fcntl.fcntl(written, fcntl.F_SETPIPE_SZ, max(1 << 16, len(answer)))
    os.write(written, answer)
    os._exit(0)


def _wait(child: int, seconds: float) -> tuple[int, int]:
    """Wait for a copy, and return its status and the kilobytes that it had in memory at most."""
    until = time.monotonic() + seconds
    while True:
        found, status, used = os.wait4(child, os.WNOHANG)
        if found:
            return status, used.ru_maxrss
        if time.monotonic() > until:
            os.kill(child, signal.SIGKILL)
            _, status, used = os.wait4(child, 0)
            return status, used.ru_maxrss
        time.sleep(0.002)


def main() -> None:
    """Read the files that standard input names."""
    loaded = False
    for line in sys.stdin:
        begun = time.monotonic()
        read, written = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            null = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):
                os.dup2(null, descriptor)
            _read_in_copy(Path(line.rstrip("\n")), written)
        os.close(written)
        before = int(Path(f"/proc/{child}/statm").read_text().split()[1]) * resource.getpagesize()
        with os.fdopen(read, "rb") as answers:
            status, peak = _wait(child, SECONDS if loaded else 10 * SECONDS)  # the first one loads everything
            answer = answers.read()
        code, said, modules = json.loads(answer) if answer else (os.waitstatus_to_exitcode(status), "", [])
        seconds = time.monotonic() - begun
        told = {"code": code, "said": said, "memory": max(0, peak * 1024 - before), "seconds": seconds}
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()
        loaded = True
        for name in modules:  # so that the next copies need not load them
            if name not in sys.modules:
                with suppress(ImportError):
                    importlib.import_module(name)


if __name__ == "__main__":
    main()
