"""What is evaluated and what of it is kept, in one value for every way in which it can be done; and its counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from masktron.executor.contract import Executor
from masktron.judge.findings import NOTHING_SHOWN, Departure, Evaluation, Finding, Shown
from masktron.judge.programs import Documents
from masktron.judge.report_reader import Events, Failure
from masktron.judge.runner import EngineChoice, engines_of
from masktron.judge.stylesheet import EngineName
from masktron.rulebook.schema import Rulebook
from masktron.sources.flat_records import FlatRecords, UnitRecords
from masktron.sources.record_layout import Layout

if TYPE_CHECKING:
    from masktron.sources.source import Source


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
        self.first = np.full(checks, -1, dtype=np.int64)
        self.records = 0
        self.departed = False
        self._departures = np.zeros((2, checks), dtype=np.int64)
        self._found = [0] * checks
        self._findings: list[Finding] = []
        self._verdicts: list[NDArray[np.uint8]] = []

    def count(self, events: Events, at: int | None = None) -> None:
        """Count what happened on some records, of which the first stands at this position, if that is to be known."""
        self.counts += events.counts(self.checks)
        if at is not None:
            inside = events.fails & (events.record >= 0)
            failing, row = np.unique(events.check[inside], return_index=True)
            self._note_first(failing, at + events.record[inside][row])
        if events.alone is not None:
            self.depart(events.departures(self.checks))

    def take(self, part: Evaluation) -> None:
        """Take what was found of the next records, but for what it shows of them."""
        failing = np.flatnonzero(part.first >= 0)
        self._note_first(failing, self.records + part.first[failing])
        self.counts += (part.fired, part.failed, part.errors)
        for one in part.departures:
            self.departed = True
            self._departures[:, one.check] += (one.refused, one.accepted)
        self.judged(part.records, part.verdicts)

    def _note_first(self, checks: NDArray[np.int64], records: NDArray[np.int64]) -> None:
        new = self.first[checks] < 0
        self.first[checks[new]] = records[new]

    def depart(self, counts: NDArray[np.int64]) -> None:
        """Note that libxml2 alone says something else; records that it refuses and accepts, shape (2, checks)."""
        self.departed = True
        self._departures += counts

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
        return None if self._most is None else max(self._most - self._found[check], 0)

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
        for finding in sorted(findings, key=attrgetter("record", "check")):
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
        findings = tuple(sorted(self._findings, key=attrgetter("check", "record")))
        verdicts = self.judged_all(self.records)
        departures = tuple(
            Departure(check, int(refused), int(accepted))
            for check, (refused, accepted) in enumerate(self._departures.T)
            if refused or accepted
        )
        return Evaluation(
            verdicts, fired, failed, errors, findings, engine, self.records, departures=departures, first=self.first
        )


def counts_of(checks: int, events: Iterable[Events] = (), parts: Iterable[Evaluation] = ()) -> Evaluation:
    """Return what happened on consecutive records, or what was counted on them, as counts alone.

    Parameters
    ----------
    checks : int
        Number of checks of the rulebook.
    events : iterable of Events
    parts : iterable of Evaluation
    """
    tally = VerdictTally(checks, 0, None, keep_verdicts=False)
    for one in events:
        tally.count(one, tally.records)
        tally.judged(one.records, None)
    for part in parts:
        tally.take(part)
    return tally.evaluation("")


class Kept(TypedDict, total=False):
    """What is kept of an evaluation; see `EvaluationRequest`."""

    limit: int | None
    shown: Shown
    sink: Sink | None
    sunk: int | None
    keep_verdicts: bool


class EvaluationOptions(Kept, total=False):
    """What is kept, and how it is found; see `EvaluationRequest`."""

    engine: EngineChoice
    progress: Callable[[int], None] | None
    executor: Executor | None


@dataclass(frozen=True, slots=True, eq=False)
class EvaluationRequest:
    """A file, the rulebook by which it is evaluated, and what is kept of what is found.

    Attributes
    ----------
    path : Path
    rulebook : Rulebook
    layout : Layout
        Of the file.
    flat : FlatRecords, optional
        The records of the file; without them an engine sees every record.
    original : Path, optional
        What ``document()`` in the rules returns, but for documents that the rulebook binds to other files.
    engine : {"auto", "unaided", "libxml2", "saxon"}
        See `EngineChoice`. ``saxon`` evaluates XPath 1.0 in its 1.0 mode.
    limit : int or None
        Number of findings that are kept of each check, all without it; counts are exact all the same.
    shown : Shown
        The key and the fields that findings show.
    sink : callable, optional
        Gets every finding, also those beyond the limit. Those of one check come in the order of the records; checks
        that need the whole document come after the others.
    sunk : int, optional
        The sink needs no more of each check than so many of the first.
    keep_verdicts : bool
        Whether the result has the verdict on each record.
    progress : callable, optional
        Called with the number of records done.
    write : callable, optional
        Writes the document that engines read, and returns where it is; without it, `path` is that document.
    executor : Executor, optional
        Who evaluates the slices of a file that can be cut, entered for that alone; without it, this process reads the
        file from its beginning to its end. What is found is the same. Also who has engines judge slices of a document
        (`masktron.judge.second_opinions`).
    nested : UnitRecords, optional
        The units of a nested file, in the place of `flat`.
    """

    path: Path
    rulebook: Rulebook
    layout: Layout
    flat: FlatRecords | None = None
    original: Path | None = None
    engine: EngineChoice = "auto"
    limit: int | None = 1000
    shown: Shown = NOTHING_SHOWN
    sink: Sink | None = None
    sunk: int | None = None
    keep_verdicts: bool = True
    progress: Callable[[int], None] | None = None
    write: Callable[[], Path] | None = None
    executor: Executor | None = None
    nested: UnitRecords | None = None

    @classmethod
    def of(
        cls, source: Source, rulebook: Rulebook, original: Source | None = None, **options: Unpack[EvaluationOptions]
    ) -> Self:
        """Ask for the evaluation of a source: of the document that engines read.

        Raises
        ------
        DocumentError, UsageError
            The source cannot be surveyed.
        """
        document = source.document
        other = None if original is None else original.document_path
        return cls(
            document.path,
            rulebook,
            document.layout,
            document.flat,
            other,
            write=document.write,
            nested=document.nested,
            **options,
        )

    def on_document(self) -> Self:
        """Return the request for engines alone, which read a document: it is written now, where it is not there.

        Raises
        ------
        DocumentError
            The file cannot be read a second time, or not as it was the first time.
        """
        if self.write is None:
            return self
        # workers elsewhere do not see it
        own = None if self.executor is None or self.executor.elsewhere else self.executor
        return replace(self, path=self.write(), flat=None, write=None, executor=own)

    @property
    def engines(self) -> tuple[EngineName, ...]:
        """The engine that decides each check.

        Raises
        ------
        UsageError
            The chosen engine does not know the XPath version of a rule.
        """
        return engines_of(self.rulebook, self.layout, self.engine)

    def documents(self, *, known: bool = False) -> Documents | None:
        """Return what ``document()`` in the rules returns; None where they ask for nothing.

        Parameters
        ----------
        known : bool
            Whether the original is known to be well-formed.

        Raises
        ------
        UsageError
            A rule reads the original, and there is none.
        DocumentError
            The original cannot be read.
        """
        return Documents.of(self.rulebook, self.original, known=known)

    def tally(self) -> VerdictTally:
        """Return what gathers the verdicts and keeps what is asked for."""
        return VerdictTally(
            len(self.rulebook.checks), self.limit, self.sink, keep_verdicts=self.keep_verdicts, sunk=self.sunk
        )

    def tell(self, records: int) -> None:
        """Tell how many records are done."""
        if self.progress is not None:
            self.progress(records)
