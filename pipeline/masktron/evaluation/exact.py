"""Exact evaluation: the original expressions, by the engine that decides, on every node of every record.

Checks that look only inside one record are evaluated chunk by chunk, so that memory stays bounded and time linear in
the size of the file; the rest on the whole document.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from masktron.errors import RulebookError, UsageError
from masktron.evaluation.engines import EngineError, Original, Program, compile_program, describe
from masktron.evaluation.findings import Evaluation, Finding, Verdict
from masktron.evaluation.report_reader import Place, document_of, outside_names, read_report, records_of
from masktron.evaluation.stylesheet import EngineName, Selection, decode, needs_saxon, stylesheet
from masktron.read.locality import locality
from masktron.read.microdata import Chunk, iter_chunks, record_lines
from masktron.read.parser import parse_tree
from masktron.read.records import Layout
from masktron.read.rulebook import Rulebook

type EngineChoice = Literal["auto", "libxml2", "saxon"]


@dataclass(frozen=True, slots=True)
class _Run:
    """Checks that one engine evaluates in one way."""

    engine: EngineName
    whole: bool
    checks: frozenset[int]


def _runs(
    rulebook: Rulebook, layout: Layout, engine: EngineChoice, reasons: tuple[str, ...], selected: Collection[int]
) -> tuple[_Run, ...]:
    groups: dict[tuple[EngineName, bool], set[int]] = {}
    for pattern in rulebook.patterns:
        chosen = _engine(rulebook, layout, engine, pattern.rules)
        for check in (c for rule in pattern.rules for c in rule.checks if c.index in selected):
            groups.setdefault((chosen, bool(reasons[check.index])), set()).add(check.index)
    return tuple(_Run(name, whole, frozenset(checks)) for (name, whole), checks in groups.items())


def _engine(rulebook: Rulebook, layout: Layout, engine: EngineChoice, rules: Iterable[object]) -> EngineName:
    hard = next((r for r in rules if needs_saxon(r, rulebook, layout)), None)  # type: ignore[arg-type]
    if engine == "libxml2" and rulebook.version != "1.0":
        raise UsageError(
            f"libxml2 evaluates XPath 1.0 only, and the rulebook asks for XPath {rulebook.version}",
            where=str(rulebook.path),
            hint="use the engine saxon",
        )
    if engine == "libxml2" and hard is not None:
        raise UsageError(
            "libxml2 cannot decide this context in linear time",
            where=str(hard.origin),  # type: ignore[attr-defined]
            hint="use the engine saxon",
        )
    return "libxml2" if rulebook.version == "1.0" and engine != "saxon" and hard is None else "saxon"


class _Runner:
    """A run with its compiled stylesheets; the report is compiled when something fails."""

    def __init__(self, run: _Run, rulebook: Rulebook, layout: Layout, original: Original | None) -> None:
        self.run = run
        self.rulebook = rulebook
        self.layout = layout
        self.original = original
        self._verdicts = self._compiled(run.checks, report=False)
        self._report: Program | None = None

    def _program(self, checks: frozenset[int], *, report: bool) -> Program:
        selection = Selection(checks, whole=self.run.whole, report=report)
        text = stylesheet(self.rulebook, self.layout, self.run.engine, selection)
        return compile_program(text, self.run.engine, self.original)

    def _compiled(self, checks: frozenset[int], *, report: bool) -> Program:
        try:
            return self._program(checks, report=report)
        except EngineError as error:
            raise self._blame(error, None, report=report) from None

    def _blame(self, error: EngineError, root: etree._Element | None, *, report: bool) -> RulebookError:
        """Return the error with the check that causes it: the one that stops the engine alone."""
        for check in self.rulebook.checks:
            if check.index not in self.run.checks:
                continue
            try:
                program = self._program(frozenset({check.index}), report=report)
                if root is not None:
                    program.run(root)
            except EngineError as own:
                return RulebookError(
                    f"{describe(self.run.engine)} cannot evaluate {' '.join(check.test.split())!r}: {own}",
                    where=f"{check.origin} ({check.id})",
                    hint="look at the test, its context, its variables and its message",
                )
        return RulebookError(f"{describe(self.run.engine)} stopped: {error}", where=str(self.rulebook.path))

    def events(self, root: etree._Element) -> _Events:
        """Evaluate a document."""
        try:
            text = self._verdicts.run(root)
        except EngineError as error:
            raise self._blame(error, root, report=False) from None
        return _Events.of(text)

    def report(self, root: etree._Element) -> str:
        """Return what fails in a document, with messages."""
        self._report = self._report or self._compiled(self.run.checks, report=True)
        try:
            return self._report.run(root)
        except EngineError as error:
            raise self._blame(error, root, report=True) from None


@dataclass(frozen=True, slots=True, eq=False)
class _Events:
    """What happened on the nodes of a document, in document order; record -1 is outside the records."""

    records: int
    record: NDArray[np.int64]
    check: NDArray[np.int64]
    verdict: NDArray[np.int64]
    """`Verdict` codes, with NOT_FIRED for an error in the context."""

    @classmethod
    def of(cls, text: str) -> _Events:
        """Decode what a stylesheet wrote."""
        points = np.frombuffer(text.encode("utf-32-le"), dtype="<u4")
        breaks = points == ord("\n")
        record = np.cumsum(breaks) - 1
        check, verdict = decode(points[~breaks])
        return cls(int(breaks.sum()), record[~breaks], check, verdict)

    @property
    def fails(self) -> NDArray[np.bool_]:
        return np.not_equal(self.verdict, Verdict.HOLDS)

    def fill(self, verdicts: NDArray[np.uint8]) -> None:
        """Raise the verdicts of each record and check to the worst of its nodes."""
        code = np.where(self.verdict == Verdict.NOT_FIRED, Verdict.ERROR, self.verdict)
        for worst in (Verdict.HOLDS, Verdict.FAILS, Verdict.ERROR):
            chosen = (code == worst) & (self.record >= 0)
            verdicts[self.record[chosen], self.check[chosen]] = worst


class _Tally:
    def __init__(self, checks: int, limit: int) -> None:
        self.limit = limit
        self.fired = np.zeros(checks, dtype=np.int64)
        self.failed = np.zeros(checks, dtype=np.int64)
        self.errors = np.zeros(checks, dtype=np.int64)
        self.found = np.zeros(checks, dtype=np.int64)
        self.findings: list[Finding] = []

    def count(self, events: _Events) -> None:
        checks = len(self.fired)
        wrong = (events.verdict == Verdict.ERROR) | (events.verdict == Verdict.NOT_FIRED)
        self.fired += np.bincount(events.check[events.verdict != Verdict.NOT_FIRED], minlength=checks)
        self.failed += np.bincount(events.check[events.verdict == Verdict.FAILS], minlength=checks)
        self.errors += np.bincount(events.check[wrong], minlength=checks)

    def wanted(self, events: _Events) -> NDArray[np.int64]:
        """Return the records that hold the first failures of checks that have room for more."""
        rows: list[NDArray[np.int64]] = []
        fails = events.fails
        for check in np.unique(events.check[fails]):
            room = self.limit - int(self.found[check])
            rows.append(np.unique(events.record[fails & (events.check == check)])[: max(room, 0)])
        return np.unique(np.concatenate(rows)) if rows else np.zeros(0, dtype=np.int64)

    def add(self, findings: Iterator[Finding]) -> None:
        for finding in findings:
            if self.found[finding.check] < self.limit:
                self.found[finding.check] += 1
                self.findings.append(finding)


def evaluate(
    path: str | Path,
    rulebook: Rulebook,
    layout: Layout,
    *,
    original: Path | None = None,
    engine: EngineChoice = "auto",
    limit: int = 1000,
    chunk: int = 5000,
    progress: Callable[[int], None] | None = None,
) -> Evaluation:
    """Evaluate every check of a rulebook on a file.

    Parameters
    ----------
    path : str or Path
    rulebook : Rulebook
    layout : Layout
    original : Path, optional
        What ``document()`` in the rules returns; the file itself by default.
    engine : {"auto", "libxml2", "saxon"}
        ``auto`` takes libxml2 for XPath 1.0, and Saxon for later versions and for contexts that XSLT 1.0 cannot
        decide in linear time. ``saxon`` evaluates XPath 1.0 in its 1.0 mode.
    limit : int
        Number of findings that are kept of each check; counts are exact all the same.
    chunk : int
        Number of records that are in memory at a time, for checks that look only inside a record.
    progress : callable, optional
        Called with the number of records done.

    Returns
    -------
    Evaluation

    Raises
    ------
    RulebookError
        An engine cannot evaluate a check at all. (A dynamic error on a node is a finding.)
    DocumentError
        The file or the original cannot be read.
    UsageError
        The chosen engine does not know the rulebook's XPath version.
    """
    path = Path(path)
    reasons = locality(rulebook, layout)
    if not all(reasons):
        reasons = locality(rulebook, layout, outside_names(path, layout))
    document = Original(original or path) if rulebook.documents else None
    runs = _runs(rulebook, layout, engine, reasons, range(len(rulebook.checks)))
    runners = [_Runner(run, rulebook, layout, document) for run in runs]
    tally = _Tally(len(rulebook.checks), limit)
    local = [r for r in runners if not r.run.whole]
    verdicts = np.zeros((0, len(rulebook.checks)), dtype=np.uint8)
    if local:
        parts = [_chunk(piece, local, tally, progress) for piece in iter_chunks(path, layout, chunk)]
        verdicts = np.concatenate([verdicts, *parts])
    whole = [r for r in runners if r.run.whole]
    if whole:
        verdicts = _whole(path, whole, verdicts if local else None, tally)
        if progress is not None:
            progress(len(verdicts))
    findings = tuple(sorted(tally.findings, key=lambda f: (f.check, f.record)))
    return Evaluation(verdicts, tally.fired, tally.failed, tally.errors, findings, _described(runs, rulebook))


def _described(runs: Iterable[_Run], rulebook: Rulebook) -> str:
    names = dict.fromkeys(describe(run.engine) for run in runs)
    mode = " in XPath 1.0 mode" if rulebook.version == "1.0" else ""
    return ", ".join(f"{name}{mode if name.startswith('Saxon') else ''}" for name in names)


def _chunk(
    piece: Chunk, runners: list[_Runner], tally: _Tally, progress: Callable[[int], None] | None
) -> NDArray[np.uint8]:
    verdicts = np.zeros((len(piece.lines), len(tally.fired)), dtype=np.uint8)
    records: list[etree._Element] = []
    for runner in runners:
        events = runner.events(piece.root)
        _require_all(events, len(piece.lines), runner)
        tally.count(events)
        events.fill(verdicts)
        rows = tally.wanted(events)
        if not len(rows):
            continue
        records = records or records_of(piece.root, runner.layout)
        places = [Place(records[r], piece.first + int(r), int(piece.lines[r])) for r in rows]
        text = runner.report(document_of(places, runner.layout))
        tally.add(read_report(text, runner.layout, None, places, runner.rulebook))
    if progress is not None:
        progress(piece.first + len(piece.lines))
    return verdicts


def _require_all(events: _Events, records: int, runner: _Runner) -> None:
    if events.records != records:
        raise RulebookError(
            f"{describe(runner.run.engine)} saw {events.records} of {records} records",
            where=str(runner.rulebook.path),
            hint="please report this rulebook and file: the result cannot be trusted",
        )


def _whole(
    path: Path, runners: list[_Runner], verdicts: NDArray[np.uint8] | None, tally: _Tally
) -> NDArray[np.uint8]:
    root = parse_tree(path).getroot()
    layout = runners[0].layout
    lines = record_lines(path, layout)
    result = np.zeros((len(lines), len(tally.fired)), dtype=np.uint8) if verdicts is None else verdicts
    for runner in runners:
        events = runner.events(root)
        _require_all(events, len(lines), runner)
        tally.count(events)
        events.fill(result)
        if events.fails.any():
            places = [Place(r, i, int(lines[i])) for i, r in enumerate(records_of(root, layout))]
            tally.add(read_report(runner.report(root), layout, root, places, runner.rulebook))
    return result


class BatchEvaluator:
    """Verdicts on small documents of records, compiled once and called many times.

    Each document is evaluated as if it were the whole file: a check that looks beyond its record sees the records
    of the document, and no others.

    Parameters
    ----------
    rulebook : Rulebook
    layout : Layout
    checks : collection of int, optional
        Indices of the checks to evaluate; by default those that look only inside their record.
    original : Path, optional
        What ``document()`` returns; needed if a chosen check reads it.
    engine : {"auto", "libxml2", "saxon"}
    """

    def __init__(
        self,
        rulebook: Rulebook,
        layout: Layout,
        *,
        checks: Collection[int] | None = None,
        original: Path | None = None,
        engine: EngineChoice = "auto",
    ) -> None:
        if rulebook.documents and original is None:
            raise UsageError(
                f"the rules read {rulebook.documents[0]!r}, and no original is given",
                where=str(rulebook.path),
                hint="name the original file",
            )
        if checks is None:
            checks = [i for i, reason in enumerate(locality(rulebook, layout)) if not reason]
        document = Original(original) if rulebook.documents and original is not None else None
        everything = ("",) * len(rulebook.checks)
        self.checks = frozenset(checks)
        self._layout = layout
        self._width = len(rulebook.checks)
        self._runners = [
            _Runner(run, rulebook, layout, document)
            for run in _runs(rulebook, layout, engine, everything, self.checks)
        ]

    def verdicts(self, root: etree._Element) -> NDArray[np.uint8]:
        """Evaluate a document such as `masktron.read.microdata.chunk_document` builds.

        Returns
        -------
        ndarray of uint8, shape (records, checks)
            `Verdict` codes; NOT_FIRED for checks that were not chosen.
        """
        found = [runner.events(root) for runner in self._runners]
        records = found[0].records if found else len(records_of(root, self._layout))
        result = np.zeros((records, self._width), dtype=np.uint8)
        for events in found:
            events.fill(result)
        return result
