"""Prove that a masked file complies with its rules and with the contract that its manifest states."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path

from masktron.config import Config, ReadOptions
from masktron.errors import UsageError
from masktron.figures import figure_of
from masktron.jobs.common import file_notes, judging_stage, size_notes, violations
from masktron.jobs.described import completed
from masktron.jobs.documents import Given
from masktron.jobs.following import allowances
from masktron.jobs.job import open_job
from masktron.jobs.judged_release import judge_release
from masktron.jobs.limits import refuse_class_limits, strictest
from masktron.jobs.lowering.released_units import ReleasedUnits
from masktron.jobs.release_figures import release_figures
from masktron.jobs.released_tables import described_release_of, of_release, with_other_tables
from masktron.jobs.rules_again import rules_of_release
from masktron.jobs.sharing import executor_of_run
from masktron.jobs.treatment_results import treatment_results
from masktron.jobs.verified_release import verified_release
from masktron.level_settings import NO_TABLES, GivenTables
from masktron.problems.problem import Setting
from masktron.progress import Progress, no_progress, told_as
from masktron.results import CheckResult, FigureResult, shown
from masktron.thresholds import thresholds
from masktron.verify.findings import Findings
from masktron.verify.pairing import NOTHING_STATED, Stated
from masktron.write.manifest import DescribedRelease


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """What `check` is asked.

    Attributes
    ----------
    masked, rules : Path
    config : Config
        The settings. Roles, kinds and missing codes count where there is no manifest. Limits need the original; those
        of the manifest hold as well, and of two on one figure the stricter one. Rules of which the manifest says that
        the file does not test them need not be tested, either.
    original, manifest : Path or None
        Without them the result names what could not be checked.
    reading : ReadOptions or None
        How the masked file is read, where that is another way than the settings have for the original.
    allow_empty : bool
        Whether a file without records may comply.
    stated : Stated
        What is said of the order of records, for figures without a manifest.
    tables : GivenTables
        Tables of nested records that lie elsewhere than beside the masked file, and where settings or manifest say.
    """

    masked: Path
    rules: Path
    _: KW_ONLY
    config: Config = field(default_factory=Config)
    original: Path | None = None
    manifest: Path | None = None
    reading: ReadOptions | None = None
    allow_empty: bool = False
    stated: Stated = NOTHING_STATED
    tables: GivenTables = NO_TABLES


def run_check(request: CheckRequest, progress: Progress = no_progress) -> CheckResult:
    """Check edits, group sizes and, with the original, records, fields and domains.

    Raises
    ------
    UsageError, RulebookError, DocumentError
        A file cannot be used. What is wrong with the masked data is in the result.
    """
    masked, original, manifest, tables = request.masked, request.original, request.manifest, request.tables
    settled = request.config
    reading = settled.reading if request.reading is None else request.reading
    refuse_class_limits(settled.limits)
    described = (
        None
        if manifest is None
        else described_release_of(manifest, masked, original, reading.levels, tables.original)
    )
    bounds = dict(settled.limits) if described is None else strictest(settled.limits, described.limits)
    reading, original_reading = _readings(reading, settled.reading, described)
    known = () if described is None else described.as_original
    removed = () if described is None else described.removed
    missing = settled.missing if described is None else described.missing
    given = Given(settled.documents, original, known=known, optional=True, spare=settled.spare_documents)
    job = open_job(
        masked,
        request.rules,
        replace(settled, missing=missing),
        reading=of_release(reading, masked, removed, tables.masked),
        progress=progress,
        given=given,
        whole=True,
        removed=removed,
    )
    beside = job.beside(
        original,
        with_other_tables(original_reading.or_levels_of(reading), tables.original, "--original-table"),
        progress,
        memory=settled.memory,
    )
    again = rules_of_release(job, described, beside, given, settled.phase)
    lost = {check.id for check in job.rulebook.checks} - {check.id for check in again.job.rulebook.checks}
    job = again.job
    bounds_of_rules = thresholds(settled.max_failures).items()
    allowed = allowances(job.rulebook, {name: bound for name, bound in bounds_of_rules if name not in lost})
    sized = size_notes(job)
    progress(judging_stage(job, sized), 0)
    executor = executor_of_run(settled)
    with executor or nullcontext():
        judged, evaluation, results = judge_release(
            again,
            described,
            beside,
            loose=[name for name in settled.allow_unfired if name not in lost],
            bounds=allowed,
            allow_empty=request.allow_empty,
            executor=executor,
            progress=progress,
        )
    hard, soft = violations(results)
    found = Findings()
    found.add(judged.found)
    rule_problems = len(found.problems)
    if described is not None and job.source.digest == described.output:
        found.checked.append("the file is the one that the manifest describes (SHA-256)")
    elif described is not None:
        found.problems.append("the file is not the one that the manifest describes (its SHA-256 differs)")
    units = ReleasedUnits.of(job, beside, described, judged.left_out)
    if described is None and beside is not None:
        settled, _ = completed(settled, beside)
    verified = verified_release(
        units, again, described, settled, request.stated, told_as(progress, f"reading {masked.name}")
    )
    found.add(verified.found)
    figures = release_figures(
        units,
        described,
        bounds,
        settled,
        request.stated,
        min_group=verified.min_group,
        records=evaluation.records,
        progress=progress,
    )
    found.add(figures.found)
    names = units.names
    return CheckResult(
        data=shown(masked),
        records=evaluation.records,
        violations=hard,
        warnings=soft,
        min_group=verified.min_group,
        problems=tuple(map(names.sentence, found.problems)),
        checked=tuple(found.checked),
        not_checked=tuple(map(names.sentence, found.not_checked)),
        other_rulebook=judged.other_rulebook,
        notes=(
            *file_notes(job.source, beside, missing=missing),
            *sized,
            *map(names.sentence, found.notes),
            *(() if executor is None else executor.notes),
        ),
        rules=results,
        figures=tuple(FigureResult.of(one, names) for one in figures.measured),
        unevaluated=tuple(edit.check.id for edit in job.edits if edit.check.index in judged.left_out),
        sha256=job.source.digest,
        treatments=() if described is None else treatment_results(described.treatments, outcome=False),
        fates=again.fates,
        levels=verified.levels,
        limits=bounds,
        keys=figures.keys,
        key_k=None if described is None else described.key_k,
        concerns=() if described is None else described.telling_apart,
        let_go=judged.let_go,
        rule_problems=rule_problems,
        limit_problems=figures.over,
    )


def _readings(
    reading: ReadOptions, original_reading: ReadOptions, described: DescribedRelease | None
) -> tuple[ReadOptions, ReadOptions]:
    """Return how the masked file and the original are read: as the manifest says, where nobody says otherwise."""
    if described is None:
        return reading, original_reading
    return reading.or_as(described.reading), original_reading.or_as(described.reading)


def require_inputs(limits: Collection[str], original: object | None, manifest: object | None) -> None:
    """Refuse limits that somebody asks for by name where they cannot be checked.

    Raises
    ------
    UsageError
        There is a limit and no original, or one that needs the manifest and none. Limits of the settings are listed
        as not checked instead.
    """
    if limits and original is None:
        given = Setting("--original", ("FILE",))
        raise UsageError.of("needs-setting", name=tuple(limits), needed="the original", setting=given)
    if manifest is None and (names := [name for name in limits if "manifest" in figure_of(name).needs]):
        given = Setting("--manifest", ("FILE",))
        raise UsageError.of("needs-setting", name=names, needed="the manifest", setting=given)
