"""What a user should know of single records in a masked file, in notes without a value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.distinct import alike
from masktron.masking import MaskedBlock
from masktron.masking.disclosure.exposure import DOMINANT
from masktron.measures.unchanged import published_as_it_was
from masktron.problems.problem import Field, Note, Sentence, fields
from masktron.sources.column import Column


def privacy_notes(
    blocks: Sequence[MaskedBlock], original: Mapping[str, Column], masked: Mapping[str, Column]
) -> tuple[Sentence, ...]:
    """Say what is published as it was, which fields lost all values, and which groups one weight rules.

    Parameters
    ----------
    blocks : sequence of MaskedBlock
    original, masked : mapping of str to Column
        The same records in the same order.
    """
    return tuple(note for block in blocks for note in _notes(block, original, masked))


def unmasked_notes(columns: Mapping[str, Column], unmasked: Sequence[str]) -> Iterator[Sentence]:
    """Say how many records their unmasked fields tell apart from all others, and which field does most of it.

    Parameters
    ----------
    columns : mapping of str to Column
        As they are written.
    unmasked : sequence of str
        Fields that are written as they were; those that differ in every record are told elsewhere.
    """
    if not unmasked:
        return
    coded = {name: columns[name].numbered() for name in unmasked}
    records = len(next(iter(columns.values())))
    single = {name: _single([own], records) for name, own in coded.items()}
    together = _single(list(coded.values()), records)
    if not together:
        return
    most = max(unmasked, key=single.__getitem__)
    alone = Note(", {count} by {field} alone", count=single[most], field=Field(most))
    yield Note(
        "by unmasked fields alone ({unmasked}), {together} of {records:record} {together:is|are} like no other "
        "one{alone}: whoever knows these of a respondent finds the record",
        unmasked=fields(unmasked),
        together=together,
        records=records,
        alone=alone if len(unmasked) > 1 and single[most] else "",
    )


def _single(codes: Sequence[NDArray[np.int32]], records: int) -> int:
    """How many rows are like no other one."""
    return int((np.bincount(alike(codes, records)[0]) == 1).sum())


def _notes(masked: MaskedBlock, original: Mapping[str, Column], written: Mapping[str, Column]) -> Iterator[Sentence]:
    names, exposure, groups = masked.block.variables, masked.exposure, masked.grouping.groups
    if count := int(exposure.dominated.sum()):
        yield Note(
            "{names}: one record holds more than {share:g} % of the weight in {count} of {groups:group}, whose "
            "aggregates are nearly its values",
            names=fields(names),
            share=100 * DOMINANT,
            count=count,
            groups=groups,
        )
    for name in names:
        where = exposure.determined.get(name)
        whole = published_as_it_was(original[name], written[name])
        told = ""
        if where is not None and whole:
            told = "{name} is fixed by the unmasked {unmasked}: it is published as it was"
        elif where is not None:
            told = "{name} is fixed by the unmasked {unmasked} in {fixed} of {groups:group}: "
            told += "it is published there as it was"
        elif whole and masked.block.drawn:
            told = "{name} is published as it was, in every record"
        elif whole:
            told = "{name} is published as it was: the records of each group had one value of it from the start"
        if told:
            fixed = 0 if where is None else int(where.sum())
            unmasked = fields(masked.block.conditions)
            yield Note(told, name=Field(name), unmasked=unmasked, fixed=fixed, groups=groups)
        if original[name].present.any() and not written[name].present.any():
            lost = "{name} has lost all its values: no group has a pattern of missing values that keeps them"
            yield Note(lost, name=Field(name))
