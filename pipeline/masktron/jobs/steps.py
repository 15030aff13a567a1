"""The steps of a run that change fields before the others are masked: recode, spread weights, draw, swap, suppress.

Each is given a run and returns it with other records, and with what it has done in the account; recoding changes the
rules, too. What they come to is judged as a file is, and masked from there on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from masktron.classify import Edit
from masktron.config import Config, Role
from masktron.constraints import DomainEdit, InDomain, OpaqueEdit
from masktron.errors import InfeasibleError, MasktronError, RefusalFacts, ViolationError
from masktron.executor.contract import Executor
from masktron.jobs.job import Job, classified
from masktron.jobs.lowering.wide_settings import refuse_treatments
from masktron.jobs.opening import judged
from masktron.jobs.originals import InvalidOriginalError
from masktron.jobs.post_randomised import draw_categories
from masktron.jobs.recoded import (
    checked_recoding,
    missing_codes_of,
    missing_texts_of,
    recoding_of,
    variable_of,
)
from masktron.jobs.reweighted import require_spreadable, spread_weights
from masktron.jobs.run import Account, Run
from masktron.jobs.suppressed import suppress_keys
from masktron.jobs.swapped import swap_regions
from masktron.jobs.translated_rules import asked_by, refuse_lost, rules_beside, title_of
from masktron.jobs.written_classes import written_classes
from masktron.perturbation_settings import together
from masktron.problems.problem import Rule, fields, rules
from masktron.progress import Progress, no_progress, told_as
from masktron.rulebook.analysis import readers
from masktron.rulebook.locality import locality
from masktron.scratch import folder_on_disk, private_folder
from masktron.setting_values import ALL_FIELDS
from masktron.sources.source import Source
from masktron.translation import translated
from masktron.unrolling.level_names import errors_by_level
from masktron.write.treatments import (
    Recoded,
    names_in,
    recodings_in,
)


def recode_fields(run: Run, rules_out: Path | None) -> Run:
    """Recode fields, and ask the rules as they are translated: written, and read back.

    Parameters
    ----------
    run : Run
    rules_out : Path or None
        What the translated rulebook is going to be called; where nothing is published, None.

    Raises
    ------
    UsageError, DocumentError, InfeasibleError
        A field cannot be recoded so; or a rule is lost that nobody let go.
    """
    config, records, keep, job = run.config, run.records, run.originals.keep, run.job
    done, columns = [], {}
    for name, how in config.recode.items():
        variable, missing = variable_of(job.source, name), missing_codes_of(name, config)
        meant = recoding_of(name, records, keep, config, config.weight, variable)
        order = () if variable is None else variable.order
        written = written_classes(meant, job.source, missing, order)
        columns[name] = checked_recoding(written.recoding, records, keep, missing)
        kept = missing_texts_of(columns[name].taken(np.flatnonzero(keep)))
        own = next((one for one in job.source.own_variables if one.name == name), None)
        if (form := written.form(own, missing, kept)) is not None:
            columns[name] = replace(columns[name], variable=job.source.recoded(name, form))
        done.append(Recoded(written.recoding, how, written.names))
    recodings = {one.recoding.field: one.recoding for one in done}
    translation = translated(
        job.rulebook,
        job.edits,
        recodings,
        job.source.layout,
        let_go=run.let_go,
        masked=run.masked,
        removed=run.removed,
    )
    refuse_lost(run, translation)
    done_so_far = run.after(columns, *done)
    account = replace(done_so_far.account, rules=translation.rules)
    if not any(rule.changed for rule in translation.rules):
        return replace(done_so_far, account=account)
    content = translation.schematron(title_of(config.recode), names_in(done))
    called = rules_out or rules_beside(job.source.path)
    return asked_by(replace(done_so_far, account=replace(account, rulebook=content)), called)


@dataclass(frozen=True, slots=True)
class Step:
    """What changes fields of the records to release, and the rules with them.

    Attributes
    ----------
    kind : str
        As manifests call it.
    fields : tuple of str
        Those that it may change; empty where that is seen only when it is taken.
    apply : callable
        Returns the run with what it has done in the account.
    """

    kind: str
    fields: tuple[str, ...]
    apply: Callable[[Run], Run]


SUPPRESSION = "suppression"
"""The kind of the step that looks at records as they are judged, and comes last."""


def chain_of(config: Config, rules_out: Path | None = None, progress: Progress = no_progress) -> tuple[Step, ...]:
    """Return the steps that settings ask for, in the order in which they are taken.

    Parameters
    ----------
    config : Config
    rules_out : Path, optional
        What a translated rulebook is going to be called.
    progress : callable
    """
    found: list[Step] = []
    if config.recode:
        found.append(Step("recoding", tuple(config.recode), partial(recode_fields, rules_out=rules_out)))
    if config.reweight and config.weight is not None:
        found.append(Step("reweighting", (config.weight,), spread_weights))
    if config.pram:
        drawn = tuple(name for several in config.pram for name in together(several))
        found.append(Step("pram", drawn, draw_categories))
    if config.swap:
        found.append(Step("swapping", tuple(config.swap["regions"]), swap_regions))
    if config.key_k is not None:
        told = told_as(progress, "suppressing keys", "sets of keys")
        keys = [name for name, role in config.roles.items() if role is Role.QUASI_IDENTIFIER]
        named = tuple(dict.fromkeys((*config.quasi_identifiers, *keys)))
        found.append(Step(SUPPRESSION, named, partial(suppress_keys, told=told)))
    return tuple(found)


@contextmanager
def treated(
    original: Run, rules_out: Path | None, progress: Progress, executor: Executor | None = None
) -> Iterator[Run]:
    """Take the steps of the settings that change fields, and judge what they come to.

    Parameters
    ----------
    original : Run
    rules_out : Path or None
        What the translated rulebook is going to be called, as `place_of_rules` says.
    progress : callable
    executor : Executor, optional
        Who judges slices of treated records in XML, which stand in a file as long as the context lasts.

    Raises
    ------
    UsageError, DocumentError, InfeasibleError
        A field cannot be treated so; or a rule is lost that nobody let go.
    ViolationError
        A treated record breaks a rule.
    """
    config, run, disk = original.given, original, folder_on_disk()[0]
    _require_known(original)
    if config.treats_keys:
        refuse_treatments(["treatments"], original.job.source)
        _require_possible(original)
    if config.reweight:
        require_spreadable(original)
    with errors_by_level(original.names), ExitStack() as stack, _named_as(original.source.path) as named:

        def judged_anew(run: Run, since: int) -> Run:
            folder = stack.enter_context(private_folder(disk))
            return _judged_anew(run, since, folder, named, progress, executor)

        known = 0
        for step in chain_of(original.config, rules_out, progress):
            if step.kind == SUPPRESSION and len(run.account.treatments) > known:
                run, known = judged_anew(run, known), len(run.account.treatments)
            progress("treating fields", 0)
            run = step.apply(run)
        yield judged_anew(run, known) if len(run.account.treatments) > known else run


@contextmanager
def _named_as(own: Path) -> Iterator[set[str]]:
    """Let errors name a file as the user does, and not the temporary ones that are added to the set."""
    temporary: set[str] = set()
    try:
        yield temporary
    except MasktronError as error:
        error.rename_files(dict.fromkeys(temporary, str(own)))
        raise


_NAME = re.compile(r"[\w.-]+")
_DRAWN: Mapping[str, str] = {
    "suppression": "with keys suppressed",
    "pram": "with values drawn anew",
    "swapping": "with records swapped",
    "reweighting": "with the weights of records left out spread over others",
}
"""Steps that may break rules: they ask none, or none across records."""


def _refused(run: Run, since: int, error: InvalidOriginalError) -> ViolationError | InfeasibleError:
    """Return why rules do not hold after steps: those are named that changed what a broken rule reads.

    Parameters
    ----------
    run : Run
    since : int
        Treatments of the account that had been judged before.
    error : InvalidOriginalError
    """
    path, (broken,) = run.original.source.path, error.facts
    read: set[str] = set()
    for edit in run.job.edits:
        if edit.check.id in broken.rules:  # of a rule that is not understood, any word may be a field
            read.update(edit.variables or _NAME.findall(edit.check.test))
    steps = [one for one in run.account.treatments[since:] if one.kind in _DRAWN]
    steps = [one for one in steps if read.intersection(one.changed)] or steps
    if not steps:
        return ViolationError.of("self-check-failed", path, detail=error.problem)
    how = " and ".join(dict.fromkeys(_DRAWN[one.kind] for one in steps))
    changed = dict.fromkeys(name for one in steps for name in one.changed)
    return InfeasibleError.of(
        "rules-not-kept",
        path,
        fields=fields([name for name in changed if name in run.account.fields]),
        rules=tuple(map(Rule, broken.rules)),
        reason=f"{how}, rules {'' if steps[0].kind == 'reweighting' else 'over several records '}fail",
        facts=[RefusalFacts("keys")],
    )


def _judged_anew(
    run: Run, since: int, folder: Path, named: set[str], progress: Progress, executor: Executor | None
) -> Run:
    """Judge what steps have come to, as a file is judged; some of their treatments had been judged before."""
    original, account, given = run.original, run.account, run.given
    told = told_as(progress, "treating fields")
    source = run.source.treated(run.records, account.fields, run.originals.keep, folder, told)
    named.add(str(source.path))
    config = _with_missing(_without_rules(given, account), original, source, account)
    try:
        job = Job(source, run.job.rulebook, classified(run.job.rulebook, source))
        settled = _settled(run, job)
        found = judged(job, config, progress, executor, settled)
    except InvalidOriginalError as error:
        raise _refused(run, since, error) from error
    config = replace(
        found.config,
        allow=given.allow,
        allow_unfired=given.allow_unfired,
        invalid=given.invalid,
        phase=given.phase,
    )
    released = {
        *found.originals.released,
        *(index for index in settled if job.rulebook.checks[index].id in run.let_go),
    }
    originals = replace(found.originals, released=tuple(sorted(released)))
    return replace(found, config=config, originals=originals, given=given, account=account, before=original)


def _settled(run: Run, job: Job) -> frozenset[int]:
    """Return the checks of treated records that hold, or do not, as they did when the file was judged.

    They read no field that a step has changed, and nothing beyond their own record. A context with a condition may
    read anything; and where records were left out, where rules fire is counted anew.
    """
    if not run.originals.keep.all():
        return frozenset()
    as_judged = {check.id: check.test for check in run.original.job.rulebook.checks}
    far = locality(job.rulebook, job.source.layout)
    plain = {
        check.index
        for pattern in job.rulebook.patterns
        if not any("[" in rule.context for rule in pattern.rules)
        for rule in pattern.rules
        for check in rule.checks
    }
    return frozenset(
        edit.check.index
        for edit in job.edits
        if edit.check.index in plain
        and not far[edit.check.index]
        and not isinstance(edit.constraint, OpaqueEdit)
        and as_judged.get(edit.check.id) == edit.check.test
        and not {*run.account.fields}.intersection(edit.variables)
    )


def _without_rules(given: Config, done: Account) -> Config:
    """Return settings that name no rule that is not asked any more; no record is left out any more."""
    if not done.rulebook:
        return replace(given, invalid="stop")
    asked = {rule.id for rule in done.rules if rule.test}
    return replace(
        given,
        invalid="stop",
        phase=None,  # the translated rulebook has the rules of the phase alone
        allow=tuple(name for name in given.allow if name in asked),
        allow_unfired=tuple(name for name in given.allow_unfired if name in asked or name == ALL_FIELDS),
    )


def _with_missing(config: Config, original: Run, source: Source, done: Account) -> Config:
    """Return settings that declare codes for missing values that the treated records do not declare any more.

    A column of numbers with codes beside them may have become one of texts, in which a format has no such codes.
    """
    found = dict(config.missing)
    for name in recodings_in(done.treatments):
        variable, known = variable_of(source, name), missing_codes_of(name, config)
        declared = known if variable is None else known.union(variable.missing)
        there = missing_codes_of(name, original.config).intersection(missing_texts_of(original.records.columns[name]))
        if there - declared:
            found[name] = known | there
    return replace(config, missing=found)


def _require_known(original: Run) -> None:
    """Refuse to let rules be lost that nobody knows, whether or not something is recoded."""
    job = original.back.job
    for name in original.config.allow_lost:
        if name != ALL_FIELDS:
            job.index_of(name)


def _require_possible(original: Run) -> None:
    """Refuse what cannot be treated: rules that read the original itself."""
    rulebook, config = original.job.rulebook, original.config
    drawn = (name for several in config.pram for name in together(several))
    names = dict.fromkeys([*config.recode, *drawn, *config.swap.get("regions", ())])
    beside = {one.name for one in rulebook.beside}
    own = [name for name in rulebook.documents if name not in beside]
    released = set(original.originals.released)
    for index, read in readers(rulebook).items():
        if (
            read.intersection(own)
            and index not in released
            and not _looks_up_masked(original, original.job.edits[index])
        ):
            raise InfeasibleError.of(
                "rules-not-kept",
                str(rulebook.checks[index].origin),
                fields=fields(names) or "FIELD",
                rules=rules([rulebook.checks[index].id]),
                reason="it reads the original, in which they are as they were",
                facts=[RefusalFacts("keys", rules=(rulebook.checks[index].id,))],
            )


def _looks_up_masked(original: Run, edit: Edit) -> bool:
    """Tell whether a rule looks values of masked fields up in the original, where no treatment changes them."""
    if not isinstance(edit.constraint, DomainEdit) or not original.masked.issuperset(edit.variables):
        return False
    looked_up = (atom for case in edit.constraint.form for atom in case if isinstance(atom, InDomain))
    own = all(one.path.rpartition("/")[2].rpartition(":")[2] == one.variable for one in looked_up)
    return own and bool(original.originals.keep.all())  # else the treated records have fewer values
