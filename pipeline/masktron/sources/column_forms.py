"""What a column is like once its values were recoded, where its type and its labels were made for others."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from masktron.errors import UsageError
from masktron.problems.problem import Field, Note
from masktron.sources.variables import NONE

_PLAIN = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
"""A number with digits that say nothing else, as leading zeros do."""
_TRIED = 1_000_000
"""Numbers that are looked at, at most, for those that no record may take for a missing value."""


@dataclass(frozen=True, slots=True)
class ColumnForm:
    """What is written in a column that was recoded.

    Attributes
    ----------
    values : tuple of str
        All lexemes: those of classes in their order, then others that stay, such as codes for missing values. Empty
        where the type of the column holds what is written, as it is.
    labels : mapping of str to str
        Labels of values that are true of what is written. Formats without labels take no notice.
    ordered : bool
        Whether the order of `values` is that of what they stand for.
    """

    values: tuple[str, ...] = ()
    labels: Mapping[str, str] = NONE
    ordered: bool = False


def shortest(label: str) -> str:
    """Return a number as types write it, without zeros at the end of its fraction; another text as it is.

    >>> shortest("12.50"), shortest("007")
    ('12.5', '007')
    """
    if not _PLAIN.fullmatch(label) or "." not in label:
        return label
    short = label.rstrip("0").rstrip(".")
    return "0" if short == "-0" else short


def all_numbers(labels: Sequence[str]) -> bool:
    """Whether labels are numbers as types write them: a column of numbers holds each as it is."""
    return all(_PLAIN.fullmatch(label) and shortest(label) == label and label != "-0" for label in labels)


def numbered(labels: Sequence[str], is_taken: Callable[[int], bool], column: str) -> tuple[str, ...]:
    """Return the numbers 1, 2, ... for labels, but for those that are taken by missing values.

    Raises
    ------
    UsageError
        Not enough of them are free.
    """
    free = (str(number) for number in range(1, _TRIED) if not is_taken(number))
    found = tuple(code for code, _ in zip(free, labels, strict=False))
    if len(found) < len(labels):
        detail = f"it has {len(labels):,} classes, and most of these numbers mean 'missing'; declare fewer so"
        numbers = f"the whole numbers from 1 to {_TRIED:,}"
        raise UsageError.of(
            "cannot-hold", format=numbers, detail=Note("{field}: {detail}", field=Field(column), detail=detail)
        )
    return found
