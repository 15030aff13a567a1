"""Records on their way through the treatments that change values: what each step is given, and hands on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from masktron.classify import classify
from masktron.jobs.documents import Given, bound
from masktron.jobs.job import Job
from masktron.jobs.prepared import Opened
from masktron.jobs.rulebooks import open_rulebook
from masktron.sources.records import Coded, Column, Records
from masktron.translation import TranslatedRule
from masktron.write.treatments import Treatment


@dataclass(frozen=True, slots=True, eq=False)
class Treating:
    """What treatments have made of an original so far.

    Attributes
    ----------
    original : Opened
    records : Records
        All records of the original, with the fields as they have become.
    fields : tuple of str
        Those that a treatment has changed.
    treatments : tuple of Treatment
        What has been done, in order.
    rules : tuple of TranslatedRule
        One for each check of the rulebook of the original; none where all are as they were.
    rulebook : bytes
        The rules as they are asked of these records; empty where none has changed.
    key : bytes or None
        Of the release, where a treatment drew from it.
    """

    original: Opened
    records: Records
    fields: tuple[str, ...] = ()
    treatments: tuple[Treatment, ...] = ()
    rules: tuple[TranslatedRule, ...] = ()
    rulebook: bytes = b""
    key: bytes | None = field(default=None, repr=False)

    @property
    def cells(self) -> dict[str, Coded]:
        """The cells of changed fields, for all records of the original."""
        columns = {name: self.records.columns[name] for name in self.fields}
        return {
            name: Coded(column.lexicon.objects(), column.codes.astype(np.intp)) for name, column in columns.items()
        }

    @property
    def kept(self) -> Records:
        """The records to release."""
        return self.records.taken(self.original.originals.keep)

    def after(self, columns: Mapping[str, Column], *done: Treatment) -> Treating:
        """Return the state after treatments that have changed some fields."""
        return replace(
            self,
            records=replace(self.records, columns={**self.records.columns, **columns}),
            fields=tuple(dict.fromkeys((*self.fields, *columns))),
            treatments=(*self.treatments, *done),
        )

    def job(self, rules: Path) -> Job:
        """Return the original with the rules as they are asked of these records.

        Parameters
        ----------
        rules : Path
            Where they stand, if they have changed.
        """
        job, given = self.original.job, self.original.given
        if not self.rulebook:
            return job
        documents = Given(given.documents, job.source.path, spare=frozenset(given.documents))
        rulebook = bound(open_rulebook(rules), documents)
        return replace(job, rulebook=rulebook, edits=classify(rulebook, job.source.layout))

    @property
    def let_go(self) -> tuple[str, ...]:
        """The ids of rules that these records need not obey."""
        checks = self.original.job.rulebook.checks
        return tuple(checks[index].id for index in self.original.originals.released)
