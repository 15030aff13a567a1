"""What `describe` returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from masktron.problems.problem import Sentence
from masktron.results.figure import LevelDescription
from masktron.results.result import JobResult
from masktron.serialised import Serialised

if TYPE_CHECKING:
    from masktron.config import Kind, Role


type ValueType = Literal["integer", "decimal", "text", "mixed", "empty"]


@dataclass(frozen=True, slots=True)
class ValueCount(Serialised):
    """A value, its label, which may be empty, and the records that hold it."""

    value: str
    label: str
    records: int


@dataclass(frozen=True, slots=True)
class FieldDescription(Serialised):
    """What a file holds in a field, and what `mask` would take it for.

    Attributes
    ----------
    name : str
        As rules and settings have it.
    column : str
        As the file has it.
    label : str
        Empty where the file has none.
    type : str
        What its values are written as: ``integer``, ``decimal``, ``text``, ``mixed`` or ``empty``.
    kind : str or None
        What `mask` takes them for: ``number``, ``nominal`` or ``ordinal``; None where it asks first.
    why : str
        The reason in words; with what to say where `mask` asks.
    role : str or None
        As it was declared, or as `mask` takes it; None where it asks first.
    labels, missing_codes : mapping of str to str
        Declared values and codes for missing ones, each with its label.
    missing : int
        Records without a value: no element, an empty one, or a code.
    distinct : int
        Different values; the least number of them where `many`.
    many : bool
        There are more different values than were kept in memory.
    least, greatest : str or None
        Of numbers; None of others, and with ``release_safe``.
    frequent : tuple of ValueCount
        The most frequent values of categories; none of numbers, and with ``release_safe``.
    unmet_codes : tuple of str
        Codes for missing values that settings declare, and that no record has.
    level : str
        Of a nested file, the level whose it is, from the top down with ``/`` between names; all counts are of the
        records of that. Empty of other files.
    """

    KEYS: ClassVar = (
        "name column label type kind why role labels missing_codes missing distinct many least greatest frequent "
        "unmet_codes level"
    )

    name: str
    column: str
    label: str
    type: ValueType
    kind: Kind | None
    why: str
    role: Role | None
    labels: Mapping[str, str]
    missing_codes: Mapping[str, str]
    missing: int
    distinct: int
    many: bool = False
    least: str | None = None
    greatest: str | None = None
    frequent: tuple[ValueCount, ...] = ()
    unmet_codes: tuple[str, ...] = ()
    level: str = ""


@dataclass(frozen=True, slots=True)
class DescribedProblem(Serialised):
    """What keeps `mask` from beginning.

    Attributes
    ----------
    what : str
        No value of a record.
    field : str
        Empty where it is no field.
    record, line : int
        From 1, among the records of the level of the field; 0 where it is no single record.
    hint : str
    """

    what: str
    field: str
    record: int
    line: int
    hint: Sentence


@dataclass(frozen=True, slots=True)
class DescribedRow(Serialised):
    """A record: its number and line, from 1, and its values in the order of the fields; None where there is none."""

    record: int
    line: int
    values: tuple[str | None, ...]


@dataclass(frozen=True, slots=True, repr=False)
class DescribeResult(JobResult):
    """What a file holds. Confidential, unless with ``release_safe``.

    Attributes
    ----------
    data : str
    format : str
    record : str
        The path of the records.
    records : int
    fields : tuple of FieldDescription
    rows : tuple of DescribedRow
        Those that were asked for.
    problems : tuple of DescribedProblem
    notes : tuple of str
    release_safe : bool
        Without values of records.
    levels : tuple of LevelDescription
        Of a nested file; none of others.
    """

    JOB: ClassVar = "describe"
    KEYS: ClassVar = "data format record records fields rows problems notes release_safe levels"

    data: str
    format: str
    record: str
    records: int
    fields: tuple[FieldDescription, ...]
    rows: tuple[DescribedRow, ...]
    problems: tuple[DescribedProblem, ...]
    notes: tuple[Sentence, ...]
    release_safe: bool = False
    levels: tuple[LevelDescription, ...] = ()
