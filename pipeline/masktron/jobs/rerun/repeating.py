"""Do the same work again, on another file or on the same one, and show it beside the last time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from masktron.addresses import AddressPath, is_inside, shortened
from masktron.config import Config, Role
from masktron.counts import counted
from masktron.declared import about, names
from masktron.errors import DocumentError, MasktronError, UsageError, ViolationError
from masktron.figures import NAMES, figure_of
from masktron.files import refuse_outputs
from masktron.jobs.common import require_flat, require_records
from masktron.jobs.documents import Given
from masktron.jobs.fields_by_level import completed_by_level, fields_by_level
from masktron.jobs.job import open_job
from masktron.jobs.lowering.wide_settings import named_as_fields
from masktron.jobs.mask import run_mask
from masktron.jobs.opening import open_original
from masktron.jobs.originals import InvalidOriginalError
from masktron.jobs.register.registration import Registration
from masktron.jobs.released_tables import tables_of_release
from masktron.jobs.rerun.changes import KINDS, SaidNow, changes_of
from masktron.jobs.rerun.facts import (
    FormerRun,
    MaskedBlock,
    RunOutcome,
    facts_of_file,
    outcome_of,
    read_former_run,
)
from masktron.jobs.run_places import MaskRequest
from masktron.jobs.translated_rules import files_of_recoding
from masktron.level_settings import with_tables
from masktron.perturbation_settings import short_pram
from masktron.problems.problem import Known, Note, Problem, Sentence, Setting, rules
from masktron.processes import rules_within
from masktron.progress import Progress, no_progress
from masktron.recoding_settings import short_how
from masktron.results import BlockChange, ChangeResult, FailureChange, FigureChange, RerunResult, shown
from masktron.sources.output_names import manifest_beside
from masktron.trust import files_read
from masktron.unrolling.level_names import errors_by_level
from masktron.write.manifest import read_manifest

_NO_BLOCK = MaskedBlock((), "", 0, math.nan)
_OF_FIELDS = about(Config, "fields")
_NAME_FILES = names(Config, lambda one: one.trust.levels or (one.trust.files and not one.trust.named_only))


class ChangedInputError(DocumentError):
    """The file or the rules do not fit the former run any more.

    Attributes
    ----------
    result : RerunResult
        With all changes.
    """

    def __init__(self, result: RerunResult, *, where: str) -> None:
        kinds = tuple(dict.fromkeys(change.kind for change in result.refused))
        ways = dict.fromkeys(Setting(option) for kind in kinds for option in KINDS[kind] or ())
        changes = [_named(change) for change in result.refused]
        setting = (*ways, Setting("--accept", kinds))
        super().__init__(Problem("changed-since-last-run", where, changes=changes, setting=setting))
        self.result = result


class InvalidNextFileError(InvalidOriginalError):
    """Records of the next file break rules; what else has changed is at hand.

    Attributes
    ----------
    changes : tuple of ChangeResult
    """

    def __init__(self, error: InvalidOriginalError, changes: tuple[ChangeResult, ...]) -> None:
        failing = [rule for rule in error.result.rules if rule.violations]
        violations = sum(rule.violations for rule in failing)
        broken = rules(rule.id for rule in failing)
        problem = Problem("next-file-invalid", error.where, violations=violations, rules=broken)
        MasktronError.__init__(self, problem, facts=error.facts)
        self.result, self.changes = error.result, changes


@dataclass(frozen=True, slots=True)
class Repeating:
    """How a run is to be repeated.

    Attributes
    ----------
    rules : Path or None
        The rulebook of the former run when None.
    manifest : Path or None
        Of this run.
    accept : collection of str
        Kinds of changes that do not stand in the way.
    tables : mapping of str to Path
        Tables of this run by their levels, where keys join several.
    settings : mapping of str to value
        What is said otherwise: fields of `Config`; tables such as ``roles`` are joined with those of the former run.
    again : str or None
        Why records are released again.
    replaces : bool
    dry_run : bool
    beside : mapping of str to Path
        What else is going to be written, by the names that messages have for it.
    """

    rules: Path | None = None
    manifest: Path | None = None
    accept: Collection[str] = ()
    tables: Mapping[str, Path] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    again: str | None = None
    replaces: bool = False
    dry_run: bool = False
    beside: Mapping[str, Path] = field(default_factory=dict)


def run_rerun(
    former: Path, data: Path, out: Path, how: Repeating | None = None, *, progress: Progress = no_progress
) -> RerunResult:
    """Repeat the run of a manifest on a file, and compare both.

    Parameters
    ----------
    former : Path
        The manifest.
    data, out : Path
    how : Repeating, optional

    Raises
    ------
    UsageError, RulebookError
        Something cannot be used.
    ChangedInputError
        The file or the rules do not fit any more.
    InvalidNextFileError
        Records of the file break rules.
    DocumentError, InfeasibleError, ViolationError
        As for `mask`: among others, a limit that held does not hold now.
    """
    how = how or Repeating()
    for kind in how.accept:
        if KINDS.get(kind) is None:
            known = Known(kind, tuple(one for one, ways in KINDS.items() if ways is not None))
            raise UsageError.of("unknown-name", kind="kind of change that prevents a run", name=kind, known=known)
    run = read_former_run(former)
    config = _settings(run, how, data)
    _require_named(run, how, former)
    rules = how.rules or run.rules
    if rules is None:
        needed = "the rulebook of the last run, which is not beside the manifest"
        given = Setting("--rules", ("FILE",))
        raise UsageError.of("needs-setting", former, name="rerun", needed=needed, setting=given)
    manifest = how.manifest or manifest_beside(out)
    tables = tables_of_release(data, out, config.levels)
    inputs = {"the original": data, **tables.inputs, "the rulebook": rules, "the manifest of the last run": former}
    outputs = {"the output": out, "the manifest": manifest, **tables.outputs, **how.beside}
    # translated rules may take the place of former ones: where they go is no output here, and nothing else goes there
    named = {**_of_register(run, outputs), **config.named_files, **files_of_recoding(config, None, out)}
    refuse_outputs(outputs, {**named, **inputs})
    start = RerunResult(
        former=shown(former),
        data=shown(data),
        output=shown(out),
        manifest=shown(manifest),
        tables=tables.named,
        dry_run=how.dry_run,
        same_original=False,
        same_bytes=None,
        changes=(),
        records_before=run.outcome.records_out,
        records_after=0,
        excluded_before=len(run.outcome.excluded),
        excluded_after=0,
    )
    with rules_within(config.rule_timeout):
        return _repeated_run(start, run, _Files(data, rules, out, manifest), config, how, progress)


@dataclass(frozen=True, slots=True)
class _Files:
    data: Path
    rules: Path
    out: Path
    manifest: Path


def _repeated_run(
    result: RerunResult, run: FormerRun, files: _Files, config: Config, how: Repeating, progress: Progress
) -> RerunResult:
    config, digest, changes = _compared(run, files, config, how, progress)
    same = digest == run.described.original
    result = replace(result, changes=changes, same_original=same)
    if result.refused:
        raise ChangedInputError(result, where=str(files.data))
    if same:  # as large units as then, or none: not what memory holds now
        config = replace(config, secret=run.secret or config.secret, unit_records=config.unit_records or 0)
    try:
        if how.dry_run:
            return _dry(result, files, config, how, progress)
        asked = MaskRequest(
            files.data,
            files.rules,
            files.out,
            config=config,
            manifest=files.manifest,
            replaces=how.replaces,
            again=how.again,
        )
        masked = run_mask(asked, progress)
    except InvalidOriginalError as error:
        raise InvalidNextFileError(error, changes) from error
    except ViolationError as error:
        known = {one.figure: one.value for one in run.outcome.figures}
        if held := [f"{name} {known[name]:g}" for name in config.limits if name in known]:
            error.then(Note("in the last run: {figures}", figures=held))
        raise
    same_bytes = (read_manifest(files.manifest).output == run.described.output) if same else None
    return replace(
        result,
        same_bytes=same_bytes,
        records_after=masked.records_out,
        excluded_after=len(masked.excluded),
        **_beside(run.outcome, outcome_of(masked.as_dict())),
        notes=(*_told(result, same_bytes), *masked.notes),
        treatments=masked.treatments,
        concerns=masked.concerns,
        run=masked,
    )


def _compared(
    run: FormerRun, files: _Files, config: Config, how: Repeating, progress: Progress
) -> tuple[Config, str, tuple[ChangeResult, ...]]:
    """Read the file and the rules, and compare both with those of the former run.

    Returns
    -------
    Config
        The settings, with one name for each field that is there.
    digest : str
        Of the file.
    changes : tuple of ChangeResult

    Raises
    ------
    DocumentError
        Among others: the records are not flat, and stand not in each other, either.
    """
    documents = Given(config.documents, files.data, spare=frozenset(config.documents))
    job = open_job(files.data, files.rules, config, progress=progress, given=documents)
    source, tree = job.source, job.source.tree
    if tree is None:
        require_flat(job)
    else:  # what is said for this run may have longer names of fields
        said = {name: value for name, value in how.settings.items() if name in _OF_FIELDS}
        named = named_as_fields(replace(Config(), **said), tree, str(files.data))
        how = replace(how, settings={**how.settings, **{name: getattr(named, name) for name in said}})
        config = named_as_fields(_settings(run, how, files.data), tree, str(files.data))
    there = {one.name for one in source.layout.fields} if tree is None else {*tree.names}
    gone = {one.name for one in run.facts.fields} - there
    config = replace(config, **{name: _without(getattr(config, name), gone) for name in _OF_FIELDS})
    full, _ = completed_by_level(config, source)
    records = source.records(missing=full.missing) if tree is None else source.level_records(missing=full.missing)
    require_records(job, len(records))
    fields = fields_by_level(records)
    facts = facts_of_file(job, fields, full, lambda name, _: (full.roles.get(name), full.kind_of(name)))
    answered = {name for setting in _OF_FIELDS - {"quasi_identifiers"} for name in how.settings.get(setting, ())}
    changes = changes_of(run, facts, fields, full, SaidNow(answered, frozenset(how.tables), how.accept))
    return replace(config, spare_documents=frozenset(config.documents)), source.digest, changes


def _without(said: Any, gone: Collection[str]) -> Any:
    """Return what a setting says of fields that are not gone: a table by their names, or these names."""
    if isinstance(said, Mapping):
        return {name: one for name, one in said.items() if name not in gone}
    return tuple(name for name in said if name not in gone)


def _settings(run: FormerRun, how: Repeating, data: Path) -> Config:
    """Return the settings of the former run, with what is said otherwise now.

    A document of the rules that was the original is the original of this run. Tables of a release go beside the
    output: where they went in the last run, they are the release of that. Codes that the last file declared hold
    beside those that are said now.
    """
    base, given = run.config, dict(how.settings)
    for setting, short in (("recode", short_how), ("pram", short_pram)):
        _require_moved(setting, getattr(base, setting), given.get(setting, {}), short)
    levels = with_tables(base.levels, how.tables, keep_format=True)
    declared = {one.name: frozenset(one.codes) for one in run.facts.fields if one.name in given.get("missing", ())}
    missing: Mapping[str, frozenset[str]] = {**declared, **base.missing}
    base = replace(
        base,
        levels={name: replace(one, out=None) for name, one in levels.items()},
        missing=missing,
        documents={**base.documents, **dict.fromkeys(run.described.as_original, data)},
        register=given.pop("register", None),
    )
    return base.with_options(given)


def _require_moved(
    setting: str, base: Mapping[str, str], given: Mapping[str, str], short: Callable[[str], str]
) -> None:
    """Refuse a treatment that is not one of the last run with another place of the file that it reads."""
    for name, how in given.items():
        if name not in base or short(base[name]) != short(how):
            last = f"the last run had {short(base[name])}" if name in base else "the last run did nothing to it"
            own = Setting(f"--{setting}", (f"{name}={short(how)}",))
            reason = f"{last}; masktron mask takes another treatment"
            raise UsageError.of("setting-not-usable", name=own, reason=reason)


def _dry(result: RerunResult, files: _Files, config: Config, how: Repeating, progress: Progress) -> RerunResult:
    """Say what would happen, up to where records are masked."""
    opened = open_original(files.data, files.rules, config, progress)
    with errors_by_level(opened.names):
        run = opened.planned(progress)
        if config.register is not None and config.register.path.exists():
            Registration(config.register, how.again, files.out).look_up(run)
    plan = run.plan
    masked, gone = (run.names.names(plan.by_role(role)) for role in (Role.CONFIDENTIAL, Role.IDENTIFIER))
    out = int((~run.originals.keep).sum())
    blocks = "; ".join(f"{', '.join(run.names.names(block.variables))} ({block.aggregator})" for block in plan.blocks)
    notes = [
        f"{run.method.name} with k = {config.k} would mask {', '.join(masked)} in {counted(len(run.kept), 'record')}",
        f"blocks, and the aggregator that would be tried first: {blocks}",
        *([f"left out: {', '.join(gone)}"] if gone else []),
        *([f"{_left_out(out, nested=run.back.nested)} would be left out"] if out else []),
        "the same file and secret would give the same bytes where no version has changed"
        if result.same_original
        else "another file: a new secret would be made",
    ]
    return replace(result, notes=tuple(notes), excluded_after=out)


def _left_out(count: int, *, nested: bool) -> str:
    """Count records that would be left out; of a nested file, also those that few are composed like."""
    if nested:
        return counted(count, "record that breaks a rule or is rare", "records that break a rule or are rare")
    return counted(count, "record that breaks a rule", "records that break a rule")


def _beside(before: RunOutcome, after: RunOutcome) -> dict[str, Any]:
    """Put what both runs came to side by side: figures, blocks, and rules that fail otherwise."""
    was, now = ({one.figure: one.value for one in run.figures} for run in (before, after))
    failed, fails = ({one.id: one.failed or 0 for one in run.rules} for run in (before, after))
    former, blocks = (_each_once(run.blocks) for run in (before, after))
    return {
        "figures": tuple(
            FigureChange(name, figure_of(name).unit, was.get(name, math.nan), now.get(name, math.nan))
            for name in NAMES
            if name in now or name in was
        ),
        "blocks": tuple(
            BlockChange(
                *(one[0], then.aggregator, own.aggregator, then.groups, own.groups),
                *(then.information_loss, own.information_loss),
            )
            for one in {**blocks, **former}
            for then, own in [(former.get(one, _NO_BLOCK), blocks.get(one, _NO_BLOCK))]
        ),
        "failures": tuple(
            FailureChange(rule, failed.get(rule, 0), fails.get(rule, 0))
            for rule in {**failed, **fails}
            if failed.get(rule, 0) != fails.get(rule, 0)
        ),
    }


def _each_once(blocks: Iterable[MaskedBlock]) -> dict[tuple[tuple[str, ...], int], MaskedBlock]:
    """Return blocks by their variables and a number: of nested files, several may have the same fields."""
    times: Counter[tuple[str, ...]] = Counter()
    found = {}
    for one in blocks:
        found[one.variables, times[one.variables]] = one
        times[one.variables] += 1
    return found


def _of_register(run: FormerRun, outputs: Mapping[str, Path]) -> dict[str, Path]:
    """Return the files of the last run's register that lie in the folder of an output; others are not looked up."""
    folders = {path.parent for path in outputs.values() if not isinstance(path, AddressPath)}
    files = {} if run.register is None else run.register.files
    near = {what: path for what, path in files.items() if any(is_inside(path, one) for one in folders)}
    return {f"{what} of the last run": path for what, path in near.items()}


