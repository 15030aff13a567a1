"""What does masktron make of these rules, and what would it do with this file?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from masktron.classify import Edit, classify
from masktron.classify.display import render_form
from masktron.classify.forms import form_of
from masktron.config import Config
from masktron.constraints import CrossRecordEdit, OpaqueEdit
from masktron.errors import MasktronError
from masktron.evaluation.findings import Evaluation
from masktron.jobs.common import Job, Progress, no_progress, notes_of, open_job, require_flat, require_known_fields
from masktron.plan import Block, make_plan
from masktron.read.microdata import read_records
from masktron.read.rulebook import Rulebook
from masktron.read.schematron import read_rules
from masktron.results import ExplainResult, RuleExplanation, shown
from masktron.roles import resolve_roles


def run_explain(
    rules: Path,
    data: Path | None = None,
    *,
    config: Config | None = None,
    original: Path | None = None,
    progress: Progress = no_progress,
) -> ExplainResult:
    """Explain each rule; with data also its counts and how its variables would be masked.

    Raises
    ------
    RulebookError, DocumentError, UsageError
        What would stop `mask` on the data is no error here; the result names it as the obstacle.
    """
    config = config or Config()
    if data is None:
        rulebook = read_rules(rules, phase=config.phase)
        edits = classify(rulebook)
        lints = tuple(f"{edit.check.id}: {lint}" for edit in edits for lint in edit.lints)
        return _result(rulebook, edits, (*rulebook.notes, *lints))
    job = open_job(data, rules, record=config.record, phase=config.phase)
    evaluation = job.evaluate(data, original, progress, limit=0)
    blocks, obstacle = _planned(job, config)
    return _result(job.rulebook, job.edits, notes_of(job), evaluation, blocks, obstacle)


def _planned(job: Job, config: Config) -> tuple[Mapping[int, Block], str | None]:
    """Plan as `mask` would; where it would stop, say why instead."""
    try:
        require_flat(job)
        require_known_fields(job)
        facts = resolve_roles(read_records(job.data, job.layout, missing=config.missing), config)
        plan = make_plan(job.edits, facts, config, released=[job.index_of(rule) for rule in config.allow])
    except MasktronError as error:
        return {}, str(error)
    return {check: block for block in plan.blocks for check in block.checks}, None


def _result(
    rulebook: Rulebook,
    edits: tuple[Edit, ...],
    notes: tuple[str, ...],
    evaluation: Evaluation | None = None,
    blocks: Mapping[int, Block] | None = None,
    obstacle: str | None = None,
) -> ExplainResult:
    contexts = [rule.context for pattern in rulebook.patterns for rule in pattern.rules for _ in rule.checks]
    return ExplainResult(
        rulebook=shown(rulebook.path),
        version=rulebook.version,
        rules=tuple(
            _explanation(edit, contexts[edit.check.index], evaluation, (blocks or {}).get(edit.check.index))
            for edit in edits
        ),
        notes=notes,
        obstacle=obstacle,
    )


def _explanation(edit: Edit, context: str, evaluation: Evaluation | None, block: Block | None) -> RuleExplanation:
    check = edit.check
    constraint = edit.constraint
    understood = not isinstance(constraint, OpaqueEdit | CrossRecordEdit)
    return RuleExplanation(
        id=check.id,
        kind=edit.name,
        variables=edit.variables,
        form=render_form(form_of(constraint)) if understood else "",
        reason="" if not isinstance(constraint, OpaqueEdit | CrossRecordEdit) else constraint.reason,
        lints=edit.lints,
        origin=str(check.origin),
        test=f"not({check.test})" if check.kind == "report" else check.test,
        context=context,
        fired=None if evaluation is None else int(evaluation.fired[check.index]),
        failed=None if evaluation is None else int((evaluation.failed + evaluation.errors)[check.index]),
        block=None if block is None else block.variables,
        aggregator=None if block is None else block.aggregator,
        why=None if block is None else block.reason,
    )
