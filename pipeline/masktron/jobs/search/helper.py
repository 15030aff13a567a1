"""A process beside this one that reads the same file and tries candidates."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import traceback
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from masktron.config import Config
from masktron.errors import MasktronError
from masktron.jobs.opening import open_original
from masktron.jobs.search.bench import Attempt, Bench, TuneOutcome
from masktron.problems.readers import Reader, reading
from masktron.processes import end, pipe, rules_within, send, started
from masktron.progress import no_progress


class HelperLost(Exception):  # noqa: N818 -- it never reaches the user
    """The process has ended."""


@dataclass(frozen=True, slots=True)
class HelperFile:
    """What a helper reads.

    Attributes
    ----------
    data, rules : Path
    config : Config
    """

    data: Path
    rules: Path
    config: Config


@dataclass(frozen=True, slots=True)
class HelperSetup:
    """What a helper needs besides, which is known when the file has been read.

    Attributes
    ----------
    digest : str
        Of the original: a file that has changed meanwhile is another file.
    names : tuple of str
        Figures.
    sample : ndarray of intp, or None
    threads : int
    """

    digest: str
    names: tuple[str, ...]
    sample: NDArray[np.intp] | None
    threads: int


class Helper:
    """A process that is handed attempts, one at a time.

    Parameters
    ----------
    opening : HelperFile

    Raises
    ------
    OSError
        It cannot be started.
    """

    def __init__(self, opening: HelperFile) -> None:
        self._is_ready: bool | None = None
        self._process: subprocess.Popen[bytes] = started("masktron.jobs.search.helper:serve")
        try:
            send(pipe(self._process.stdin), opening)
        except BaseException:
            end(self._process)
            raise

    def set_up(self, setup: HelperSetup) -> None:
        """Say what it needs besides the file; it may be gone."""
        with suppress(OSError, ValueError):  # then it is not ready
            send(pipe(self._process.stdin), setup)

    def ready(self) -> bool:
        """Wait until it has read the same file; False where it cannot.

        Raises
        ------
        RuntimeError
            As `outcome`.
        """
        if self._is_ready is None:
            try:
                self._is_ready = self._heard()[0] == "ready"
            except HelperLost:
                self._is_ready = False
        return self._is_ready

    def outcome(self, attempt: Attempt) -> TuneOutcome:
        """Have an attempt made.

        Raises
        ------
        HelperLost
            The process has ended.
        RuntimeError
            What should not happen happened there; with its traceback.
        """
        try:
            send(pipe(self._process.stdin), attempt)
        except (OSError, ValueError):
            raise HelperLost from None
        answer = self._heard()[1]
        if not isinstance(answer, TuneOutcome):
            raise HelperLost
        return answer

    def _heard(self) -> tuple[str, object]:
        try:
            kind, answer = pickle.load(pipe(self._process.stdout))  # noqa: S301 - our own process
        except (OSError, EOFError, pickle.UnpicklingError, ValueError):
            raise HelperLost from None
        if kind == "crashed":
            raise RuntimeError(f"a process that masktron started failed:\n{answer}")
        return kind, answer

    def kill(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()

    def close(self) -> None:
        """End the process, and close its pipes."""
        end(self._process)


def serve() -> None:
    """Make attempts that come by standard input until it ends; outcomes go to standard output."""
    tasks = sys.stdin.buffer
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)  # what a library prints is no answer
        try:
            opening: HelperFile = pickle.load(tasks)  # noqa: S301 - from the process that started this one
            with rules_within(opening.config.rule_timeout), reading(Reader.TERMINAL):
                try:
                    _serve(opening, tasks, answers)
                except MasktronError as refusal:  # the process that started this one says so to the user
                    send(answers, ("refused", str(refusal)))
                except (EOFError, BrokenPipeError):
                    raise
                except Exception:  # noqa: BLE001 -- raised again there
                    send(answers, ("crashed", traceback.format_exc()))
        except (EOFError, BrokenPipeError):
            os._exit(0)  # nobody is there any more


def _serve(opening: HelperFile, tasks: IO[bytes], answers: IO[bytes]) -> None:
    original = open_original(opening.data, opening.rules, opening.config, no_progress)
    setup: HelperSetup = pickle.load(tasks)  # noqa: S301 - from the process that started this one
    if original.job.source.digest != setup.digest:
        send(answers, ("changed", None))
        return
    with Bench(original, setup.names, setup.sample, setup.threads) as bench:
        send(answers, ("ready", None))
        while True:
            send(answers, ("outcome", bench.outcome(pickle.load(tasks), no_progress)))  # noqa: S301


def helpers_of(count: int, opening: HelperFile) -> list[Helper]:
    """Start some helpers; fewer where the system has no room for more processes."""
    found: list[Helper] = []
    for _ in range(count):
        try:
            found.append(Helper(opening))
        except OSError:  # this process does the work alone
            break
    return found
