"""A run of `mask`, filled from top to bottom: read, judged, its fields treated, planned; from there it is masked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from masktron.codes import Suspects
from masktron.config import Config, Role
from masktron.errors import UsageError
from masktron.jobs.job import Job
from masktron.jobs.keys_known import KnownKeys, keys_of_run
from masktron.jobs.lowering.lower import Back
from masktron.jobs.ordering import Ordering, identifying, ordering_of
from masktron.jobs.originals import Originals
from masktron.jobs.randomness import Origin, Randomness, digest_of_columns, randomness_of, secret_for_treatments
from masktron.jobs.untested import known_only
from masktron.methods.base import Method
from masktron.methods.chosen import Chosen, chosen
from masktron.plan import Plan, make_plan
from masktron.problems.level_names import LevelNames
from masktron.problems.problem import Field, Known, Sentence
from masktron.progress import Progress
from masktron.roles import FieldFacts
from masktron.sources.column import Column
from masktron.sources.dataset import Dataset
from masktron.sources.source import Source
from masktron.step_kinds import Treatment, plain_settings
from masktron.streams import Streams
from masktron.translation import TranslatedRule


@dataclass(frozen=True, slots=True)
class Account:
    """What steps have done to fields before the others are masked, as plain data.

    Attributes
    ----------
    treatments : tuple of Treatment
        In the order in which they were done.
    fields : tuple of str
        Those that one of them has changed.
    rules : tuple of TranslatedRule
        One for each check of the rulebook of the original; none where all are as they were.
    rulebook : bytes
        The rules as they are asked now; empty where none has changed.
    draws : tuple of (plain data, str)
        Settings of each step, and the digest of the columns that it changed: the next draws depend on them.
    secret : bytes or None
        Of the release, where a step drew from it.
    """

    treatments: tuple[Treatment, ...] = ()
    fields: tuple[str, ...] = ()
    rules: tuple[TranslatedRule, ...] = ()
    rulebook: bytes = b""
    draws: tuple[tuple[object, str], ...] = ()
    secret: bytes | None = field(default=None, repr=False)

    def after(self, columns: Mapping[str, Column], *done: Treatment) -> Account:
        """Return the account after a step that has changed some columns."""
        return replace(
            self,
            treatments=(*self.treatments, *done),
            fields=tuple(dict.fromkeys((*self.fields, *columns))),
            draws=(*self.draws, (plain_settings(done), digest_of_columns(columns))),
        )


def released_of(records: Dataset, originals: Originals) -> Dataset:
    """Return the records that are released."""
    return records if originals.keep.all() else records.taken(originals.keep)


@dataclass(frozen=True, eq=False)
class Run:
    """What is known of a run; steps return it with other records, rules and a longer account.

    Attributes
    ----------
    given : Config
        The settings as they were stated.
    config : Config
        With what the file says of its variables.
    job : Job
        The file, of a nested one its wide records, and the rules as they are asked of these records.
    fields : tuple of FieldFacts
    records : Dataset
        All records.
    kept : Dataset
        Those that are released.
    originals : Originals
        How the rules judge the records.
    back : Flat or Lowered
        How the records are taken back to those of the file.
    notes : tuple of Sentence
        What the file says of its fields, and what was found out of their kinds.
    likely : Suspects
        Fields that seem to be something else than they are masked as.
    slow : tuple of str
        Warnings of rules that take long.
    account : Account
        What steps have done.
    before : Run or None
        The run before the first of them.
    fixed : frozenset of str
        Fields that steps read and do not change: of the records of a level, those of the records around them.
    """

    given: Config
    config: Config
    job: Job
    fields: tuple[FieldFacts, ...]
    records: Dataset
    kept: Dataset
    originals: Originals
    back: Back
    notes: tuple[Sentence, ...]
    likely: Suspects
    slow: tuple[str, ...]
    account: Account = field(default_factory=Account)
    before: Run | None = None
    fixed: frozenset[str] = frozenset()

    @property
    def original(self) -> Run:
        """The run before fields were treated."""
        return self.before or self

    @property
    def source(self) -> Source:
        """The file; where fields were treated, its records with what these came to."""
        return self.job.source

    @property
    def treatments(self) -> tuple[Treatment, ...]:
        """What steps have done, as it is said of the records."""
        return self.back.as_records(self.account.treatments)

    @property
    def names(self) -> LevelNames:
        """What fields and rules are called."""
        return self.back.names

    @property
    def masked(self) -> frozenset[str]:
        """The fields that are going to be masked."""
        return frozenset(fact.name for fact in self.fields if fact.role is Role.CONFIDENTIAL)

    @property
    def removed(self) -> frozenset[str]:
        """The fields that are going to be left out."""
        return frozenset(fact.name for fact in self.fields if fact.role is Role.IDENTIFIER)

    @property
    def let_go(self) -> tuple[str, ...]:
        """The ids of rules of the original that records need not obey."""
        checks = self.original.back.job.rulebook.checks
        return tuple(checks[index].id for index in self.original.as_written.released)

    @cached_property
    def _first_origin(self) -> Origin:
        return Origin.of(self.back.job, self.records, self.originals.keep, self.fields)

    @property
    def origin(self) -> Origin:
        """What the draws of the next step depend on."""
        return replace(self.original._first_origin, steps=self.account.draws)

    def streams(self, settings: object) -> tuple[Run, Streams]:
        """Return the run with the secret of the release, and the random numbers of a step with some settings."""
        secret = self.account.secret or secret_for_treatments(self.config)
        return replace(self, account=replace(self.account, secret=secret)), self.origin.streams(secret, settings)

    def after(self, columns: Mapping[str, Column], *done: Treatment) -> Run:
        """Return the run after treatments that have changed some fields of all its records."""
        records = self.records.with_columns(columns)
        return replace(
            self,
            before=self.original,
            records=records,
            kept=released_of(records, self.originals),
            account=self.account.after(columns, *done),
        )

    def planned(self, progress: Progress) -> Run:
        """Plan blocks and aggregators now, and say where random numbers come from.

        Raises
        ------
        UsageError, InfeasibleError
            It cannot be masked so.
        """
        progress("planning blocks and aggregators", 0)
        _ = self.plan, self.classes, self.ordering, self.randomness
        return self

    @cached_property
    def _chosen(self) -> Chosen:
        return chosen(self.config.method, self.config.params, self.config.k)

    @property
    def method(self) -> Method:
        """The method that masks."""
        return self._chosen.method

    @cached_property
    def plan(self) -> Plan:
        """The blocks, and the aggregators that are tried."""
        known = known_only(self.job)
        return make_plan(
            known, self.fields, self.config, released=self.originals.released, aggregator=self.config.aggregator
        )

    @cached_property
    def classes(self) -> NDArray[np.intp] | None:
        """Class of each kept record, shape (n, c), for methods that need one; what is missing is one of its own.

        Raises
        ------
        UsageError
            A field is not there, or is masked or removed.
        """
        names = self._chosen.class_fields
        roles = {fact.name: fact.role for fact in self.fields}
        for name in names:
            if name not in roles:
                known = Known(name, tuple(roles))
                raise UsageError.of("unknown-name", self.kept.path, name=Field(name), known=known, kind="field")
            if roles[name] in (Role.CONFIDENTIAL, Role.IDENTIFIER):
                raise UsageError.of(
                    "role-does-not-fit",
                    self.kept.path,
                    setting="the class",
                    field=Field(name),
                    role="untouched",
                    reason=f"which has the role {roles[name]}",
                )
        if not names:
            return None
        return np.stack([self.kept.columns[name].numbered() for name in names], axis=1).astype(np.intp)

    @cached_property
    def ordering(self) -> Ordering:
        """The order of the written records."""
        return ordering_of(self.config, self.job, self.kept, self.fields, self.binding)

    @cached_property
    def randomness(self) -> Randomness:
        """The random numbers of what masks."""
        return randomness_of(
            self.config,
            self.job,
            self._chosen,
            self.fields,
            shuffled=self.ordering.random,
            origin=lambda: self.origin,
            made=self.account.secret,
        )

    @property
    def binding(self) -> list[int]:
        """Rules that have to hold of the records in the written file."""
        loose = {*self.plan.released, *self._inapplicable}
        return [check.index for check in self.job.rulebook.checks if check.index not in loose]

    @property
    def _inapplicable(self) -> Sequence[int]:
        return [index for index, _ in self.plan.not_applicable]

    @property
    def loose(self) -> tuple[int, ...]:
        """Rules, of those by which the written file is judged, that need not hold in it."""
        return tuple(sorted({*self.as_written.released, *self.back.of_records(self._inapplicable)}))

    @property
    def binding_as_written(self) -> list[int]:
        """Rules, of those by which the written file is judged, that have to hold in it."""
        loose = {*self.loose}
        return [check.index for check in self.back.job.rulebook.checks if check.index not in loose]

    @property
    def as_written(self) -> Originals:
        """How the rules as they are written judge the file."""
        return self.back.as_written(self.originals)

    def rule_id(self, check: int) -> str:
        """Return the id of a check of the job, as it stands in the rulebook that was given."""
        return self.back.job.rulebook.checks[self.back.written(check)].id

    @cached_property
    def identifying(self) -> tuple[str, ...]:
        """The written fields whose text differs in every record."""
        return identifying(self.kept, self.fields)

    @cached_property
    def keys(self) -> KnownKeys:
        """What others may know of respondents: the quasi-identifiers, and the weight."""
        return keys_of_run(self.fields, self.config, self.identifying)

    def require_written(self, setting: str, names: Sequence[str]) -> None:
        """Refuse fields that are not there, and those that are masked, removed or the weight.

        Raises
        ------
        UsageError
        """
        self.require_there(names)
        roles = {fact.name: fact.role for fact in self.fields}
        for name in names:
            if roles[name] in (Role.CONFIDENTIAL, Role.IDENTIFIER, Role.WEIGHT):
                raise UsageError.of(
                    "role-does-not-fit",
                    self.job.source.path,
                    setting=setting,
                    field=Field(name),
                    role="quasi-identifier",
                    reason=f"which has the role {roles[name]}, so it is not written as it is",
                )

    def require_there(self, names: Sequence[str]) -> None:
        """Refuse fields that are not there.

        Raises
        ------
        UsageError
        """
        known = tuple(fact.name for fact in self.fields)
        for name in names:
            if name not in known:
                told = Known(name, known)
                raise UsageError.of("unknown-name", self.job.source.path, name=Field(name), known=told, kind="field")
