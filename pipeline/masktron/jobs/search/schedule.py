"""Who does which attempt when: helpers beside this process, or the process itself, within a budget.

An attempt is begun only if what it is expected to take is left. What it takes is known from others of its method, on
as many records or, in proportion, on fewer; of a method that was not tried before, from all. What is not done when
the budget ends is interrupted: a helper is ended at once, whatever it does; where there is none, this process stops
where the pipeline next tells of its progress.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from contextvars import copy_context
from dataclasses import dataclass, field
from statistics import median

from masktron.child_process import ChildLostError
from masktron.jobs.search.bench import Attempt, Bench, TuneOutcome
from masktron.jobs.search.helper import Helper
from masktron.progress import Progress, expect

_MORE = 1.3
"""What an attempt may take beyond what one like it took."""
_UNKNOWN = 2.0
"""The same for a method that was not tried so far."""
_STAGE = "trying candidates"
LOST = "the process that tried it ended before it was done: most likely the system ran out of memory"
"""Why a candidate has no figures that took a helper with it."""


class BudgetOver(Exception):  # noqa: N818 -- it is no error, and never reaches the user
    """The time is over."""


class Deadline:
    """What is left of a budget.

    Parameters
    ----------
    seconds : float
    begun : float
        By `time.monotonic`.
    """

    def __init__(self, seconds: float, begun: float) -> None:
        self.end = begun + seconds

    @property
    def left(self) -> float:
        """Seconds that are left; below 0 afterwards."""
        return self.end - time.monotonic()

    def watching(self, progress: Progress) -> Progress:
        """Return what tells the same, and raises `BudgetOver` when the time is over."""

        def told(stage: str, done: int) -> None:
            if self.left < 0:
                raise BudgetOver
            progress(stage, done)

        return told


@dataclass(slots=True)
class Durations:
    """What attempts took, to say what others will take.

    Attributes
    ----------
    records : mapping of bool to int
        Records of all, and of the sample.
    """

    records: dict[bool, int]
    _took: dict[tuple[str, bool], list[float]] = field(default_factory=dict)

    def took(self, attempt: Attempt, seconds: float) -> None:
        """Take note of what an attempt took."""
        self._took.setdefault((attempt.settings["method"], attempt.whole), []).append(seconds)

    def expected(self, attempt: Attempt) -> float:
        """Return the seconds that an attempt will take, rather too many; 0 where nothing is known."""
        method, whole = attempt.settings["method"], attempt.whole
        if own := self._took.get((method, whole)):
            return _MORE * max(own)
        ratio = self.records[whole] / self.records.get(not whole, self.records[whole])
        if other := self._took.get((method, not whole)):
            return _MORE * max(other) * ratio
        alike = [max(seconds) for (_, scope), seconds in self._took.items() if scope == whole]
        if alike:
            return _UNKNOWN * median(alike)
        others = [max(seconds) for seconds in self._took.values()]
        return _UNKNOWN * median(others) * ratio if others else 0.0


class WorkerProcesses:
    """The helpers, or the process that was called where there are none.

    Parameters
    ----------
    bench : Bench
        For what is done here.
    helpers : list of Helper
        What takes the place of one that was lost is put there.
    again : callable
        Starts a helper in the place of one that was lost; None where none can be started.
    deadline : Deadline
    durations : Durations
    found : callable
        Takes each attempt with its outcome, one at a time, as they come.
    progress : callable
    """

    def __init__(
        self,
        bench: Bench,
        helpers: list[Helper],
        again: Callable[[], Helper | None],
        deadline: Deadline,
        durations: Durations,
        found: Callable[[Attempt, TuneOutcome], None],
        progress: Progress,
    ) -> None:
        self._bench, self._helpers, self._again, self._deadline = bench, helpers, again, deadline
        self._durations, self._found, self._progress = durations, found, progress
        self._lock = threading.Lock()
        self._waiting: list[Attempt] = []
        self._failure: BaseException | None = None
        self._done = 0
        self._over = False

    def work(self, attempts: Iterable[Attempt], meanwhile: Callable[[], object] | None = None) -> None:
        """Do what fits into the time that is left; those that stand first are begun first.

        Parameters
        ----------
        attempts : iterable of Attempt
        meanwhile : callable, optional
            What this process does while helpers work.

        Raises
        ------
        BaseException
            What was raised here, by `meanwhile` or in a helper, such as KeyboardInterrupt. The helpers have been
            ended then, whatever they did.
        """
        self._waiting = list(attempts)
        size, self._done, self._over = len(self._waiting), 0, False
        expect(self._progress, _STAGE, size, "runs")
        self._progress(_STAGE, 0)
        threads = [
            threading.Thread(target=copy_context().run, args=(self._lead, position), daemon=True)
            for position in range(len(self._helpers))
        ]
        for thread in threads:
            thread.start()
        try:
            if meanwhile is not None:
                meanwhile()
            for thread in threads:
                thread.join(max(0.0, self._deadline.left))
        except BaseException:
            self._end()
            raise
        if any(map(threading.Thread.is_alive, threads)):
            self._end()
            for thread in threads:
                thread.join()
        if self._failure is not None:
            raise self._failure
        self._here()

    def _end(self) -> None:
        """End the helpers at once, and begin nothing more."""
        with self._lock:
            self._over, self._waiting = True, []
            helpers = list(self._helpers)
        for helper in helpers:
            helper.kill()

    def _here(self) -> None:
        """Do what no helper has done."""
        watched = self._deadline.watching(_untold)
        try:
            while (attempt := self._next()) is not None:
                self._take(attempt, self._bench.outcome(attempt, watched))
        except BudgetOver:
            self._waiting = []

    def _lead(self, place: int) -> None:
        """Hand attempts to a helper, in a thread of its own, and to another in its place where it is lost."""
        try:
            helper: Helper | None = self._helpers[place]
            while helper is not None and helper.ready() and (attempt := self._next()) is not None:
                try:
                    outcome = helper.outcome(attempt)
                except ChildLostError:
                    if self._over or self._deadline.left <= 0:
                        return
                    outcome = TuneOutcome(LOST, ended=True)
                    helper.close()
                    helper = self._again()
                    if helper is not None and not self._replaced(place, helper):
                        return
                self._take(attempt, outcome)
        except BaseException as error:  # noqa: BLE001 -- raised again where the results are waited for
            self._failure = error
            self._end()

    def _replaced(self, place: int, helper: Helper) -> bool:
        """Put a helper in a place, unless all are ended."""
        with self._lock:
            if not self._over:
                self._helpers[place] = helper
                return True
        helper.close()
        return False

    def _next(self) -> Attempt | None:
        """Take the first attempt that still fits."""
        with self._lock:
            left = self._deadline.left
            for at, attempt in enumerate(self._waiting):
                if left > 0 and self._durations.expected(attempt) <= left:
                    return self._waiting.pop(at)
            self._waiting = []
            return None

    def _take(self, attempt: Attempt, outcome: TuneOutcome) -> None:
        with self._lock:
            if not outcome.refused:
                self._durations.took(attempt, outcome.seconds)
            self._found(attempt, outcome)
            self._done += 1
            self._progress(_STAGE, self._done)


def _untold(stage: str, done: int) -> None:
    """Tell nobody of the stages of a candidate."""
