"""What an engine ended with a fault of its own, or took too long for, asked again in smaller pieces.

Saxon stops a whole document at an internal error, and evaluates it when it does not optimise; but then its errors
have other texts. So each check is asked alone, then each record, and only the check and record at fault are asked
without optimisation: what is said of a record does not depend on what is evaluated with it.

Where an engine takes longer than a rule may, one record may be the cause, or there may simply be many. A record is
looked for with a twentieth of the time for each half, so that it is found soon; it is to blame if it takes more than
the full time alone. Else the halves are evaluated, each within the full time, and put together.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Protocol

from lxml import etree

from masktron.evaluation.programs import EngineTimeError, InternalEngineError, Program
from masktron.evaluation.report_reader import document_with, records_of
from masktron.processes import rule_seconds, rules_within
from masktron.sources.records import Layout

_QUICKLY = 20
"""The time of a rule is so many times what half of some records may take while one is looked for that takes long."""
_AT_LEAST = 0.25
"""Seconds that they may take at least."""


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


class RecoveryCompiler(Protocol):
    """Compiles some checks."""

    def __call__(self, checks: frozenset[int], *, report: bool, careful: bool) -> Program:
        """Return the program."""
        ...


class Recovery:
    """Evaluates documents that an engine could not.

    Parameters
    ----------
    make : RecoveryCompiler
    layout : Layout
    checks : frozenset of int
    local : frozenset of int
        Those of them that look only inside one record.
    """

    def __init__(self, make: RecoveryCompiler, layout: Layout, checks: frozenset[int], local: frozenset[int]) -> None:
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
