"""How many records share a combination of quasi-identifiers, in the file and in the population."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import require_fitting, require_value
from masktron.errors import UsageError
from masktron.kernels.distinct import HASHED_FROM, factorized
from masktron.measures.base import require_bounds

_ROOM = 4
"""Numbers for each record that are counted in an array; more are put together by what they are first."""
_LEAST_ROOM = 1 << 12
"""Numbers that are counted so in any case."""
_MOST_PATTERNS = 64
"""Patterns of missing values of which every two are counted; among more, distinct records are."""
_MOST_COMPARED = 1_000_000_000
"""Cells that may be compared then."""
_COMPARED = 1 << 24
"""Those that are compared at a time."""
_FREE = 3
"""Bits of an integer that stay free when numbers are put together, for the sign and the missing value."""


@dataclass(frozen=True, slots=False, eq=False)
class KeyFrequencies:
    """Frequencies of the combination of each record.

    Attributes
    ----------
    sample : ndarray of float64, shape (n,)
        f: records of the file that match the record, itself included; whole numbers but for values that are missing.
    population : ndarray of float64, shape (n,)
        F: the sum of their weights.
    wildcards : bool
        Whether a missing value matches every value; else it is one of its own.
    """

    sample: NDArray[np.float64]
    population: NDArray[np.float64]
    wildcards: bool = True

    def __len__(self) -> int:
        return len(self.sample)

    @property
    def smallest(self) -> float:
        """The k of k-anonymity (Sweeney 2002): the smallest f; NaN without records."""
        return float(self.sample.min()) if len(self) else float("nan")

    @cached_property
    def unique(self) -> NDArray[np.bool_]:
        """Mask of the sample uniques, shape (n,): records that nobody else matches."""
        return self.sample < 2

    def below(self, k: int) -> int:
        """Count the records with f below `k`: those that break k-anonymity."""
        return int((self.sample < k).sum())


def key_frequencies(
    keys: Sequence[NDArray[np.integer[Any]]],
    weights: NDArray[np.float64] | None = None,
    *,
    alpha: float = 1.0,
) -> KeyFrequencies:
    """Count the records that match each record in all keys.

    Two records match where no key has different values in them: a missing value matches every value. A match that
    needs a value of the other record to be missing, where this record has one, counts `alpha`; all others count 1.
    So with 1, as in sdcMicro by default, a missing value is a wildcard, and with 0 it protects nobody but the record
    that lacks it.

    Parameters
    ----------
    keys : sequence of ndarray of int, shape (n,) each
        Codes from 0; -1 where the value is missing.
    weights : ndarray of float64, shape (n,), optional
        How many members of the population each record stands for; 1 each where not given.
    alpha : float
        From 0 to 1.

    Returns
    -------
    KeyFrequencies

    Raises
    ------
    UsageError
        There is no key, shapes differ, a code is below -1, a weight is not above 0, or `alpha` is outside 0 to 1.

    Notes
    -----
    Records are sorted by which keys they lack, in one pass over the records of two such patterns for each pair of
    patterns: 10^6 records of six keys take 0.2 s where none is missing, and 2 s with all 64 patterns. Where there
    are more, distinct records are compared with each other, up to 10^9 cells; beyond that a missing value is one of
    its own (`KeyFrequencies.wildcards` is false), so that frequencies are too small, and risks too high.

    Source: Templ, Kowarik and Meindl (2015), sdcMicro, section on frequencies (``freqCalc``, whose ``alpha`` this
    is); Sweeney (2002), k-anonymity.
    """
    n = _require(keys, weights, alpha)
    counts = np.ones(n) if weights is None else weights
    sample, population = np.zeros(n), np.zeros(n)
    patterns = list(islice(missing_patterns(keys, n), _MOST_PATTERNS + 1))
    if len(patterns) > _MOST_PATTERNS:
        return _of_distinct(keys, counts, alpha)
    frequencies = sample, population
    for at, one in enumerate(patterns):
        _count_alike(one, counts, frequencies)
        for other in patterns[at + 1 :]:
            larger, smaller = (one, other) if len(one.rows) >= len(other.rows) else (other, one)
            _count_between(larger, smaller, counts, frequencies, alpha)
    return KeyFrequencies(sample, population)


def combined(keys: Sequence[NDArray[np.integer[Any]]], n: int) -> tuple[NDArray[np.int64], int]:
    """Number the combinations of values, equal where all keys are equal; a missing value is one of its own.

    Parameters
    ----------
    keys : sequence of ndarray of int, shape (n,) each
        Codes from -1.
    n : int

    Returns
    -------
    numbers : ndarray of int64, shape (n,)
        From 0, below `bound`; not every number need occur.
    bound : int
        At most the larger of 4n and 2**12.
    """
    numbers, bound = _put_together(keys, n)
    return _dense(numbers) if bound > max(_ROOM * n, _LEAST_ROOM) else (numbers, bound)


def _put_together(keys: Sequence[NDArray[np.integer[Any]]], n: int) -> tuple[NDArray[np.int64], int]:
    """Number the combinations of values as `combined` does, with numbers of any size."""
    numbers, bound = np.zeros(n, dtype=np.int64), 1
    for key in keys:
        values = int(key.max(initial=-1)) + 2
        if bound.bit_length() + values.bit_length() > 64 - _FREE:
            numbers, bound = _dense(numbers)
        numbers *= values
        numbers += key
        numbers += 1
        bound *= values
    return numbers, bound


def _dense(numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    codes, distinct = factorized(numbers)
    return codes.astype(np.int64), max(1, len(distinct))


@dataclass(frozen=True, slots=True, eq=False)
class MissingPattern:
    """Records that lack the same keys.

    Attributes
    ----------
    held : ndarray of bool, shape (keys,)
        Which keys they have.
    rows : ndarray of intp, shape (m,)
    columns : tuple of ndarray of int, shape (m,) each
        All keys of these records.
    """

    held: NDArray[np.bool_]
    rows: NDArray[np.intp]
    columns: tuple[NDArray[np.integer[Any]], ...]


type _Counted = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Frequencies in the sample and in the population, shape (n,) each; added to in place."""


