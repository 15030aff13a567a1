"""Which values the rules admit in a record beside all else that it has: the engines are asked of each candidate."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Indices
from masktron.classify import Edit
from masktron.constraints import OpaqueEdit
from masktron.judge import EngineChoice, Original, RecordJudge, Verdict
from masktron.rulebook.locality import locality
from masktron.rulebook.schema import Rulebook
from masktron.sources.dataset import Dataset
from masktron.sources.record_layout import Layout
from masktron.sources.xml.microdata import chunk_document
from masktron.verify.cells import combinations_of

_AT_ONCE = 2_000
"""Records that engines judge in one document."""

type Row = tuple[str | None, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Admitted:
    """Which candidates the rules admit, in n records or households.

    Attributes
    ----------
    which : ndarray of intp, shape (n,)
        The set that each is admitted.
    sets : ndarray of bool, shape (sets, candidates)
        Different from each other.
    """

    which: Indices
    sets: NDArray[np.bool_]

    @classmethod
    def everything(cls, n: int, candidates: int) -> Self:
        """Return what no rule restricts."""
        return cls(np.zeros(n, dtype=np.intp), np.ones((1, candidates), dtype=np.bool_))

    def and_also(self, other: Admitted) -> Admitted:
        """Return the candidates that both admit."""
        pairs, place = np.unique(self.which * len(other.sets) + other.which, return_inverse=True)
        one, two = np.divmod(pairs, len(other.sets))
        sets, number = np.unique(self.sets[one] & other.sets[two], axis=0, return_inverse=True)
        return Admitted(number.astype(np.intp)[place], sets)

    def of_units(self, units: Indices) -> Admitted:
        """Return the candidates that are admitted in all records of each unit.

        Parameters
        ----------
        units : ndarray of intp, shape (n,)
            The unit of each record, from 0.
        """
        order = np.argsort(units, kind="stable")
        sizes = np.bincount(units)
        starts = np.cumsum(sizes) - sizes
        found = Admitted(self.which[order[starts]], self.sets)
        for member in range(1, int(sizes.max(initial=0))):
            # a smaller household has its first record once more
            record = order[starts + np.where(sizes > member, member, 0)]
            found = found.and_also(Admitted(self.which[record], self.sets))
        return found


@dataclass(frozen=True, slots=True, eq=False)
class RecordRules:
    """Rules on the records of an original, as they are asked of the values that a release has.

    Attributes
    ----------
    rulebook : Rulebook
    edits : sequence of Edit
    layout : Layout
    document : Path
        What ``document()`` means by the original.
    """

    rulebook: Rulebook
    edits: Sequence[Edit]
    layout: Layout
    document: Path

    def reading(
        self, names: Sequence[str], fields: Iterable[str], let_go: Sequence[str]
    ) -> dict[tuple[str, ...], list[int]]:
        """Return the rules that look at single records and read some of the fields, by all fields that they read."""
        found: dict[tuple[str, ...], list[int]] = {}
        far, fields = locality(self.rulebook, self.layout), [*fields]
        for edit in self.edits:
            opaque = isinstance(edit.constraint, OpaqueEdit)
            read = tuple(name for name in fields if opaque or name in edit.variables)
            if not far[edit.check.index] and edit.check.id not in let_go and {*names}.intersection(read):
                found.setdefault(read, []).append(edit.check.index)
        return found

    def admitted(
        self,
        reading: dict[tuple[str, ...], list[int]],
        records: Dataset,
        names: Sequence[str],
        candidates: Sequence[Row],
    ) -> Admitted:
        """Ask which candidates rules admit in each record.

        Parameters
        ----------
        reading : mapping of tuple of str to list of int
            Rules, by the fields that they read.
        records : Dataset
        names : sequence of str
            The fields of the candidates.
        candidates : sequence of tuple of (str or None)
        """
        found = Admitted.everything(len(records), len(candidates))
        for read, checks in reading.items():
            beside = [name for name in read if name not in names]
            codes = [records.columns[name].numbered() for name in beside]
            _, first, context = np.unique(
                combinations_of(codes, len(records)), return_index=True, return_inverse=True
            )
            texts = [records.columns[name].lexemes_of(first).tolist() for name in beside]
            contexts: list[Row] = [*zip(*texts, strict=True)] if beside else [()] * len(first)
            own = [at for at, name in enumerate(names) if name in read]
            parts = [tuple(one[at] for at in own) for one in candidates]
            proposed = [*dict.fromkeys(parts)]
            columns = (*beside, *(names[at] for at in own))
            fine = self._obeyed(checks, columns, [(*one, *two) for one in contexts for two in proposed])
            sets = fine.reshape(len(contexts), len(proposed))[:, [proposed.index(one) for one in parts]]
            found = found.and_also(Admitted(context.astype(np.intp), sets))
        return found

    def _obeyed(self, checks: Sequence[int], names: Sequence[str], rows: Sequence[Row]) -> NDArray[np.bool_]:
        """Ask the engines which records obey some rules, shape (rows,)."""
        versions = {self.rulebook.versions[check] for check in checks}
        choices: tuple[EngineChoice, ...] = ("unaided", "auto") if "1.0" in versions else ("auto",)
        engines = [
            RecordJudge(
                self.rulebook, self.layout, checks=checks, original=Original(self.document, known=True), engine=choice
            )
            for choice in choices
        ]
        fine = np.ones(len(rows), dtype=np.bool_)
        for start in range(0, len(rows), _AT_ONCE):
            part = rows[start : start + _AT_ONCE]
            document = chunk_document(self.layout, [dict(zip(names, row, strict=True)) for row in part])
            for engine in engines:
                verdicts = engine.verdicts(document)[:, checks]
                fine[start : start + _AT_ONCE] &= (verdicts < Verdict.FAILS).all(axis=1)
        return fine
