"""Findings as SARIF 2.1.0, the interchange format of static analysis (OASIS), for viewers and code hosts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any
from urllib.parse import quote

from masktron.judge import Finding
from masktron.problems.wording import sentence
from masktron.report.formats import SARIF_SCHEMA, ReportTarget
from masktron.report.formats.listed import Listed
from masktron.report.wording import counts_text, rule_text
from masktron.results import (
    CONFIDENTIAL,
    RuleResult,
    ValidateResult,
    by_field,
    diagnostics_of,
    more_of,
    severity,
)
from masktron.rulebook.schema import Check
from masktron.serialised import plain_data

FINGERPRINT = "ruleAndRecord/v1"


class SarifReport:
    """The first findings of each rule as results of one run, with line and column, and the node as logical location.

    A rule's counts, its threshold and whether it passes are in its ``properties``. Without values there is one
    result for each rule that fails, without a place in the file.

    Parameters
    ----------
    target : ReportTarget
    """

    def __init__(self, target: ReportTarget) -> None:
        self._stream = target.stream
        self._rulebook = target.rulebook
        self._uri = quote(target.data)
        self._limit = target.limit
        self._among = target.among is not None
        self._listed = Listed(target.folder, target.limit)

    def close(self) -> None:
        """Give up what is kept of the findings."""
        self._listed.close()

    def add(self, finding: Finding) -> None:
        """Take a finding; those of one check come in the order of the records."""
        if self._listed.wants(finding.check):
            self._listed.add(finding.check, self._result(finding))

    def finish(self, result: ValidateResult) -> None:
        """Write the report."""
        checks = self._rulebook.checks
        if result.release_safe:
            for check, rule in zip(checks, result.rules, strict=True):
                if rule.violations:
                    self._listed.add(check.index, _counted(check, rule))
        self._listed.write(self._stream, self._document(result), "results", range(len(checks)))
        self._stream.flush()

    def _document(self, result: ValidateResult) -> dict[str, Any]:
        driver = {
            "name": "masktron",
            "version": version("masktron"),
            "rules": list(self._rules(result)),
        }
        notes = [{"level": "note", "message": _message(sentence(note))} for note in result.notes]
        invocation = {"executionSuccessful": True, "toolExecutionNotifications": notes}
        told = {"confidential": CONFIDENTIAL, "resultsPerRule": self._limit} if not result.release_safe else {}
        counts = {"records": result.records, "violations": result.violations, "warnings": result.warnings}
        run = {
            "tool": {"driver": driver},
            "columnKind": "unicodeCodePoints",
            "artifacts": [{"location": {"uri": self._uri}, "mimeType": "application/xml"}],
            "invocations": [invocation],
            "properties": {**told, "valid": result.valid, **counts, "engine": result.engine},
            "results": [],
        }
        return run if self._among else {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}

    def _rules(self, result: ValidateResult) -> Iterator[dict[str, Any]]:
        for check, rule in zip(self._rulebook.checks, result.rules, strict=True):
            text = rule_text(check) or check.test
            yield {
                "id": check.id,
                "shortDescription": {"text": text},
                "help": {"text": f"{check.kind} test: {check.test} ({check.origin})"},
                "defaultConfiguration": {"level": severity(check)},
                "properties": {
                    key: value
                    for key, value in rule.as_dict().items()
                    if key not in ("id", "text") and (value is not None or key != "undecided")
                },
            }

    def _result(self, finding: Finding) -> dict[str, Any]:
        check = self._rulebook.checks[finding.check]
        region = {"startLine": max(finding.line, 1)}
        if finding.column:
            region["startColumn"] = finding.column
        node = {"fullyQualifiedName": finding.location, "kind": "element"}
        if finding.record_id is not None:
            node["name"] = finding.record_id
        where = {"artifactLocation": {"uri": self._uri, "index": 0}, "region": region}
        properties: dict[str, Any] = {
            "kind": finding.kind,
            "record": finding.record + 1 if finding.record >= 0 else None,
            "record_id": finding.record_id,
            "values": by_field(finding.values, finding.among),
            "artefact": finding.artefact,
        }
        if finding.member is not None:
            properties["member"] = finding.member
        if more := more_of(finding.among):
            properties["more"] = more
        if finding.notes:
            properties["diagnostics"] = plain_data(diagnostics_of(finding, check))
        return {
            **_about(check, finding.message or rule_text(check) or check.test),
            "locations": [{"physicalLocation": where, "logicalLocations": [node]}],
            "partialFingerprints": {FINGERPRINT: _fingerprint(check, finding)},
            "properties": properties,
        }


def _about(check: Check, message: str) -> dict[str, Any]:
    return {
        "ruleId": check.id,
        "ruleIndex": check.index,
        "level": severity(check),
        "message": _message(message),
    }


def _counted(check: Check, rule: RuleResult) -> dict[str, Any]:
    return _about(check, f"{counts_text(rule)}: {rule_text(check) or check.test}")


def _message(text: str) -> dict[str, str]:
    """Return a message; braces would be placeholders in it (section 3.11.5 of the standard)."""
    return {"text": text.replace("{", "{{").replace("}", "}}")}


def _fingerprint(check: Check, finding: Finding) -> str:
    """Identify a finding from one run to the next: by the id of its record where there is one, else by its place."""
    where = finding.location
    if finding.record_id is not None:
        where = f"{finding.record_id}\0{where.partition(f'[{finding.record + 1}]')[2]}"
    return hashlib.sha256(f"{check.id}\0{where}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
