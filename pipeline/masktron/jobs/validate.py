"""Is this edited file fit for release?"""

from __future__ import annotations

from pathlib import Path

from masktron.jobs.common import Progress, no_progress, notes_of, open_job, violations
from masktron.results import ValidateResult, shown


def run_validate(
    data: Path,
    rules: Path,
    *,
    original: Path | None = None,
    record: str | None = None,
    phase: str | None = None,
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
    limit : int
        Findings kept per rule; counts are always exact.
    progress : callable

    Raises
    ------
    RulebookError, DocumentError, UsageError
    """
    job = open_job(data, rules, record=record, phase=phase)
    evaluation = job.evaluate(data, original, progress, limit=limit)
    results = job.rule_results(evaluation)
    hard, soft = violations(results)
    return ValidateResult(
        data=shown(data),
        records=len(evaluation.verdicts),
        violations=hard,
        warnings=soft,
        rules=results,
        notes=notes_of(job),
        engine=evaluation.engine,
        evaluation=evaluation,
        rulebook=job.rulebook,
    )
