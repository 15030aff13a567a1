"""Numbers that engines of XPath 1.0 read and its Recommendation does not: why verdicts part, and what to write."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from masktron.jobs.job import Job
from masktron.sources.column import Status
from masktron.sources.lexical import XML_SPACE

LARGE = 10_000_000
"""Bytes of a file above which it is not read once more for this."""
_DIGITS = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)"
_OTHERWISE = re.compile(rf"[{XML_SPACE}]*(?:[+-]?{_DIGITS}[eE][+-]?[0-9]+|\+{_DIGITS}|[+-]?INF)[{XML_SPACE}]*")


@dataclass(frozen=True, slots=True)
class SpelledNumbers:
    """Values of a field that some engine reads as numbers and XPath 1.0 does not.

    Attributes
    ----------
    field : str
    count : int
    first : int
        Position from 1 of the first record that has one.
    """

    field: str
    count: int
    first: int


def spelled(job: Job, checks: Collection[int]) -> tuple[SpelledNumbers, ...]:
    """Return the fields that checks of XPath 1.0 read and that have such values; nothing for large files.

    Parameters
    ----------
    checks : collection of int
        By index.

    Raises
    ------
    DocumentError
        The file cannot be read any more.
    """
    versions = job.rulebook.versions
    first = {check for check in checks if versions[check] == "1.0"}
    asked = {name for edit in job.edits if edit.check.index in first for name in edit.variables}
    read = asked.intersection(field.name for field in job.source.layout.fields)
    if not read or not job.source.shape.flat or job.source.size > LARGE:
        return ()
    records = job.source.records(only=read)
    found = []
    for name in sorted(read):
        column = records.columns[name]
        otherwise = [_OTHERWISE.fullmatch(str(text)) is not None for text in column.lexicon.objects()]
        rows = np.flatnonzero(column.where(np.array(otherwise, dtype=np.bool_) & (column.states == Status.PRESENT)))
        if len(rows):
            found.append(SpelledNumbers(name, len(rows), int(rows[0]) + 1))
    return tuple(found)


def remedy(found: Collection[SpelledNumbers], *, places: bool) -> str:
    """Say what XPath 1.0 does not read, and what to write; a place of a record only where it may be shown.

    Returns
    -------
    str
        Never a value of a record.
    """
    fields = ", ".join(
        f"{one.field} in {one.count:,} {'record' if one.count == 1 else 'records'}"
        + (f" (first in record {one.first:,})" if places else "")
        for one in found
    )
    return (
        f"numbers with an exponent, a plus sign or INF, which XPath 1.0 does not read and some engines do "
        f"(docs/engines.md#saxon-exponent): {fields} -> write them as plain decimals, 215530 and not 2.1553E5"
    )
