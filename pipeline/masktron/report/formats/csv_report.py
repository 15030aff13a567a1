"""Failing records as CSV, one line a finding, in the order of the file."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from functools import lru_cache

from masktron.judge import Finding
from masktron.report.formats import ReportTarget
from masktron.report.wording import ILLEGAL, rule_text, values_text
from masktron.results import ValidateResult, severity

COLUMNS = (
    "marking",
    "record",
    "record_id",
    "member",
    "line",
    "column",
    "rule",
    "kind",
    "severity",
    "artefact",
    "values",
    "message",
    "location",
)
COUNT_COLUMNS = ("rule", "class", "severity", "fired", "failed", "errors", "allowed", "passes", "text")
MARKING = "CONFIDENTIAL"
_FORMULA = re.compile(r"[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
"""How a cell begins that a spreadsheet takes for a formula (OWASP, CSV Injection), wide forms of the signs too."""
_REMEMBERED = 1 << 14
"""Cells that are kept: those of one record, and of one rule, come again and again."""
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d+)*|[.,]\d+)([eE][+-]?\d+)?", re.ASCII)


class CsvReport:
    """Every finding as a line of CSV (RFC 4180, UTF-8), each marked as confidential.

    Cells hold what the file and the rules say, behind a ``'`` where a spreadsheet would take that for a formula; a
    number stays a number, also with a sign. Without values there is one line a rule, with its counts.

    Parameters
    ----------
    target : ReportTarget
    """

    def __init__(self, target: ReportTarget) -> None:
        self._cell = lru_cache(_REMEMBERED)(_cell)
        self._stream = io.TextIOWrapper(target.stream, encoding="utf-8", newline="", write_through=False)
        self._writer = csv.writer(self._stream)
        self._rulebook = target.rulebook
        self._rules = [(_cell(check.id), severity(check)) for check in target.rulebook.checks]
        self._head: tuple[str, ...] = () if target.among is None else ("document",)
        self._lead: tuple[str, ...] = () if target.among is None else (_cell(target.data),)
        self._headed = bool(target.among)

    def close(self) -> None:
        """Leave the file to whoever opened it."""
        if not self._stream.closed:
            self._stream.detach()

    def add(self, finding: Finding) -> None:
        """Write a finding."""
        self._write_head(COLUMNS)
        rule, grade = self._rules[finding.check]
        self._writer.writerow(
            (
                *self._lead,
                MARKING,
                finding.record + 1 if finding.record >= 0 else "",
                "" if finding.record_id is None else self._cell(finding.record_id),
                "" if finding.member is None else self._cell(finding.member),
                finding.line,
                finding.column or "",
                rule,
                finding.kind,
                grade,
                "true" if finding.artefact else "false",
                _cell(values_text(finding.values, finding.among)),
                self._cell(finding.message),
                self._cell(finding.location),
            )
        )

    def finish(self, result: ValidateResult) -> None:
        """Write what is missing."""
        if result.release_safe:
            self._write_head(COUNT_COLUMNS)
            self._writer.writerows((*self._lead, *row) for row in self._counts(result))
        else:
            self._write_head(COLUMNS)
        self._stream.flush()

    def _write_head(self, columns: tuple[str, ...]) -> None:
        if not self._headed:
            self._writer.writerow((*self._head, *columns))
        self._headed = True

    def _counts(self, result: ValidateResult) -> Iterator[tuple[object, ...]]:
        for check, rule in zip(self._rulebook.checks, result.rules, strict=True):
            allowed = "" if rule.allowed is None else str(rule.allowed)
            counts = (rule.fired, "-" if rule.failed is None else rule.failed, rule.errors)
            passes = "true" if rule.passes else "false"
            yield (_cell(rule.id), rule.kind, severity(check), *counts, allowed, passes, _cell(rule_text(check)))


def _cell(text: str) -> str:
    """Return a text as a cell: without what no text file should hold, and never a formula."""
    legal = ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", text)
    return f"'{legal}" if _FORMULA.match(legal) and not _NUMBER.fullmatch(legal) else legal
