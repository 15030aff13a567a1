"""The result of a validation as JSON."""

from __future__ import annotations

from masktron.judge import Finding
from masktron.report.formats import ReportTarget
from masktron.report.formats.listed import Listed
from masktron.results import RecordFinding, ValidateResult


class JsonReport:
    """The result as JSON, as ``ValidateResult.as_dict`` has it, with the first findings of each rule.

    Parameters
    ----------
    target : ReportTarget
    """

    def __init__(self, target: ReportTarget) -> None:
        self._stream = target.stream
        self._rulebook = target.rulebook
        self._limit = target.limit
        self._listed = Listed(target.folder, target.limit)

    def close(self) -> None:
        """Give up what is kept of the findings."""
        self._listed.close()

    def add(self, finding: Finding) -> None:
        """Take a finding; those of one check come in the order of the records."""
        if self._listed.wants(finding.check):
            told = RecordFinding.of(finding, self._rulebook.checks[finding.check])
            self._listed.add(finding.check, told.as_dict())

    def finish(self, result: ValidateResult) -> None:
        """Write the report."""
        content = result.for_reader()
        if not result.release_safe:
            content |= {"limit": self._limit, "findings": []}
        self._listed.write(self._stream, content, "findings", range(len(self._rulebook.checks)))
        self._stream.flush()
