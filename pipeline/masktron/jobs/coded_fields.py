"""Fields of a file as codes, for treatments that draw: what the rules admit, what is written, what was released."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from masktron.errors import DocumentError, InfeasibleError, RefusalFacts, UsageError
from masktron.jobs.cell_rules import CellRules, CodedFile
from masktron.jobs.run import Run
from masktron.problems.problem import Field, Note
from masktron.sources.column import Column, Status
from masktron.sources.dataset import Dataset
from masktron.treatments.admissibility import AdmitsCodes, KeyCodes


@dataclass(frozen=True, slots=True, eq=False)
class CodedField:
    """The values of a field as codes.

    Attributes
    ----------
    codes : ndarray of intp, shape (n,)
        -1 where missing.
    places : mapping of str to int
        The code of each text.
    texts : ndarray of int32, shape (values,)
        A text of the column for each code; -1 where no record has it.
    """

    codes: KeyCodes
    places: Mapping[str, int]
    texts: NDArray[np.int32]

    def written(self, own: NDArray[np.int32], codes: KeyCodes) -> NDArray[np.int32]:
        """Return which text of the column each record gets, shape (n,), given its own and its code."""
        return np.where(codes == self.codes, own, self.texts[codes]).astype(np.int32)


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


def with_codes(
    run: Run, names: Sequence[str], fields: Sequence[CodedField], codes: Sequence[KeyCodes]
) -> dict[str, Column]:
    """Return columns, of all records of a run, in which those to release have the values with other codes."""
    keep = np.flatnonzero(run.originals.keep)
    columns = {}
    for name, field_codes, own in zip(names, fields, codes, strict=True):
        column = run.records.columns[name]
        texts = column.codes.copy()
        texts[keep] = field_codes.written(column.codes[keep], own)
        columns[name] = replace(column, codes=texts)
    return columns


def coded(column: Column, values: Sequence[str] = ()) -> CodedField:
    """Number the values of a column.

    Parameters
    ----------
    column : Column
    values : sequence of str
        Those of a matrix, in its order; by first appearance where there is none.

    Raises
    ------
    UsageError
        The matrix lacks a value.
    """
    texts = column.lexicon.objects()
    present = (column.states == Status.PRESENT).tolist()
    places = {text: at for at, text in enumerate(values)}
    code_of = np.full(len(texts), -1, dtype=np.intp)
    used, first = np.unique(column.codes, return_index=True)
    for at in used[np.argsort(first)].tolist():
        if present[at]:
            if values and texts[at] not in places:
                raise UsageError.of(
                    "bad-matrix", detail=Note("it has no row for the value {value!r}", value=texts[at])
                )
            code_of[at] = places.setdefault(texts[at], len(places))
    some = np.full(len(places), -1, dtype=np.int32)
    known = used[code_of[used] >= 0]
    some[code_of[known]] = known
    return CodedField(code_of[column.codes], places, some)


def admissible_codes(
    rules: CellRules, records: Dataset, names: Sequence[str], coded: Sequence[CodedField]
) -> AdmitsCodes | None:
    """Return what asks the rules which records may have which values; None where no rule reads the fields."""
    if not rules.groups:
        return None
    file = CodedFile.of(records, list(dict.fromkeys((*names, *rules.read))))
    everybody = np.arange(len(records))
    # the code that the file has for each of a field's own; a value that no record has is never proposed
    own = []
    for name, one in zip(names, coded, strict=True):
        of_value = np.full(len(one.places), -1, dtype=np.int32)
        of_value[one.codes[one.codes >= 0]] = file.codes[name][one.codes >= 0]
        own.append(of_value)

    def admissible(proposed: Sequence[KeyCodes]) -> NDArray[np.bool_]:
        cells = [
            np.where(codes >= 0, of_value[codes], file.codes[name])
            for name, codes, of_value in zip(names, proposed, own, strict=True)
        ]
        return rules.judged(everybody, np.column_stack(cells), names, file)

    return admissible
