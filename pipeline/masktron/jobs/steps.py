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
from masktron.jobs.keys_known import needs_keys
from masktron.jobs.level_steps import LevelRuns, missing_by_field
from masktron.jobs.lowering.lower import Lowered
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
from masktron.jobs.translated_rules import asked_by, refuse_lost, rules_beside, rules_read_back, title_of
from masktron.jobs.written_classes import written_classes
from masktron.perturbation_settings import pram_settings, together
from masktron.problems.problem import Note, Rule, Setting, fields, rules
from masktron.progress import Progress, Told, no_progress, told_as
from masktron.rulebook.analysis import readers
from masktron.rulebook.locality import locality
from masktron.scratch import folder_on_disk, private_folder
from masktron.setting_values import ALL_FIELDS
from masktron.sources.column import Column
from masktron.sources.level_tree import LevelPath
from masktron.sources.source import Source
from masktron.translation import Translation, translated, translated_by_level
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
    columns, done = recoded_columns(run)
    translation = translated(
        run.job.rulebook,
        run.job.edits,
        recodings_in(done),
        run.job.source.layout,
        let_go=run.let_go,
        masked=run.masked,
        removed=run.removed,
    )
    refuse_lost(run, translation)
    run = with_translation(run.after(columns, *done), translation)
    return asked_by(run, rules_out or rules_beside(run.job.source.path)) if run.account.rulebook else run


def recoded_columns(run: Run) -> tuple[dict[str, Column], list[Recoded]]:
    """Recode the fields of the settings, and say how.

    Raises
    ------
    UsageError, DocumentError, InfeasibleError
        A field cannot be recoded so.
    """
    config, records, keep, job = run.config, run.records, run.originals.keep, run.job
    done: list[Recoded] = []
    columns: dict[str, Column] = {}
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
    return columns, done


