"""Records as the steps of a run leave them: taken one after the other, and judged as a file is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from masktron.classify import Edit
from masktron.config import Config
from masktron.constraints import DomainEdit, InDomain, OpaqueEdit
from masktron.errors import InfeasibleError, MasktronError, RefusalFacts, ViolationError
from masktron.executor.contract import Executor
from masktron.jobs.job import Job, classified
from masktron.jobs.levels import FlatRun, Levels, levels_of
from masktron.jobs.opening import judged
from masktron.jobs.originals import InvalidOriginalError
from masktron.jobs.reweighted import require_spreadable
from masktron.jobs.run import Account, Run
from masktron.jobs.steps import chain_of, take_step
from masktron.problems.problem import Note, Rule, fields, rules
from masktron.progress import Progress, told_as
from masktron.rulebook.analysis import readers
from masktron.rulebook.locality import locality
from masktron.scratch import folder_on_disk, private_folder
from masktron.setting_values import ALL_FIELDS
from masktron.step_kinds import steps_of
from masktron.unrolling.level_names import errors_by_level


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
    _require_known(original)
    if original.given.treats_keys:
        _require_possible(original)
    if original.given.reweight:
        require_spreadable(original)
    disk = folder_on_disk()[0]
    with errors_by_level(original.names), ExitStack() as stack, _named_as(original.source.path) as named:

        def judge(levels: Levels) -> Levels:
            if len(levels.run.account.treatments) == levels.judged:
                return levels
            folder = stack.enter_context(private_folder(disk))
            return levels_of(_judged_anew(levels, folder, named, progress, executor))

        levels = levels_of(original)
        for kind in chain_of(original.config):
            progress("treating fields", 0)
            take = partial(take_step, kind, rules_out=rules_out, progress=progress)
            levels = _judged_after(take, judge(levels), judge) if kind.after_judging else take(levels)
        yield judge(levels).run


def _judged_after(take: Callable[[Levels], Levels], levels: Levels, judge: Callable[[Levels], Levels]) -> Levels:
    """Suppress keys; where rules over several records break without some, again without touching these."""
    try:
        return judge(take(levels))
    except InfeasibleError as error:
        broken = {one.name for one in error.problem.references.get("rules", ()) if isinstance(one, Rule)}
        tied = levels.read_by(broken) - levels.tied
        if not tied:
            raise
    return _judged_after(take, replace(levels, tied=levels.tied | tied), judge)


@contextmanager
def _named_as(own: Path) -> Iterator[set[str]]:
    """Let errors name a file as the user does, and not the temporary ones that are added to the set."""
    temporary: set[str] = set()
    try:
        yield temporary
    except MasktronError as error:
        error.rename_files(dict.fromkeys(temporary, str(own)))
        raise


def _refused(levels: Levels, error: InvalidOriginalError) -> ViolationError | InfeasibleError:
    """Return why rules do not hold after steps: those are named that changed what a broken rule reads."""
    run = levels.run
    path, (broken,) = run.original.source.path, error.facts
    read = levels.read_by(broken.rules)
    steps = [one for one in run.account.treatments[levels.judged :] if one.broken]
    steps = [one for one in steps if read.intersection(one.changed)] or steps
    if not steps:
        return ViolationError.of("self-check-failed", path, detail=error.problem)
    how = " and ".join(dict.fromkeys(one.broken for one in steps))
    changed = {one.helps: fields([name for name in one.changed if name in run.account.fields]) for one in steps}
    return InfeasibleError.of(
        "steps-break-rules",
        path,
        fields=tuple(dict.fromkeys(name for own in changed.values() for name in own)),
        rules=tuple(map(Rule, broken.rules)),
        reason=f"{how}, rules {'over several records ' if steps[0].asks_rules else ''}fail",
        helps=[Note(help_, fields=own) for help_, own in changed.items()],
        again=", or run again, as each run draws other values" if any(one.untrue for one in steps) else "",
        facts=[RefusalFacts("keys")],
    )


def _judged_anew(levels: Levels, folder: Path, named: set[str], progress: Progress, executor: Executor | None) -> Run:
    """Judge what steps have come to, as a file is judged; some of their treatments had been judged before."""
    run, rulebook = levels.run, levels.rulebook
    source = levels.treated(folder, told_as(progress, "treating fields"))
    named.add(str(source.path))
    config = replace(_without_rules(run.given, run.account), missing=levels.missing(source))
    try:
        job = Job(source, rulebook, classified(rulebook, source))
        settled = _settled(run, job) if isinstance(levels, FlatRun) else frozenset()
        found = judged(job, config, progress, executor, settled, levels.order)
    except InvalidOriginalError as error:
        raise _refused(levels, error) from error
    let_go = {index for index in settled if rulebook.checks[index].id in run.let_go}
    originals = replace(found.originals, released=tuple(sorted(let_go.union(found.originals.released))))
    return _taken_over(run, replace(found, originals=originals))


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


def _require_known(original: Run) -> None:
    """Refuse to let rules be lost that nobody knows, whether or not something is recoded."""
    job = original.back.job
    for name in original.config.allow_lost:
        if name != ALL_FIELDS:
            job.index_of(name)


def _require_possible(original: Run) -> None:
    """Refuse what cannot be treated: rules that read the original itself."""
    rulebook, config = original.back.job.rulebook, original.given
    names = dict.fromkeys(name for kind, own in steps_of(config).items() if kind.named_as for name in own)
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
