"""Many documents under one rulebook: each is judged as one file is, and one that cannot be judged stops no other."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np

from masktron.errors import DocumentError, MasktronError, UsageError
from masktron.executor.contract import Executor
from masktron.jobs.common import violations
from masktron.jobs.documents import bound
from masktron.jobs.rulebooks import open_rulebook
from masktron.jobs.validate import ValidateRequest, run_validate
from masktron.judge import Evaluation, SlowRuleError
from masktron.progress import Progress, expect, no_progress
from masktron.report.outputs import DocumentOutputs
from masktron.results import RuleResult, UnreadDocument, ValidateResult, shown
from masktron.rulebook.schema import Rulebook
from masktron.rules_given import is_plain


def run_validate_several(
    paths: Sequence[Path],
    request: ValidateRequest,
    *,
    progress: Progress = no_progress,
    executor: Executor | None = None,
) -> ValidateResult:
    """Validate several files, those in XML as documents where no record element is named.

    Parameters
    ----------
    paths : sequence of Path
        At least one.
    request : ValidateRequest
        What is asked of each. Of a format that is about one document, the path of the report is that of a folder.
    progress, executor
        As for `masktron.jobs.validate.run_validate`.

    Returns
    -------
    ValidateResult
        Sums of all files, whose results are its ``documents``.

    Raises
    ------
    RulebookError, DocumentError, UsageError
        The rulebook or a report cannot be used; what is wrong with a file is told of that.
    """
    if not paths:
        raise UsageError.of("needs-setting", name="validate", needed="a file", setting="DATA")
    config, rules = request.config, request.rules
    if not is_plain(rules):  # what is wrong with it is wrong for all of them
        bound(open_rulebook(rules, config.phase), request.documents)
    request = replace(request, document="always" if config.record is None else "otherwise")
    found: list[ValidateResult] = []
    unread: list[UnreadDocument] = []
    reports = DocumentOutputs(request.outputs)
    stage = f"validating {len(paths):,} documents"
    expect(progress, stage, len(paths), "documents")
    with ExitStack() as stack:
        stack.enter_context(reports.together())
        for done, path in enumerate(paths):
            progress(stage, done)
            own = reports.of(path)
            try:
                result = run_validate(path, replace(request, outputs=own), executor=executor)
            except (DocumentError, SlowRuleError) as error:
                if isinstance(error, DocumentError) and error.problem.place.source != str(path):
                    raise
                unread.append(_unread(path, error))
            else:
                reports.add(own)
                found.append(result)
        total = _total(found, tuple(unread), release_safe=request.release_safe)
        reports.finish(total)
    return total


def _unread(path: Path, error: MasktronError) -> UnreadDocument:
    return UnreadDocument(shown(path), error.problem, error.exit_code)


def _total(
    found: Sequence[ValidateResult], unread: tuple[UnreadDocument, ...], *, release_safe: bool
) -> ValidateResult:
    checks = range(len(found[0].rules)) if found else ()
    rules = tuple(_sum([one.rules[check] for one in found]) for check in checks)
    hard, soft = violations(rules)
    nothing = np.zeros(len(rules), dtype=np.int64)
    fired, failed, errors = (
        sum((getattr(one.evaluation, name) for one in found), nothing) for name in ("fired", "failed", "errors")
    )
    records = sum(one.records for one in found)
    engine = ", ".join(dict.fromkeys(one.engine for one in found))
    return ValidateResult(
        data=f"{len(found) + len(unread):,} documents",
        records=records,
        violations=hard,
        warnings=soft,
        rules=rules,
        notes=tuple(dict.fromkeys(note for one in found if any(map(_tried, one.rules)) for note in one.notes)),
        engine=engine,
        evaluation=Evaluation(None, fired, failed, errors, (), engine, records),
        rulebook=found[0].rulebook if found else _NO_RULEBOOK,
        release_safe=release_safe,
        is_document=True,
        documents=tuple(found),
        unread=unread,
    )


_NO_RULEBOOK = Rulebook(Path(), "", (), (), ())


def _tried(rule: RuleResult) -> bool:
    return bool(rule.reached)


def _sum(rules: Sequence[RuleResult]) -> RuleResult:
    """Return one rule on several files: tested where one of them tests it."""
    reached = next((rule for rule in rules if rule.untested is None), rules[0])
    counted = [rule for rule in rules if rule.failed is not None]
    return replace(
        reached,
        fired=sum(rule.fired for rule in rules),
        failed=sum(rule.failed or 0 for rule in counted) if counted else None,
        errors=sum(rule.errors for rule in rules),
        allowed=None,
    )
