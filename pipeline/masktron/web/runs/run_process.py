"""The process between the server and a command: it starts it, waits for it, and writes how it ended.

It is in a session of its own, so that no signal for the server reaches it, and the server's end changes nothing. It
holds a lock as long as it lives, and so does the command: who finds no lock knows that nobody works there, whatever
number a process has got meanwhile. Nothing but the standard library is loaded here.
"""

from __future__ import annotations

import json
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
_PATIENCE = 3.0
"""Seconds for which a lock that somebody has is tried again."""
NICE = 5
"""How far commands stand back behind the server, so that pages answer."""


def main(arguments: list[str]) -> int:
    """Run the command of a folder once.

    Parameters
    ----------
    arguments : list of str
        The folder of the run; it lies two folders below that of its project, in which the command works.
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
    code, problem = _carried_out(folder, command, lock, asked)
    try:
        shutil.rmtree(folder / SCRATCH)
    finally:
        write(folder / EXIT, {"code": code, "problem": problem, "began": began, "ended": time.time()})
    return 0


def _carried_out(folder: Path, command: dict[str, Any], lock: int, asked: list[int]) -> tuple[int | None, str]:
    environment = {
        **os.environ,
        "MASKTRON_PROGRESS": str(folder / PROGRESS),
        "MASKTRON_ERROR": str(folder / ERROR),
        "MASKTRON_READER": "browser",
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
        code = process.wait()
    return (128 - code if code < 0 else code), ""


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
