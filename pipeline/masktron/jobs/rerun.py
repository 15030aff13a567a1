"""Do the same work again, on another file or on the same one, and show it beside the last time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from masktron.addresses import AddressPath, is_inside, shortened
from masktron.config import Config, Kind, Role
from masktron.counts import counted
from masktron.declared import about, names
from masktron.errors import DocumentError, MasktronError, UsageError, ViolationError
from masktron.figures import NAMES, figure_of
from masktron.files import refuse_outputs
from masktron.jobs.changes import KINDS, ComparedFile, SaidNow, changes_of
from masktron.jobs.common import require_flat, require_records
from masktron.jobs.described import completed
from masktron.jobs.documents import Given
from masktron.jobs.fields_by_level import HeldField, completed_by_level, fields_by_level, variables_by_level
from masktron.jobs.job import Job, open_job
from masktron.jobs.lowering.wide_settings import named_as_fields
from masktron.jobs.mask import run_mask
from masktron.jobs.opening import open_original
from masktron.jobs.originals import InvalidOriginalError
from masktron.jobs.registered import Registration
from masktron.jobs.released_tables import tables_of_release
from masktron.jobs.translated_rules import files_of_recoding
from masktron.level_settings import with_tables
from masktron.perturbation_settings import short_pram
from masktron.problems.problem import Known, Note, Problem, Sentence, Setting, rules
from masktron.processes import rules_within
from masktron.progress import Progress, no_progress
from masktron.recoding_settings import short_how
from masktron.results import (
    BlockChange,
    ChangeResult,
    FailureChange,
    FigureChange,
    MaskResult,
    RerunResult,
    shown,
)
from masktron.sources.level_tree import Tree
from masktron.sources.output_names import manifest_beside
from masktron.trust import files_read
from masktron.unrolling.level_names import errors_by_level
from masktron.write.former_run import FormerRun, read_former_run
from masktron.write.manifest import read_manifest

_GIVING = {
    frozenset({"new-field", "type", "role", "kind", "missing-code", "order"}): (
        "--role", "--missing", "--nominal", "--ordinal", "--numeric",
    ),
    frozenset({"record", "field-gone"}): (),
    frozenset({"table"}): ("--table",),
    frozenset({"rule-gone", "new-rule", "other-rule", "document"}): ("--rules", "--document"),
    frozenset({"register"}): ("--register",),
}  # fmt: skip
"""Options that say what is right where changes of some kinds stand in the way."""
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
        ways = [
            Setting(option) for about, options in _GIVING.items() if not about.isdisjoint(kinds) for option in options
        ]
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
    _require_kinds(how.accept)
    run = read_former_run(former)
    config = _settings(run, how, data)
    _require_named(run, how, former)
    rules = how.rules or _rulebook_of(run, former)
    manifest = how.manifest or manifest_beside(out)
    tables = tables_of_release(data, out, config.levels)
    inputs = {"the original": data, **tables.inputs, "the rulebook": rules, "the manifest of the last run": former}
    outputs = {"the output": out, "the manifest": manifest, **tables.outputs}
    # translated rules may take the place of former ones: where they go is no output here, and nothing else goes there
    named = _of_register(run, [*outputs.values(), *how.beside.values()])
    named |= {**config.named_files, **files_of_recoding(config, None, out)}
    refuse_outputs({**outputs, **how.beside}, {**named, **inputs})
    paths = _Paths(former, data, rules, out, manifest, tables.named)
    with rules_within(config.rule_timeout):
        return _repeated_run(run, paths, config, how, progress)


@dataclass(frozen=True, slots=True)
class _Paths:
    """The files of a run, and where the tables beside the output go, by level."""

    former: Path
    data: Path
    rules: Path
    out: Path
    manifest: Path
    tables: Mapping[str, str]


def _repeated_run(run: FormerRun, paths: _Paths, config: Config, how: Repeating, progress: Progress) -> RerunResult:
    job = _opened(paths, config, progress)
    if job.source.tree is not None:
        how = _by_level(how, job.source.tree, paths)
        config = named_as_fields(_settings(run, how, paths.data), job.source.tree, str(paths.data))
    config = _of_fields_there(run, config, job)
    changes = changes_of(run, _compared(job, config), _said(how))
    config = replace(config, spare_documents=frozenset(config.documents))
    same = job.source.digest == run.described.original
    del job  # a run reads the file itself, which takes the memory
    result = RerunResult(
        former=shown(paths.former),
        data=shown(paths.data),
        output=shown(paths.out),
        manifest=shown(paths.manifest),
        tables=paths.tables,
        dry_run=how.dry_run,
        same_original=same,
        same_bytes=None,
        changes=changes,
        records_before=run.records,
        records_after=0,
        excluded_before=run.excluded,
        excluded_after=0,
    )
    if result.refused:
        raise ChangedInputError(result, where=str(paths.data))
    if same:  # as large units as then, or none: not what memory holds now
        config = replace(config, secret=run.secret or config.secret, unit_records=config.unit_records or 0)
    try:
        if how.dry_run:
            return _dry(result, paths, config, how, progress)
        masked = run_mask(
            paths.data,
            paths.rules,
            paths.out,
            config=config,
            manifest=paths.manifest,
            replaces=how.replaces,
            again=how.again,
            progress=progress,
        )
    except InvalidOriginalError as error:
        raise InvalidNextFileError(error, changes) from error
    except ViolationError as error:
        held = [f"{name} {run.figures[name]:g}" for name in config.limits if name in run.figures]
        if held:
            error.then(Note("in the last run: {figures}", figures=held))
        raise
    same_bytes = (read_manifest(paths.manifest).output == run.described.output) if same else None
    return _beside(result, run, masked, same_bytes)


def _require_kinds(accept: Collection[str]) -> None:
    for kind in accept:
        if not KINDS.get(kind, False):
            known = tuple(one for one, stands in KINDS.items() if stands)
            what = "kind of change that prevents a run"
            raise UsageError.of("unknown-name", kind=what, name=kind, known=Known(kind, known))


def _rulebook_of(run: FormerRun, former: Path) -> Path:
    if run.rules is None:
        needed = "the rulebook of the last run, which is not beside the manifest"
        given = Setting("--rules", ("FILE",))
        raise UsageError.of("needs-setting", former, name="rerun", needed=needed, setting=given)
    return run.rules


def _of_register(run: FormerRun, outputs: Iterable[Path]) -> dict[str, Path]:
    """Return the files of the last run's register that lie in the folder of an output; others are not looked up."""
    folders = {path.parent for path in outputs if not isinstance(path, AddressPath)}
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


