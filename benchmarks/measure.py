"""Processes, measured from outside: seconds of the wall clock and of the cores, and the peak of their memory."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
_TO_MB = 1e-6 if sys.platform == "darwin" else 1e-3
_BETWEEN = """
import json, os, sys, time
out, *command = sys.argv[1:]
said = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
start = time.perf_counter()
child = os.posix_spawnp(command[0], command, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, said, 1)])
_, status, usage = os.wait4(child, 0)
taken = time.perf_counter() - start
print(json.dumps([os.waitstatus_to_exitcode(status), taken, usage.ru_utime + usage.ru_stime, usage.ru_maxrss]))
"""
"""Starts a process, and says how it ended, its seconds, those of the cores, and its memory."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The fastest of some runs, with the most memory that one of them took.

    Attributes
    ----------
    seconds : float
        Of the whole process, its start included.
    megabytes : float
        Of the process itself, or of the largest that it started.
    cpu : float
        Seconds of all cores, of the process and of those that it started, in the fastest run.
    """

    seconds: float
    megabytes: float
    cpu: float = math.nan


def process(arguments: Sequence[object], out: Path, allowed: Sequence[int] = (0,), repeats: int = 3) -> Measured:
    """Run a command several times and write what it says to a file.

    The peak memory of a process is at least what the process that started it had then, as Linux counts from the fork
    on. So a process of 10 MB stands between.

    Raises
    ------
    RuntimeError
        It ended with another exit code.
    """
    seconds, peak, cpu = math.inf, 0.0, math.nan
    between = [sys.executable, "-I", "-S", "-c", _BETWEEN, str(out), *map(str, arguments)]
    for _ in range(repeats):
        done = subprocess.run(between, stdout=subprocess.PIPE, env={**os.environ, "COLUMNS": "200"}, check=True)
        code, taken, cores, memory = json.loads(done.stdout)
        if taken < seconds:
            seconds, cpu = taken, cores
        if code not in allowed:
            raise RuntimeError(f"{' '.join(map(str, arguments))} ended with {code}")
        peak = max(peak, memory * _TO_MB)
    return Measured(seconds, peak, cpu)


def peer(name: str, *arguments: object) -> dict[str, Any]:
    """Run a function of ``peers.py`` in a process of its own and return what it says."""
    command = [sys.executable, str(HERE / "peers.py"), name, *map(str, arguments)]
    found = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    said: dict[str, Any] = json.loads(found.stdout)
    return said


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Return b of the power law a * size**b that fits best, by least squares of the logarithms."""
    x, y = [math.log(s) for s in sizes], [math.log(s) for s in seconds]
    mx, my = sum(x) / len(x), sum(y) / len(y)
    return sum((a - mx) * (b - my) for a, b in zip(x, y, strict=True)) / sum((a - mx) ** 2 for a in x)
