"""Failing records as CSV, one line a finding, in the order of the file."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from masktron.evaluation.findings import Finding
from masktron.report.formats import ReportTarget
from masktron.report.wording import ILLEGAL, rule_text, values_text
from masktron.results import ValidateResult, severity

COLUMNS = (
    "marking",
    "record",
    "key",
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


class CsvReport:
    """Every finding as a line of CSV (RFC 4180, UTF-8), each marked as confidential.

    Cells hold what the file says, also where a spreadsheet would take it for a formula. Without values there is one
    line a rule, with its counts.

    Parameters
    ----------
    target : ReportTarget
    """

    def __init__(self, target: ReportTarget) -> None:
        self._stream = io.TextIOWrapper(target.stream, encoding="utf-8", newline="", write_through=False)
        self._writer = csv.writer(self._stream)
        self._rulebook = target.rulebook
        self._rules = [(check.id, severity(check)) for check in target.rulebook.checks]
        self._lines = 0

    def close(self) -> None:
        """Leave the file to whoever opened it."""
        if not self._stream.closed:
            self._stream.detach()

    def add(self, finding: Finding) -> None:
        """Write a finding."""
        if not self._lines:
            self._writer.writerow(COLUMNS)
        self._lines += 1
        rule, grade = self._rules[finding.check]
        self._writer.writerow(
            (
                MARKING,
                finding.record + 1 if finding.record >= 0 else "",
                "" if finding.key is None else _legal(finding.key),
                finding.line,
                finding.column or "",
                rule,
                finding.kind,
                grade,
                "true" if finding.artefact else "false",
                _legal(values_text(finding.values)),
                _legal(finding.message),
                _legal(finding.location),
            )
        )

    def finish(self, result: ValidateResult) -> None:
        """Write what is missing."""
        if result.release_safe:
            self._writer.writerow(COUNT_COLUMNS)
            self._writer.writerows(self._counts(result))
        elif not self._lines:
            self._writer.writerow(COLUMNS)
        self._stream.flush()

    def _counts(self, result: ValidateResult) -> Iterator[tuple[object, ...]]:
        for check, rule in zip(self._rulebook.checks, result.rules, strict=True):
            allowed = "" if rule.allowed is None else str(rule.allowed)
            counts = (rule.fired, "-" if rule.failed is None else rule.failed, rule.errors)
            passes = "true" if rule.passes else "false"
            yield (rule.id, rule.kind, severity(check), *counts, allowed, passes, rule_text(check))


def _legal(text: str) -> str:
    """Replace what no text file should hold."""
    return ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", text)
