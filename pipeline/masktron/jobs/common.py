"""What several jobs say of a file and its rules, or refuse: notes, warnings of what takes long, records."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from masktron.classify.forms import form_of
from masktron.codes import code_at_fault
from masktron.constraints import CrossRecordEdit, OpaqueEdit
from masktron.errors import DocumentError
from masktron.jobs.job import Job
from masktron.jobs.spellings import remedy, spelled
from masktron.jobs.untested import told
from masktron.judge import (
    DIALECTS,
    ENGINE_MEMORY,
    PRACTICAL_MEMORY,
    Departure,
    Evaluation,
    Finder,
    Finding,
    Tier,
    engines_of,
    looks_through,
)
from masktron.problems.problem import Field, Note, Place, Problem, Rule, Sentence
from masktron.results import RuleResult
from masktron.rulebook.expressions.parsing import understood
from masktron.rulebook.expressions.tree import Filter, Step, Variable, walk
from masktron.rulebook.schema import Check, Rulebook
from masktron.rulebook.schema import Rule as SchemaRule
from masktron.sources.column import Column
from masktron.sources.record_layout import Layout
from masktron.sources.source import Source
from masktron.sources.variables import without_declared

_STEP = 3e-7
"""Seconds for one record as it is looked at for another: libxml2 2.14 and SaxonC 13 took 0.6 to 3 * 10 ** -7."""
_WORTH = 5.0
"""Seconds from which a rule is worth a warning."""


@dataclass(frozen=True, slots=True)
class Slow:
    """Rules that take time with the square of the number of records.

    Attributes
    ----------
    rules : tuple of int
        By index.
    records : int
        Of the file, roughly.
    seconds : float
        For one of the rules.
    """

    rules: tuple[int, ...]
    records: int
    seconds: float

    @property
    def said(self) -> str:
        """What is said of each rule."""
        return (
            f"looks through the whole file for each of some {self.records:,} records, which takes about "
            f"{_duration(self.seconds)}, and four times as long for twice as many"
        )

    @property
    def together(self) -> str:
        """How long all of them take; nothing where there are none."""
        return f", about {_duration(self.seconds * len(self.rules))}" if self.rules else ""


def slow_rules(job: Job) -> Slow:
    """Return the rules that will take long.

    Parameters
    ----------
    job : Job
    """
    name = job.source.layout.record_tag.rpartition("}")[2]
    # before anything is looked at: no more records than that
    most = job.source.size // (len(name) + 3) if job.source.count is None else job.source.count
    if _seconds(most) < _WORTH or job.source.layout.is_document:
        return Slow((), 0, 0.0)
    engines = engines_of(job.rulebook, job.source.layout, "auto")
    looking = [
        check.index
        for pattern, position, check in job.rulebook.situated()
        if _looks_through(pattern.rules[position], check, job.rulebook, DIALECTS[engines[check.index]].find)
    ]
    tiers = job.tiers() if looking else ()
    looking = [index for index in looking if tiers[index].tier is Tier.DOCUMENT]
    if not looking:
        return Slow((), 0, 0.0)
    records = job.source.estimate() if job.source.count is None else job.source.count
    seconds = _seconds(records)
    return Slow(tuple(looking), records, seconds) if seconds >= _WORTH else Slow((), records, 0.0)


def _seconds(records: int) -> float:
    return _STEP * records * records


def _looks_through(rule: SchemaRule, check: Check, rulebook: Rulebook, find: Finder) -> bool:
    """Whether a check, its context or a variable of its own rule still walks over other records."""
    lets = {let.name: let.value for let in rule.lets}
    context = understood(rule.context, rulebook.namespaces)
    waiting = [understood(check.test, rulebook.namespaces)]
    for part in () if context is None else walk(context):
        # of the context the path alone is no walk: it is what the rule fires on
        waiting += part.predicates if isinstance(part, Step | Filter) else ()
    seen: set[str] = set()
    while waiting:
        expression = waiting.pop()
        if expression is None or looks_through(expression, find):
            return True
        named = {part.name for part in walk(expression) if isinstance(part, Variable)} - seen
        waiting += [understood(lets[name], rulebook.namespaces) for name in named if name in lets]
        seen |= named
    return False


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.0f} h"


LARGE = 10_000_000
"""Bytes from which a rule that needs the whole document in memory is worth a warning."""


def notes_of(
    job: Job, evaluation: Evaluation | None = None, results: Sequence[RuleResult] = ()
) -> tuple[Sentence, ...]:
    """Repairs of the rulebook and lints of its rules, for the user.

    Lints on fields that the results tell of are left out, and all of them for a file without records: it has no
    fields.
    """
    records = evaluation is None or evaluation.records
    read = {rule.id: _fields_of(rule.untested.problem) for rule in results if rule.untested is not None}
    lints = [
        doubt
        for edit in job.edits
        for doubt in edit.doubts
        if not (_fields_of(doubt) & read.get(edit.check.id, frozenset()) if records else _fields_of(doubt))
    ]
    return (*job.rulebook.notes, *lints)


def file_notes(*sources: Source | None, missing: Mapping[str, frozenset[str]]) -> tuple[Sentence, ...]:
    """Return what a user should know of how files read; what is said of several of them, once.

    Parameters
    ----------
    *sources : Source or None
    missing : mapping of str to frozenset of str
        What settings say that means 'missing', by field: no note asks that.
    """
    notes = dict.fromkeys(note for source in sources if source is not None for note in source.notes)
    return tuple(left for note in notes if (left := without_declared(note, missing)) is not None)


def _fields_of(told: Sentence) -> frozenset[str]:
    parts = told.parts() if isinstance(told, Problem) else ()
    return frozenset(one.name for one in parts if isinstance(one, Field))


def fired_notes(job: Job, evaluation: Evaluation, results: Sequence[RuleResult]) -> tuple[Sentence, ...]:
    """Say which rules are not tested and why; or that there is nothing that could test them."""
    if not evaluation.records:
        return (f"the file has no records: they are looked for as {shown_path(job.source.layout)}",)
    fired = any(rule.fired + rule.errors for rule in results)
    if fired and job.source.layout.is_document:
        return ()  # most documents have no use for most rules, and the result says how many were tested
    reasons = tuple(told(results))
    if results and not fired:
        hint = "look at the contexts, the namespace prefixes and the phase"
        return (f"no rule fires on any record: {hint}", *reasons)
    return reasons


def code_notes(job: Job, evaluation: Evaluation) -> tuple[Sentence, ...]:
    """Say of rules that mostly fail at a usual code for missing values that it looks like one, and what to do.

    Findings say what their records hold; where they do not, flat records are read again.
    """
    found: dict[int, list[Finding]] = {}
    for finding in evaluation.findings:
        if finding.record >= 0:
            found.setdefault(finding.check, []).append(finding)
    edits = [edit for edit in job.edits if edit.check.index in found]
    shown = any(finding.values for findings in found.values() for finding in findings)
    if not edits or not (shown or job.source.shape.flat):
        return ()
    names = {name for edit in edits for name in edit.variables if job.source.layout.field(name) is not None}
    columns = {} if shown else job.source.records(only=names).columns
    notes: list[Sentence] = []
    for edit in edits:
        findings = found[edit.check.index]
        first = "first " if len(findings) < evaluation.failed[edit.check.index] else ""
        for name in edit.variables:
            code, many = code_at_fault(_held(findings, name, columns.get(name)))
            if many:
                notes.append(
                    Note(
                        "{rule}: {field} is {code} in {many:,} of the {first}{of:,} records that fail; {code} "
                        "looks like a code for missing values. If it is, allow it in the rule "
                        "(number({field}) = {code} or ...) and declare it to mask: [[--missing {field}={code}]]",
                        rule=edit.check.id,
                        field=Field(name),
                        code=code,
                        many=many,
                        first=first,
                        of=len(findings),
                    )
                )
    return tuple(notes)


def unsatisfiable_notes(job: Job, evaluation: Evaluation) -> tuple[Sentence, ...]:
    """Say of rules that mostly fail that no record can satisfy them, or that they read a text as a number."""
    failing = [
        edit
        for edit in job.edits
        if (failed := int(evaluation.failed[edit.check.index])) and 2 * failed >= evaluation.fired[edit.check.index]
        if not isinstance(edit.constraint, OpaqueEdit | CrossRecordEdit)
    ]
    if not failing:
        return ()
    from masktron.preflight.conjunction import universe_of  # noqa: PLC0415 -- most rules hold
    from masktron.preflight.rulebook import preflight  # noqa: PLC0415

    impossible = {edit.check.index for edit in failing if preflight((edit,)).contradictions}
    read: dict[int, list[str]] = {}
    for edit in failing:
        index = edit.check.index
        if index not in impossible and job.source.shape.flat and evaluation.failed[index] == evaluation.fired[index]:
            named = universe_of((form_of(edit.constraint),), complete=True).numeric
            read[index] = [field.name for field in job.source.layout.fields if field.name in named]
    known = {name for names in read.values() for name in names}
    columns = job.source.records(only=known).columns if known else {}
    texts = {name for name in known if name in columns and np.isnan(columns[name].as_read()).all()}
    notes: list[Sentence] = []
    for edit in failing:
        rule = Rule(edit.check.id)
        if edit.check.index in impossible:
            notes.append(Note("no record can satisfy {rule}, which contradicts itself: correct the rule", rule=rule))
        notes += [
            Note(
                "{rule} reads {field} as a number, and no record has a number there: correct the rule or the data",
                rule=rule,
                field=Field(name),
            )
            for name in read.get(edit.check.index, ())
            if name in texts
        ]
    return tuple(notes)


def _held(findings: Sequence[Finding], name: str, column: Column | None) -> Iterator[str]:
    """Yield what a field holds in the records of some findings."""
    for finding in findings:
        values = (dict(finding.values).get(name),) if column is None else (column.lexeme(finding.record),)
        yield from (value for value in values if value is not None)


def require_records(job: Job, records: int) -> None:
    """Refuse a file without records: nothing was asked of anybody.

    Raises
    ------
    DocumentError
    """
    if not records:
        raise DocumentError.of("no-records", job.source.path, path=shown_path(job.source.layout))


def shown_path(layout: Layout) -> str:
    """Return the path of the records, without namespaces."""
    return "/" + "/".join(tag.rpartition("}")[2] for tag in layout.record_path)


def size_notes(job: Job, evaluation: Evaluation | None = None) -> tuple[str, ...]:
    """Warn of rules that need the whole document, where the file is large or they take long, and say what that takes.

    Parameters
    ----------
    evaluation : Evaluation, optional
        As for `Job.tiers`.
    """
    size = job.source.size
    slow = slow_rules(job)
    checks = job.rulebook.checks
    walking = tuple(f"{checks[index].id}: {slow.said}" for index in slow.rules)
    if size < LARGE or job.source.layout.is_document:
        return walking
    engines = engines_of(job.rulebook, job.source.layout, "auto")
    return walking + tuple(
        f"{check.id}: needs the whole file in memory ({assigned.reason}); with {size / 1e6:.0f} MB that takes about "
        f"{size * ENGINE_MEMORY[engine] / 1e9:.1f} GB, and above some "
        f"{PRACTICAL_MEMORY / ENGINE_MEMORY[engine] / 1e6:.0f} MB it is not practical any more"
        for check, assigned, engine in zip(job.rulebook.checks, job.tiers(evaluation), engines, strict=True)
        if assigned.tier is Tier.DOCUMENT
    )


def departure_notes(job: Job, evaluation: Evaluation) -> tuple[str, ...]:
    """Say how many records libxml2 by itself refuses or accepts by its own way with numbers, and what to write."""
    checks = job.rulebook.checks
    notes = [
        f"{checks[one.check].id}: libxml2 by itself {' and '.join(_alone(one))} that XPath 1.0 does not, since it "
        "does not read or write numbers as that says (docs/engines.md); the verdict is that of XPath 1.0"
        for one in evaluation.departures
    ]
    if notes and (found := spelled(job, {one.check for one in evaluation.departures})):
        notes.append(remedy(found, places=False))
    return tuple(notes)


def _alone(one: Departure) -> Iterator[str]:
    for count, does in ((one.refused, "refuses"), (one.accepted, "accepts")):
        if count:
            yield f"{does} {count:,} {'record' if count == 1 else 'records'}"


def judging_stage(job: Job, warned: Collection[str]) -> str:
    """Name the stage in which rules are evaluated; where they see the whole document, also how long it takes.

    Parameters
    ----------
    warned : collection of str
        What `size_notes` says of the job.
    """
    stage = f"validating {job.source.path.name}"
    return f"{stage}, whole{slow_rules(job).together}" if warned else stage


def violations(rules: Sequence[RuleResult]) -> tuple[int, int]:
    """Violations of hard rules, and of soft ones."""
    hard = sum(rule.violations for rule in rules if not rule.soft)
    return hard, sum(rule.violations for rule in rules if rule.soft)


def require_flat(job: Job) -> None:
    """Refuse a file that cannot be masked for its shape.

    Raises
    ------
    DocumentError
        Naming the line and what is there.
    """
    if not job.source.shape.flat:
        place = Place(str(job.source.path), job.source.shape.line)
        raise DocumentError.of("records-not-flat", place, reason=job.source.shape.reason)
