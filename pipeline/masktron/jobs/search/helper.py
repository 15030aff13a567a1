"""A process beside this one that reads the same file and tries candidates."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from masktron.child_process import ChildLostError, ChildProcess
from masktron.config import Config
from masktron.errors import MasktronError
from masktron.jobs.opening import open_original
from masktron.jobs.search.bench import Attempt, Bench, TuneOutcome
from masktron.problems.readers import Reader, reading
from masktron.processes import rules_within
from masktron.progress import no_progress


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

    def __call__(self) -> _Making:
        """Read it, in the process of a helper."""
        return _Making(self)


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
    ChildLostError
        It cannot be started.
    """

    def __init__(self, opening: HelperFile) -> None:
        self._is_ready: bool | None = None
        self._process = ChildProcess(opening)

    def set_up(self, setup: HelperSetup) -> None:
        """Say what it needs besides the file; it may be gone."""
        with suppress(ChildLostError):  # then it is not ready
            self._process.tell(setup)

    def ready(self) -> bool:
        """Wait until it has read the same file; False where it cannot.

        Raises
        ------
        RuntimeError
            As `outcome`.
        """
        if self._is_ready is None:
            try:
                self._is_ready = bool(self._process.told())
            except (ChildLostError, MasktronError):  # the process that started it says so to the user
                self._is_ready = False
        return self._is_ready

    def outcome(self, attempt: Attempt) -> TuneOutcome:
        """Have an attempt made.

        Raises
        ------
        ChildLostError
            The process has ended.
        RuntimeError
            What should not happen happened there; with its traceback.
        """
        try:
            found: TuneOutcome = self._process.ask(attempt)
        except MasktronError as refusal:
            raise ChildLostError(str(refusal)) from None
        return found

    def kill(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()

    def close(self) -> None:
        """End the process, and close its pipes."""
        self._process.close()


class _Making:
    """Makes attempts, in the process of a helper, until that is ended."""

    def __init__(self, file: HelperFile) -> None:
        self._always = ExitStack()
        self._always.enter_context(rules_within(file.config.rule_timeout))
        self._always.enter_context(reading(Reader.TERMINAL))
        self._original = open_original(file.data, file.rules, file.config, no_progress)
        self._bench: Bench | None = None

    def __call__(self, given: HelperSetup | Attempt) -> bool | TuneOutcome:
        """Get ready, which it cannot where the file has changed; and then make attempts."""
        if isinstance(given, Attempt):
            if self._bench is None:
                raise TypeError("an attempt before the setup")
            return self._bench.outcome(given, no_progress)
        if self._original.job.source.digest != given.digest:
            return False
        bench = Bench(self._original, given.names, given.sample, given.threads)
        self._bench = self._always.enter_context(bench)
        return True


def helpers_of(count: int, opening: HelperFile) -> list[Helper]:
    """Start some helpers; fewer where the system has no room for more processes."""
    found: list[Helper] = []
    for _ in range(count):
        try:
            found.append(Helper(opening))
        except ChildLostError:  # this process does the work alone
            break
    return found