def _settings(run: FormerRun, how: Repeating, data: Path) -> Config:
    """Return the settings of the former run, with what is said otherwise now.

    A document of the rules that was the original is the original of this run. Tables of a release go beside the
    output: where they went in the last run, they are the release of that.
    """
    base, given = run.config, dict(how.settings)
    levels = with_tables(base.levels, how.tables, keep_format=True)
    given["levels"] = {name: replace(one, out=None) for name, one in levels.items()}
    for name, short in (("recode", short_how), ("pram", short_pram)):
        given[name] = _moved(name, getattr(base, name), given.get(name, {}), short)
    if "roles" in given:
        given["roles"] = {**base.roles, **given["roles"]}
    if "missing" in given:
        joined = dict(base.missing)
        for name, codes in given["missing"].items():
            joined[name] = joined.get(name, run.fields[name].codes if name in run.fields else frozenset()) | codes
        given["missing"] = joined
    originals = dict.fromkeys(run.described.as_original, data)
    given["documents"] = {**base.documents, **originals, **given.get("documents", {})}
    kinds = {
        **dict.fromkeys(given.get("nominal", ()), Kind.NOMINAL),
        **dict.fromkeys(given.get("ordinal", ()), Kind.ORDINAL),
        **dict.fromkeys(given.get("numeric", ()), Kind.NUMBER),
    }
    if "quasi_identifiers" in given:
        given["quasi_identifiers"] = tuple(dict.fromkeys((*base.quasi_identifiers, *given["quasi_identifiers"])))
    if kinds:
        orders = given.get("ordinal", {})
        given["nominal"] = (
            *(name for name in base.nominal if name not in kinds),
            *given.get("nominal", ()),
        )
        given["numeric"] = (*(name for name in base.numeric if name not in kinds), *given.get("numeric", ()))
        given["ordinal"] = {**{name: own for name, own in base.ordinal.items() if name not in kinds}, **orders}
    return replace(base, **given)


def _moved(
    setting: str, base: Mapping[str, str], given: Mapping[str, str], short: Callable[[str], str]
) -> dict[str, str]:
    """Return a treatment of the last run with other places of the files that it reads; all else stays as it was."""
    for name, how in given.items():
        if name not in base or short(base[name]) != short(how):
            last = f"the last run had {short(base[name])}" if name in base else "the last run did nothing to it"
            own = Setting(f"--{setting}", (f"{name}={short(how)}",))
            reason = f"{last}; masktron mask takes another treatment"
            raise UsageError.of("setting-not-usable", name=own, reason=reason)
    return {**base, **given}


def _opened(paths: _Paths, config: Config, progress: Progress) -> Job:
    """Read the file and the rules.

    Raises
    ------
    DocumentError
        Among others: the records are not flat, and stand not in each other, either.
    """
    documents = Given(config.documents, paths.data, spare=frozenset(config.documents))
    job = open_job(
        paths.data,
        paths.rules,
        reading=config.reading,
        phase=config.phase,
        progress=progress,
        given=documents,
        missing=config.missing,
    )
    if job.source.tree is None:
        require_flat(job)
    return job


