"""What a stylesheet says of the nodes of a document."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from masktron.evaluation.findings import Verdict
from masktron.evaluation.stylesheet import decode


@dataclass(frozen=True, slots=True, eq=False)
class Events:
    """What happened on the nodes of a document, in document order; record -1 is outside the records."""

    records: int
    record: NDArray[np.int64]
    check: NDArray[np.int64]
    verdict: NDArray[np.int64]
    """`Verdict` codes, with NOT_FIRED for an error in the context."""
    alone: Events | None = None
    """What libxml2 says of the same document, where that is something else; see `masktron.evaluation.recommended`."""

    @classmethod
    def of(cls, text: str) -> Events:
        """Decode what a stylesheet wrote."""
        points = np.frombuffer(text.encode("utf-32-le"), dtype="<u4")
        breaks = points == ord("\n")
        record = np.cumsum(breaks) - 1
        check, verdict = decode(points[~breaks])
        return cls(int(breaks.sum()), record[~breaks], check, verdict)

    @property
    def fails(self) -> NDArray[np.bool_]:
        """Which of them are findings."""
        return np.not_equal(self.verdict, Verdict.HOLDS)

    @property
    def kinds(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
        """In which of them a check was evaluated, failed, raised an error."""
        wrong = (self.verdict == Verdict.ERROR) | (self.verdict == Verdict.NOT_FIRED)
        return np.not_equal(self.verdict, Verdict.NOT_FIRED), np.equal(self.verdict, Verdict.FAILS), wrong

    def counts(self, checks: int) -> NDArray[np.int64]:
        """Numbers of nodes by kind and check, shape (3, checks)."""
        return np.array([np.bincount(self.check[kind], minlength=checks) for kind in self.kinds], dtype=np.int64)

    def part(self, chosen: NDArray[np.bool_]) -> Events:
        """Return some of the events."""
        return Events(self.records, self.record[chosen], self.check[chosen], self.verdict[chosen])

    def of_checks(self, checks: NDArray[np.int64]) -> Events:
        """Return the events of some checks, with what libxml2 alone says of them."""
        alone = None if self.alone is None else self.alone.of_checks(checks)
        return replace(self.part(np.isin(self.check, checks)), alone=alone)

    def replaced(self, out: NDArray[np.bool_], new: Events) -> Events:
        """Return these events, some of which others take the place of; these remain as what libxml2 says alone."""
        stay = self.part(~out)
        columns = [np.concatenate(pair) for pair in zip(stay._columns(), new._columns(), strict=True)]
        order = np.lexsort((columns[1], columns[0]))
        record, check, verdict = (column[order] for column in columns)
        found = Events(self.records, record, check, verdict)
        return found if found._is_as(self) else replace(found, alone=self)

    def _columns(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        return self.record, self.check, self.verdict

    def _is_as(self, other: Events) -> bool:
        """Whether the same happens, in whatever order the nodes of one record come."""
        if len(self.record) != len(other.record):
            return False
        one, two = (np.array(events._columns()) for events in (self, other))
        return np.array_equal(one[:, np.lexsort(one[::-1])], two[:, np.lexsort(two[::-1])])

    def departures(self, checks: int) -> NDArray[np.int64]:
        """Count by check the records that libxml2 alone refuses, and those that it alone accepts; (2, checks)."""
        if self.alone is None:
            return np.zeros((2, checks), dtype=np.int64)
        mine, its = (
            np.unique(np.stack((events.record[events.fails], events.check[events.fails])), axis=1)
            for events in (self, self.alone)
        )
        width = np.int64(checks)
        own, other = ((pairs[0] + 1) * width + pairs[1] for pairs in (mine, its))
        return np.stack(
            [np.bincount(np.setdiff1d(*pair) % width, minlength=checks) for pair in ((other, own), (own, other))]
        )

    def fill(self, verdicts: NDArray[np.uint8]) -> None:
        """Raise the verdicts of each record and check to the worst of its nodes."""
        code = np.where(self.verdict == Verdict.NOT_FIRED, Verdict.ERROR, self.verdict)
        for worst in (Verdict.HOLDS, Verdict.FAILS, Verdict.ERROR):
            chosen = (code == worst) & (self.record >= 0)
            verdicts[self.record[chosen], self.check[chosen]] = worst
