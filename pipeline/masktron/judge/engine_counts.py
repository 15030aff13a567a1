"""What an engine counts on a file: slice by slice, or on all of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from masktron.judge.findings import Evaluation, Verdict
from masktron.judge.report_reader import Events


@dataclass(frozen=True, slots=True, eq=False)
class EngineCounts:
    """What an engine counts on a file.

    Attributes
    ----------
    records : int
    fired, failed, errors : ndarray of int64, shape (checks,)
        As in `Evaluation`.
    first : ndarray of int64, shape (checks,)
        Position, from 0, of the first record with a failure or an error; -1 where no record has one.
    engine : str
        Name and version.
    left : mapping of int to str
        Checks that were not counted, with the reason; empty of those that are left to the recount.
    objections : mapping of int to str
        Checks of which something else than the counts is wrong.
    """

    records: int
    fired: NDArray[np.int64]
    failed: NDArray[np.int64]
    errors: NDArray[np.int64]
    first: NDArray[np.int64]
    engine: str
    left: Mapping[int, str] = field(default_factory=dict)
    objections: Mapping[int, str] = field(default_factory=dict)

    @classmethod
    def of(cls, evaluation: Evaluation) -> EngineCounts:
        """Return the counts of an evaluation that kept a finding of each check."""
        first = np.full(len(evaluation.fired), -1, dtype=np.int64)
        for finding in reversed(evaluation.findings):
            first[finding.check] = finding.record
        return cls(
            evaluation.records,
            evaluation.fired,
            evaluation.failed,
            evaluation.errors,
            first,
            evaluation.engine,
        )


class Sum:
    """Counts, slice by slice."""

    def __init__(self, checks: int) -> None:
        self.fired = np.zeros(checks, dtype=np.int64)
        self.failed = np.zeros(checks, dtype=np.int64)
        self.errors = np.zeros(checks, dtype=np.int64)
        self.first = np.full(checks, -1, dtype=np.int64)

    def add(self, events: Events, first: int) -> None:
        """Add what happened on some records, of which the first stands at this position."""
        checks = len(self.fired)
        wrong = (events.verdict == Verdict.ERROR) | (events.verdict == Verdict.NOT_FIRED)
        self.fired += np.bincount(events.check[events.verdict != Verdict.NOT_FIRED], minlength=checks)
        self.failed += np.bincount(events.check[events.verdict == Verdict.FAILS], minlength=checks)
        self.errors += np.bincount(events.check[wrong], minlength=checks)
        inside = events.fails & (events.record >= 0)
        failing, at = np.unique(events.check[inside], return_index=True)
        new = self.first[failing] < 0
        self.first[failing[new]] = first + events.record[inside][at[new]]

    def add_counts(self, part: EngineCounts, first: int) -> None:
        """Add what was counted on some records, of which the first stands at this position."""
        self.fired += part.fired
        self.failed += part.failed
        self.errors += part.errors
        new = (self.first < 0) & (part.first >= 0)
        self.first[new] = first + part.first[new]

    def counts(self, records: int, engine: str = "") -> EngineCounts:
        """Return the sum."""
        return EngineCounts(records, self.fired, self.failed, self.errors, self.first, engine)