def _by_level(how: Repeating, tree: Tree, paths: _Paths) -> Repeating:
    """Return what is said for this run with one name for each field of a nested file."""
    own = {name: value for name, value in how.settings.items() if name in _OF_FIELDS}
    named = named_as_fields(replace(Config(), **own), tree, str(paths.data))
    return replace(how, settings={**how.settings, **{name: getattr(named, name) for name in own}})


def _of_fields_there(run: FormerRun, config: Config, job: Job) -> Config:
    """Return settings without what is said of fields that the former file had, and this one does not."""
    tree = job.source.tree
    there = {one.name for one in job.source.layout.fields} if tree is None else {*tree.names}
    gone = {name for name in run.fields if name not in there}
    return replace(
        config,
        roles={name: role for name, role in config.roles.items() if name not in gone},
        missing={name: codes for name, codes in config.missing.items() if name not in gone},
        nominal=tuple(name for name in config.nominal if name not in gone),
        numeric=tuple(name for name in config.numeric if name not in gone),
        quasi_identifiers=tuple(name for name in config.quasi_identifiers if name not in gone),
        ordinal={name: order for name, order in config.ordinal.items() if name not in gone},
    )


def _compared(job: Job, config: Config) -> ComparedFile:
    """Read the fields of a file: those of flat records, or those of all levels."""
    source = job.source
    if source.tree is None:
        full, _ = completed(config, source)
        records = source.records(missing=full.missing)
        require_records(job, len(records))
        fields = {name: HeldField("", column, records.lines) for name, column in records.columns.items()}
        return ComparedFile(job, fields, source.variables, full)
    full, _ = completed_by_level(config, source, source.tree)
    tables = source.level_records(missing=full.missing)
    require_records(job, len(tables.top))
    return ComparedFile(job, fields_by_level(tables), variables_by_level(source, source.tree), full)


def _said(how: Repeating) -> SaidNow:
    """What somebody says for this run: what fields are, which tables belong to it, what may have changed."""
    kinds = ("roles", "missing", "nominal", "ordinal", "numeric")
    fields = {name for what in kinds for name in how.settings.get(what, ())}
    return SaidNow(fields, frozenset(how.tables), how.accept)


def _dry(result: RerunResult, paths: _Paths, config: Config, how: Repeating, progress: Progress) -> RerunResult:
    """Say what would happen, up to where records are masked."""
    opened = open_original(paths.data, paths.rules, config, progress)
    with errors_by_level(opened.names):
        run = opened.planned(progress)
        if config.register is not None and config.register.path.exists():
            Registration(config.register, how.again, paths.out).look_up(run)
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


def _beside(result: RerunResult, run: FormerRun, masked: MaskResult, same_bytes: bool | None) -> RerunResult:
    """Put both runs side by side."""
    now = {figure.name: figure.value for figure in masked.figures}
    before = _each_once((one.variables, one) for one in run.blocks)
    after = _each_once((one.variables, one) for one in masked.blocks)
    failed = {rule.id: rule.failed or 0 for rule in masked.rules}
    return replace(
        result,
        same_bytes=same_bytes,
        records_after=masked.records_out,
        excluded_after=len(masked.excluded),
        figures=tuple(
            FigureChange(name, figure_of(name).unit, run.figures.get(name, math.nan), now.get(name, math.nan))
            for name in NAMES
            if name in now or name in run.figures
        ),
        blocks=tuple(
            BlockChange(
                one[0],
                before[one].aggregator if one in before else "",
                after[one].aggregator if one in after else "",
                before[one].groups if one in before else 0,
                after[one].groups if one in after else 0,
                before[one].information_loss if one in before else math.nan,
                after[one].information_loss if one in after else math.nan,
            )
            for one in {**after, **before}
        ),
        failures=tuple(
            FailureChange(rule, run.failures.get(rule, 0), failed.get(rule, 0))
            for rule in {**run.failures, **failed}
            if run.failures.get(rule, 0) != failed.get(rule, 0)
        ),
        notes=(*_repeated(result, same_bytes), *masked.notes),
        treatments=masked.treatments,
        concerns=masked.concerns,
        run=masked,
    )


def _each_once[T](blocks: Iterable[tuple[tuple[str, ...], T]]) -> dict[tuple[tuple[str, ...], int], T]:
    """Return blocks by their variables and a number: of nested files, several may have the same fields."""
    found: dict[tuple[tuple[str, ...], int], T] = {}
    times: Counter[tuple[str, ...]] = Counter()
    for variables, block in blocks:
        found[variables, times[variables]] = block
        times[variables] += 1
    return found


def _repeated(result: RerunResult, same_bytes: bool | None) -> tuple[Sentence, ...]:
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
