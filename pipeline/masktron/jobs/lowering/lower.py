"""The first step of a run: records of a nested file are lowered to flat ones, and results are taken back by level.

Households with their persons become one wide record each, with rules to match; of a flat file, records and rules are
what they are, and nothing has to be taken back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from masktron.codes import looks_like_codes
from masktron.config import Config, Role
from masktron.errors import UsageError
from masktron.executor.contract import Executor
from masktron.jobs.common import require_flat
from masktron.jobs.job import Job, job_on
from masktron.jobs.lowering.level_treatments import as_wide, wide_names
from masktron.jobs.lowering.member_ordering import ordered_members
from masktron.jobs.lowering.members_alone import members_alone, protected_level
from masktron.jobs.lowering.rare_units import units_of, with_whole_units, without_rare
from masktron.jobs.lowering.wide_settings import grouping_notes, named_as_fields, weights_by_level, wide_settings
from masktron.jobs.originals import Originals, judge_originals
from masktron.problems.level_names import AS_THEY_ARE, LevelNames
from masktron.problems.problem import Field, Sentence
from masktron.progress import Progress
from masktron.roles import FieldFacts
from masktron.sources.column import Column
from masktron.sources.joined.joined_source import JoinedSource
from masktron.sources.level_tree import LevelPath
from masktron.sources.wide.member_rows import MemberOrder
from masktron.sources.wide.member_source import MemberSource
from masktron.sources.wide.wide_record import SumOfMembers
from masktron.sources.wide.wide_source import WideSource
from masktron.step_kinds import Treatment
from masktron.unrolling.level_names import level_names
from masktron.unrolling.unrolled import Unrolled
from masktron.write.nested_release import NestedRelease, ReleasedField


@dataclass(frozen=True, slots=True, eq=False)
class Flat:
    """A file whose records are masked as they stand.

    Attributes
    ----------
    job : Job
        The file with the rules by which the masked one is judged.
    """

    job: Job
    nested: ClassVar[bool] = False

    @property
    def names(self) -> LevelNames:
        """What fields and rules are called."""
        return AS_THEY_ARE

    @property
    def sums(self) -> Sequence[SumOfMembers]:
        """Fields that are computed anew from those of members."""
        return ()

    @property
    def members_alone(self) -> MemberSource | None:
        """The members that are protected without what is around them."""
        return None

    def settings(self, config: Config, lowered: Job) -> Config:
        """Return settings as they are said of the records."""
        del lowered
        return config

    def with_kinds(self, config: Config) -> Config:
        """Return settings with the kinds of fields that records alone do not show."""
        return config

    def left_out(self, lowered: Job) -> NDArray[np.bool_] | None:
        """Return which records the rules as they are written leave out; None where these are the rules."""
        del lowered
        return None

    def released(self, originals: Originals, lowered: Job, config: Config) -> Originals:
        """Return which records may be masked, given how the rules judge them."""
        del lowered, config
        return originals

    def notes(self, stated: Config) -> tuple[Sentence, ...]:
        """Say how records were made of those of the file."""
        del stated
        return ()

    def written(self, check: int) -> int:
        """Return the check of the rulebook as it is written, given one of the records."""
        return check

    def of_records(self, checks: Iterable[int]) -> list[int]:
        """Return the checks as they are written of which all parts are among some checks of the records."""
        return sorted(checks)

    def require_names(self, fields: Sequence[FieldFacts]) -> None:
        """Refuse to leave out a column where those behind it would get other names: those of columns without any.

        Raises
        ------
        UsageError
        """
        if self.job.source.reading_options.get("header") != "no":
            return
        kept = [fact.role is not Role.IDENTIFIER for fact in fields]
        if not all(kept) and any(kept[kept.index(False) :]):
            raise UsageError.of(
                "names-would-shift",
                self.job.source.path,
                fields=tuple(Field(fact.name) for fact in fields if fact.role is Role.IDENTIFIER),
                first=Field(fields[0].name),
                last=Field(fields[-1].name),
            )

    def as_written(self, originals: Originals) -> Originals:
        """Return how the rules as they are written judge the file, given how those of the records judge these."""
        return originals

    def compositions_of(self, keep: NDArray[np.bool_]) -> NDArray[np.intp] | None:
        """Return the code of what some records are composed of; None where all are alike in it."""
        del keep
        return None

    def as_records(self, treatments: tuple[Treatment, ...]) -> tuple[Treatment, ...]:
        """Return treatments as they are said of the records."""
        return treatments

    def shuffled(self, keep: NDArray[np.bool_], generator: np.random.Generator) -> NDArray[np.intp]:
        """Return an order of the kept records, drawn at random, shape (n,)."""
        return generator.permutation(int(keep.sum())).astype(np.intp, copy=False)


@dataclass(frozen=True, eq=False)
class Lowered:
    """A nested file, of which units with all their members are masked, or members alone.

    Attributes
    ----------
    job : Job
        The nested file, with the rules as they are written.
    originals : Originals
        By these rules.
    source : WideSource
        Of the units.
    unrolled : Unrolled
        The rules of the units.
    order : tuple of Sentence
        In which order members stand in units.
    weights : mapping of tuple of str to str
        By level, the field of its own that is its weight.
    """

    job: Job
    originals: Originals
    source: WideSource
    unrolled: Unrolled
    order: tuple[Sentence, ...]
    weights: Mapping[LevelPath, str]
    nested: ClassVar[bool] = True

    @cached_property
    def names(self) -> LevelNames:
        """What fields and rules are called by their levels."""
        return level_names(self.source, self.unrolled)

    @property
    def sums(self) -> Sequence[SumOfMembers]:
        """Fields around members that are computed anew from those of members."""
        return () if self.members_alone is None else self.members_alone.sums

    @property
    def members_alone(self) -> MemberSource | None:
        """The members that are protected without what is around them."""
        return self.source if isinstance(self.source, MemberSource) else None

    @cached_property
    def compositions(self) -> NDArray[np.intp]:
        """Code of the composition of each unit, shape (units,): which members it has."""
        return self.source.members.kind_codes(self.source.members.kinds())

    def settings(self, config: Config, lowered: Job) -> Config:
        """Return settings of the nested file as settings of its units."""
        return wide_settings(config, lowered, self.source, self.job.rulebook, self.unrolled)

    def with_kinds(self, config: Config) -> Config:
        """Declare as numeric, at each position, what is numeric over all members of a level.

        Few households have a sixth person, and few different wages these have; that makes wages no codes.
        """
        declared = {*config.nominal, *config.ordinal, *config.numeric}
        layout, levels = self.source.layout, self.source.dataset.levels
        found = [
            name
            for (path, field), leaves in self.source.wide.by_field().items()
            if len(names := [leaf.name for leaf in leaves if layout.field(leaf.name) is not None]) > 1
            and not declared.intersection(names)
            and all(config.roles.get(name, Role.CONFIDENTIAL) is Role.CONFIDENTIAL for name in names)
            and _has_quantities(levels[path].columns[field.name])
            for name in names
        ]
        return config.updated(numeric=(*config.numeric, *found))

    def left_out(self, lowered: Job) -> NDArray[np.bool_]:
        """Return which records are of units that the rules as they are written leave out."""
        return ~units_of(lowered, self.originals.keep)

    def released(self, originals: Originals, lowered: Job, config: Config) -> Originals:
        """Return which units may be masked: those that obey all rules as they are written, and are not rare.

        Raises
        ------
        InfeasibleError
            Some are rare, and the settings do not say that they may be left out.
        """
        # what is told of rules is told of them as they are written: unrolled ones are several
        keep = originals.keep & units_of(lowered, self.originals.keep)
        whole = with_whole_units(lowered, replace(originals, keep=keep, notes=self.originals.notes))
        return without_rare(lowered, whole, self.compositions, config)

    def notes(self, stated: Config) -> tuple[Sentence, ...]:
        """Say how units were made of the records of the file."""
        return (*self.order, *grouping_notes(stated, self.source))

    def written(self, check: int) -> int:
        """Return the check of the rulebook as it is written, given one of the units."""
        return self.unrolled.origins[check].check

    def of_records(self, checks: Iterable[int]) -> list[int]:
        """Return the checks as they are written of which all parts are among some checks of the units."""
        some = frozenset(checks)
        parts: dict[int, list[bool]] = {}
        for index, origin in enumerate(self.unrolled.origins):
            parts.setdefault(origin.check, []).append(index in some)
        return sorted(check for check, found in parts.items() if all(found))

    def require_names(self, fields: Sequence[FieldFacts]) -> None:
        """Nothing: levels have names of their own."""

    def as_written(self, originals: Originals) -> Originals:
        """Return how the rules as they are written judge the file."""
        del originals
        return self.originals

    def compositions_of(self, keep: NDArray[np.bool_]) -> NDArray[np.intp] | None:
        """Return the code of the composition of some units."""
        return self.compositions[keep]

    def as_records(self, treatments: tuple[Treatment, ...]) -> tuple[Treatment, ...]:
        """Return treatments of fields of the levels as they are said of these at all positions."""
        return as_wide(treatments, wide_names(self.source))

    def shuffled(self, keep: NDArray[np.bool_], generator: np.random.Generator) -> NDArray[np.intp]:
        """Return an order of the kept records, drawn at random, shape (n,): members stay in their units."""
        if self.members_alone is not None:
            return self.members_alone.shuffled(keep, generator)
        return generator.permutation(int(keep.sum())).astype(np.intp, copy=False)

    def release(self, roles: Mapping[str, Role]) -> NestedRelease:
        """Return what a manifest says of how units were read, given roles as they were stated."""
        source = self.source
        leaves = source.wide.by_field()
        stated = {source.levels.named(name): role for name, role in roles.items()}
        joining = source.nested.joining if isinstance(source.nested, JoinedSource) else {}
        fields = tuple(
            ReleasedField(
                source.levels.shown(path),
                name,
                tuple(leaf.name for leaf in leaves.get((path, own), ())),
                name in joining and stated.get((path, own)) is Role.IDENTIFIER,
            )
            for name, (path, own) in source.levels.names.items()
        )
        release = NestedRelease(source.member_order, self.weights, fields=fields)
        if (alone := self.members_alone) is not None:
            return replace(release, protect=alone.level, sums=alone.sums, removed=alone.also_removed)
        return release


type Back = Flat | Lowered
"""What takes results back to the records of a file."""


def lower(
    job: Job,
    config: Config,
    progress: Progress,
    executor: Executor | None = None,
    order: MemberOrder | None = None,
) -> tuple[Job, Back]:
    """Return a job on flat records, and what takes its results back.

    Parameters
    ----------
    job : Job
        On a file as it is; a nested one is judged by the rules as they are written.
    config : Config
        Says in which order members stand in units, and whether they alone are protected.
    progress : callable
    executor : Executor, optional
        Who judges slices of the file.
    order : MemberOrder, optional
        Of members, where the original has told it.

    Raises
    ------
    UsageError
        Members cannot stand in that order.
    InvalidOriginalError, RulebookError, ViolationError
        As `judge_originals`.
    """
    if job.source.tree is None:
        require_flat(job)
        return job, Flat(job)
    where = str(job.source.path)
    named = named_as_fields(config, job.source.tree, where)
    path = protected_level(job.source.tree, named.protect, where)
    found = members_alone(job, named, path) if path else ordered_members(job, named, order)
    lowered = job_on(found.source, found.unrolled.rulebook)
    require_flat(lowered)
    with lowered.source.naming_elsewhere():
        originals = judge_originals(job, config, progress, executor)
    weights = weights_by_level(found.source.levels, config.roles, where)
    return lowered, Lowered(job, originals, found.source, found.unrolled, found.notes, weights)


def _has_quantities(column: Column) -> bool:
    """Whether a field has numbers alone, and does not look like one of codes."""
    return column.numeric and not looks_like_codes(column)
