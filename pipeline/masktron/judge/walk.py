"""One batch after the other: which checks columns decide, what the engine says of the rest, and their findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from masktron.errors import RulebookError
from masktron.judge.columns.items import Outcome
from masktron.judge.deferral import (
    CellsKey,
    ColumnCounter,
    DocumentFrame,
    OutcomeCache,
    OutcomeCounts,
    places_of,
)
from masktron.judge.findings import Assigned, Finding, Shown, Tier, Verdict
from masktron.judge.report_reader import Failure, FindingMaker, RecordPlace, read_report
from masktron.judge.request import VerdictTally
from masktron.judge.runner import Runner, usual_engines
from masktron.judge.stylesheet import EngineName
from masktron.rulebook.expressions.forbidden import shortened
from masktron.rulebook.locality import locality
from masktron.rulebook.schema import Rulebook
from masktron.sources.columns import Batch
from masktron.sources.record_layout import Layout

ENGINE_MEMORY: Mapping[EngineName, int] = MappingProxyType({"recommended": 46, "libxml2": 46, "saxon": 33})
"""Bytes of memory for a byte of the file while an engine sees the whole document; measured on the census sample,
repeated to 50,000 and 150,000 records. libxml2 takes 23, once in this process and once in its own."""
PRACTICAL_MEMORY = 8_000_000_000
"""Bytes of memory beyond which a document is not for a usual machine."""


class CompiledColumns(Protocol):
    """Checks compiled to columns; see `masktron.judge.columns.program`."""

    def evaluate(self, batch: Batch) -> Outcome:
        """Say what is sure of the records of a batch."""
        ...

    def reads(self, check: int) -> frozenset[int]:
        """Return the fields that decide a check and its contexts, by position in the layout."""
        ...


class ColumnCompiler(Protocol):
    """Compiles checks to columns."""

    def __call__(
        self, rulebook: Rulebook, layout: Layout, checks: Collection[int]
    ) -> tuple[CompiledColumns, tuple[str, ...]]:
        """Compile some checks; the texts say for each check of the rulebook why it could not be, or nothing."""
        ...


def without_columns(local: Sequence[str], reason: str) -> tuple[Assigned, ...]:
    """Assign the checks of a file that is not read as columns, from why they need the whole document."""
    return tuple(Assigned(Tier.DOCUMENT, why) if why else Assigned(Tier.RECORDS, reason) for why in local)


def assign(
    rulebook: Rulebook,
    layout: Layout,
    engines: Sequence[EngineName],
    outside: Collection[str],
    compiler: ColumnCompiler,
) -> tuple[CompiledColumns, tuple[Assigned, ...]]:
    """Compile what has an evaluation over columns, and say where each check goes.

    Parameters
    ----------
    engines : sequence of {"recommended", "libxml2", "saxon"}
        What decides each check.
    outside : collection of str
        As for `masktron.rulebook.locality.locality`.
    compiler : ColumnCompiler
    """
    whole = locality(rulebook, layout, frozenset(outside))
    usual = usual_engines(rulebook)
    local = [index for index, why in enumerate(whole) if not why and engines[index] == usual[index]]
    program, reasons = compiler(rulebook, layout, local)
    chosen = frozenset(local)
    return program, tuple(
        _assigned(whole[index], reasons[index] if index in chosen else "Saxon decides it in XPath 1.0 mode")
        for index in range(len(whole))
    )


def _assigned(whole: str, reason: str) -> Assigned:
    if whole:
        return Assigned(Tier.DOCUMENT, whole)
    return Assigned(Tier.RECORDS, reason) if reason else Assigned(Tier.COLUMNS)


PART = 5_000
"""Records that an engine has in memory at a time."""

_NOBODY = (0, 0, 0, 0, 0)


@dataclass(frozen=True, slots=True, eq=False)
class Lane:
    """Checks of one rulebook, and how they see the batches of a file.

    Attributes
    ----------
    program : CompiledColumns
    columns : sequence of Runner
        Of the checks that the program has.
    records : sequence of Runner
        Of checks that an engine has to see every record for.
    memo : OutcomeCache
    view : callable, optional
        Makes of a batch of the file the one that the checks see: the same records, which may have more attributes.
    """

    program: CompiledColumns
    columns: Sequence[Runner]
    records: Sequence[Runner]
    memo: OutcomeCache
    view: Callable[[Batch], Batch] | None = None
    numeric: tuple[CompiledColumns, tuple[int, ...]] | None = None
    """The checks that make numbers of fields and nothing else that libxml2 does in its own way, compiled apart."""

    @property
    def compiled(self) -> NDArray[np.int64]:
        """The checks that the program has."""
        return np.array(sorted(i for runner in self.columns for i in runner.run.checks), dtype=np.int64)

    def departures(self, seen: _Seen, checks: int) -> NDArray[np.int64] | None:
        """Count the records that libxml2 alone refuses, and accepts; (2, checks), None where it misreads nothing."""
        if self.numeric is None:
            return None
        program, numeric = self.numeric
        rows, misread = seen.batch.misread()
        if not len(rows):
            return None
        alone = program.evaluate(misread)
        counts = np.zeros((2, checks), dtype=np.int64)
        for check in numeric:
            known = ~(alone.unsure[:, check] | seen.outcome.unsure[rows, check])
            theirs, ours = alone.failed[:, check] > 0, seen.outcome.failed[rows, check] > 0
            counts[:, check] = (known & theirs & ~ours).sum(), (known & ~theirs & ours).sum()
        return counts

    def seen(self, batch: Batch) -> _Seen:
        """Evaluate the program on a batch of the file."""
        view = batch if self.view is None else self.view(batch)
        return _Seen(self, view, self.program.evaluate(view), self.compiled)


@dataclass(frozen=True, slots=True, eq=False)
class _Seen:
    """A batch as a lane sees it, and what its program says."""

    lane: Lane
    batch: Batch
    outcome: Outcome
    compiled: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """Some consecutive records of a batch, for one lane.

    Attributes
    ----------
    rows : ndarray of int64
        In the batch.
    failing : ndarray of bool, shape (rows, checks)
    verdicts : ndarray of uint8, shape (rows, checks), or None
        Lanes share these two, each with its own checks.
    """

    lane: Lane
    batch: Batch
    outcome: Outcome
    rows: NDArray[np.int64]
    failing: NDArray[np.bool_]
    verdicts: NDArray[np.uint8] | None

    @classmethod
    def of(
        cls, seen: _Seen, rows: NDArray[np.int64], failing: NDArray[np.bool_], verdicts: NDArray[np.uint8] | None
    ) -> _Part:
        """Note what the program of a lane says of some records."""
        chosen, outcome = seen.compiled, seen.outcome
        failing[:, chosen] = outcome.failed[rows][:, chosen] > 0
        if verdicts is not None:
            fired = outcome.fired[rows][:, chosen] > 0
            verdicts[:, chosen] = np.where(failing[:, chosen], Verdict.FAILS, fired * Verdict.HOLDS)
        return cls(seen.lane, seen.batch, outcome, rows, failing, verdicts)

    def judge(self, at: int | NDArray[np.int64], check: int, counts: NDArray[np.int64]) -> None:
        """Note what an engine counted of a check on some of the records; shape (records, 3)."""
        fired, failed, errors = counts.T
        self.failing[at, check] = failed + errors > 0
        if self.verdicts is not None:
            held = np.where(fired > 0, Verdict.HOLDS, Verdict.NOT_FIRED)
            self.verdicts[at, check] = np.where(errors > 0, Verdict.ERROR, np.where(failed > 0, Verdict.FAILS, held))


class Walk:
    """Evaluates checks that look only inside their record, as their lanes see it.

    Parameters
    ----------
    frame : DocumentFrame
    lanes : sequence of Lane
    tally, shown
    begins : ColumnCounter, optional
        For a slice of the file; by default from the beginning of the file.
    """

    def __init__(
        self,
        frame: DocumentFrame,
        lanes: Sequence[Lane],
        tally: VerdictTally,
        shown: Shown,
        begins: ColumnCounter | None = None,
    ) -> None:
        self.frame = frame
        self.lanes = lanes
        self.tally = tally
        self.shown = shown
        self._begins = begins or ColumnCounter(frame.path)

    def batch(self, batch: Batch) -> Iterator[int]:
        """Evaluate a batch of the file; yields the number of records done, now and then."""
        views = [lane.seen(batch) for lane in self.lanes]
        for seen in views:
            for kind, counted in enumerate((seen.outcome.fired, seen.outcome.failed)):
                self.tally.counts[kind, seen.compiled] += counted[:, seen.compiled].sum(axis=0, dtype=np.int64)
            departures = seen.lane.departures(seen, self.tally.checks)
            if departures is not None and departures.any():
                self.tally.depart(departures)
        for start in range(0, len(batch), PART):
            rows = np.arange(start, min(start + PART, len(batch)))
            failing = np.zeros((len(rows), self.tally.checks), dtype=np.bool_)
            verdicts = self.tally.blank(len(rows))
            parts = [_Part.of(seen, rows, failing, verdicts) for seen in views]
            for part in parts:
                for runner in part.lane.columns:
                    self._defer(runner, part)
                if part.lane.records:
                    self._evaluate(part)
            self.tally.judged(len(rows), verdicts)
            self._report(batch, parts)
            yield self.tally.records

    def _defer(self, runner: Runner, part: _Part) -> None:
        """Let the engine decide what is unsure, once for equal cells."""
        asked = [self._asked(check, part) for check in sorted(runner.run.checks)]
        asked = [one for one in asked if len(one.rows)]
        if not asked:
            return
        wanted = np.unique(np.concatenate([one.representatives for one in asked]))
        wanted = wanted[wanted >= 0]
        counts = self._counts(runner, part, wanted, np.array([one.check for one in asked]))
        for k, one in enumerate(asked):
            one.answer(counts[k], wanted, part, part.lane.memo, self.tally)

    def _asked(self, check: int, part: _Part) -> _Asked:
        rows = np.flatnonzero(part.outcome.unsure[part.rows, check])
        if not len(rows):
            return _Asked(check, rows, rows, (), ())
        keys = part.lane.memo.keys(part.batch, check, part.rows[rows])
        known = [part.lane.memo.recall(key) for key in keys]
        first: dict[CellsKey, int] = {}
        representatives = [
            -1 if have is not None else int(row) if key is None else first.setdefault(key, int(row))
            for row, key, have in zip(rows, keys, known, strict=True)
        ]
        return _Asked(check, rows, np.array(representatives, dtype=np.int64), tuple(keys), tuple(known))

    def _counts(
        self, runner: Runner, part: _Part, wanted: NDArray[np.int64], checks: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return what the engine counts on some records of a part; shape (checks, records, 5).

        Nodes that fired, failed and raised errors; whether libxml2 alone refuses the record, and accepts it.
        """
        counts = np.zeros((len(checks), len(wanted), 5), dtype=np.int64)
        if not len(wanted):
            return counts
        rows = part.rows[wanted]
        events = runner.events(self.frame.document(part.batch, rows), len(wanted), part.batch.first + rows)
        events = events.of_checks(checks)
        at = np.searchsorted(checks, events.check)
        for k, kind in enumerate(events.kinds):
            np.add.at(counts[:, :, k], (at[kind], events.record[kind]), 1)
        if events.alone is not None:
            refused = np.zeros(counts.shape[:2], dtype=np.bool_)
            fails = events.alone.fails
            refused[np.searchsorted(checks, events.alone.check[fails]), events.alone.record[fails]] = True
            fine = counts[:, :, 1:3].sum(axis=2) == 0
            counts[:, :, 3], counts[:, :, 4] = refused & fine, ~refused & ~fine
        return counts

    def _evaluate(self, part: _Part) -> None:
        """Let the engine decide the checks that have no evaluation over columns."""
        root = self.frame.document(part.batch, part.rows)
        for runner in part.lane.records:
            events = runner.events(root, len(part.rows), part.batch.first + part.rows)
            self.tally.count(events)
            fails = events.part(events.fails)
            part.failing[fails.record, fails.check] = True
            if part.verdicts is not None:
                events.fill(part.verdicts)

    def _report(self, batch: Batch, parts: Sequence[_Part]) -> None:
        """Make the findings that are wanted of some records, each in the place that it has in the file."""
        wanted = [
            (part, runner, self._wanted(runner, part))
            for part in parts
            for runner in (*part.lane.columns, *part.lane.records)
        ]
        rows = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *(rows for _, _, rows in wanted)]))
        if not len(rows):
            return
        columns = {int(row): self._begins.of(batch, int(row)) for row in rows}
        findings: list[Finding] = []
        for part, runner, chosen in wanted:
            if len(chosen):
                root = self.frame.document(part.batch, chosen)
                places = places_of(root, batch, chosen, columns)
                findings += self._findings(runner, part, chosen, root, places)
        self.tally.add(findings)

    def _wanted(self, runner: Runner, part: _Part) -> NDArray[np.int64]:
        """Return the records of a part, in the batch, with the first failures of checks that have room for more."""
        rooms = ((check, self.tally.room(check)) for check in runner.run.checks)
        found = [np.flatnonzero(part.failing[:, check])[:room] for check, room in rooms if room != 0]
        return part.rows[np.unique(np.concatenate(found))] if found else part.rows[:0]

    def _findings(
        self, runner: Runner, part: _Part, rows: NDArray[np.int64], root: etree._Element, places: list[RecordPlace]
    ) -> list[Finding]:
        failures = list(read_report(runner.report(root), runner.rulebook))
        if runner in part.lane.columns:
            self._confirm(runner, part, rows, failures)
        make = FindingMaker(runner.layout, places, self.shown)
        return [make(failure) for failure in failures if self.tally.asks(failure)]

    def _confirm(self, runner: Runner, part: _Part, rows: NDArray[np.int64], failures: list[Failure]) -> None:
        """Compare what the engine finds in records with what the columns said."""
        seen = Counter((failure.place, failure.check) for failure in failures)
        checks = sorted(runner.run.checks)
        outcome = part.outcome
        for place, k in zip(*np.nonzero(outcome.failed[rows][:, checks] > 0), strict=True):
            seen[int(place), checks[k]] -= int(outcome.failed[rows[place], checks[k]])
        for (place, check), left in seen.items():
            if left and not outcome.unsure[rows[place], check]:
                wrong = runner.rulebook.checks[check]
                about = f"{shortened(wrong.test)} in record {part.batch.first + int(rows[place]) + 1:,}"
                raise RulebookError.of(
                    "engines-disagree", wrong.place, engine=runner.engine, other="the columns", about=about
                )


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """What has to be decided of one check in a part.

    Attributes
    ----------
    rows : ndarray of int64, shape (n,)
        Unsure ones, in the part.
    representatives : ndarray of int64, shape (n,)
        The row that the engine is asked about in place of each; -1 where the answer is known.
    keys, known
        Of each row.
    """

    check: int
    rows: NDArray[np.int64]
    representatives: NDArray[np.int64]
    keys: tuple[CellsKey | None, ...]
    known: tuple[OutcomeCounts | None, ...]

    def answer(
        self,
        counts: NDArray[np.int64],
        wanted: NDArray[np.int64],
        part: _Part,
        memo: OutcomeCache,
        tally: VerdictTally,
    ) -> None:
        """Take what the engine counted on the rows that it was asked about; shape (wanted, 5)."""
        own = np.array([have or _NOBODY for have in self.known], dtype=np.int64)
        new = self.representatives >= 0
        own[new] = counts[np.searchsorted(wanted, self.representatives[new])]
        for at in np.flatnonzero(new & (self.representatives == self.rows)):
            fired, failed, errors, refused, accepted = own[at].tolist()
            memo.store(self.keys[at], (fired, failed, errors, refused, accepted))
        tally.counts[:, self.check] += own[:, :3].sum(axis=0)
        if own[:, 3:].any():
            departures = np.zeros((2, tally.checks), dtype=np.int64)
            departures[:, self.check] = own[:, 3:].sum(axis=0)
            tally.depart(departures)
        part.judge(self.rows, self.check, own[:, :3])
