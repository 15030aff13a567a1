"""What an engine ended with a fault of its own, asked again in smaller pieces.

Saxon stops a whole document at an internal error, and evaluates it when it does not optimise; but then its errors
have other texts. So each check is asked alone, then each record, and only the check and record at fault are asked
without optimisation: what is said of a record does not depend on what is evaluated with it.
"""

from __future__ import annotations

from typing import Protocol

from lxml import etree

from masktron.evaluation.engines import InternalEngineError, Program
from masktron.evaluation.report_reader import document_with, records_of
from masktron.read.records import Layout


class Maker(Protocol):
    """Compiles some checks."""

    def __call__(self, checks: frozenset[int], *, report: bool, careful: bool) -> Program:
        """Return the program."""
        ...


class Recovery:
    """Evaluates documents that an engine could not.

    Parameters
    ----------
    make : Maker
    layout : Layout
    checks : frozenset of int
    local : frozenset of int
        Those of them that look only inside one record.
    """

    def __init__(self, make: Maker, layout: Layout, checks: frozenset[int], local: frozenset[int]) -> None:
        self._make = make
        self._layout = layout
        self._checks = sorted(checks)
        self._local = local
        self._programs: dict[tuple[int, bool, bool], Program] = {}

    def verdicts(self, root: etree._Element) -> str:
        """Return what the stylesheet of verdicts says of a document.

        Raises
        ------
        EngineError
        """
        texts = ["".join(self._pieces(check, root, report=False)).split("\n") for check in self._checks]
        return "\n".join("".join(parts) for parts in zip(*texts, strict=True))

    def report(self, root: etree._Element) -> str:
        """Return what the stylesheet of reports says of a document.

        Raises
        ------
        EngineError
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

    def _pieces(self, check: int, root: etree._Element, *, report: bool) -> list[str]:
        """Return what is said of one check, in one text for some records after the other."""
        try:
            return [self._program(check, report=report, careful=False).run(root)]
        except InternalEngineError:
            records = records_of(root, self._layout) if check in self._local else []
        if len(records) < 2:
            return [self._program(check, report=report, careful=True).run(root)]
        half = len(records) // 2
        parts = (document_with(some, self._layout) for some in (records[:half], records[half:]))
        return [text for part in parts for text in self._pieces(check, part, report=report)]

    def _program(self, check: int, *, report: bool, careful: bool) -> Program:
        key = (check, report, careful)
        if key not in self._programs:
            self._programs[key] = self._make(frozenset({check}), report=report, careful=careful)
        return self._programs[key]
