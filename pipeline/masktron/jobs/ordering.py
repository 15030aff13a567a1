"""The order in which records are written: a random one where that of the original could tell who is who."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from masktron.config import Config, Role
from masktron.constraints import CrossRecordEdit
from masktron.jobs.job import Job
from masktron.problems.problem import Note, Sentence
from masktron.roles import FieldFacts
from masktron.rulebook.expressions.tree import SIDEWAYS
from masktron.rulebook.locality import in_order_by, reads_order
from masktron.sources.column import Column
from masktron.sources.dataset import Dataset

WRITTEN = (Role.RECORD_ID, Role.UNTOUCHED, Role.WEIGHT, Role.QUASI_IDENTIFIER)
"""Roles of fields that stand in the written file as they are."""
RELEASED = tuple(role for role in WRITTEN if role is not Role.WEIGHT)
"""Those of fields that say something of respondents."""
_FIRST = 100
"""Records that are looked at before all are: most fields sort nothing."""
TELLS = (
    "whoever has another file of these records in that order, or knows what the original is sorted by, knows whose "
    "record each one is"
)


@dataclass(frozen=True, slots=True)
class Ordering:
    """Whether the records are written in random order, and a sentence that says so."""

    random: bool
    says: Sentence
    original: bool = False
    """Whether the order is that of the original, and no written field tells as much."""


def ordering_of(
    config: Config, job: Job, records: Dataset, fields: Sequence[FieldFacts], binding: Collection[int]
) -> Ordering:
    """Choose the order of the written records.

    Parameters
    ----------
    config : Config
    job : Job
    records : Dataset
        Those to release.
    fields : sequence of FieldFacts
    binding : collection of int
        Rules that the written file has to obey.
    """
    if config.order == "random":
        return Ordering(True, "the records stand in random order, as was asked for; the manifest has the permutation")
    sorted_by = next((name for name in _written(fields) if _sorts(records.columns[name])), "")
    known = f"that of {sorted_by}, which differs in every record, and so tells nothing that {sorted_by} does not tell"
    if config.order == "keep":
        told = known if sorted_by else f"as was asked for: {TELLS}"
        return Ordering(False, f"the records stand in the order of the original, {told}", not sorted_by)
    if sorted_by:
        return Ordering(False, f"the records stand in the order of the original, {known}")
    if why := next(_asking(job, records, binding), ""):
        return Ordering(
            False,
            Note(
                "the records stand in the order of the original, since {why}: {tells} ([[--shuffle]] writes a random "
                "order, and the file only if its rules hold there)",
                why=why,
                tells=TELLS,
            ),
            original=True,
        )
    return Ordering(
        True,
        "the records stand in random order, since that of the original could tell who is who; the manifest has the "
        "permutation",
    )


def identifying(records: Dataset, fields: Sequence[FieldFacts]) -> tuple[str, ...]:
    """Name the written fields whose text differs in every record."""
    return tuple(name for name in _written(fields) if len(records) > 1 and records.columns[name].tells_apart)


def _written(fields: Sequence[FieldFacts]) -> Iterator[str]:
    return (fact.name for fact in fields if fact.role in WRITTEN)


def _sorts(column: Column) -> bool:
    """Whether the records stand in the order of a field, which differs in every record.

    As numbers, as texts, or as texts of which the shorter comes first (H9, H10), up or down.
    """
    if not column.present.all() or len(column) < 2:
        return False
    steps = np.diff(column.values)
    if (steps > 0).all() or (steps < 0).all():
        return True
    first = column.lexemes_of(np.arange(min(_FIRST, len(column))))
    return _sorted_as_texts(first.tolist()) and _sorted_as_texts(column.lexemes.tolist())


def _sorted_as_texts(texts: list[str]) -> bool:
    return _monotone(texts) or _monotone([(len(text), text) for text in texts])


def _monotone[T: (str, tuple[int, str])](keys: Sequence[T]) -> bool:
    return all(one < two for one, two in pairwise(keys)) or all(one > two for one, two in pairwise(keys))


def _asking(job: Job, records: Dataset, binding: Collection[int]) -> Iterator[str]:
    """Say which rules may fail in another order."""
    reading = reads_order(job.rulebook, job.source.layout)
    for edit in job.edits:
        index, name = edit.check.index, f"the rule {edit.check.id}"
        if index not in binding:
            continue
        constraint = edit.constraint
        unique = isinstance(constraint, CrossRecordEdit) and constraint.kind == "unique"
        if reading[index] and not (unique and _axes_alone(edit.check.test)):
            yield f"{name} reads it ({reading[index]})"
        if isinstance(constraint, CrossRecordEdit) and (summed := _summed(constraint, records)):
            yield f"{name} sums {summed}, and decimals that are added up in another order round otherwise"


def _axes_alone(test: str) -> bool:
    """Whether a test asks for other records by axes, at no position: a key occurs once in any order."""
    return all(word in SIDEWAYS for word in in_order_by(test))


def _summed(constraint: CrossRecordEdit, records: Dataset) -> str:
    """Return a field with decimals whose sum has to be equal to something."""
    if constraint.kind != "total":
        return ""
    if constraint.bounds:
        names = [
            tally.field
            for bound in constraint.bounds
            if bound.relation == "="
            for tally, _ in bound.terms
            if tally.function in ("sum", "avg")
        ]
    else:
        names = list(constraint.variables)
    return next((name for name in names if name in records.columns and records.columns[name].decimals), "")
