"""Is this edited file fit for release?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from masktron.config import did_you_mean
from masktron.errors import UsageError
from masktron.evaluation.report_reader import Shown
from masktron.jobs.common import (
    LARGE,
    Job,
    Progress,
    fired_notes,
    no_progress,
    notes_of,
    open_job,
    size_notes,
    violations,
)
from masktron.jobs.following import Following, allowances, with_allowances, without_values
from masktron.jobs.untested import idle_conditions, may_be_untested, with_untested
from masktron.read.judge import Judge
from masktron.read.records import Field
from masktron.report.outputs import Outputs
from masktron.results import ValidateResult, shown
from masktron.thresholds import Threshold

USUAL_KEY = "@id"
"""Field that names the records in reports, where the file has it and no other is asked for."""


def run_validate(
    data: Path,
    rules: Path,
    *,
    original: Path | None = None,
    record: str | None = None,
    phase: str | None = None,
    key: str | None = None,
    limit: int | None = 1000,
    max_failures: Mapping[str, Threshold] | None = None,
    allow_unfired: Iterable[str] = (),
    release_safe: bool = False,
    outputs: Outputs | None = None,
    progress: Progress = no_progress,
    judge: Judge | None = None,
) -> ValidateResult:
    """Evaluate every rule on every record.

    Parameters
    ----------
    data, rules : Path
    original : Path, optional
        What ``document()`` in the rules means; the file itself when not given.
    record : str, optional
        Name of the record element.
    phase : str, optional
    key : str, optional
        Field whose content names the record in findings; ``@id`` where the file has it.
    limit : int or None
        Findings kept per rule, None for all; counts are always exact.
    max_failures : mapping of str to Threshold, optional
        By rule id, with ``*`` for the hard rules that it does not name.
    allow_unfired : iterable of str
        Rules that the file need not test; ``*`` for all.
    release_safe : bool
        Leave every value of a record out, of the result, the reports and the errors: counts only.
    outputs : Outputs, optional
        Reports to write while the file is read.
    progress : callable
    judge : Judge, optional
        Of the file, where libxml2 has begun to read it.

    Raises
    ------
    RulebookError, DocumentError, UsageError
    """

    def opened() -> tuple[Job, Field | None]:
        job = open_job(data, rules, record=record, phase=phase, progress=progress, judge=judge)
        return job, _key_field(job, key)

    job, field = without_values(opened, wanted=release_safe)
    allowed = allowances(job.rulebook, max_failures or {})
    unfired = may_be_untested(job, allow_unfired)
    small = job.plain is None and job.shape.flat and data.stat().st_size < LARGE
    warnings = size_notes(job)
    if warnings:
        progress(f"validating {data.name}, whole", 0)
    outputs = outputs or Outputs()
    with ExitStack() as stack:
        reports = stack.enter_context(outputs.opened(job.rulebook, job.layout, shown(data)))
        following = Following(job.rulebook, job.layout, reports, outputs.limit if reports.reports else limit)
        evaluate = partial(
            job.evaluate,
            data,
            original,
            progress,
            limit=0 if release_safe else limit,
            shown=_shown(job, field),
            sink=following.add if reports.reports and not release_safe else None,
            sunk=outputs.needed,
            keep_verdicts=small,
        )
        evaluation = without_values(evaluate, wanted=release_safe, rulebook_read=True)
        if evaluation.handed_back:
            warnings = size_notes(job, evaluation)
        evaluation = following.marked(evaluation)
        results = with_allowances(job.rule_results(evaluation), allowed)
        testing = partial(with_untested, results, job, evaluation, allowed=unfired, original=original)
        results = without_values(testing, wanted=release_safe, rulebook_read=True)
        conditions = partial(idle_conditions, job, evaluation)
        idle = without_values(conditions, wanted=release_safe, rulebook_read=True) if small else ()
        hard, soft = violations(results)
        result = ValidateResult(
            data=shown(data),
            records=evaluation.records,
            violations=hard,
            warnings=soft,
            rules=results,
            notes=(*notes_of(job), *fired_notes(job, evaluation, results), *idle, *warnings, *following.notes()),
            engine=evaluation.engine,
            evaluation=evaluation,
            rulebook=job.rulebook,
            limit=limit,
            release_safe=release_safe,
        )
        reports.finish(result)
    return result


def _shown(job: Job, key: Field | None) -> Shown:
    """What findings show of their records: the key, and the fields that the check reads."""
    fields = (map(job.layout.field, edit.variables) for edit in job.edits)
    return Shown(key, tuple(tuple(field for field in own if field is not None) for own in fields))


def _key_field(job: Job, key: str | None) -> Field | None:
    field = job.layout.field(USUAL_KEY if key is None else key)
    if field is None and key is not None:
        raise UsageError(
            f"the key {key!r} is no field of the records",
            where=str(job.data),
            hint=did_you_mean(key, [field.name for field in job.layout.fields]),
        )
    return field
