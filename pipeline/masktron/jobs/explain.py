"""What does masktron make of these rules, and what would it do with this file?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from masktron.classify import Edit, classify
from masktron.classify.display import render_cross_record, render_form
from masktron.classify.forms import form_of
from masktron.classify.reading import equality_lints
from masktron.codes import fields_of, kinds_by_file, likely_missing, unmet_in
from masktron.config import Config, Role
from masktron.constraints import Constraint, CrossRecordEdit, OpaqueEdit
from masktron.errors import InfeasibleError, MasktronError, UsageError
from masktron.jobs.common import (
    file_notes,
    fired_notes,
    judging_stage,
    notes_of,
    require_flat,
    require_records,
    size_notes,
    unsatisfiable_notes,
)
from masktron.jobs.concerns import likely_notes
from masktron.jobs.described import completed, explained_fields
from masktron.jobs.documents import Given
from masktron.jobs.job import Job, open_job
from masktron.jobs.ordering import WRITTEN
from masktron.jobs.rulebooks import open_rulebook
from masktron.jobs.steps import chain_of
from masktron.jobs.untested import known_only, may_be_untested, refuse, require_names, with_untested
from masktron.judge import Assigned, Evaluation
from masktron.methods.base import Method, Partitioning
from masktron.methods.chosen import chosen
from masktron.methods.mdav import MdavMethod
from masktron.plan import Block, Plan, make_plan
from masktron.preflight.conclusions import Coverage, Preflight, Tie, coverage, escapes
from masktron.preflight.rulebook import preflight, ties
from masktron.problems.problem import Note, Problem, Sentence, Setting
from masktron.progress import Progress, no_progress, told_as
from masktron.results import (
    ExplainResult,
    FieldExplanation,
    LevelDescription,
    RuleExplanation,
    RuleResult,
    StepExplanation,
    Tested,
    levels_of,
    shown,
)
from masktron.results.explain import StepKind
from masktron.roles import FieldFacts
from masktron.rulebook.schema import Rulebook
from masktron.sources.dataset import Dataset

_ALWAYS = render_form(((),))
"""What is written of a rule that holds of all records."""


def run_explain(
    rules: Path,
    data: Path | None = None,
    *,
    config: Config | None = None,
    original: Path | None = None,
    progress: Progress = no_progress,
) -> ExplainResult:
    """Explain each rule, and what the rules say about each other; with data also counts, tiers and the masking.

    A rulebook that contradicts itself is a finding, not an error: nothing was asked of a file.

    Raises
    ------
    RulebookError, DocumentError, UsageError
        What would stop `mask` on the data is no error here; the result names it as the obstacle. A method or a
        parameter that there is not is one.
    """
    config = config or Config()
    method = chosen(config.method, config.params, config.k).method
    if data is None:
        rulebook = open_rulebook(rules, config.phase)
        edits = classify(rulebook)
        lints = (doubt for edit in edits for doubt in edit.doubts)
        return _result(
            rulebook,
            edits,
            (*rulebook.notes, *lints),
            _Facts(ties=_ties(edits, config, ()), steps=_steps(config, (), nested=False)),
        )
    alone = original is not None
    given = Given(config.documents, original or data, alone=alone, spare=config.spare_documents)
    job = open_job(data, rules, config, progress=progress, given=given, whole=True)
    beside = job.beside(original, config.reading) or job.source
    flat = job.source.shape.flat
    stated = config
    config, declared = completed(config, job.source)
    reading = told_as(progress, f"reading {data.name}")
    records = job.source.records(missing=config.missing, told=reading) if flat else None
    if records is not None:
        job = replace(job, edits=tuple(_with_decimals(edit, records) for edit in job.edits))
    allowed = frozenset(job.index_of(rule) for rule in config.allow)
    progress(judging_stage(job, size_notes(job)), 0)
    evaluation = job.evaluate(beside, progress, limit=0, keep_verdicts=records is not None)
    require_records(job, evaluation.records)
    tiers = job.tiers(evaluation)
    broken = [e.check for e in job.edits if evaluation.failed[e.check.index] + evaluation.errors[e.check.index]]
    soft = frozenset(check.index for check in broken if check.soft)
    hard = [check.id for check in broken if not check.soft and check.index not in allowed]
    loose = may_be_untested(job, config.allow_unfired) | allowed
    rules_found = with_untested(job.rule_results(evaluation), job, evaluation, allowed=loose, original=beside)
    facts, plan, told, problem = _planned(
        job, records, config, allowed | soft, method, rules_found, kinds_by_file(config, stated)
    )
    notes = [
        *file_notes(job.source, missing=stated.missing),
        *notes_of(job, evaluation, rules_found),
        *fired_notes(job, evaluation, rules_found),
        *unsatisfiable_notes(job, evaluation),
        *size_notes(job, evaluation),
        *declared,
        *(() if records is None else unmet_in(records, stated.missing)),
        *told,
    ]
    asked = {rule.id for rule in rules_found if not rule.untested}
    hard = [name for name in hard if name in asked]  # what reads a field that is not there breaks for that alone
    if hard and config.invalid == "stop":
        needs = "these data break {rules}: mask needs [[--invalid exclude]] or [[--allow RULE-ID]] for that"
        notes.append(Note(needs, rules=hard))
    progress("comparing the rules with each other", 0)
    covered = () if records is None else _coverage(job, records, evaluation)
    tested = Tested.of(rules_found, evaluation.records) if evaluation.records else None
    fields = explained_fields(config, job.source.variables, facts)
    idle = frozenset(job.index_of(rule.id) for rule in rules_found if rule.failed is None)
    levels = levels_of(job.source.tree)
    ties_found = _ties(job.edits, config, facts)
    misnamed = frozenset(rule.id for rule in rules_found if rule.untested and rule.untested.misnamed)
    steps = _steps(config, facts, nested=job.source.tree is not None)
    found = _Facts(evaluation, tiers, plan, soft, ties_found, covered, tested, fields, idle, levels, misnamed, steps)
    return _result(job.rulebook, job.edits, tuple(notes), found, problem)


def _steps(config: Config, facts: Sequence[FieldFacts], *, nested: bool) -> tuple[StepExplanation, ...]:
    """Return the steps that `mask` takes, from the file as it is to the release."""
    masked = tuple(fact.name for fact in facts if fact.role is Role.CONFIDENTIAL)
    return (
        *([StepExplanation("units", ())] if nested else []),
        *(StepExplanation(cast(StepKind, kind.kind), fields) for kind, fields in chain_of(config).items()),
        StepExplanation("masking", masked),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Facts:
    """What data tell beyond the rules."""

    evaluation: Evaluation | None = None
    tiers: tuple[Assigned, ...] = ()
    plan: Plan | None = None
    soft: frozenset[int] = frozenset()
    ties: tuple[Tie, ...] = ()
    coverage: tuple[Coverage, ...] = ()
    tested: Tested | None = None
    fields: tuple[FieldExplanation, ...] = ()
    idle: frozenset[int] = frozenset()
    levels: tuple[LevelDescription, ...] = ()
    misnamed: frozenset[str] = frozenset()
    steps: tuple[StepExplanation, ...] = ()

    def failed(self, index: int) -> int | None:
        """Failures and errors of a rule that the data test."""
        if self.evaluation is None or index in self.idle:
            return None
        return int(self.evaluation.failed[index] + self.evaluation.errors[index])

    def tier(self, index: int) -> str | None:
        return str(self.tiers[index]) if self.tiers else None

    def block(self, index: int) -> Block | None:
        blocks = self.plan.blocks if self.plan else ()
        return next((block for block in blocks if index in block.checks), None)

    def why_unmasked(self, index: int) -> str | None:
        """Say why masking does not keep a rule, or need not."""
        if self.plan is None:
            return None
        if index in self.plan.released:
            return "soft and broken by these data, so not kept" if index in self.soft else "let go"
        return dict((*self.plan.not_applicable, *self.plan.over_file)).get(index, "reads no masked field")


def _with_decimals(edit: Edit, records: Dataset) -> Edit:
    """Add what the fraction digits of the data say about equalities."""
    if isinstance(edit.constraint, OpaqueEdit | CrossRecordEdit):
        return edit
    decimals = {name: column.decimals for name, column in records.columns.items()}
    written = bool(edit.check.written)
    found = equality_lints(form_of(edit.constraint), decimals, plain=written)
    known = equality_lints(form_of(edit.constraint), plain=written) if found else []
    return replace(edit, lints=tuple(dict.fromkeys((*(lint for lint in edit.lints if lint not in known), *found))))


def _planned(
    job: Job,
    records: Dataset | None,
    config: Config,
    released: frozenset[int],
    method: Method,
    rules: Sequence[RuleResult],
    by_file: frozenset[str],
) -> tuple[tuple[FieldFacts, ...], Plan | None, tuple[Sentence, ...], Problem | None]:
    """Plan as `mask` would, and say what the fields are and what the method does; where it would stop, say why."""
    facts: tuple[FieldFacts, ...] = ()
    plan: Plan | None = None
    codes: tuple[Sentence, ...] = ()
    if job.source.tree is not None:
        unit = job.source.tree.top.name
        return (
            facts,
            None,
            (f"mask takes each {unit} with all its members as one record; no plan of that is shown",),
            None,
        )
    try:
        require_flat(job)
        if records is None:
            return facts, None, (), None
        if len(records) < config.k:
            raise InfeasibleError.of("too-few-records", records=len(records), least=config.k, what=f"k = {config.k}")
        require_names(job, may_be_untested(job, (*config.allow_unfired, *config.allow)))
        facts, likely = fields_of(records, job.edits, config, by_file=by_file)
        codes = likely_missing(records, facts, job.edits, job.source.variables)
        plan = make_plan(known_only(job), facts, config, released=released, aggregator=config.aggregator)
        told = (*codes, *likely.notes(), *likely_notes(likely), *method_notes(plan, method))
        refuse(job, {job.index_of(rule.id): rule.untested for rule in rules if rule.untested and rule.idle})
    except MasktronError as error:
        return facts, plan, codes, error.problem
    return facts, plan, told, None


def _coverage(job: Job, records: Dataset, evaluation: Evaluation) -> tuple[Coverage, ...]:
    return coverage(job.edits, records, evaluation, escapes(job.rulebook, job.source.layout))


def _ties(edits: Sequence[Edit], config: Config, facts: Sequence[FieldFacts]) -> tuple[Tie, ...]:
    """Find the rules that tie masked to unmasked fields, by the roles of the file or else the declared ones."""
    roles = {fact.name: fact.role for fact in facts} or config.roles
    masked = [name for name, role in roles.items() if role is Role.CONFIDENTIAL] if facts else None
    unmasked = [name for name, role in roles.items() if role in WRITTEN]
    removed = [name for name, role in roles.items() if role is Role.IDENTIFIER]
    return ties(edits, unmasked, removed, masked=masked)


def _result(
    rulebook: Rulebook,
    edits: tuple[Edit, ...],
    notes: tuple[Sentence, ...],
    facts: _Facts,
    problem: Problem | None = None,
) -> ExplainResult:
    contexts = [rule.shown for pattern in rulebook.patterns for rule in pattern.rules for _ in rule.checks]
    return ExplainResult(
        rulebook=shown(rulebook.path),
        version=" and ".join(sorted({*rulebook.versions})) or rulebook.version,
        rules=tuple(_explanation(edit, contexts[edit.check.index], facts) for edit in edits),
        notes=notes,
        problem=problem,
        preflight=_without_misnamed(preflight(edits), facts.misnamed),
        ties=facts.ties,
        coverage=facts.coverage,
        tested=facts.tested,
        fields=facts.fields,
        levels=facts.levels,
        steps=facts.steps,
    )


def _without_misnamed(found: Preflight, misnamed: frozenset[str]) -> Preflight:
    """Call no rule always true that reads what no record has: by its right name it may be anything."""
    return replace(found, always=tuple(rule for rule in found.always if rule not in misnamed))


def _explanation(edit: Edit, context: str, facts: _Facts) -> RuleExplanation:
    check = edit.check
    constraint = edit.constraint
    evaluation = facts.evaluation
    block = facts.block(check.index)
    form, reason = check.written or edit.said or _form(constraint), ""
    if isinstance(constraint, OpaqueEdit | CrossRecordEdit):
        reason = constraint.reason
    elif check.id in facts.misnamed and form == _ALWAYS:
        form, reason = "", "reads what no record has"
    names = () if block is None else tuple(dict.fromkeys(candidate.aggregator for candidate in block.candidates))
    return RuleExplanation(
        id=check.id,
        kind=edit.name,
        variables=edit.variables,
        form=form,
        reason=reason,
        lints=edit.lints,
        origin=str(check.origin),
        test=f"not({check.test})" if check.kind == "report" else check.test,
        context=context,
        fired=None if evaluation is None else int(evaluation.fired[check.index]),
        failed=facts.failed(check.index),
        block=None if block is None else block.variables,
        candidates=names,
        aggregator=names[0] if len(names) == 1 else None,
        why=facts.why_unmasked(check.index) if block is None else block.prospect,
        tier=facts.tier(check.index),
        soft=check.soft,
        marks=check.softened_by if check.soft else check.marks,
    )


def _form(constraint: Constraint) -> str:
    match constraint:
        case OpaqueEdit():
            return ""
        case CrossRecordEdit():
            return render_cross_record(constraint)
        case _:
            return render_form(form_of(constraint))


def method_notes(plan: Plan, method: Method) -> tuple[str, ...]:
    """Say which blocks a method draws and which it masks by groups.

    Parameters
    ----------
    plan : Plan
    method : Method

    Returns
    -------
    tuple of str
        A sentence each; none for the default, whose groups and aggregators are what a plan shows.

    Raises
    ------
    UsageError
        It can draw no block of the file.
    """
    if isinstance(method, Partitioning):
        return () if isinstance(method, MdavMethod) else (f"groups are formed by {method.name}",)
    drawable = {fact.name for fact in plan.fields if fact.numeric or (method.orders and fact.order is not None)}
    drawn = [block for block in plan.blocks if method.categories or drawable.issuperset(block.variables)]
    if not drawn:
        raise UsageError.of(
            "bad-value",
            given=method.name,
            name=Setting("--method"),
            expected="a method that masks categories, as every block of masked fields has some",
            hint="masktron methods lists them",
        )
    return _drawn(method, drawn, [block for block in plan.blocks if block not in drawn])


def _drawn(method: Method, drawn: list[Block], grouped: list[Block]) -> tuple[str, ...]:
    told = [
        f"{method.name} draws a value of its own for every record in {_fields(drawn)}; there, aggregators are for "
        "records alone for which no draw can be settled by the rules"
    ]
    if grouped:
        told.append(f"{method.name} draws numbers only; masked by groups: {_fields(grouped)}")
    return tuple(told)


def _fields(blocks: list[Block]) -> str:
    return ", ".join(name for block in blocks for name in block.variables)
