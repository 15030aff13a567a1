"""Values in many records, each distinct one held once: a function is called for each combination that occurs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.evaluation.columns.outcome import Truth
from masktron.sources.columns import Batch

_DENSE = 1 << 16
"""Up to so many possible combinations are marked in a table; more are sorted."""


@dataclass(frozen=True, slots=True, eq=False)
class Coded[T]:
    """One value for each record.

    Attributes
    ----------
    codes : ndarray of int64, shape (n,) or ()
        Positions in `values`; without dimension where all records have the same value.
    values : sequence
        Need not be distinct.
    unsure : ndarray of bool, shape (n,) or ()
        Records whose value is not known here.
    """

    codes: NDArray[np.int64]
    values: Sequence[T]
    unsure: NDArray[np.bool_]


def constant[T](value: T) -> Coded[T]:
    """Return one value for all records."""
    return Coded(np.zeros((), dtype=np.int64), (value,), np.zeros((), dtype=np.bool_))


def texts_of(batch: Batch, at: int) -> Coded[str]:
    """Return the text of a field; the empty text where it is absent."""
    texts = batch.texts(at)
    codes = texts.codes.astype(np.int64)
    absent = codes < 0
    if not absent.any():
        return Coded(codes, texts.values, np.zeros((), dtype=np.bool_))
    codes[absent] = len(texts.values)
    return Coded(codes, (*texts.values, ""), np.zeros((), dtype=np.bool_))


def distinct(numbers: NDArray[np.float64], unsure: NDArray[np.bool_]) -> Coded[float]:
    """Return numbers as coded values; -0 and 0 are one, and so are all NaN."""
    values, codes = np.unique(numbers, return_inverse=True)
    return Coded(codes.reshape(numbers.shape), values.tolist(), unsure)


def combined(parts: Sequence[Coded[Any]]) -> tuple[list[tuple[Any, ...]], NDArray[np.int64]]:
    """Return the combinations that occur, and the position of that of each record."""
    rows: list[tuple[Any, ...]] = [()]
    codes = np.zeros((), dtype=np.int64)
    for part in parts:
        width = len(part.values)
        if width == 1:
            rows = [(*row, part.values[0]) for row in rows]
        elif len(rows) == 1:
            rows = [(*rows[0], value) for value in part.values]
            codes = codes + part.codes
        else:
            used, codes = _factorised(codes * width + part.codes, len(rows) * width)
            rows = [(*rows[pair // width], part.values[pair % width]) for pair in used.tolist()]
    return rows, np.asarray(codes)


def _factorised(codes: NDArray[np.int64], size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if size > max(_DENSE, codes.size):
        used, inverse = np.unique(codes, return_inverse=True)
        return used, inverse.reshape(codes.shape)
    occurs = np.zeros(size, dtype=np.bool_)
    occurs[codes] = True
    used = np.flatnonzero(occurs)
    where = np.zeros(size, dtype=np.int64)
    where[used] = np.arange(len(used))
    return used, where[codes]


def mapped[T](function: Callable[..., T], parts: Sequence[Coded[Any]]) -> Coded[T]:
    """Apply a function to the values of each record."""
    rows, codes = combined(parts)
    unsure = np.zeros((), dtype=np.bool_)
    for part in parts:
        unsure = unsure | part.unsure
    return Coded(codes, [function(*row) for row in rows], unsure)


def truth_of(coded: Coded[bool]) -> Truth:
    """Return coded truth values as a truth."""
    return Truth(np.array(coded.values, dtype=np.bool_)[coded.codes], coded.unsure)


def equal(one: Coded[str], other: Coded[str]) -> Truth:
    """Return whether two texts are the same, code point by code point."""
    if len(one.values) == 1:
        one, other = other, one
    if len(other.values) == 1:
        wanted = other.values[0]
        return truth_of(Coded(one.codes, [value == wanted for value in one.values], one.unsure | other.unsure))
    names: dict[str, int] = {}
    left = _named(one, names)
    right = _named(other, names)
    return Truth(np.asarray(left == right), one.unsure | other.unsure)


def _named(coded: Coded[str], names: dict[str, int]) -> NDArray[np.int64]:
    table = [names.setdefault(value, len(names)) for value in coded.values]
    return np.array(table, dtype=np.int64)[coded.codes]


def chosen(which: NDArray[np.int64], parts: Sequence[Coded[str]], unsure: NDArray[np.bool_]) -> Coded[str]:
    """Return for each record the value of one of the parts; the doubt is given, not that of the parts."""
    values: list[str] = []
    codes = np.zeros(which.shape, dtype=np.int64)
    for k, part in enumerate(parts):
        codes = np.where(which == k, part.codes + len(values), codes)
        values += part.values
    return Coded(codes, values, unsure)
