"""What is known before records are masked: rules and fields are classified, the original judged, blocks planned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from masktron.codes import Suspects, fields_of, kinds_by_file, likely_missing, looks_like_codes, unmet_in
from masktron.config import Config, Role
from masktron.errors import UsageError
from masktron.executor.contract import Executor
from masktron.jobs.column_memory import column_notes, read_columns
from masktron.jobs.common import judging_stage, require_flat, require_records, size_notes
from masktron.jobs.described import completed
from masktron.jobs.documents import Given
from masktron.jobs.job import Job, open_job
from masktron.jobs.level_wording import LevelWording, Rewording, said_by_level
from masktron.jobs.ordering import Ordering, identifying, ordering_of
from masktron.jobs.originals import Originals, judge_originals
from masktron.jobs.randomness import Origin, Randomness, randomness_of
from masktron.jobs.rare_units import units_of, with_whole_units, without_rare
from masktron.jobs.untested import known_only, may_be_untested, require_names
from masktron.jobs.wide_job import (
    NestedJob,
    compositions_of,
    grouping_notes,
    weights_by_level,
    wide_job,
    wide_settings,
)
from masktron.methods.base import Method
from masktron.methods.chosen import Chosen
from masktron.plan import Plan, make_plan
from masktron.problems.problem import Field, Known, Sentence
from masktron.progress import Progress, told_as
from masktron.roles import FieldFacts, require_weights
from masktron.sources.column import Column
from masktron.sources.dataset import Dataset
from masktron.sources.level_tree import LevelPath
from masktron.sources.source import Source
from masktron.sources.wide.wide_source import WideSource
from masktron.translation import TranslatedRule
from masktron.unrolling.unrolled import Unrolled
from masktron.write.treatments import Treatment


@dataclass(frozen=True, slots=True, eq=False)
class NestedOriginal:
    """A nested original, which is masked as wide records.

    Attributes
    ----------
    nested : NestedJob
    originals : Originals
        By the rules as they are written.
    compositions : ndarray of intp, shape (units,)
        Code of the composition of each unit: which members it has.
    source : WideSource
    weights : mapping of tuple of str to str
        By level, the field of its own that is its weight.
    """

    nested: NestedJob
    originals: Originals
    compositions: NDArray[np.intp]
    source: WideSource
    weights: Mapping[LevelPath, str]


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """What engines are asked about a written file.

    Attributes
    ----------
    job : Job
    originals : Originals
    binding : list of int
        Rules that have to hold.
    loose : tuple of int
        The others.
    """

    job: Job
    originals: Originals
    binding: list[int]
    loose: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Prepared:
    """A run of `mask` up to where records are masked.

    Attributes
    ----------
    job : Job
    config : Config
        With what the file says of its variables.
    method : Method
    plan : Plan
    records : Dataset
        Of the original.
    kept : Dataset
        Those that are released.
    originals : Originals
    ordering : Ordering
    randomness : Randomness
    classes : ndarray of intp, shape (n, c), or None
        Class of each kept record, for methods that need one.
    notes : tuple of str
        What the file says of its fields, and what was found out of their kinds.
    likely : Suspects
        Fields that seem to be something else than they are masked as.
    sized : tuple of str
        Warnings of rules that take long.
    given : Config
        The settings as they were given.
    treated : Treated or None
        What was done to the records before; then the job and the records are what that came to.
    nested : NestedOriginal or None
        Of a nested file, of which the records are units with all their members.
    """

    job: Job
    config: Config
    method: Method
    plan: Plan
    records: Dataset
    kept: Dataset
    originals: Originals
    ordering: Ordering
    randomness: Randomness
    classes: NDArray[np.intp] | None
    notes: tuple[Sentence, ...]
    likely: Suspects
    sized: tuple[str, ...]
    given: Config
    treated: Treated | None = None
    nested: NestedOriginal | None = None

    @property
    def source(self) -> Source:
        """The original; where fields were treated, its records with what these came to."""
        return self.job.source

    @property
    def untreated(self) -> Opened | Prepared:
        """The original as it was before fields were treated."""
        return self if self.treated is None else self.treated.original

    @property
    def binding(self) -> list[int]:
        """Rules that have to hold in the written file."""
        return _binding(self.job, self.plan)

    @property
    def judged(self) -> Judged:
        """What engines are asked about the written file: of a nested file, the rules as they are written."""
        inapplicable = [index for index, _ in self.plan.not_applicable]
        if self.nested is None:
            loose = {*self.plan.released, *inapplicable}
            return Judged(self.job, self.originals, self.binding, tuple(sorted(loose)))
        job, originals = self.nested.nested.job, self.nested.originals
        loose = {*originals.released, *self.nested.nested.of_wide(inapplicable)}
        binding = [check.index for check in job.rulebook.checks if check.index not in loose]
        return Judged(job, originals, binding, tuple(sorted(loose)))

    def rule_id(self, check: int) -> str:
        """Return the id of a check of the job, as it stands in the rulebook that was given."""
        if self.nested is None:
            return self.job.rulebook.checks[check].id
        return self.nested.nested.job.rulebook.checks[self.nested.nested.written(check)].id

    @cached_property
    def identifying(self) -> tuple[str, ...]:
        """The written fields whose text differs in every record."""
        return identifying(self.kept, self.plan.fields)


@dataclass(frozen=True, eq=False)
class Opened:
    """An original that was read, classified and judged: what is the same whatever masks it.

    Attributes
    ----------
    job : Job
    config : Config
        With what the file says of its variables.
    fields : tuple of FieldFacts
    records : Dataset
        Of the original.
    kept : Dataset
        Those that are released.
    originals : Originals
    notes : tuple of str
        What the file says of its fields, and what was found out of their kinds.
    likely : Suspects
        Fields that seem to be something else than they are masked as.
    sized : tuple of str
        Warnings of rules that take long.
    given : Config
        As it was stated, without what the file says.
    treated, nested
        As for `Prepared`.
    """

    job: Job
    config: Config
    fields: tuple[FieldFacts, ...]
    records: Dataset
    kept: Dataset
    originals: Originals
    notes: tuple[Sentence, ...]
    likely: Suspects
    sized: tuple[str, ...]
    given: Config
    treated: Treated | None = None
    nested: NestedOriginal | None = None

    @property
    def unrolled(self) -> Unrolled | None:
        """The rules of wide records, of a nested file."""
        return None if self.nested is None else self.nested.nested.unrolled

    @cached_property
    def origin(self) -> Origin:
        """What the draws of the next step depend on."""
        if self.treated is not None:
            return self.treated.origin
        job = self.job if self.nested is None else self.nested.nested.job
        return Origin.of(job, self.records, self.originals.keep, self.fields)

    @property
    def masked(self) -> frozenset[str]:
        """The fields that are going to be masked."""
        return frozenset(fact.name for fact in self.fields if fact.role is Role.CONFIDENTIAL)

    @property
    def removed(self) -> frozenset[str]:
        """The fields that are going to be left out."""
        return frozenset(fact.name for fact in self.fields if fact.role is Role.IDENTIFIER)


@dataclass(frozen=True, slots=True, eq=False)
class Treated:
    """What was done to fields before the others are masked.

    Attributes
    ----------
    original : Opened
        The original as it was.
    origin : Origin
        What draws depend on after these treatments.
    treatments : tuple of Treatment
        In the order in which they were done.
    rules : tuple of TranslatedRule
        One for each check of the rulebook of the original.
    rulebook : bytes
        The rules as they are asked now; empty where none has changed.
    secret : bytes or None
        Of the release, where a treatment drew from it.
    """

    original: Opened
    origin: Origin
    treatments: tuple[Treatment, ...] = ()
    rules: tuple[TranslatedRule, ...] = ()
    rulebook: bytes = b""
    secret: bytes | None = field(default=None, repr=False)


def prepare(
    data: Path, rules: Path, config: Config, method: Chosen, progress: Progress, rewording: Rewording | None = None
) -> Prepared:
    """Parse, classify the rules and the fields, judge the original, and plan.

    Parameters
    ----------
    data, rules : Path
    config : Config
    method : Chosen
    rewording : Rewording, optional
        Told the names of a nested file.

    Raises
    ------
    UsageError, RulebookError, DocumentError, InvalidOriginalError, InfeasibleError
        What is given cannot be masked.
    """
    original = open_original(data, rules, config, progress)
    if rewording is not None:
        rewording.know(original.job.source, original.unrolled)
    return planned(original, original.config, method, progress)


def open_original(
    data: Path,
    rules: Path,
    config: Config,
    progress: Progress,
    executor: Executor | None = None,
) -> Opened:
    """Parse, classify the rules and the fields, and judge the original.

    Parameters
    ----------
    data, rules : Path
    config : Config
    progress : callable
    executor : Executor, optional
        Who judges slices of the original.

    Raises
    ------
    UsageError, RulebookError, DocumentError, InvalidOriginalError
        What is given cannot be masked.
    """
    job = open_job(
        data,
        rules,
        reading=config.reading,
        phase=config.phase,
        progress=progress,
        given=Given(config.documents, data, spare=config.spare_documents),
        whole=True,
        memory=config.memory,
        missing=config.missing,
    )
    return judged_original(job, config, progress, executor)


def judged_original(job: Job, config: Config, progress: Progress, executor: Executor | None = None) -> Opened:
    """Classify the fields of an original that is open, or of treated records, and judge it; as `open_original`."""
    job, nested = wide_job(job, config)
    with said_by_level() as rewording, job.source.naming_elsewhere():
        rewording.know(job.source, None if nested is None else nested.unrolled)
        return _judged_original(job, nested, config, progress, executor)


def _judged_original(
    job: Job, nested: NestedJob | None, config: Config, progress: Progress, executor: Executor | None
) -> Opened:
    """Find out what fields are, and judge the original, of which a nested one has wide records."""
    stated, data = config, job.source.path
    require_flat(job)
    judged = None if nested is None else judge_originals(nested.job, config, progress, executor)
    if nested is not None:
        config = wide_settings(config, job, nested)
    compositions = compositions_of(job)
    by_users = config
    config, told = completed(with_kinds_of_levels(config, job.source), job.source)
    reading = told_as(progress, f"reading {data.name}")
    records = read_columns(job.source, missing=config.missing, memory=config.memory, told=reading)
    require_records(job, len(records))
    require_names(job, may_be_untested(job, (*config.allow_unfired, *config.allow)))
    called = LevelWording.of(job.source).name
    fields, likely = fields_of(
        records,
        job.edits,
        config,
        weights_later=True,
        called=called,
        by_file=kinds_by_file(config, by_users),
        nested=nested is not None,
    )
    sized = size_notes(job)
    progress(judging_stage(job, sized), 0)
    originals = judge_originals(job, config, progress, executor)
    if not job.rulebook.checks:  # no rule speaks of a single record of a nested file: nobody has looked at any
        originals = replace(originals, keep=np.ones(len(records), dtype=np.bool_))
    if nested is not None and judged is not None:
        # what is told of rules is told of them as they are written: unrolled ones are several
        originals = replace(originals, keep=originals.keep & units_of(job, judged.keep), notes=judged.notes)
        originals = with_whole_units(job, originals)
        originals = without_rare(job, originals, compositions, config)
    require_weights(records, fields, originals.keep)
    _require_names(job.source, fields)
    return Opened(
        nested=_nested_original(job, nested, judged, compositions, stated),
        job=job,
        config=config,
        fields=tuple(fields),
        records=records,
        kept=_kept(records, originals),
        originals=originals,
        notes=(
            *told,
            *(() if nested is None else nested.notes),
            *(grouping_notes(stated, job.source) if isinstance(job.source, WideSource) else ()),
            *column_notes(job.source, config.memory),
            *unmet_in(records, stated.missing),
            *likely.notes(),
            *likely_missing(records, fields, job.edits, job.source.variables),
        ),
        likely=likely,
        sized=tuple(sized),
        given=stated,
    )


def _require_names(source: Source, fields: Sequence[FieldFacts]) -> None:
    """Refuse to leave out a column where those behind it would get other names: those of columns without any.

    Raises
    ------
    UsageError
    """
    if source.reading_options.get("header") != "no" or isinstance(source, WideSource):
        return
    kept = [fact.role is not Role.IDENTIFIER for fact in fields]
    if not all(kept) and any(kept[kept.index(False) :]):
        raise UsageError.of(
            "names-would-shift",
            source.path,
            fields=tuple(Field(fact.name) for fact in fields if fact.role is Role.IDENTIFIER),
            first=Field(fields[0].name),
            last=Field(fields[-1].name),
        )


def _nested_original(
    job: Job, nested: NestedJob | None, judged: Originals | None, compositions: NDArray[np.intp], stated: Config
) -> NestedOriginal | None:
    source = job.source
    if nested is None or judged is None or not isinstance(source, WideSource):
        return None
    weights = weights_by_level(source.levels, stated.roles, str(source.path))
    return NestedOriginal(nested, judged, compositions, source, weights)


def planned(original: Opened, config: Config, method: Chosen, progress: Progress) -> Prepared:
    """Plan blocks and aggregators for a method, and say where its random numbers come from.

    Parameters
    ----------
    original : Opened
    config : Config
        That of the original, but for what decides how it is masked.
    method : Chosen

    Raises
    ------
    UsageError, InfeasibleError
        It cannot be masked so.
    """
    job, fields, kept = original.job, original.fields, original.kept
    progress("planning blocks and aggregators", 0)
    plan = make_plan(
        known_only(job), fields, config, released=original.originals.released, aggregator=config.aggregator
    )
    classes = _classes(kept, fields, method.class_fields)
    ordering = ordering_of(config, job, kept, fields, _binding(job, plan))
    return Prepared(
        job=job,
        config=config,
        method=method.method,
        plan=plan,
        records=original.records,
        kept=kept,
        originals=original.originals,
        ordering=ordering,
        randomness=randomness_of(
            config,
            job,
            method,
            fields,
            shuffled=ordering.random,
            origin=lambda: original.origin,
            made=None if original.treated is None else original.treated.secret,
        ),
        classes=classes,
        notes=original.notes,
        likely=original.likely,
        sized=original.sized,
        given=original.given,
        treated=original.treated,
        nested=original.nested,
    )


def _binding(job: Job, plan: Plan) -> list[int]:
    """Rules that have to hold in the written file."""
    loose = {*plan.released, *(index for index, _ in plan.not_applicable)}
    return [check.index for check in job.rulebook.checks if check.index not in loose]


def _classes(kept: Dataset, fields: Sequence[FieldFacts], names: Sequence[str]) -> NDArray[np.intp] | None:
    """Return the class of each record in some fields, shape (n, c); what is missing is a class of its own.

    Raises
    ------
    UsageError
        A field is not there, or is masked or removed.
    """
    roles = {fact.name: fact.role for fact in fields}
    for name in names:
        if name not in roles:
            raise UsageError.of(
                "unknown-name", kept.path, name=Field(name), known=Known(name, tuple(roles)), kind="field"
            )
        if roles[name] in (Role.CONFIDENTIAL, Role.IDENTIFIER):
            raise UsageError.of(
                "role-does-not-fit",
                kept.path,
                setting="the class",
                field=Field(name),
                role="untouched",
                reason=f"which has the role {roles[name]}",
            )
    if not names:
        return None
    return np.stack([kept.columns[name].numbered() for name in names], axis=1).astype(np.intp)


def _kept(records: Dataset, originals: Originals) -> Dataset:
    """Return the records to release."""
    keep = originals.keep
    return records if keep.all() else records.taken(keep)


def with_kinds_of_levels(config: Config, source: Source) -> Config:
    """Declare as numeric, at each position, what is numeric over all members of a level.

    Few households have a sixth person, and few different wages these have; that makes wages no codes.

    Parameters
    ----------
    config : Config
        Settings of the wide records.
    source : Source
        Any other than of wide records has the settings as they are.
    """
    if not isinstance(source, WideSource):
        return config
    declared = {*config.nominal, *config.ordinal, *config.numeric}
    found = [
        name
        for (path, field), leaves in source.wide.by_field().items()
        if len(names := [leaf.name for leaf in leaves if source.layout.field(leaf.name) is not None]) > 1
        and not declared.intersection(names)
        and all(config.roles.get(name, Role.CONFIDENTIAL) is Role.CONFIDENTIAL for name in names)
        and _has_quantities(source.dataset.levels[path].columns[field.name])
        for name in names
    ]
    return config.updated(numeric=(*config.numeric, *found))


def _has_quantities(column: Column) -> bool:
    """Whether a field has numbers alone, and does not look like one of codes."""
    return column.numeric and not looks_like_codes(column)
