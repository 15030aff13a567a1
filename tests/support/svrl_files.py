"""SVRL of an evaluation, without the command around it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from io import BufferedWriter
from pathlib import Path

from masktron.judge.findings import Evaluation
from masktron.report.formats import ReportTarget
from masktron.report.formats.svrl import SvrlReport
from masktron.results import RuleResult, ValidateResult
from masktron.rulebook.schema import Rulebook
from masktron.write.atomic import atomic_path


def write_svrl(
    path: str | Path, rulebook: Rulebook, evaluation: Evaluation, *, key: Callable[[int], str | None] | None = None
) -> None:
    """Write the findings that an evaluation kept."""
    with ExitStack() as stack:
        part = stack.enter_context(atomic_path(path))
        stream: BufferedWriter = stack.enter_context(part.open("wb"))
        report = SvrlReport(ReportTarget(stream, rulebook, None, "", part.parent, None))
        stack.callback(report.close)
        for finding in evaluation.findings:
            report.add(finding if key is None else replace(finding, record_id=key(finding.record)))
        report.finish(bare_result(rulebook, evaluation))


def bare_result(rulebook: Rulebook, evaluation: Evaluation) -> ValidateResult:
    """Put the counts of an evaluation into the result that a report is written from."""
    rules = tuple(
        RuleResult(
            id=check.id,
            kind="opaque",
            fired=int(evaluation.fired[check.index]),
            failed=int(evaluation.failed[check.index]),
            errors=int(evaluation.errors[check.index]),
            soft=check.soft,
            origin=str(check.origin),
        )
        for check in rulebook.checks
    )
    wrong = [sum(rule.violations for rule in rules if rule.soft is soft) for soft in (False, True)]
    return ValidateResult(
        data="",
        records=evaluation.records,
        violations=wrong[0],
        warnings=wrong[1],
        rules=rules,
        notes=(),
        engine=evaluation.engine,
        evaluation=evaluation,
        rulebook=rulebook,
    )
