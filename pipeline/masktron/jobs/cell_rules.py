"""What the rules that look at single records say of records with other cells in some fields."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from masktron.constraints import OpaqueEdit
from masktron.jobs.job import Job
from masktron.judge import EngineChoice, Original, RecordJudge, Verdict
from masktron.measures.keys.combinations import combined
from masktron.rulebook.locality import locality
from masktron.sources.dataset import Dataset
from masktron.sources.xml.microdata import chunk_document

_AT_ONCE = 2_000
"""Records that engines judge in one document."""


@dataclass(frozen=True, slots=True, eq=False)
class CellRules:
    """What judges records with other cells in some fields, by the rules that look at single records and read keys.

    Rules that read the same fields are judged together, once for each combination of what these have: of all fields
    together, there would be about as many combinations as records, times sets of cells.

    Attributes
    ----------
    groups : tuple of _Alike
    read : tuple of str
        Fields of which their verdict depends.
    """

    groups: tuple[_Alike, ...]
    read: tuple[str, ...]

    @classmethod
    def of(cls, job: Job, released: Collection[int], names: Sequence[str], fields: Sequence[str]) -> CellRules:
        """Take the rules that read some of the fields.

        Parameters
        ----------
        job : Job
        released : collection of int
            Rules that need not hold.
        names : sequence of str
            The fields that get other cells.
        fields : sequence of str
            All fields of the records.
        """
        keys = frozenset(names)
        far = locality(job.rulebook, job.source.layout)
        checks: dict[tuple[str, ...], list[int]] = {}
        for edit in job.edits:
            opaque = isinstance(edit.constraint, OpaqueEdit)
            asked = not far[edit.check.index] and edit.check.index not in released
            if asked and (opaque or keys.intersection(edit.variables)):
                read = tuple(name for name in fields if opaque or name in edit.variables)
                checks.setdefault(read, []).append(edit.check.index)
        groups = tuple(_Alike.of(job, read, own) for read, own in checks.items())
        used = {name for one in groups for name in one.read}
        return cls(groups, tuple(name for name in fields if name in used))

    def parts(self, names: Collection[str]) -> list[CellRules]:
        """Part the rules, so that no two parts read the same of these fields.

        What one part says of the cells of a record does not depend on those that another reads.
        """
        found: list[list[_Alike]] = []
        for group in self.groups:
            own = {*group.read}.intersection(names)
            near = [part for part in found if any(own.intersection(one.read) for one in part)]
            found = [part for part in found if part not in near]
            found.append([*(one for part in near for one in part), group])
        return [
            CellRules(tuple(part), tuple(name for name in self.read if any(name in one.read for one in part)))
            for part in found
        ]

    def judged(
        self, records: NDArray[np.intp], codes: NDArray[np.int32], names: Sequence[str], file: CodedFile
    ) -> NDArray[np.bool_]:
        """Tell which records obey the rules with these codes in some fields, shape (r,).

        Parameters
        ----------
        records : ndarray of intp, shape (r,)
        codes : ndarray of int32, shape (r, m)
            Of `names`; -1 where a cell is left out.
        """
        places = {name: at for at, name in enumerate(names)}
        fine = np.ones(len(records), dtype=np.bool_)
        for group in self.groups:
            left = np.flatnonzero(fine)
            columns = [
                codes[left, places[name]] if name in places else file.codes[name][records[left]]
                for name in group.read
            ]
            fine[left] = group.obeyed(np.column_stack(columns).astype(np.int32), file)
        return fine

    def broken_without(self, name: str, file: CodedFile) -> tuple[int, ...]:
        """Return the rules, by index, that some records break where a field alone is left out of them."""
        found: set[int] = set()
        for group in self.groups:
            if name in group.read:
                rows = np.column_stack([file.codes[one] for one in group.read]).astype(np.int32)
                rows = np.unique(rows[file.codes[name] >= 0], axis=0)
                rows[:, group.read.index(name)] = -1
                found |= group.broken(np.unique(rows, axis=0), file)
        return tuple(sorted(found))


@dataclass(frozen=True, slots=True, eq=False)
class _Alike:
    """Rules that read the same fields."""

    job: Job
    read: tuple[str, ...]
    checks: list[int]
    engines: tuple[RecordJudge, ...]
    known: dict[bytes, bool]

    @classmethod
    def of(cls, job: Job, read: tuple[str, ...], checks: list[int]) -> _Alike:
        versions = {job.rulebook.versions[check] for check in checks}
        choices: tuple[EngineChoice, ...] = ("unaided", "auto") if "1.0" in versions else ("auto",)
        document = Original(job.source.document_path.absolute(), known=True)
        engines = tuple(
            RecordJudge(job.rulebook, job.source.layout, checks=checks, original=document, engine=choice)
            for choice in choices
        )
        return cls(job, read, checks, engines, {})

    def obeyed(self, rows: NDArray[np.int32], file: CodedFile) -> NDArray[np.bool_]:
        """Tell which rows of codes, of the fields that the rules read, obey them, shape (r,)."""
        numbers, _ = combined(list(rows.T), len(rows))
        _, first, which = np.unique(numbers, return_index=True, return_inverse=True)
        distinct = rows[first]
        asked = [row.tobytes() for row in distinct]
        new = [at for at, one in enumerate(asked) if one not in self.known]
        for start in range(0, len(new), _AT_ONCE):
            part = new[start : start + _AT_ONCE]
            fine = self._judged(distinct[part], file)
            self.known.update((asked[at], bool(one)) for at, one in zip(part, fine, strict=True))
        return np.array([self.known[one] for one in asked], dtype=np.bool_)[which]

    def broken(self, rows: NDArray[np.int32], file: CodedFile) -> set[int]:
        """Return the rules that some of these rows break."""
        found = np.zeros(len(self.checks), dtype=np.bool_)
        for start in range(0, len(rows), _AT_ONCE):
            found |= ~self._by_rule(rows[start : start + _AT_ONCE], file).all(axis=0)
        return {self.checks[at] for at in np.flatnonzero(found).tolist()}

    def _judged(self, rows: NDArray[np.int32], file: CodedFile) -> NDArray[np.bool_]:
        return np.asarray(self._by_rule(rows, file).all(axis=1))

    def _by_rule(self, rows: NDArray[np.int32], file: CodedFile) -> NDArray[np.bool_]:
        """Tell which rows obey which of the rules, in all engines; shape (r, rules)."""
        document = chunk_document(
            self.job.source.layout,
            [
                {name: file.texts[name][code] for name, code in zip(self.read, row, strict=True)}
                for row in rows.tolist()
            ],
        )
        fine = np.ones((len(rows), len(self.checks)), dtype=np.bool_)
        for engine in self.engines:
            fine &= engine.verdicts(document)[:, self.checks] < Verdict.FAILS
        return fine


@dataclass(frozen=True, slots=True, eq=False)
class CodedFile:
    """Fields as codes, and the texts of these; code -1, the last text, is none."""

    codes: dict[str, NDArray[np.int32]]
    texts: dict[str, NDArray[np.object_]]

    @classmethod
    def of(cls, records: Dataset, names: Sequence[str]) -> CodedFile:
        """Number the values of some fields."""
        codes = {name: records.columns[name].numbered() for name in names}
        texts = {}
        for name, own in codes.items():
            texts[name] = np.full(int(own.max(initial=-1)) + 2, None, dtype=np.object_)
            texts[name][own] = records.columns[name].lexemes
        return cls(codes, texts)

    def matrix(self, names: Sequence[str]) -> NDArray[np.int32]:
        """Return fields side by side, shape (n, m)."""
        return np.column_stack([self.codes[name] for name in names]).astype(np.int32)
