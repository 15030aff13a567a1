"""The result of a validation as a page with pictures, for people."""

from __future__ import annotations

from masktron.judge import Finding
from masktron.report.formats import ReportTarget
from masktron.report.pages.html import html_of
from masktron.report.pages.validate_page import FindingExample, FindingsSummary, validate_page
from masktron.report.pictures.canvas import require_drawing
from masktron.report.wording import values_text
from masktron.results import ValidateResult, severity


class HtmlReport:
    """A page of counts by rule, field and region of all findings, and of the first findings of each rule.

    Parameters
    ----------
    target : ReportTarget

    Raises
    ------
    UsageError
        matplotlib is not installed.
    """

    def __init__(self, target: ReportTarget) -> None:
        require_drawing()
        self._stream = target.stream
        self._checks = target.rulebook.checks
        self._summary = FindingsSummary()

    def close(self) -> None:
        """Nothing is kept but counts."""

    def add(self, finding: Finding) -> None:
        """Count a finding; those of one check come in the order of the records."""
        check = self._checks[finding.check]
        example = FindingExample(
            check.id,
            severity(check),
            str(finding.record + 1) if finding.record >= 0 else "",
            finding.record_id or "",
            str(finding.line),
            values_text(finding.values, finding.among),
            finding.message,
            finding.member or "",
        )
        names = (*(name for name, _ in finding.values), *(found.name for found in finding.among))
        self._summary.add(example, tuple(dict.fromkeys(names)))

    def finish(self, result: ValidateResult) -> None:
        """Write the page."""
        summary = None if result.release_safe else self._summary
        self._stream.write(html_of(validate_page(result, summary=summary)).encode())
        self._stream.flush()
