"""Is this edited file fit for release?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from pathlib import Path

from masktron.config import Config, Role
from masktron.errors import UsageError
from masktron.executor.contract import Executor
from masktron.jobs.common import (
    LARGE,
    code_notes,
    departure_notes,
    file_notes,
    fired_notes,
    judging_stage,
    notes_of,
    require_records,
    size_notes,
    unsatisfiable_notes,
    violations,
)
from masktron.jobs.documents import Given, documents_that_are
from masktron.jobs.following import Following, allowances, with_allowances, without_values
from masktron.jobs.job import Job, open_job
from masktron.jobs.untested import asking_unknown_names, idle_conditions, may_be_untested, with_untested
from masktron.judge import Shown, ShownLevel
from masktron.level_settings import LevelSettings, level_paths
from masktron.problems.problem import Field as Named
from masktron.problems.problem import Known, Sentence
from masktron.progress import Progress, no_progress
from masktron.report.outputs import Outputs
from masktron.results import FieldMeaning, RuleResult, ValidateResult, shown
from masktron.sources.level_tree import TOP, LevelPath
from masktron.sources.opening import EarlyReader
from masktron.sources.record_layout import AsDocument, Field
from masktron.sources.source import Source
from masktron.thresholds import thresholds

USUAL_RECORD_ID = "@id"
"""Field that names the records in reports, where the file has it and no other is asked for or declared."""


def record_id_fields(
    source: Source, record_id: str | None, levels: LevelSettings, roles: Mapping[str, Role]
) -> dict[LevelPath, Field]:
    """Return the field that names the records of each level that has one.

    Of the records of the file that is the one which is asked for. Where none is, and of members, it is the key of the
    level, if that is one column; else the first field that is declared as a record id, else as an identifier, else
    ``@id``.

    Parameters
    ----------
    source : Source
    record_id : str or None
        The one that is asked for.
    levels : mapping of str to LevelSetting
    roles : mapping of str to Role

    Raises
    ------
    UsageError
        The records have no field that is called `record_id`.
    """
    found: dict[LevelPath, Field] = {}
    if record_id is not None:
        found[TOP] = _asked(source, record_id)
    tree = source.tree
    there = {} if tree is None else dict(tree.levels())
    for level, path in level_paths(levels).items():
        # a column that names the record above is no field of its own
        own = [
            field for name in levels[level].key if path in there and (field := there[path].field(name)) is not None
        ]
        if len(own) == 1:
            found.setdefault(path, own[0])
    for role in (Role.RECORD_ID, Role.IDENTIFIER):
        for name in (name for name, own in roles.items() if own is role):
            own_field = source.layout.field(name)
            place = (TOP, own_field) if own_field is not None else None if tree is None else tree.named(name)
            if place is not None:
                found.setdefault(*place)
    usual = {
        TOP: source.layout.field(USUAL_RECORD_ID),
        **{path: one.field(USUAL_RECORD_ID) for path, one in there.items()},
    }
    return {**{path: field for path, field in usual.items() if field is not None}, **found}


def shown_of(job: Job, record_ids: Mapping[LevelPath, Field]) -> Shown:
    """Return what findings show: what names records, the fields that the check reads, and which member it is."""
    tree, record_id = job.source.tree, record_ids.get(TOP)
    names = {name for edit in job.edits for name in edit.variables}
    known = {name: (TOP, field) for name in names if (field := job.source.layout.field(name)) is not None}
    if tree is not None:
        members = ((name, tree.named(name)) for name in names.difference(known))
        known |= {name: place for name, place in members if place is not None}
    fields = {name: replace(field, name=name) for name, (_, field) in known.items()}
    read = tuple(tuple(fields[name] for name in edit.variables if name in fields) for edit in job.edits)
    if tree is None or not tree.top.children:
        return Shown(record_id, read)
    tags = {path: tree.tags(path) for path, _ in tree.levels()}
    below = {name: tags[path] for name, (path, _) in known.items() if path}
    levels = {tags[path]: ShownLevel(level.name, record_ids.get(path)) for path, level in tree.levels() if path}
    return Shown(record_id, read, below, levels)


def _asked(source: Source, record_id: str) -> Field:
    field = source.layout.field(record_id)
    if field is None:
        known = Known(record_id, tuple(one.name for one in source.layout.fields))
        raise UsageError.of("unknown-name", source.path, name=Named(record_id), known=known, kind="field")
    return field


@dataclass(frozen=True, slots=True)
class ValidateRequest:
    """What `validate` is asked of a file, or of each of several.

    Attributes
    ----------
    rules : Path
    config : Config
        The settings.
    original : Path or None
        What ``document()`` in the rules means, where the settings do not say so.
    record_id : str or None
        Field whose content names the record in findings. When None, the key of the level, where the settings say it;
        else what roles declare as a record id or an identifier, else ``@id`` where the file has it.
    limit : int or None
        Findings kept per rule, None for all; counts are always exact.
    allow_empty : bool
        Whether a file without records is valid.
    release_safe : bool
        Leave every value of a record out, of the result, the reports and the errors: counts only.
    outputs : Outputs
        Reports to write while the file is read.
    document : {"never", "otherwise", "always"}
        Whether a file in XML is judged as one document.
    """

    rules: Path
    _: KW_ONLY
    config: Config = field(default_factory=Config)
    original: Path | None = None
    record_id: str | None = None
    limit: int | None = 1000
    allow_empty: bool = False
    release_safe: bool = False
    outputs: Outputs = field(default_factory=Outputs)
    document: AsDocument = "otherwise"

    @property
    def documents(self) -> Given:
        """The documents that the rules read."""
        return Given(self.config.documents, self.original, alone=True, spare=self.config.spare_documents)


def run_validate(
    data: Path,
    request: ValidateRequest,
    *,
    progress: Progress = no_progress,
    judge: EarlyReader | None = None,
    executor: Executor | None = None,
) -> ValidateResult:
    """Evaluate every rule on every record.

    Parameters
    ----------
    data : Path
    request : ValidateRequest
    progress : callable
    judge : EarlyReader, optional
        Of the file, where libxml2 has begun to read it.
    executor : Executor, optional
        Who evaluates slices of a large flat file; it is entered where there are any. The result is the same.

    Raises
    ------
    RulebookError, DocumentError, UsageError
    """
    config, original, release_safe = request.config, request.original, request.release_safe

    def opened() -> tuple[Job, Shown]:
        job = open_job(
            data,
            request.rules,
            config,
            progress=progress,
            judge=judge,
            given=request.documents,
            document=request.document,
        )
        return job, shown_of(job, record_id_fields(job.source, request.record_id, config.levels, config.roles))

    job, shows = without_values(opened, wanted=release_safe)
    if not job.rulebook.checks:
        raise UsageError.of("no-rules")
    # a file may say them in terms of its records
    meanings = () if release_safe else tuple(_meanings(job))
    beside = without_values(partial(job.beside, original, config.reading), wanted=release_safe)
    allowed = allowances(job.rulebook, thresholds(config.max_failures))
    unfired = may_be_untested(job, config.allow_unfired)
    small = job.source.count is None and job.source.shape.flat and job.source.size < LARGE
    asking = partial(asking_unknown_names, job, unfired)
    untested = without_values(asking, wanted=release_safe, rulebook_read=True)
    asked = job.without_asking(untested)  # which may take long, to no purpose
    warnings = size_notes(asked)
    progress(judging_stage(asked, warnings), 0)
    outputs = request.outputs
    with ExitStack() as stack:
        reports = stack.enter_context(outputs.opened(job.rulebook, job.source.layout, shown(data)))
        most = outputs.limit if reports.reports else request.limit
        following = Following(job.rulebook, job.source.layout, reports, most, untested)
        evaluate = partial(
            asked.evaluate,
            beside,
            progress,
            executor=executor,
            limit=0 if release_safe else request.limit,
            shown=shows,
            sink=following.add if reports.reports and not release_safe else None,
            sunk=outputs.needed,
            keep_verdicts=small,
        )
        evaluation = without_values(evaluate, wanted=release_safe, rulebook_read=True)
        undecided = job.undecided(beside, progress, executor)
        if not request.allow_empty:
            require_records(job, evaluation.records)
        if evaluation.handed_back:
            warnings = size_notes(asked, evaluation)
        evaluation = following.marked(evaluation)
        results = with_allowances(job.rule_results(evaluation, undecided=undecided), allowed)
        testing = partial(with_untested, results, job, evaluation, allowed=unfired, original=beside)
        results = without_values(testing, wanted=release_safe, rulebook_read=True)
        if release_safe:
            results = tuple(map(_without_known, results))
        conditions = partial(idle_conditions, job, evaluation)
        idle = without_values(conditions, wanted=release_safe, rulebook_read=True) if small else ()
        hard, soft = violations(results)
        told: tuple[Sentence, ...] = (
            *([config.found] if config.found else ()),
            *_unread(job, original),
            *_same(job, original),
            *_of_file(job, config.missing, release_safe=release_safe),
            *notes_of(job, evaluation, results),
            *code_notes(job, evaluation),
            *unsatisfiable_notes(job, evaluation),
            *fired_notes(job, evaluation, results),
            *idle,
            *warnings,
            *departure_notes(job, evaluation),
            *following.notes(),
            *(() if executor is None else executor.notes),
        )
        result = ValidateResult(
            data=shown(data),
            records=evaluation.records,
            violations=hard,
            warnings=soft,
            rules=results,
            notes=tuple(map(_note_without_known, told)) if release_safe else told,
            engine=evaluation.engine,
            evaluation=evaluation,
            rulebook=job.rulebook,
            limit=request.limit,
            release_safe=release_safe,
            fields=meanings,
            is_document=job.source.layout.is_document,
        )
        reports.finish(result)
    return result


def _note_without_known(note: Sentence) -> Sentence:
    """Return a note without the names that a file has."""
    return note if isinstance(note, str) else note.without_known()


def _without_known(rule: RuleResult) -> RuleResult:
    """Return the result of a rule without the names that a file has."""
    why = rule.untested
    return rule if why is None else replace(rule, untested=replace(why, problem=why.problem.without_known()))


def _same(job: Job, original: Path | None) -> list[str]:
    itself = documents_that_are(job.source.path, job.rulebook, original)
    return [f"{itself}: rules that compare it with that hold whatever the values are"] if itself else []


def _meanings(job: Job) -> Iterator[FieldMeaning]:
    """Yield what is said of the fields that rules read."""
    read = {name for edit in job.edits for name in edit.variables}
    for variable in job.source.variables:
        if variable.name not in read:
            continue
        missing = {**variable.declared_missing, **dict.fromkeys(variable.ranges, "")}
        if variable.label or variable.labels or missing:
            yield FieldMeaning(variable.name, variable.label, variable.labels, missing)


def _of_file(job: Job, missing: Mapping[str, frozenset[str]], *, release_safe: bool) -> tuple[Sentence, ...]:
    """Return the notes of the file; how many there are, where they must not quote it."""
    found = file_notes(job.source, missing=missing)
    if not found or not release_safe:
        return found
    several = "note" if len(found) == 1 else "notes"
    return (f"left out, as they may quote the file: {len(found)} {several} on how it reads",)


def _unread(job: Job, original: Path | None) -> tuple[str, ...]:
    if original is None or job.rulebook.reads_original:
        return ()
    return (f"no rule reads the original: {shown(original)} was not used",)
