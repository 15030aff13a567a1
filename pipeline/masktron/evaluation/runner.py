"""The checks of a rulebook as stylesheets of the engine that decides, compiled once and run on many documents."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from masktron.errors import RulebookError, UsageError
from masktron.evaluation.engines import (
    EngineError,
    InternalEngineError,
    Original,
    Program,
    compile_program,
    describe,
)
from masktron.evaluation.findings import Verdict
from masktron.evaluation.recovery import Recovery
from masktron.evaluation.stylesheet import EngineName, Selection, decode, needs_saxon, stylesheet
from masktron.read.locality import locality
from masktron.read.records import Layout
from masktron.read.rulebook import Rule, Rulebook

type EngineChoice = Literal["auto", "libxml2", "saxon"]


@dataclass(frozen=True, slots=True)
class Run:
    """Checks that one engine evaluates in one way."""

    engine: EngineName
    whole: bool
    checks: frozenset[int]


def engines_of(rulebook: Rulebook, layout: Layout, engine: EngineChoice) -> tuple[EngineName, ...]:
    """Return the engine that decides each check; it is one for all checks of a pattern.

    Raises
    ------
    UsageError
        The chosen engine does not know the rulebook's XPath version.
    """
    names: list[EngineName] = []
    for pattern in rulebook.patterns:
        chosen = _engine(rulebook, layout, engine, pattern.rules)
        names += [chosen for rule in pattern.rules for _ in rule.checks]
    return tuple(names)


def runs_of(engines: Sequence[EngineName], reasons: Sequence[str], selected: Collection[int]) -> tuple[Run, ...]:
    """Group some checks by their engine, and by whether they need the whole document: by why they do, that is."""
    groups: dict[tuple[EngineName, bool], set[int]] = {}
    for index, (name, reason) in enumerate(zip(engines, reasons, strict=True)):
        if index in selected:
            groups.setdefault((name, bool(reason)), set()).add(index)
    return tuple(Run(name, whole, frozenset(checks)) for (name, whole), checks in groups.items())


def usual_engine(rulebook: Rulebook) -> EngineName:
    """Return the engine that decides a rulebook's version of XPath, contexts that are too hard for it apart."""
    return "libxml2" if rulebook.version == "1.0" else "saxon"


def described(engines: Iterable[EngineName], rulebook: Rulebook) -> str:
    """Name the engines and their versions."""
    names = dict.fromkeys(describe(engine) for engine in engines)
    mode = " in XPath 1.0 mode" if rulebook.version == "1.0" else ""
    return ", ".join(f"{name}{mode if name.startswith('Saxon') else ''}" for name in names)


def _engine(rulebook: Rulebook, layout: Layout, engine: EngineChoice, rules: Sequence[Rule]) -> EngineName:
    hard = next((rule for rule in rules if needs_saxon(rule, rulebook, layout)), None)
    if engine == "libxml2" and rulebook.version != "1.0":
        raise UsageError(
            f"libxml2 evaluates XPath 1.0 only, and the rulebook asks for XPath {rulebook.version}",
            where=str(rulebook.path),
            hint="use the engine saxon",
        )
    if engine == "libxml2" and hard is not None:
        raise UsageError(
            "libxml2 cannot decide this context in linear time", where=str(hard.origin), hint="use the engine saxon"
        )
    return "libxml2" if rulebook.version == "1.0" and engine != "saxon" and hard is None else "saxon"


class Runner:
    """A run with its compiled stylesheets; the report is compiled when something fails."""

    def __init__(self, run: Run, rulebook: Rulebook, layout: Layout, original: Original | None) -> None:
        self.run = run
        self.rulebook = rulebook
        self.layout = layout
        self.original = original
        self._verdicts = self._compiled(run.checks, report=False)
        self._report: Program | None = None
        self._recovery: Recovery | None = None

    @property
    def engine(self) -> str:
        """Name and version of the engine."""
        return describe(self.run.engine)

    def _program(self, checks: frozenset[int], *, report: bool, careful: bool = False) -> Program:
        selection = Selection(checks, whole=self.run.whole, report=report)
        text = stylesheet(self.rulebook, self.layout, self.run.engine, selection)
        return compile_program(text, self.run.engine, self.original, careful=careful)

    def _text(self, program: Program, root: etree._Element, *, report: bool) -> str:
        try:
            try:
                return program.run(root)
            except InternalEngineError:
                return self._recovered(root, report=report)
        except EngineError as error:
            raise self._blame(error, root, report=report) from None

    def _recovered(self, root: etree._Element, *, report: bool) -> str:
        if self._recovery is None:
            reasons = locality(self.rulebook, self.layout)
            local = frozenset(c for c in self.run.checks if not self.run.whole and not reasons[c])
            self._recovery = Recovery(self._program, self.layout, self.run.checks, local)
        return self._recovery.report(root) if report else self._recovery.verdicts(root)

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
                self._alone(check.index, root, report=report)
            except EngineError as own:
                return RulebookError(
                    f"{self.engine} cannot evaluate {' '.join(check.test.split())!r}: {own}",
                    where=f"{check.origin} ({check.id})",
                    hint="look at the test, its context, its variables and its message",
                )
        return RulebookError(f"{self.engine} stopped: {error}", where=str(self.rulebook.path))

    def _alone(self, check: int, root: etree._Element | None, *, report: bool) -> None:
        """Compile one check, and evaluate it on a document if there is one."""
        program = self._program(frozenset({check}), report=report)
        if root is not None:
            try:
                program.run(root)
            except InternalEngineError:
                self._program(frozenset({check}), report=report, careful=True).run(root)

    def events(self, root: etree._Element, records: int | None = None) -> Events:
        """Evaluate a document, of so many records."""
        events = Events.of(self._text(self._verdicts, root, report=False))
        if records is not None and events.records != records:
            raise RulebookError(
                f"{self.engine} saw {events.records} of {records} records",
                where=str(self.rulebook.path),
                hint="please report this rulebook and file: the result cannot be trusted",
            )
        return events

    def report(self, root: etree._Element) -> str:
        """Return what fails in a document, with messages."""
        self._report = self._report or self._compiled(self.run.checks, report=True)
        return self._text(self._report, root, report=True)


@dataclass(frozen=True, slots=True, eq=False)
class Events:
    """What happened on the nodes of a document, in document order; record -1 is outside the records."""

    records: int
    record: NDArray[np.int64]
    check: NDArray[np.int64]
    verdict: NDArray[np.int64]
    """`Verdict` codes, with NOT_FIRED for an error in the context."""

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

    def fill(self, verdicts: NDArray[np.uint8]) -> None:
        """Raise the verdicts of each record and check to the worst of its nodes."""
        code = np.where(self.verdict == Verdict.NOT_FIRED, Verdict.ERROR, self.verdict)
        for worst in (Verdict.HOLDS, Verdict.FAILS, Verdict.ERROR):
            chosen = (code == worst) & (self.record >= 0)
            verdicts[self.record[chosen], self.check[chosen]] = worst
