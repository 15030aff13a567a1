"""Which rules do the records of a file suggest?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from masktron.classify import Edit
from masktron.classify.display import render_cross_record, render_form
from masktron.classify.forms import form_of
from masktron.codes import set_aside
from masktron.config import Config
from masktron.constraints import CrossRecordEdit, OpaqueEdit
from masktron.errors import DocumentError, UsageError, ViolationError
from masktron.files import refuse_outputs
from masktron.jobs.common import file_notes, shown_path
from masktron.jobs.described import completed
from masktron.jobs.job import job_on
from masktron.jobs.rulebooks import levels_of, open_rulebook
from masktron.preflight.rulebook import what_follows
from masktron.problems.problem import Known, Place, Sentence, Setting
from masktron.progress import Progress, no_progress, told_as
from masktron.proposals.candidate import REQUIRED, FieldPaths
from masktron.proposals.suggesting import suggested_rules
from masktron.proposals.written_rulebook import NamedRule, named_rules, schematron, told
from masktron.results import Proposal, SuggestResult, shown
from masktron.roles import refuse_unknown_fields
from masktron.rulebook.plain.spelling import name_of_rule, spelled_rule
from masktron.rulebook.plain.tree import PlainRule
from masktron.rulebook.plain_of_schematron import plain_of_rulebook
from masktron.rules_given import GivenRules, is_plain
from masktron.scratch import private_folder
from masktron.sources.opening import open_source
from masktron.sources.source import Source
from masktron.write.atomic import atomic_path, blamed

ALL = "all"
"""What `accept` says for every proposal that does not follow from others."""
_FIRST = 5
"""Exceptions whose positions are told."""
_NUMBERS = re.compile(r"([0-9]{1,6})(?:-([0-9]{1,6}))?")


def run_suggest(
    data: Path,
    out: Path | None = None,
    *,
    accept: Sequence[str] = (),
    config: Config | None = None,
    progress: Progress = no_progress,
) -> SuggestResult:
    """Look for rules that the records suggest, and write those that are accepted.

    What is proposed has been evaluated on the file, by what decides about rules: a proposal of which that says
    something else than was counted is left out, with a note.

    Parameters
    ----------
    data : Path
    out : Path, optional
        The rulebook; needed where something is accepted.
    accept : sequence of str
        Numbers, ranges of numbers (``5-8``), ids, or ``all``.
    config : Config, optional
        Roles, kinds and missing codes.
    progress : callable

    Raises
    ------
    UsageError
        There is no such proposal, or something is accepted and no file named.
    DocumentError
        The file cannot be read, has no records, or is not flat.
    """
    config = config or Config()
    if accept and out is None:
        raise UsageError.of(
            "needs-setting",
            name=Setting("--accept"),
            setting=Setting("--out", ("edits.rules",)),
            needed="another option",
        )
    if out is not None:
        refuse_outputs({"the rulebook": out}, {"the data": data, "the metadata": config.metadata})
    progress(f"surveying {data.name}", 0)
    source = open_source(data, reading=config.reading, progress=progress, whole=True)
    config, declared = completed(config, source)
    with source.naming_elsewhere():
        refuse_unknown_fields(config, [one.name for one in source.layout.fields], str(data))
    if not source.shape.flat:
        place = Place(str(source.path), source.shape.line)
        raise DocumentError.of("records-not-flat", place, reason=source.shape.reason)
    records = source.records(missing=config.missing, told=told_as(progress, f"reading {data.name}"))
    if not len(records):
        raise DocumentError.of("no-records", data, path=shown_path(source.layout))
    variables = {variable.name: variable for variable in source.variables}
    records, config, aside = set_aside(records, config)
    found, notes = suggested_rules(records, config, variables, progress)
    paths = FieldPaths(source.layout)
    rules = named_rules(found, paths)
    told: tuple[Sentence, ...] = (*file_notes(source, missing=config.missing), *declared, *aside, *notes)
    if not rules:
        accepted_ids((), accept)
        return SuggestResult(shown(data), len(records), None, (), (*told, "nothing was found"))
    title = f"Rules suggested by {data.name}"
    with private_folder() as folder:
        draft = folder / "draft.sch"
        draft.write_bytes(schematron(rules, paths.namespaces, title))
        proposals, differing = _judged(draft, rules, source, progress)
        plain = _in_plain_text(draft, source, config, {one.id: one.exceptions for one in proposals})
    if differing:
        told = (*told, f"left out, as engines count otherwise than was counted here: {', '.join(differing)}")
    wanted = accepted_ids(proposals, accept)
    in_plain = out is not None and is_plain(out)
    unspelled = sorted(wanted - {*plain}) if in_plain else []
    if unspelled:
        told = (*told, f"left out, as plain rules cannot say them: {', '.join(unspelled)}; write a file .sch instead")
        wanted -= {*unspelled}
    proposals = tuple(
        replace(one, accepted=one.id in wanted, plain=plain[one.id].written if one.id in plain else "")
        for one in proposals
    )
    written = [rule for rule in rules if rule.id in wanted]
    if out is not None and written:
        with atomic_path(out) as temporary, blamed(out):
            if in_plain:
                lines = (f"# {title}", *(spelled_rule(plain[rule.id]) for rule in written), "")
                temporary.write_text("\n".join(lines), encoding="utf-8")
            else:
                temporary.write_bytes(schematron(written, paths.namespaces, title))
            if not in_plain and len(open_rulebook(temporary).checks) != len(written):
                raise ViolationError.of("cannot-hold", out, format="a rulebook", detail="all these rules")
    return SuggestResult(
        data=shown(data),
        records=len(records),
        output=shown(out) if out is not None and written else None,
        proposals=proposals,
        notes=told,
        namespaces=dict(paths.namespaces),
    )


def _judged(
    draft: Path, rules: Sequence[NamedRule], source: Source, progress: Progress
) -> tuple[tuple[Proposal, ...], list[str]]:
    """Evaluate the drafted rules on the file, and number them; with the ids of those that do not hold as counted."""
    rulebook = open_rulebook(draft)
    job = job_on(source, rulebook)
    evaluation = job.evaluate(None, progress, limit=0)
    places = {check.id: check.index for check in job.rulebook.checks}
    kept: list[NamedRule] = []
    differing: list[NamedRule] = []
    for rule in rules:
        at, candidate = places[rule.id], rule.candidate
        said = int(evaluation.failed[at]) + int(evaluation.errors[at])
        (kept if said == int(candidate.fails.sum()) else differing).append(rule)
    edits = {edit.check.id: edit for edit in job.edits}
    progress("comparing the rules with each other", 0)
    implied = {**_required_anyway(kept), **_implied(kept, edits)}
    kept.sort(key=lambda rule: rule.id in implied)
    return tuple(
        _proposal(number, rule, edits[rule.id], implied.get(rule.id, ())) for number, rule in enumerate(kept, 1)
    ), [rule.id for rule in differing]


def _in_plain_text(
    draft: Path, source: Source, config: Config, exceptions: Mapping[str, int]
) -> dict[str, PlainRule]:
    """Return the drafted rules in plain text, by id: those that the same number of records break."""
    levels = levels_of(source, config.missing)
    translated = plain_of_rulebook(open_rulebook(draft), levels, lenient=True)
    found = [one.rule for one in translated if one.rule is not None]
    if not found:
        return {}
    text = "\n".join(map(spelled_rule, found))
    rulebook = open_rulebook(GivenRules(text, draft.name), levels=levels)
    job = job_on(source, rulebook)
    evaluation = job.evaluate(None, no_progress, limit=0)
    failed = {check.id: int(evaluation.failed[check.index]) for check in job.rulebook.checks}
    return {one.name: one for one in found if failed.get(name_of_rule(one.name)) == exceptions.get(one.name)}


def _implied(rules: Sequence[NamedRule], edits: Mapping[str, Edit]) -> dict[str, tuple[str, ...]]:
    """Return the rules that others imply, by the algebra of the pre-flight; all of them could go together.

    Those that say something of one field alone are premises; whole numbers and bounds imply nothing here.
    """
    asked = [edits[rule.id] for rule in rules if rule.candidate.kind.premise]
    related = {rule.id for rule in rules if rule.candidate.kind.related}
    return {one.rule: one.by for one in what_follows(asked, asked=related)}


def _required_anyway(rules: Sequence[NamedRule]) -> dict[str, tuple[str, ...]]:
    """Return the fields that have to be there for another rule to hold: one of every record, of values."""
    asking: dict[str, str] = {}
    for rule in rules:
        if rule.candidate.kind.needs_value and not rule.candidate.guards:
            for field in rule.candidate.fields:
                asking.setdefault(field, rule.id)
    return {
        rule.id: (asking[rule.candidate.fields[0]],)
        for rule in rules
        if rule.candidate.kind == REQUIRED and rule.candidate.fields[0] in asking
    }


def _proposal(number: int, rule: NamedRule, edit: Edit, implied: tuple[str, ...]) -> Proposal:
    candidate, constraint = rule.candidate, edit.constraint
    match constraint:
        case OpaqueEdit():
            form = ""
        case CrossRecordEdit():
            form = render_cross_record(constraint)
        case _:
            form = render_form(form_of(constraint))
    return Proposal(
        number=number,
        id=rule.id,
        kind=candidate.kind.name,
        form=form,
        edit=edit.name,
        fields=candidate.fields,
        context=rule.context,
        test=candidate.test,
        message=told(candidate.message),
        records=int(candidate.applies.sum()),
        exceptions=int(candidate.fails.sum()),
        first=tuple((np.flatnonzero(candidate.fails)[:_FIRST] + 1).tolist()),
        strength=candidate.strength,
        evidence=candidate.evidence,
        follows_from=implied,
    )


def accepted_ids(proposals: Sequence[Proposal], accept: Iterable[str]) -> frozenset[str]:
    """Return the ids of the proposals that are accepted.

    Raises
    ------
    UsageError
        There is no such one.
    """
    ids = [one.id for one in proposals]
    found: set[str] = set()
    for asked in accept:
        numbers = _NUMBERS.fullmatch(asked)
        if asked == ALL:
            found.update(one.id for one in proposals if not one.follows_from)
        elif asked in ids:
            found.add(asked)
        elif numbers is None:
            raise UsageError.of("unknown-name", kind="proposal", name=asked, known=Known(asked, tuple(ids)))
        else:
            low, high = int(numbers[1]), int(numbers[2] or numbers[1])
            if not 1 <= low <= high <= len(ids):
                expected = f"numbers from 1 to {len(ids)}"
                raise UsageError.of("bad-value", name=Setting("--accept"), expected=expected, given=asked)
            found.update(ids[low - 1 : high])
    return frozenset(found)