def _require_named(run: FormerRun, how: Repeating, former: Path) -> None:
    """Refuse to read a file that is not in the folder of the manifest, `former`, and that this run does not name."""
    stated = {name: value for name, value in how.settings.items() if name in _NAME_FILES}
    named = {one.setting for one in files_read(replace(Config(), **stated))}
    named |= {("levels", name, "data") for name in how.tables}
    named |= {("documents", name) for name in run.described.as_original}  # the original of this run stands for it
    for one in run.elsewhere:
        if one.setting not in named:
            option, _, value = one.option.partition(" ")
            needed = f"its file, which is not beside the manifest: {shortened(one.path)}"
            way = Setting(option, (value,))
            raise UsageError.of("needs-setting", former, name=".".join(one.setting), needed=needed, setting=way)


def _told(result: RerunResult, same_bytes: bool | None) -> tuple[Sentence, ...]:
    """Say of the same original whether the masked file is the same."""
    if same_bytes is None:
        return ("another file: the run has a secret of its own",)
    if same_bytes:
        return ("the same file: the masked file is the same, byte for byte",)
    why = [_named(change) for change in result.changes] or [Note("nothing that is known: please report it")]
    return (
        Note(
            "the same file, and other bytes: who has both masked files may compute values of single respondents; "
            "what has changed: {why}",
            why=why,
        ),
    )


def _named(change: ChangeResult) -> Note:
    return Note("{place}: {what}", place=f"{change.kind} {change.place}".rstrip(), what=change.what)
