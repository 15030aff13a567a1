"""Counts of all that happened, and the findings that are kept or handed on."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from masktron.evaluation.events import Events
from masktron.evaluation.findings import Departure, Evaluation, Finding
from masktron.evaluation.report_reader import Failure

type Sink = Callable[[Finding], None]
"""Takes every finding; those of one check in the order of the records."""


class VerdictTally:
    """Counts, the first findings of each check, and the verdicts if they are asked for.

    Parameters
    ----------
    checks : int
        Number of checks of the rulebook.
    limit : int or None
        How many findings of each check to keep; all without it.
    sink : callable, optional
        Gets findings, whatever the limit.
    sunk : int or None
        How many of each check the sink needs; it may get more. All without it.
    keep_verdicts : bool
    """

    def __init__(
        self, checks: int, limit: int | None, sink: Sink | None, *, keep_verdicts: bool, sunk: int | None = None
    ) -> None:
        self.checks = checks
        self.limit = limit
        self.sink = sink
        self._most = limit if sink is None else None if limit is None or sunk is None else max(limit, sunk)
        self.keep_verdicts = keep_verdicts
        self.counts = np.zeros((3, checks), dtype=np.int64)
        self.records = 0
        self.departed = False
        self._departures = np.zeros((2, checks), dtype=np.int64)
        self._found = np.zeros(checks, dtype=np.int64)
        self._findings: list[Finding] = []
        self._verdicts: list[NDArray[np.uint8]] = []

    def count(self, events: Events) -> None:
        """Count events."""
        self.counts += events.counts(self.checks)
        if events.alone is not None:
            self.depart(events.departures(self.checks))

    def depart(self, counts: NDArray[np.int64]) -> None:
        """Note that libxml2 alone says something else; records that it refuses and accepts, shape (2, checks)."""
        self.departed = True
        self._departures += counts

    @property
    def departures(self) -> NDArray[np.int64]:
        """Records that libxml2 alone refuses, and accepts; shape (2, checks)."""
        return self._departures

    def judged(self, records: int, verdicts: NDArray[np.uint8] | None) -> None:
        """Note that so many records are done, and the verdicts on them."""
        self.records += records
        if verdicts is not None:
            self._verdicts.append(verdicts)

    def blank(self, records: int) -> NDArray[np.uint8] | None:
        """Return verdicts to fill, where they are kept."""
        return np.zeros((records, self.checks), dtype=np.uint8) if self.keep_verdicts else None

    def judged_all(self, records: int) -> NDArray[np.uint8] | None:
        """Return the verdicts on all records of the file, to fill in what needed all of it."""
        self.records = records
        if not self.keep_verdicts:
            return None
        if len(self._verdicts) != 1:
            verdicts = np.zeros((records, self.checks), np.uint8)
            at = records
            while self._verdicts:  # each part goes as it is copied, so that they are not held twice
                part = self._verdicts.pop()
                at -= len(part)
                verdicts[at : at + len(part)] = part
            self._verdicts = [verdicts]
        return self._verdicts[0]

    def room(self, check: int) -> int | None:
        """How many more records with findings of a check are of interest; None for all."""
        return None if self._most is None else max(self._most - int(self._found[check]), 0)

    def wanted(self, events: Events) -> NDArray[np.int64]:
        """Return the records that hold the first failures of checks that have room for more."""
        fails = events.fails
        rows = [
            np.unique(events.record[fails & (events.check == check)])[: self.room(int(check))]
            for check in np.unique(events.check[fails])
        ]
        return np.unique(np.concatenate(rows)) if rows else np.zeros(0, dtype=np.int64)

    def asks(self, failure: Failure) -> bool:
        """Tell whether anybody wants the finding of a failure."""
        return self.room(failure.check) != 0

    def add(self, findings: Iterable[Finding]) -> None:
        """Take findings of consecutive records: hand them on in their order, and keep what there is room for."""
        for finding in sorted(findings, key=lambda f: (f.record, f.check)):
            if self.sink is not None:
                self.sink(finding)
            if self.limit is None or self._found[finding.check] < self.limit:
                self._findings.append(finding)
            self._found[finding.check] += 1

    def add_wanted(self, findings: Iterable[Finding]) -> None:
        """Take findings of consecutive records, in their order, as far as anybody wants them."""
        for finding in findings:
            if self.room(finding.check) != 0:
                self.add((finding,))

    def evaluation(self, engine: str) -> Evaluation:
        """Return the result."""
        fired, failed, errors = self.counts
        findings = tuple(sorted(self._findings, key=lambda f: (f.check, f.record)))
        verdicts = self.judged_all(self.records)
        departures = tuple(
            Departure(check, int(refused), int(accepted))
            for check, (refused, accepted) in enumerate(self._departures.T)
            if refused or accepted
        )
        return Evaluation(verdicts, fired, failed, errors, findings, engine, self.records, departures=departures)