def with_translation(run: Run, translation: Translation) -> Run:
    """Return the run with what became of the rules in its account, and the rulebook that is asked now."""
    account = replace(run.account, rules=translation.rules)
    if any(rule.changed for rule in translation.rules):
        title = title_of(recodings_in(account.treatments))
        account = replace(account, rulebook=translation.schematron(title, names_in(account.treatments)))
    return replace(run, account=account)


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
    on_levels : callable
        Does the same on the records of each level of a nested file that it is meant for.
    """

    kind: str
    fields: tuple[str, ...]
    apply: Callable[[Run], Run]
    on_levels: Callable[[LevelRuns], LevelRuns]


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
        recode = partial(recode_fields, rules_out=rules_out)
        found.append(Step("recoding", tuple(config.recode), recode, _recoded_levels))
    if config.reweight and config.weight is not None:
        found.append(Step("reweighting", (config.weight,), spread_weights, _no_levels))
    if config.pram:
        drawn = tuple(name for several in config.pram for name in together(several))
        found.append(Step("pram", drawn, draw_categories, _drawn_levels))
    if config.swap:
        found.append(Step("swapping", tuple(config.swap["regions"]), swap_regions, _swapped_levels))
    if config.key_k is not None:
        told = told_as(progress, "suppressing keys", "sets of keys")
        keys = [name for name, role in config.roles.items() if role is Role.QUASI_IDENTIFIER]
        named = tuple(dict.fromkeys((*config.quasi_identifiers, *keys)))
        both = partial(suppress_keys, told=told), partial(_suppressed_levels, told=told)
        found.append(Step(SUPPRESSION, named, *both))
    return tuple(found)


def _no_levels(levels: LevelRuns) -> LevelRuns:
    raise TypeError(f"{levels.run.source.path}: settings refuse to spread weights of a nested file")


def _recoded_levels(levels: LevelRuns) -> LevelRuns:
    """Recode fields of the levels, and translate the rules."""
    by_level: dict[LevelPath, dict[str, str]] = {}
    for name, how in levels.given.recode.items():
        by_level.setdefault(levels.level_of([name], f"recode.{name}"), {})[name] = how
    run, done = levels.run, []
    for path, recode in by_level.items():
        level = levels.at(path, recode=recode)
        columns, own = recoded_columns(level)
        levels = levels.after(path, level.after(columns, *own))
        done += own
    translation = translated_by_level(
        levels.back.job.rulebook,
        levels.tree,
        recodings_in(done),
        let_go=run.let_go,
        masked=run.names.names(run.masked),
        removed=run.names.names(run.removed),
    )
    refuse_lost(run, translation)
    return replace(levels, run=with_translation(levels.run, translation))


def _drawn_levels(levels: LevelRuns) -> LevelRuns:
    """Draw fields anew, each on its level, given values of fields of this level and of those around."""
    for name, text in levels.given.pram.items():
        setting = f"pram.{name}"
        path, how = levels.level_of(together(name), setting), pram_settings(setting, text)
        levels.require_around(path, how.within, setting)
        levels.refuse_households(how.household, setting)
        levels = levels.after(path, draw_categories(levels.at(path, pram={name: text})))
    return levels


def _swapped_levels(levels: LevelRuns) -> LevelRuns:
    """Exchange regions between records of a level, which move with all that is within them."""
    swap = levels.given.swap
    path = levels.level_of(swap["regions"], "swap")
    levels.require_around(path, (*swap.get("keys", ()), *swap.get("similar", ())), "swap")
    levels.refuse_households(swap.get("household"), "swap")
    return levels.after(path, swap_regions(levels.at(path, swap=swap)))


def _suppressed_levels(levels: LevelRuns, told: Told) -> LevelRuns:
    """Leave out keys of each level, from the top down: k records of it share them with those of what is around.

    Raises
    ------
    UsageError
        There is no key.
    """
    key_k, before = levels.given.key_k, len(levels.run.account.treatments)
    for path, _ in levels.tree.levels():
        level = levels.at(path, key_k=key_k)
        if levels.own_fields(path).intersection(level.keys.names) - {level.keys.weight}:
            levels.require_around(path, level.keys.names, "the list of quasi-identifiers")
            levels = levels.after(path, suppress_keys(level, told))
    if len(levels.run.account.treatments) == before:
        raise needs_keys(Setting("--key-k", (str(key_k),)), str(levels.run.source.path))
    return levels


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
        _require_possible(original)
    if config.reweight:
        require_spreadable(original)
    with errors_by_level(original.names), ExitStack() as stack, _named_as(original.source.path) as named:

        def judged_anew(run: Run, since: int) -> Run:
            folder = stack.enter_context(private_folder(disk))
            return _judged_anew(run, since, folder, named, progress, executor)

        def on_levels(step: Step, levels: LevelRuns) -> Run:
            folder = stack.enter_context(private_folder(disk))
            try:
                done = step.on_levels(levels)
                since = len(levels.run.account.treatments)
                return _levels_judged_anew(done, since, folder, named, progress, executor)
            except InfeasibleError as error:
                tied = levels.read_by(error.problem.references.get("rules", ()))
                if step.kind != SUPPRESSION or not tied:
                    raise
            return on_levels(step, replace(levels, tied=levels.tied | tied))

        known = 0
        for step in chain_of(original.config, rules_out, progress):
            if isinstance(run.back, Lowered):
                progress("treating fields", 0)
                run = on_levels(step, LevelRuns.of(run))
                known = len(run.account.treatments)
                continue
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
_HELPS: Mapping[str, str] = {
    "suppression": "suppress fewer cells: recode {fields:and} ([[--recode]]), or leave out [[--key-k]]",
    "pram": "leave {fields:and} out of [[--pram]]",
    "swapping": "leave out [[--swap]]",
    "reweighting": "leave out [[--reweight]]",
}
"""What keeps the rules that such a step has broken."""


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
    changed = {one.kind: fields([name for name in one.changed if name in run.account.fields]) for one in steps}
    drawn = {"pram", "swapping"}.intersection(changed)
    return InfeasibleError.of(
        "steps-break-rules",
        path,
        fields=tuple(dict.fromkeys(name for own in changed.values() for name in own)),
        rules=tuple(map(Rule, broken.rules)),
        reason=f"{how}, rules {'' if steps[0].kind == 'reweighting' else 'over several records '}fail",
        helps=[Note(_HELPS[kind], fields=own) for kind, own in changed.items()],
        again=", or run again, as each run draws other values" if drawn else "",
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
    released = {
        *found.originals.released,
        *(index for index in settled if job.rulebook.checks[index].id in run.let_go),
    }
    originals = replace(found.originals, released=tuple(sorted(released)))
    return _taken_over(run, replace(found, originals=originals))


def _levels_judged_anew(
    levels: LevelRuns, since: int, folder: Path, named: set[str], progress: Progress, executor: Executor | None
) -> Run:
    """Judge what steps have made of nested records, as a nested file is judged."""
    run, nested = levels.run, levels.back.job.source
    told = told_as(progress, "treating fields")
    source = nested.treated_levels(levels.dataset, levels.names(), run.originals.keep, folder, told)
    named.add(str(source.path))
    rulebook = levels.back.job.rulebook
    if run.account.rulebook:
        rulebook = rules_read_back(run, rules_beside(run.original.source.path))
    missing = {**missing_by_field(run.original), **run.given.missing}
    config = replace(_without_rules(run.given, run.account), missing=missing)
    try:
        job = Job(source, rulebook, classified(rulebook, source))
        found = judged(job, config, progress, executor, order=levels.back.source.member_order)
    except InvalidOriginalError as error:
        raise _refused(run, since, error) from error
    return _taken_over(run, found)


def _taken_over(run: Run, found: Run) -> Run:
    """Return a run on treated records with the settings and the account of the run that has treated them."""
    given = run.given
    config = replace(
        found.config,
        allow=given.allow,
        allow_unfired=given.allow_unfired,
        invalid=given.invalid,
        phase=given.phase,
    )
    return replace(found, config=config, given=given, account=run.account, before=run.original)


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
    rulebook, config = original.back.job.rulebook, original.given
    drawn = (name for several in config.pram for name in together(several))
    names = dict.fromkeys([*config.recode, *drawn, *config.swap.get("regions", ())])
    beside = {one.name for one in rulebook.beside}
    own = [name for name in rulebook.documents if name not in beside]
    released = set(original.as_written.released)
    for index, read in readers(rulebook).items():
        if (
            read.intersection(own)
            and index not in released
            and not _looks_up_masked(original, original.back.job.edits[index])
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
