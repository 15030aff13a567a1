"""Is this edited file fit for release?"""

from __future__ import annotations

from pathlib import Path

from masktron.config import did_you_mean
from masktron.errors import UsageError
from masktron.evaluation.report_reader import records_of
from masktron.jobs.common import (
    Job,
    Progress,
    fired_notes,
    no_progress,
    notes_of,
    open_job,
    size_notes,
    violations,
)
from masktron.read.microdata import iter_chunks
from masktron.read.records import Field
from masktron.results import ValidateResult, shown

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
    limit: int = 1000,
    progress: Progress = no_progress,
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
    limit : int
        Findings kept per rule; counts are always exact.
    progress : callable

    Raises
    ------
    RulebookError, DocumentError, UsageError
    """
    job = open_job(data, rules, record=record, phase=phase)
    field = _key_field(job, key)
    warnings = size_notes(job)
    if warnings:
        progress(f"validating {data.name}, whole", 0)
    evaluation = job.evaluate(data, original, progress, limit=limit)
    results = job.rule_results(evaluation)
    hard, soft = violations(results)
    return ValidateResult(
        data=shown(data),
        records=evaluation.records,
        violations=hard,
        warnings=soft,
        rules=results,
        notes=(*notes_of(job), *fired_notes(job, evaluation), *warnings),
        engine=evaluation.engine,
        evaluation=evaluation,
        rulebook=job.rulebook,
        keys=_keys(job, field) if field is not None and evaluation.findings else None,
    )


def _key_field(job: Job, key: str | None) -> Field | None:
    field = job.layout.field(USUAL_KEY if key is None else key)
    if field is None and key is not None:
        raise UsageError(
            f"the key {key!r} is no field of the records",
            where=str(job.data),
            hint=did_you_mean(key, [field.name for field in job.layout.fields]),
        )
    return field


def _keys(job: Job, field: Field) -> tuple[str, ...]:
    """Content of the key field of every record, also where records are nested; empty where it is absent."""
    keys: list[str] = []
    for chunk in iter_chunks(job.data, job.layout):
        for record in records_of(chunk.root, job.layout):
            value = record.get(field.tag) if field.attribute else record.findtext(field.tag)
            keys.append((value or "").strip())
    return tuple(keys)
