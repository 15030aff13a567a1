"""Signals at random times over the commands: when they end, what they say, and what is left of them."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from paths import RULES, SAMPLES

_LINE = re.compile(r"(interrupted|terminated); (nothing was written|written before that: .+)")
_SOON = 2.0


@dataclass(frozen=True)
class Ended:
    """What became of a run.

    Attributes
    ----------
    asked : str
        The command.
    number : int
        The signal.
    after : float
        Seconds for which the run had listened before it was sent.
    took : float
        Seconds until the run ended; 0 where it had ended before.
    code : int
    lines : tuple of str
        What it said of its end.
    left : tuple of int
        Processes that were still there a moment later.
    """

    asked: str
    number: int
    after: float
    took: float
    code: int
    lines: tuple[str, ...]
    left: tuple[int, ...]

    @property
    def problem(self) -> str:
        """What is wrong, if anything is."""
        if self.left:
            return f"processes are left: {self.left}"
        if not self.took:
            return "" if self.code in (0, 1) else f"it ended by itself with {self.code}"
        if self.took > _SOON:
            return f"it took {self.took:.1f} s"
        if self.number == signal.SIGKILL:
            return "" if self.code == -signal.SIGKILL or self.code in (0, 1) else f"exit code {self.code}"
        ended = self.code == 128 + self.number and len(self.lines) == 1
        # the signal may come when the last thing is done
        return "" if ended or (self.code in (0, 1) and not self.lines) else f"exit code {self.code}: {self.lines}"


def commands(folder: Path) -> dict[str, list[object]]:
    """Return commands that use both engines, methods and kernels, on samples."""
    household, business = SAMPLES / "household.xml", SAMPLES / "business.xml"
    settings = ["--config", SAMPLES / "household.toml"]
    masked, findings, told = folder / "masked.xml", folder / "findings.csv", folder / "validated.json"
    return {
        "validate": ["validate", business, "--original", business, "-r", RULES / "business.sch", "--csv", findings],
        "validate 1.0": [
            "validate",
            household,
            "--original",
            household,
            "-r",
            RULES / "household.sch",
            "--json",
            told,
        ],
        "mask": ["mask", household, "-r", RULES / "household.sch", *settings, "-o", masked],
        "check": ["check", household, "-r", RULES / "household.sch", "--original", household, *settings],
        "explain": ["explain", RULES / "household.sch", "--data", household, *settings],
    }


def signalled(folder: Path, count: int, seed: int, longest: dict[str, float], names: Sequence[str]) -> list[Ended]:
    """Run commands, in turn, and send each a signal at a random time of at most so many seconds."""
    drawn = random.Random(seed)
    scratch = folder / "scratch"
    scratch.mkdir(exist_ok=True)
    numbers = [signal.SIGINT, signal.SIGTERM, signal.SIGKILL]
    asked = commands(folder)
    ended = []
    for at in range(count):
        name = names[at % len(names)]
        number = numbers[at] if at < len(numbers) else drawn.choice(numbers)
        ended.append(_ended(folder, name, asked[name], number, drawn.uniform(0, longest[name])))
    return ended


def _listens(process: subprocess.Popen[str]) -> bool:
    """Tell whether a process has taken charge of its signals; before that, Python is being loaded."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    caught = re.search(r"SigCgt:\s*([0-9a-f]+)", status)
    return process.poll() is not None or (caught is not None and bool(int(caught[1], 16) >> (signal.SIGTERM - 1) & 1))


def _ended(folder: Path, name: str, arguments: list[object], number: int, after: float) -> Ended:
    token = f"{os.getpid()}-{random.getrandbits(64):x}"
    environment = {**os.environ, "TMPDIR": str(folder / "scratch"), "MASKTRON_TEST": token}
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "masktron", *map(str, arguments)],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment, cwd=folder,
    )  # fmt: skip
    with process:
        while not _listens(process):
            time.sleep(0.01)
        time.sleep(after)
        running = process.poll() is None
        begun = time.monotonic()
        process.send_signal(number)
        process.wait(30)
        took = time.monotonic() - begun if running else 0.0
        left = _left(token)
        said = process.stderr.read().splitlines() if process.stderr is not None and not left else []
    assert not any("Traceback" in line for line in said), said
    lines = tuple(line for line in said if _LINE.fullmatch(line) or line.startswith("error"))
    return Ended(name, number, after, took, process.returncode, lines, left)


def _left(token: str) -> tuple[int, ...]:
    """Return the processes of a run that are there, and do not end within a second."""
    for _ in range(20):
        if not (found := _of(token)):
            return ()
        time.sleep(0.05)
    return found


def _of(token: str) -> tuple[int, ...]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            ended = "\nState:\tZ" in (folder / "status").read_text()
            if not ended and token.encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:  # it has ended, or is somebody else's
            continue
    return tuple(found)


def leftovers(folder: Path) -> list[str]:
    """Return the temporary files and folders of masktron that are there."""
    found = [*folder.glob(".masktron-*"), *(folder / "scratch").glob("*")]
    return sorted(str(path.relative_to(folder)) for path in found)
