"""What the rules that look at single records say of records with other cells in some fields."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from masktron.classify import Edit
from masktron.constraints import OpaqueEdit
from masktron.evaluation.exact import BatchEvaluator, EngineChoice
from masktron.evaluation.findings import Verdict
from masktron.evaluation.programs import Original
from masktron.jobs.job import Job
from masktron.rulebook.locality import locality
from masktron.sources.records import Records
from masktron.sources.xml.microdata import chunk_document

_AT_ONCE = 2_000
"""Records that engines judge in one document."""


@dataclass(frozen=True, slots=True, eq=False)
class CellRules:
    """What judges records with other cells in some fields, by the rules that look at single records and read keys.

    Attributes
    ----------
    job : Job
    edits : tuple of Edit
    read : tuple of str
        Fields of which their verdict depends.
    """

    job: Job
    edits: tuple[Edit, ...]
    read: tuple[str, ...]
    engines: tuple[BatchEvaluator, ...]
    known: dict[bytes, bool]

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
        edits = tuple(
            edit
            for edit in job.edits
            if not far[edit.check.index]
            and edit.check.index not in released
            and (isinstance(edit.constraint, OpaqueEdit) or keys.intersection(edit.variables))
        )
        opaque = any(isinstance(edit.constraint, OpaqueEdit) for edit in edits)
        used = {name for edit in edits for name in edit.variables}
        choices: tuple[EngineChoice, ...] = ("unaided", "auto") if job.rulebook.version == "1.0" else ("auto",)
        document = Original(job.source.document_path.absolute(), known=True)
        checks = [edit.check.index for edit in edits]
        engines = tuple(
            BatchEvaluator(job.rulebook, job.source.layout, checks=checks, original=document, engine=choice)
            for choice in (choices if checks else ())
        )
        return cls(job, edits, tuple(name for name in fields if opaque or name in used), engines, {})

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
        rows = np.column_stack(
            [codes[:, places[name]] if name in places else file.codes[name][records] for name in self.read]
        ).astype(np.int32)
        distinct, which = np.unique(rows, axis=0, return_inverse=True)
        asked = [row.tobytes() for row in distinct]
        new = [at for at, one in enumerate(asked) if one not in self.known]
        for start in range(0, len(new), _AT_ONCE):
            part = new[start : start + _AT_ONCE]
            fine = self._obey(distinct[part], file)
            self.known.update((asked[at], bool(one)) for at, one in zip(part, fine, strict=True))
        return np.array([self.known[one] for one in asked], dtype=np.bool_)[which.ravel()]

    def _obey(self, rows: NDArray[np.int32], file: CodedFile) -> NDArray[np.bool_]:
        document = chunk_document(
            self.job.source.layout,
            [
                {name: file.texts[name][code] for name, code in zip(self.read, row, strict=True)}
                for row in rows.tolist()
            ],
        )
        own = [edit.check.index for edit in self.edits]
        fine = np.ones(len(rows), dtype=np.bool_)
        for engine in self.engines:
            fine &= (engine.verdicts(document)[:, own] < Verdict.FAILS).all(axis=1)
        return fine


@dataclass(frozen=True, slots=True, eq=False)
class CodedFile:
    """Fields as codes, and the texts of these; code -1, the last text, is none."""

    codes: dict[str, NDArray[np.int32]]
    texts: dict[str, NDArray[np.object_]]

    @classmethod
    def of(cls, records: Records, names: Sequence[str]) -> CodedFile:
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
