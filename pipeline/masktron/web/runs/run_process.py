"""The process between the server and a command: it starts it, waits for it, and writes how it ended.

It is in a session of its own, so that no signal for the server reaches it, and the server's end changes nothing. It
holds a lock as long as it lives, and so does the command: who finds no lock knows that nobody works there, whatever
number a process has got meanwhile. Nothing but the standard library is loaded here.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

LOCK = ".lock"
COMMAND = "command.json"
PROCESS = "process.json"
EXIT = "exit.json"
CANCEL = "cancel.json"
PROGRESS = "progress.jsonl"
ERROR = "error.json"
STDOUT = "stdout.txt"
STDERR = "stderr.txt"
SCRATCH = ".tmp"
"""The temporary files of a command: below its project, so that they go with it."""
INTERNAL = frozenset({COMMAND, PROCESS, EXIT, CANCEL, PROGRESS, ERROR, STDOUT, STDERR})
"""Files of a run that are no outputs of its command."""
TOO_MUCH = "the run took too much"
_LOOK = 0.5
"""Seconds between two looks at what a command takes."""
_GRACE = 8.0
"""Seconds that it has to clean up, before it is killed."""
_PATIENCE = 3.0
"""Seconds for which a lock that somebody has is tried again."""
NICE = 5
"""How far commands stand back behind the server, so that pages answer."""


def main(arguments: list[str]) -> int:
    """Run the command of a folder once.

    Parameters
    ----------
    arguments : list of str
        The folder of the run; it lies two folders below that of its project, in which the command works. Then the
        seconds and the bytes of memory that the command may take; 0, or nothing, for no limit.
    """
    folder = Path(arguments[0]).resolve()
    lock = _own_lock(folder)
    if lock is None or any((folder / name).exists() for name in (EXIT, PROCESS, CANCEL)):
        return 1
    asked: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        # not ignored, since the command would inherit that
        signal.signal(number, lambda which, _: asked.append(which))
    began = time.time()
    write(folder / PROCESS, {"pid": os.getpid(), "began": began})
    (folder / SCRATCH).mkdir(mode=0o700)
    command = json.loads((folder / COMMAND).read_bytes())
    seconds, memory = float(arguments[1]) if arguments[1:] else 0.0, int(arguments[2]) if arguments[2:] else 0
    code, problem = _carried_out(folder, command, lock, seconds, memory, asked)
    try:
        shutil.rmtree(folder / SCRATCH)
    finally:
        write(folder / EXIT, {"code": code, "problem": problem, "began": began, "ended": time.time()})
    return 0


def _carried_out(
    folder: Path, command: dict[str, Any], lock: int, seconds: float, memory: int, asked: list[int]
) -> tuple[int | None, str]:
    environment = {
        **os.environ,
        "MASKTRON_PROGRESS": str(folder / PROGRESS),
        "MASKTRON_ERROR": str(folder / ERROR),
        "TMPDIR": str(folder / SCRATCH),
        "PYTHONUTF8": "1",
        "COLUMNS": "118",
    }
    os.umask(0o077)
    with (folder / STDOUT).open("wb") as out, (folder / STDERR).open("wb") as err:
        try:
            # -P: a file of the project is no module
            process = subprocess.Popen(  # noqa: S603 -- ourselves
                [sys.executable, "-P", "-m", "masktron", *command["arguments"]],
                cwd=folder.parent.parent,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=environment,
                pass_fds=(lock,),
                preexec_fn=lambda: os.nice(NICE),  # noqa: PLW1509 -- there is one thread
            )
        except OSError as error:
            return None, str(error.strerror)
        if asked:  # before there was a command that could hear it
            process.terminate()
        code, problem = _watched(process, seconds, memory)
    return (128 - code if code < 0 else code), problem


def _watched(process: subprocess.Popen[bytes], seconds: float, memory: int) -> tuple[int, str]:
    """Wait for a command, and end it where it takes more than it may; then the problem says so."""
    limit = time.monotonic() + seconds if seconds else math.inf
    while True:
        try:
            return process.wait(_LOOK if seconds or memory else None), ""
        except subprocess.TimeoutExpired:
            if time.monotonic() > limit:
                return _ended(process), f"{TOO_MUCH} time: more than {seconds / 60:g} minutes"
            if memory and memory_of(process.pid) > memory:
                return _ended(process), f"{TOO_MUCH} memory: more than {memory // 1_000_000:,} MB"


def _ended(process: subprocess.Popen[bytes]) -> int:
    """End a command with what it has started: first by asking."""
    process.terminate()
    try:
        return process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        for pid in _descendants(process.pid):
            with contextlib.suppress(ProcessLookupError):  # it ended with its parent
                os.kill(pid, signal.SIGKILL)
        return process.wait()


def memory_of(pid: int) -> int:
    """Return the bytes of memory that a process and all that it has started hold; what they share counts once."""
    return sum(map(_held, _descendants(pid)))


def _held(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):  # it has ended
        return 0
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def _descendants(pid: int) -> list[int]:
    """Return a process and all that it has started, and they have."""
    children: dict[int, list[int]] = {}
    for one in Path("/proc").iterdir():
        if one.name.isdigit():
            try:
                parent = int((one / "stat").read_text().rpartition(")")[2].split()[1])
            except (FileNotFoundError, ProcessLookupError):
                continue
            children.setdefault(parent, []).append(int(one.name))
    found, more = [], [pid]
    while more:
        own = more.pop()
        found.append(own)
        more += children.get(own, [])
    return found


def _own_lock(folder: Path) -> int | None:
    """Take the lock, which a page that asks whether it is free may have for a moment."""
    limit = time.monotonic() + _PATIENCE
    while (lock := locked(folder)) is None and time.monotonic() < limit:
        time.sleep(0.01)
    return lock


def locked(folder: Path, *, shared: bool = False) -> int | None:
    """Take the lock of a run; None where somebody has it.

    Parameters
    ----------
    folder : Path
    shared : bool
        Beside others that only ask whether somebody works there.
    """
    import fcntl  # noqa: PLC0415 -- not on Windows

    descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def write(path: Path, content: dict[str, Any]) -> None:
    """Write plain data as JSON, whole or not at all."""
    half = path.with_name(f".{path.name}.half")
    descriptor = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        json.dump(content, stream)
        stream.flush()
        os.fsync(descriptor)
    half.replace(path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
