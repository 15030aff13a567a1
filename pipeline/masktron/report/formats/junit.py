"""The rules as test cases in JUnit XML, for continuous integration."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime

from masktron.judge import Finding
from masktron.problems.wording import sentence
from masktron.report.formats import EXAMPLES, FORMATS, ReportTarget
from masktron.report.wording import counts_text, rule_text, values_text, xml_text
from masktron.results import CONFIDENTIAL, RuleResult, ValidateResult
from masktron.rulebook.schema import Check


class JunitReport:
    """One test case a rule: failed where it fails more than it may, skipped where it never fired and need not.

    It is an error, not a failure, where only dynamic errors make it fail. Soft rules, and rules within their
    threshold, pass; what they found is in ``system-out``.

    Parameters
    ----------
    target : ReportTarget
    """

    def __init__(self, target: ReportTarget) -> None:
        self._stream = target.stream
        self._rulebook = target.rulebook
        self._examples: list[list[str]] = [[] for _ in target.rulebook.checks]
        self._start = time.monotonic()
        self._among = target.among is not None

    def close(self) -> None:
        """Keep nothing."""
        self._examples.clear()

    def add(self, finding: Finding) -> None:
        """Take a finding; the first ones of each rule are shown."""
        shown = self._examples[finding.check]
        if len(shown) < EXAMPLES:
            shown.append(_example(finding))

    def finish(self, result: ValidateResult) -> None:
        """Write the report."""
        self._stream.writelines(line.encode() for line in self._lines(result))
        self._stream.flush()

    def _lines(self, result: ValidateResult) -> Iterator[str]:
        failing = [rule for rule in result.rules if not rule.passes]
        failures = sum(bool(rule.failed) or _untested(rule) for rule in failing)
        skipped = sum(not _tried(rule) and not rule.idle for rule in result.rules)
        counts = f'tests="{len(result.rules)}" failures="{failures}" errors="{len(failing) - failures}"'
        seconds = f"{time.monotonic() - self._start:.3f}"
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S")
        before, _, behind = (not self._among and FORMATS["junit"].around) or ("", "", "")
        yield before
        yield (
            f'<testsuite name="{xml_text(result.data) or "data"}" package="masktron" id="0" timestamp="{now}" '
            f'hostname="localhost" {counts} skipped="{skipped}" time="{seconds}">\n'
        )
        yield "<properties>\n"
        for name, value in self._properties(result):
            yield f'<property name="{name}" value="{xml_text(value)}"/>\n'
        yield "</properties>\n"
        for (pattern, _, check), rule in zip(self._rulebook.situated(), result.rules, strict=True):
            yield from self._case(pattern.id, check, rule, safe=result.release_safe)
        yield f"<system-out>{_lines_of(self._said(result))}</system-out>\n<system-err/>\n"
        yield f"</testsuite>\n{behind}"

    def _properties(self, result: ValidateResult) -> Iterator[tuple[str, str]]:
        if not result.release_safe:
            yield "confidential", CONFIDENTIAL
        yield "rulebook", self._rulebook.path.as_posix()
        yield "records", str(result.records)
        yield "violations", str(result.violations)
        yield "warnings", str(result.warnings)
        yield "engine", result.engine
        for rule in result.rules:
            if rule.allowed is not None:
                yield f"max-failures {xml_text(rule.id)}", str(rule.allowed)

    def _case(self, pattern: str, check: Check, rule: RuleResult, *, safe: bool) -> Iterator[str]:
        yield f'<testcase name="{xml_text(check.id)}" classname="{xml_text(pattern)}" time="0"'
        if rule.untested is not None and _untested(rule):
            message = f"{rule.untested.what}; {rule.untested.hint}"
            yield f'><failure type="not-tested" message="{xml_text(message)}"/></testcase>\n'
        elif not _tried(rule):
            yield "><skipped/></testcase>\n"
        elif rule.passes:
            yield "/>\n"
        else:
            element = "failure" if rule.failed else "error"
            kind = (
                "dynamic-error"
                if not rule.failed
                else f"{'failed' if check.kind == 'assert' else 'fired'}-{check.kind}"
            )
            message = f"{counts_text(rule)}: {rule_text(check) or check.test}"
            body = "" if safe else _lines_of(self._body(check, rule))
            yield f'><{element} type="{kind}" message="{xml_text(message)}">{body}</{element}></testcase>\n'

    def _body(self, check: Check, rule: RuleResult) -> Iterator[str]:
        shown = self._examples[check.index]
        yield from shown
        if len(shown) < rule.violations:
            yield f"... and {rule.violations - len(shown)} more"

    def _said(self, result: ValidateResult) -> Iterator[str]:
        for check, rule in zip(self._rulebook.checks, result.rules, strict=True):
            if rule.passes and rule.violations:
                why = "a soft rule" if rule.allowed is None else "within its threshold"
                yield f"{rule.id}: {counts_text(rule)}; {why}: {rule_text(check) or check.test}"
        yield from (f"note: {sentence(note)}" for note in result.notes)


def _untested(rule: RuleResult) -> bool:
    """Whether a rule fails for testing nothing, and for nothing else."""
    return rule.idle and not rule.violations


def _tried(rule: RuleResult) -> bool:
    return rule.fired + rule.errors > 0


def _example(finding: Finding) -> str:
    place = f"line {finding.line}" + (f", column {finding.column}" if finding.column else "")
    record_id = f" ({finding.record_id})" if finding.record_id is not None else ""
    member = f"{finding.member}, " if finding.member is not None else ""
    record = f"record {finding.record + 1}{record_id}, {member}" if finding.record >= 0 else ""
    values = f" [{values_text(finding.values, finding.among)}]" if finding.values or finding.among else ""
    artefact = " (rounding artefact)" if finding.artefact else ""
    return f"{record}{place}, {finding.location}: {finding.message}{values}{artefact}"


def _lines_of(texts: Iterator[str]) -> str:
    return "\n".join(xml_text(text) for text in texts)