def _count_alike(one: MissingPattern, weights: NDArray[np.float64], found: _Counted) -> None:
    """Count the records of a pattern that are equal to each of them."""
    numbers, bound = combined(list(compress(one.columns, one.held)), len(one.rows))
    found[0][one.rows] += np.bincount(numbers, minlength=bound)[numbers]
    found[1][one.rows] += np.bincount(numbers, weights[one.rows], bound)[numbers]


def _count_between(
    larger: MissingPattern, smaller: MissingPattern, weights: NDArray[np.float64], found: _Counted, alpha: float
) -> None:
    """Count for the records of either pattern those of the other that are equal in the keys that both have."""
    both = larger.held & smaller.held
    pairs = zip(compress(larger.columns, both), compress(smaller.columns, both), strict=True)
    records = len(larger.rows)
    numbers, _ = _put_together([np.concatenate(pair) for pair in pairs], records + len(smaller.rows))
    codes, distinct = factorized(numbers[records:])
    where = _looked_up(numbers[:records], distinct)
    hit = np.flatnonzero(where >= 0)
    where, rows = where[hit], larger.rows[hit]
    for side, (of_larger, of_smaller) in enumerate(((None, None), (weights[rows], weights[smaller.rows]))):
        share = alpha if (larger.held & ~smaller.held).any() else 1.0
        found[side][rows] += share * np.bincount(codes, of_smaller, len(distinct))[where]
        share = alpha if (smaller.held & ~larger.held).any() else 1.0
        found[side][smaller.rows] += share * np.bincount(where, of_larger, len(distinct))[codes]


def _looked_up(numbers: NDArray[np.int64], distinct: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return the place of each number among distinct ones, -1 where it is none of them."""
    if len(numbers) >= HASHED_FROM:
        import pandas as pd  # noqa: PLC0415 -- loads for a third of a second

        return pd.Index(distinct).get_indexer(pd.Index(numbers))
    order = np.argsort(distinct)
    at = np.minimum(np.searchsorted(distinct, numbers, sorter=order), len(distinct) - 1)
    return np.where(distinct[order[at]] == numbers, order[at], -1)


def _of_distinct(
    keys: Sequence[NDArray[np.integer[Any]]], weights: NDArray[np.float64], alpha: float
) -> KeyFrequencies:
    """Compare distinct records with each other, or where these are too many, count those that are equal."""
    which, first = _distinct_records(keys, len(weights))
    records, weighted = np.bincount(which).astype(np.float64), np.bincount(which, weights)
    if len(first) ** 2 * len(keys) > _MOST_COMPARED:
        return KeyFrequencies(records[which], weighted[which], wildcards=False)
    rows = np.column_stack([key[first] for key in keys])
    sample, population = np.empty(len(first)), np.empty(len(first))
    step = max(1, _COMPARED // (rows.size or 1))
    for start in range(0, len(first), step):
        own = rows[start : start + step, np.newaxis]
        differs = ((own != rows) & (own >= 0) & (rows >= 0)).any(axis=2)
        needs = ((own >= 0) & (rows < 0)).any(axis=2)
        shares = np.where(differs, 0.0, np.where(needs, alpha, 1.0))
        sample[start : start + step] = shares @ records
        population[start : start + step] = shares @ weighted
    return KeyFrequencies(sample[which], population[which])


def _distinct_records(keys: Sequence[NDArray[np.integer[Any]]], n: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Number the distinct records, and say where each comes first."""
    _, first, which = np.unique(combined(keys, n)[0], return_index=True, return_inverse=True)
    return which, first


def missing_patterns(keys: Sequence[NDArray[np.integer[Any]]], n: int) -> Iterator[MissingPattern]:
    """Yield the patterns of missing values that there are."""
    gaps = [key < 0 for key in keys]
    lacking, which = np.unique(combined([gap.view(np.int8) for gap in gaps], n)[0], return_inverse=True)
    for at in range(len(lacking)):
        rows = np.flatnonzero(which == at)
        held = np.array([not gap[rows[0]] for gap in gaps])
        yield MissingPattern(held, rows, tuple(keys) if len(rows) == n else tuple(key[rows] for key in keys))


def _require(keys: Sequence[NDArray[np.integer[Any]]], weights: NDArray[np.float64] | None, alpha: float) -> int:
    n = require_codes(keys)
    if weights is not None:
        require_fitting(weights.shape == (n,), keys=keys[0], weights=weights)
        if (wrong := weights[~((weights > 0) & (weights < np.inf))]).size:
            raise UsageError.of("bad-value", name="each weight", expected="above 0", given=wrong[0])
    require_value(0 <= alpha <= 1, "alpha", "from 0 to 1", alpha)
    return n


def require_codes(*groups: Sequence[NDArray[np.integer[Any]]]) -> int:
    """Return the number of records of coded columns.

    Raises
    ------
    UsageError
        A group of columns is empty, shapes differ, or a code is below -1.
    """
    columns = [column for group in groups for column in group]
    if not columns or not all(groups):
        raise UsageError.of("bad-value", name="keys", expected="one column or more", given="none")
    n = len(columns[0])
    for column in columns:
        require_fitting(column.shape == (n,), keys=columns[0], column=column)
        require_bounds(-1, keys=column)
    return n
