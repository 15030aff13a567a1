"""Findings as SVRL, the validation report language of Schematron (ISO/IEC 19757-3, annex D)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from lxml import etree

from masktron.evaluation.findings import Evaluation, Finding
from masktron.read.rulebook import Check, Pattern, Rule, Rulebook
from masktron.write.atomic import atomic_path

SVRL = "http://purl.oclc.org/dsdl/svrl"
CONFIDENTIAL = "CONFIDENTIAL: messages and locations may show values of single records."


def write_svrl(
    path: str | Path, rulebook: Rulebook, evaluation: Evaluation, *, key: Callable[[int], str | None] | None = None
) -> None:
    """Write an SVRL report.

    A rule has one ``fired-rule``, however many nodes it fired on; the ``text`` at the top gives the counts. Each
    finding has the standard attributes and, as ``property-reference``, what SVRL has no attribute for: the record
    (from 1), its key, the line, and the kind where it is an error. An error of the engine is a failed assert.

    Parameters
    ----------
    path : str or Path
        Whole or not there.
    rulebook : Rulebook
    evaluation : Evaluation
        Of this rulebook.
    key : callable, optional
        Gives the key of a record from its position, None where it has none.

    Raises
    ------
    DocumentError
        The file cannot be written.
    """
    findings: dict[int, list[Finding]] = {}
    for finding in evaluation.findings:
        findings.setdefault(finding.check, []).append(finding)
    with atomic_path(path) as part, part.open("wb") as stream, etree.xmlfile(stream, encoding="UTF-8") as xml:
        xml.write_declaration()
        with xml.element(_tag("schematron-output"), nsmap={"svrl": SVRL}):
            for text in _summary(rulebook, evaluation, findings):
                _write(xml, "text", {}, text)
            for prefix, uri in rulebook.namespaces:
                _write(xml, "ns-prefix-in-attribute-values", {"uri": uri, "prefix": prefix})
            for pattern in rulebook.patterns:
                _pattern(xml, pattern, evaluation, findings, key)


def _summary(rulebook: Rulebook, evaluation: Evaluation, findings: Mapping[int, list[Finding]]) -> Iterator[str]:
    yield CONFIDENTIAL
    wrong = evaluation.failed + evaluation.errors
    soft = int(sum(wrong[check.index] for check in rulebook.checks if check.soft))
    hard = int(wrong.sum()) - soft
    yield (f"{evaluation.records} records, {hard} violations, {soft} warnings of soft rules, by {evaluation.engine}")
    for check in rulebook.checks:
        fired, failed = int(evaluation.fired[check.index]), int(evaluation.failed[check.index])
        errors = int(evaluation.errors[check.index])
        listed = len(findings.get(check.index, ()))
        capped = f"; the first {listed} follow" if listed < failed + errors else ""
        yield f"{check.id} ({check.origin}): fired {fired}, failed {failed}, errors {errors}{capped}"


def _pattern(
    xml: Any,
    pattern: Pattern,
    evaluation: Evaluation,
    findings: Mapping[int, list[Finding]],
    key: Callable[[int], str | None] | None,
) -> None:
    _write(xml, "active-pattern", {"name": pattern.id})
    for rule in pattern.rules:
        if not any(evaluation.fired[c.index] or evaluation.errors[c.index] for c in rule.checks):
            continue
        _write(xml, "fired-rule", {"context": rule.context, **_marks(rule)})
        for check in rule.checks:
            for finding in findings.get(check.index, ()):
                _finding(xml, check, finding, key)


def _marks(rule: Rule) -> dict[str, str]:
    """Return role and flag where all checks of a rule share them, as they do where the rule has them."""
    result: dict[str, str] = {}
    for name in ("role", "flag"):
        values = {getattr(check, name) for check in rule.checks}
        value = values.pop() if len(values) == 1 else None
        if value is not None:
            result[name] = value
    return result


def _finding(xml: Any, check: Check, finding: Finding, key: Callable[[int], str | None] | None) -> None:
    attributes = {"id": check.id, "location": finding.location, "test": check.test}
    attributes |= {n: v for n, v in (("role", check.role), ("flag", check.flag)) if v is not None}
    properties = {"line": str(finding.line), "origin": str(check.origin)}
    if finding.record >= 0:
        properties["record"] = str(finding.record + 1)
        if key is not None and (name_of_record := key(finding.record)) is not None:
            properties["key"] = name_of_record
    if finding.kind == "error":
        properties["kind"] = "error"
    name = "successful-report" if finding.kind == "successful-report" else "failed-assert"
    with xml.element(_tag(name), attributes):
        for key_name, value in properties.items():
            with xml.element(_tag("property-reference"), {"property": key_name}):
                _write(xml, "text", {}, value)
        _write(xml, "text", {}, finding.message)
    xml.write("\n")


def _write(xml: Any, name: str, attributes: Mapping[str, str], text: str = "") -> None:
    with xml.element(_tag(name), {k: _legal(v) for k, v in attributes.items()}):
        if text:
            xml.write(_legal(text))
    xml.write("\n")


def _legal(text: str) -> str:
    """Replace the characters that XML cannot hold; a key may come from anywhere."""
    return "".join(c if c >= " " or c in "\t\n\r" else "\N{REPLACEMENT CHARACTER}" for c in text)


def _tag(name: str) -> str:
    return f"{{{SVRL}}}{name}"
