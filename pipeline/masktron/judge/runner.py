"""The checks of a rulebook as stylesheets of the engine that decides, compiled once and run on many documents."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from masktron.counts import counted
from masktron.engines.engine_process import EngineError, EngineTimeError, InternalEngineError
from masktron.errors import MasktronError, ResourceError, RulebookError, UsageError
from masktron.judge.programs import (
    APART,
    Documents,
    Program,
    compile_program,
    describe_engine,
)
from masktron.judge.recommended import Correction
from masktron.judge.report_reader import Events, document_with, records_of
from masktron.judge.shortcuts import looks_through
from masktron.judge.stylesheet import CheckSelection, EngineName, needs_saxon, stylesheet
from masktron.problems import problem
from masktron.processes import rule_seconds, rules_within
from masktron.rulebook.analysis import once
from masktron.rulebook.expressions.forbidden import shortened
from masktron.rulebook.expressions.parsing import understood
from masktron.rulebook.locality import locality
from masktron.rulebook.schema import Check, Pattern, Rulebook, ValueOf
from masktron.sources.record_layout import Layout

_QUICKLY = 20
"""The time of a rule is so many times what half of some records may take while one is looked for that takes long."""
_AT_LEAST = 0.25
"""Seconds that they may take at least."""
_NAMED = 3
"""Rules that the name of an engine lists."""


def _quickly() -> float:
    return max(rule_seconds() / _QUICKLY, _AT_LEAST)


class SlowError(Exception):
    """A check takes longer than it may, on one record or on a whole document; it never reaches the user as it is.

    Attributes
    ----------
    check : int
    record : int or None
        Position among the records of the document; None if the check looks beyond one record.
    """

    def __init__(self, check: int, record: int | None) -> None:
        super().__init__(check, record)
        self.check = check
        self.record = record


class Recovery:
    """Evaluates documents that an engine could not.

    Parameters
    ----------
    make : callable
        Compiles some checks, for a report or not, carefully or not.
    layout : Layout
    checks : frozenset of int
    local : frozenset of int
        Those of them that look only inside one record.
    """

    def __init__(
        self, make: Callable[..., Program], layout: Layout, checks: frozenset[int], local: frozenset[int]
    ) -> None:
        self._make = make
        self._layout = layout
        self._checks = sorted(checks)
        self._local = local
        self._searched: set[int] = set()
        """Checks that take long with no single record to blame: no other is looked for."""
        self._programs: dict[tuple[int, bool, bool], Program] = {}

    def verdicts(self, root: etree._Element) -> str:
        """Return what the stylesheet of verdicts says of a document.

        Raises
        ------
        EngineError
        SlowError
        """
        texts = ["".join(self._pieces(check, root, report=False)).split("\n") for check in self._checks]
        return "\n".join("".join(parts) for parts in zip(*texts, strict=True))

    def report(self, root: etree._Element) -> str:
        """Return what the stylesheet of reports says of a document.

        Raises
        ------
        EngineError
        SlowError
        """
        whole = etree.Element("report")
        records: list[etree._Element] = []
        texts = [self._pieces(check, root, report=True) for check in self._checks]
        for pieces in texts:
            at = 0
            for text in pieces:
                for child in etree.fromstring(text.encode(), etree.XMLParser(huge_tree=True, resolve_entities=False)):
                    if child.tag != "r":
                        whole.append(child)
                        continue
                    if at == len(records):
                        records.append(etree.Element("r"))
                    records[at].extend(list(child))
                    at += 1
        whole.extend(records)
        return etree.tostring(whole, encoding="unicode")

    def _pieces(self, check: int, root: etree._Element, *, report: bool, first: int = 0) -> list[str]:
        """Return what is said of one check, in one text for some records after the other."""
        records = records_of(root, self._layout) if check in self._local else []
        several = len(records) > 1
        quickly = several and check not in self._searched
        program = self._program(check, report=report, careful=False)
        try:
            with rules_within(_quickly() if quickly else None):
                return [program.run(root)]
        except InternalEngineError:
            if not several:
                return [self._program(check, report=report, careful=True).run(root)]
        except EngineTimeError:
            if not several:
                raise SlowError(check, first if check in self._local else None) from None
            if quickly:
                self._look(program, check, records, first)
                self._searched.add(check)
                with suppress(EngineTimeError):
                    return [program.run(root)]
        half = len(records) // 2
        parts = ((records[:half], first), (records[half:], first + half))
        return [
            text
            for some, at in parts
            for text in self._pieces(check, document_with(some, self._layout), report=report, first=at)
        ]

    def _look(self, program: Program, check: int, records: list[etree._Element], first: int) -> None:
        """Look for one record for which the engine takes too long; there may be none, or others.

        Raises
        ------
        SlowError
        """
        within = _quickly()
        while len(records) > 1:
            half = len(records) // 2
            if self._ends(program, records[:half], within):
                records, first = records[half:], first + half
            else:
                records = records[:half]
        if not self._ends(program, records, rule_seconds()):
            raise SlowError(check, first)

    def _ends(self, program: Program, records: list[etree._Element], within: float) -> bool:
        with rules_within(within):
            try:
                program.run(document_with(records, self._layout))
            except EngineTimeError:
                return False
            except InternalEngineError:
                return True
        return True

    def _program(self, check: int, *, report: bool, careful: bool) -> Program:
        key = (check, report, careful)
        if key not in self._programs:
            self._programs[key] = self._make(frozenset({check}), report=report, careful=careful)
        return self._programs[key]


type EngineChoice = Literal["auto", "unaided", "libxml2", "saxon"]
"""``auto`` is what decides: in XPath 1.0 libxml2 with the numbers of the Recommendation; ``unaided`` is libxml2 as it
is, there. Both take Saxon for later versions, and for contexts that XSLT 1.0 cannot decide in linear time."""
type FilePositions = Sequence[int] | NDArray[np.int64]
"""Where records stand in the file, from 0."""

CORRECTED = ", with numbers as in XPath 1.0"
"""Said of libxml2 where its own reading or writing of numbers would have given other verdicts."""


class SlowRuleError(ResourceError):
    """An engine takes longer for a rule than it may, on one record or on the whole document."""


@dataclass(frozen=True, slots=True)
class Run:
    """Checks that one engine evaluates in one way."""

    engine: EngineName
    whole: bool
    checks: frozenset[int]


@once
def engines_of(rulebook: Rulebook, layout: Layout, engine: EngineChoice) -> tuple[EngineName, ...]:
    """Return the engine that decides each check; it is one for all checks of a pattern.

    Raises
    ------
    UsageError
        The chosen engine does not know the XPath version of a pattern.
    """
    names: list[EngineName] = []
    for pattern in rulebook.patterns:
        chosen = _engine(rulebook, layout, engine, pattern)
        names += [chosen for rule in pattern.rules for _ in rule.checks]
    return tuple(names)


def runs_of(engines: Sequence[EngineName], reasons: Sequence[str], selected: Collection[int]) -> tuple[Run, ...]:
    """Group some checks by their engine, and by whether they need the whole document: by why they do, that is."""
    groups: dict[tuple[EngineName, bool], set[int]] = {}
    for index, (name, reason) in enumerate(zip(engines, reasons, strict=True)):
        if index in selected:
            groups.setdefault((name, bool(reason)), set()).add(index)
    return tuple(Run(name, whole, frozenset(checks)) for (name, whole), checks in groups.items())


def usual_engines(rulebook: Rulebook) -> tuple[EngineName, ...]:
    """Return the engine that decides the XPath version of each check, contexts that are too hard for it apart."""
    return tuple("recommended" if version == "1.0" else "saxon" for version in rulebook.versions)


def beyond(engine: EngineChoice, rulebook: Rulebook) -> dict[int, str]:
    """Return the checks that an engine cannot judge by itself, with the reason.

    Of libxml2 as it is these are the ones in later versions, which `engines_of` gives to Saxon.
    """
    if engine != "unaided":
        return {}
    later = ((index, version) for index, version in enumerate(rulebook.versions) if version != "1.0")
    return {index: f"in XPath {version}, which libxml2 does not know" for index, version in later}


def engine_name(rulebook: Rulebook, layout: Layout, engine: EngineChoice, leave_out: Collection[int] = ()) -> str:
    """Return what an evaluation or a count says of its engine, without running it.

    Parameters
    ----------
    leave_out : collection of int
        Checks that are not judged.
    """
    judged: dict[str, list[int]] = {}
    for index, name in enumerate(engines_of(rulebook, layout, engine)):
        if index not in leave_out:
            judged.setdefault(describe_engine(name), []).append(index)
    return ", ".join(f"{name}{_xpath_of(name, checks, rulebook)}" for name, checks in judged.items())


def _xpath_of(engine: str, checks: Sequence[int], rulebook: Rulebook) -> str:
    """Say in which XPath Saxon judges some checks; where a rulebook has several versions, also which in the later."""
    versions = rulebook.versions
    if not engine.startswith("Saxon") or "1.0" not in versions:
        return ""
    later = [index for index in checks if versions[index] != "1.0"]
    said = ["in XPath 1.0 mode"] if len(later) < len(checks) else []
    if later:
        ids = [rulebook.checks[index].id for index in later[:_NAMED]]
        more = [counted(len(later) - _NAMED, "other rule")] if len(later) > _NAMED else []
        said.append(f"in XPath {versions[later[0]]} for {', '.join(ids + more)}")
    return f" {' and '.join(said)}"


def _engine(rulebook: Rulebook, layout: Layout, engine: EngineChoice, pattern: Pattern) -> EngineName:
    hard = next((rule for rule in pattern.rules if needs_saxon(rule, rulebook, layout)), None)
    if engine == "libxml2" and pattern.version != "1.0":
        raise _beyond_libxml2(str(rulebook.path), f"XPath {pattern.version}")
    if engine == "libxml2" and rulebook.programs:
        raise _beyond_libxml2(str(rulebook.programs[0].origin), f"xsl:{rulebook.programs[0].name}")
    if engine == "libxml2" and hard is not None:
        raise _beyond_libxml2(str(hard.origin), "a context that takes more than linear time")
    if pattern.version != "1.0" or engine == "saxon" or hard is not None or rulebook.programs:
        return "saxon"
    return "recommended" if engine == "auto" else "libxml2"


def _beyond_libxml2(where: str, construct: str) -> UsageError:
    instead = "use the engine saxon"
    return UsageError.of("not-supported", where, construct=f"{construct} in libxml2", instead=instead)


@once
def _walks(rulebook: Rulebook, checks: frozenset[int]) -> bool:
    """Whether an expression of some checks looks through the whole document wherever it is evaluated."""
    situated = (place for place in rulebook.situated() if place[2].index in checks)
    texts = (
        text
        for pattern, position, check in situated
        for rules in (pattern.rules[: position + 1],)
        for text in (
            check.test,
            *(rule.context for rule in rules),
            *(let.value for let in (*rulebook.lets, *pattern.lets, *rules[-1].lets)),
        )
    )
    trees = (understood(text, rulebook.namespaces) for text in texts)
    return any(tree is None or looks_through(tree) for tree in trees)


def time_for(run: Run) -> AbstractContextManager[None]:
    """Give engines the time of all checks of a run on a whole document, since each of them may take its time."""
    return rules_within(rule_seconds() * len(run.checks) if run.whole else None)


class Runner:
    """A run with its compiled stylesheets; the report is compiled when something fails."""

    def __init__(self, run: Run, rulebook: Rulebook, layout: Layout, documents: Documents | None) -> None:
        self.run = run
        self.rulebook = rulebook
        self.layout = layout
        self.documents = documents
        # what looks through the document everywhere can take long on a small one, too
        self._apart = (0 if _walks(rulebook, run.checks) else APART) if run.whole else None
        self._verdicts = self._compiled(run.checks, report=False)
        self._correction: Correction | None = None
        if run.engine == "recommended":
            self._correction = Correction(rulebook, layout, run.checks, run.whole, documents, self._corrected)
        self._report: Program | None = None
        self._recovery: Recovery | None = None

    @property
    def engine(self) -> str:
        """Name and version of the engine."""
        return describe_engine(self.run.engine)

    def _program(
        self, checks: frozenset[int], *, report: bool, careful: bool = False, converts: bool = False
    ) -> Program:
        selection = CheckSelection(checks, whole=self.run.whole, report=report)
        engine: EngineName = "saxon" if self.run.engine == "saxon" else "recommended" if converts else "libxml2"
        text = stylesheet(self.rulebook, self.layout, engine, selection)
        return compile_program(text, engine, self.documents, careful=careful, apart=self._apart)

    def _corrected(self, checks: frozenset[int], report: bool) -> Program:
        return self._program(checks, report=report, converts=True)

    def _in_time[T](self, answer: Callable[[etree._Element], T], root: etree._Element, *, report: bool) -> T:
        """Return what corrects the numbers of a document, with the rule where an engine stops."""
        try:
            with time_for(self.run):
                return answer(root)
        except EngineTimeError:
            raise self._slow(None) from None
        except EngineError as error:
            raise self._blame(error, root, report=report) from None

    def _text(self, program: Program, root: etree._Element, at: FilePositions | None = None, *, report: bool) -> str:
        try:
            try:
                with time_for(self.run):
                    return program.run(root)
            except (InternalEngineError, EngineTimeError):
                return self._recovered(root, report=report)
        except SlowError as slow:
            raise self._slow(slow, at) from None
        except EngineError as error:
            raise self._blame(error, root, report=report) from None

    def _slow(self, slow: SlowError | None, at: FilePositions | None = None) -> SlowRuleError:
        """Return the error that names the rule and the record, if it is one and it is known which.

        Without a rule, only the numbers of the Recommendation make all of them slow, on a whole document.
        """
        checks = [check for check in self.rulebook.checks if check.index in self.run.checks]
        seconds, place, on = rule_seconds(), checks[0].place, "on the whole document"
        if slow is None:
            ids = ", ".join([*(check.id for check in checks[:3]), *["..."] * (len(checks) > 3)])
            place, seconds = replace(place, rule=problem.Rule(checks[0].id, ids)), seconds * len(checks)
            expression = "the numbers of XPath 1.0"
        else:
            check = self.rulebook.checks[slow.check]
            record = 0 if slow.record is None or at is None else int(at[slow.record]) + 1
            place, expression = replace(check.place, record=record), shortened(check.test)
            on = "on one record" if slow.record is not None else on if self.run.whole else "on some records"
        return SlowRuleError.of(
            "rule-too-slow", place, engine=self.engine, seconds=seconds, expression=expression, on=on
        )

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

    def _blame(self, error: EngineError, root: etree._Element | None, *, report: bool) -> MasktronError:
        """Return the error with the check that causes it: the one that stops the engine alone.

        One that only takes too long alone is named where no other is at fault.
        """
        slow: int | None = None
        for check in self.rulebook.checks:
            if check.index not in self.run.checks:
                continue
            try:
                self._alone(check.index, root, report=report)
            except EngineTimeError:
                slow = check.index if slow is None else slow
            except EngineError as own:
                shown = self._faulty_part(check, root) if report else None
                what = shortened(check.test) if shown is None else f"{shown.select!r} in the message"
                return RulebookError.of(
                    "cannot-evaluate", check.place, engine=self.engine, expression=what, reason=str(own)
                )
        if slow is not None:
            return self._slow(SlowError(slow, None))
        return RulebookError.of(
            "cannot-evaluate", self.rulebook.path, engine=self.engine, expression="the rulebook", reason=str(error)
        )

    def _faulty_part(self, check: Check, root: etree._Element | None) -> ValueOf | None:
        """Return the part of a message that stops the engine where the rest of the check does not."""
        for part in (None, *(part for part in check.message if isinstance(part, ValueOf))):
            book = _with_message(self.rulebook, check.index, () if part is None else (part,))
            try:
                Runner(self.run, book, self.layout, self.documents)._alone(check.index, root, report=True)
            except EngineTimeError:
                continue  # which is not what stopped it
            except EngineError:
                return part
        return None

    def _alone(self, check: int, root: etree._Element | None, *, report: bool) -> None:
        """Compile one check, and evaluate it on a document if there is one."""
        program = self._program(frozenset({check}), report=report)
        if root is not None:
            try:
                program.run(root)
            except InternalEngineError:
                self._program(frozenset({check}), report=report, careful=True).run(root)

    def events(self, root: etree._Element, records: int | None = None, at: FilePositions | None = None) -> Events:
        """Evaluate a document, of so many records, which stand at these positions of the file."""
        events = Events.of(self._text(self._verdicts, root, at, report=False))
        if records is not None and events.records != records:
            about = f"the number of records: {events.records} and {records}"
            raise RulebookError.of(
                "engines-disagree", self.rulebook.path, engine=self.engine, other="the reader", about=about
            )
        correction = self._correction
        if correction is None:
            return events
        return self._in_time(lambda root: correction.events(root, events), root, report=False)

    def report(self, root: etree._Element) -> str:
        """Return what fails in a document, with messages."""
        if self._correction is not None:
            text = self._in_time(self._correction.report, root, report=True)
            if text is not None:
                return text
        self._report = self._report or self._compiled(self.run.checks, report=True)
        return self._text(self._report, root, report=True)


def _with_message(rulebook: Rulebook, check: int, message: tuple[ValueOf, ...]) -> Rulebook:
    """Return a rulebook in which a check has another message."""
    patterns = tuple(
        replace(
            pattern,
            rules=tuple(
                replace(
                    rule,
                    checks=tuple(replace(one, message=message) if one.index == check else one for one in rule.checks),
                )
                for rule in pattern.rules
            ),
        )
        for pattern in rulebook.patterns
    )
    return replace(rulebook, patterns=patterns)
