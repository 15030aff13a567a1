"""Records on their way through the treatments that change values: what each step is given, and hands on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

import numpy as np

from masktron.classify import classify
from masktron.config import Role
from masktron.errors import DocumentError, InfeasibleError, RefusalFacts, UsageError
from masktron.jobs.coded_fields import CodedField
from masktron.jobs.documents import Given, bound
from masktron.jobs.job import Job
from masktron.jobs.prepared import Opened
from masktron.jobs.randomness import Origin, secret_for_treatments
from masktron.jobs.rulebooks import open_rulebook
from masktron.problems.problem import Field, Known
from masktron.sources.column import Column
from masktron.sources.dataset import Dataset
from masktron.streams import Streams
from masktron.translation import TranslatedRule
from masktron.treatments.admissibility import KeyCodes
from masktron.write.treatments import Treatment, plain_settings


@contextmanager
def treating(fields: Sequence[str], where: str) -> Iterator[None]:
    """Let errors say in which file they are, and which fields are treated."""
    try:
        yield
    except (UsageError, DocumentError, InfeasibleError) as error:
        place = error.problem.place
        error.at(replace(place, source=place.source or where, field=place.field or Field("+".join(fields))))
        error.facts = (RefusalFacts("keys", conditions=tuple(fields)),)
        raise


@dataclass(frozen=True, slots=True, eq=False)
class Treating:
    """What treatments have made of an original so far.

    Attributes
    ----------
    original : Opened
    job : Job
        The file of the original, with the rules as they are asked of these records.
    records : Dataset
        All records of the original, with the fields as they have become.
    origin : Origin
        What the draws of the next treatment depend on.
    fields : tuple of str
        Those that a treatment has changed.
    treatments : tuple of Treatment
        What has been done, in order.
    rules : tuple of TranslatedRule
        One for each check of the rulebook of the original; none where all are as they were.
    rulebook : bytes
        The rules as they are asked of these records; empty where none has changed.
    secret : bytes or None
        Of the release, where a treatment drew from it.
    """

    original: Opened
    job: Job
    records: Dataset
    origin: Origin
    fields: tuple[str, ...] = ()
    treatments: tuple[Treatment, ...] = ()
    rules: tuple[TranslatedRule, ...] = ()
    rulebook: bytes = b""
    secret: bytes | None = field(default=None, repr=False)

    @classmethod
    def of(cls, original: Opened) -> Self:
        """Return what an original is before the first treatment."""
        return cls(original, original.job, original.records, original.origin)

    @property
    def kept(self) -> Dataset:
        """The records to release."""
        return self.records.taken(self.original.originals.keep)

    def after(self, columns: Mapping[str, Column], *done: Treatment) -> Treating:
        """Return the state after treatments that have changed some fields."""
        return replace(
            self,
            records=self.records.with_columns(columns),
            fields=tuple(dict.fromkeys((*self.fields, *columns))),
            treatments=(*self.treatments, *done),
            origin=self.origin.after(plain_settings(done), columns),
        )

    def with_codes(
        self, names: Sequence[str], fields: Sequence[CodedField], codes: Sequence[KeyCodes]
    ) -> dict[str, Column]:
        """Return columns, of all records, in which those to release have the values with other codes."""
        keep = np.flatnonzero(self.original.originals.keep)
        columns = {}
        for name, field_codes, own in zip(names, fields, codes, strict=True):
            column = self.records.columns[name]
            texts = column.codes.copy()
            texts[keep] = field_codes.written(column.codes[keep], own)
            columns[name] = replace(column, codes=texts)
        return columns

    def streams(self, treatment: Treatment) -> tuple[Treating, Streams]:
        """Return the state with the secret of the release, and the random numbers of a treatment; see `Origin`."""
        secret = self.secret or secret_for_treatments(self.original.config)
        return replace(self, secret=secret), self.origin.streams(secret, plain_settings([treatment]))

    def require_written(self, setting: str, names: Iterable[str]) -> None:
        """Refuse fields that are not there, and those that are masked, removed or the weight.

        Raises
        ------
        UsageError
        """
        roles = {fact.name: fact.role for fact in self.original.fields}
        names = tuple(names)
        self.require_there(setting, names)
        for name in names:
            if roles[name] in (Role.CONFIDENTIAL, Role.IDENTIFIER, Role.WEIGHT):
                raise UsageError.of(
                    "role-does-not-fit",
                    self.original.job.source.path,
                    setting=setting,
                    field=Field(name),
                    role="quasi-identifier",
                    reason=f"which has the role {roles[name]}, so it is not written as it is",
                )

    def require_there(self, setting: str, names: Iterable[str]) -> None:
        """Refuse fields that are not there.

        Raises
        ------
        UsageError
        """
        known = [fact.name for fact in self.original.fields]
        for name in names:
            if name not in known:
                raise UsageError.of(
                    "unknown-name",
                    self.original.job.source.path,
                    name=Field(name),
                    known=Known(name, tuple(known)),
                    kind="field",
                )

    def asked_by(self, rules: Path) -> Treating:
        """Return the same records with the rules as they are asked of them now, and stand in a file."""
        job, given = self.original.job, self.original.given
        documents = Given(given.documents, job.source.path, spare=frozenset(given.documents))
        rulebook = bound(open_rulebook(rules), documents)
        return replace(self, job=replace(job, rulebook=rulebook, edits=classify(rulebook, job.source.layout)))

    @property
    def let_go(self) -> tuple[str, ...]:
        """The ids of rules that these records need not obey."""
        checks = self.original.job.rulebook.checks
        return tuple(checks[index].id for index in self.original.originals.released)
