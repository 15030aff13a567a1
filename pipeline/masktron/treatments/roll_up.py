"""Which records are alike in their keys at a node of the lattice, from who is alike at a node below it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.errors import UsageError
from masktron.hierarchies import Hierarchy
from masktron.measures.keys.combinations import KeyFrequencies, combined, require_codes
from masktron.measures.keys.individual_risk import individual_risk
from masktron.measures.keys.log_linear import LogLinearRisk, log_linear_risk
from masktron.problems.problem import Field, Place


@dataclass(frozen=True, slots=True, eq=False)
class LeveledKey:
    """A key and what becomes of its values at each level.

    Attributes
    ----------
    field : str
    codes : ndarray of int, shape (n,)
        Values from 0; -1 where missing, which stays missing at every level.
    labels : tuple of ndarray of int32, shape (m,) each
        For each level the code of the label of each value. Level 0 has the values themselves: 0 to m - 1. Values of
        one label have one label at all levels above.
    importance : float
        How much a loss in this key counts beside others; above 0.

    Raises
    ------
    UsageError
        Codes are outside -1 to m - 1, levels do not nest, or the importance is not above 0.
    """

    field: str
    codes: NDArray[np.integer[Any]]
    labels: tuple[NDArray[np.int32], ...]
    importance: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.importance < np.inf:
            given, name = repr(self.importance), f"importance[{self.field!r}]"
            raise UsageError.of("bad-value", name=name, expected="above 0", given=given)
        values = len(self.labels[0])
        if not np.array_equal(self.labels[0], np.arange(values)):
            raise UsageError.of(
                "bad-arrays", Place(field=Field(self.field)), detail="each value must be its own label at level 0"
            )
        if len(self.codes) and not -1 <= self.codes.min() <= self.codes.max() < values:
            raise UsageError.of(
                "bad-arrays", Place(field=Field(self.field)), detail=f"codes must be from -1 to {values - 1}"
            )
        for level in range(1, len(self.labels)):
            below, own = self.labels[level - 1], self.labels[level]
            _, first, which = np.unique(below, return_index=True, return_inverse=True)
            if own.shape != (values,) or not np.array_equal(own[first][which], own):
                raise UsageError.of(
                    "bad-arrays",
                    Place(field=Field(self.field)),
                    detail=f"level {level} splits a label of the level below",
                )

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def height(self) -> int:
        """The highest level."""
        return len(self.labels) - 1

    def is_emptied(self, level: int) -> bool:
        """Tell whether nothing is left of its values at a level: all have one label, where they were several."""
        return len(self.labels[0]) > 1 and bool((self.labels[level] == self.labels[level][0]).all())

    def at(self, level: int) -> NDArray[np.int32]:
        """Return the codes of the labels at a level, shape (n,); -1 where missing."""
        found: NDArray[np.int32] = np.append(self.labels[level], np.int32(-1))[self.codes]
        return found


def leveled(
    field: str,
    codes: NDArray[np.integer[Any]],
    values: Sequence[str],
    hierarchy: Hierarchy | None,
    importance: float = 1.0,
) -> LeveledKey:
    """Return a key with the levels of its hierarchy.

    Parameters
    ----------
    field : str
    codes : ndarray of int, shape (n,)
        Positions in `values`; -1 where missing.
    values : sequence of str, shape (m,)
        Distinct, each in the hierarchy.
    hierarchy : Hierarchy or None
        Where there is none, the key has level 0 alone and stays as it is.
    importance : float

    Raises
    ------
    UsageError
        As for `LeveledKey`.
    """
    labels = [np.arange(len(values), dtype=np.int32)]
    for names in hierarchy.levels[1:] if hierarchy else ():
        known: dict[str, int] = {}
        found = [known.setdefault(names[value], len(known)) for value in values]
        labels.append(np.array(found, dtype=np.int32))
    return LeveledKey(field, codes, tuple(labels), importance)


@dataclass(frozen=True, slots=True, eq=False)
class ValueCounts:
    """How often values of a confidential field stand beside the combinations.

    Attributes
    ----------
    combinations, values : ndarray of int64, shape (p,)
        The pairs that there are: the position of the combination, and the code of the value.
    bound : int
        Above all values.
    """

    combinations: NDArray[np.int64]
    values: NDArray[np.int64]
    bound: int

    def rolled(self, which: NDArray[np.int64]) -> ValueCounts:
        """Return the pairs for combinations that were put together: `which` says what each became."""
        return _pairs_of(which[self.combinations], self.values, self.bound)

    def different(self, count: int) -> NDArray[np.int64]:
        """Count the different values of each combination, shape (count,)."""
        return np.bincount(self.combinations, minlength=count)


def _pairs_of(combinations: NDArray[np.int64], values: NDArray[np.integer[Any]], bound: int) -> ValueCounts:
    pairs = np.unique(combinations * bound + values)
    return ValueCounts(pairs // bound, pairs % bound, bound)


@dataclass(frozen=True, slots=True, eq=False)
class KeyGroups:
    """The combinations of keys that occur at a node, each once.

    Attributes
    ----------
    levels : tuple of int
        The node: the level of each key.
    codes : tuple of ndarray of int32, shape (d,) each
        The combinations, key by key; -1 is a missing value, which is one of its own.
    sizes : ndarray of int64, shape (d,)
        Records that have them.
    population : ndarray of float64, shape (d,)
        The sum of their weights.
    having : ndarray of int64, shape (d, q)
        Records by which of the confidential fields they have a value of; one column where there is no such field.
    patterns : ndarray of bool, shape (q, fields)
        Which these are for each column of `having`.
    diverse : mapping of str to ValueCounts
        By confidential field.
    """

    levels: tuple[int, ...]
    codes: tuple[NDArray[np.int32], ...]
    sizes: NDArray[np.int64]
    population: NDArray[np.float64]
    having: NDArray[np.int64]
    patterns: NDArray[np.bool_]
    diverse: Mapping[str, ValueCounts] = field(default_factory=lambda: MappingProxyType({}))

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        pairs = sum(16 * len(counts.values) for counts in self.diverse.values())
        return sum(code.nbytes for code in self.codes) + 16 * len(self) + self.having.nbytes + pairs

    @property
    def frequencies(self) -> KeyFrequencies:
        """Of each combination, with a missing value as one of its own."""
        return KeyFrequencies(self.sizes.astype(np.float64), self.population, wildcards=False)

    @property
    def mean_risk(self) -> float:
        """Mean individual risk of the records by their weights alone, from 0 to 1."""
        return float((individual_risk(self.frequencies) * self.sizes).sum() / self.sizes.sum())

    @property
    def modelled(self) -> LogLinearRisk:
        """Risk by a log-linear model."""
        columns = [codes + 1 for codes in self.codes]
        sizes = self.sizes.astype(np.float64)
        return log_linear_risk(columns, self.population, frequencies=self.frequencies, sizes=sizes)

    def rolled_up(self, keys: Sequence[LeveledKey], levels: tuple[int, ...]) -> KeyGroups:
        """Return the combinations at a node above, from these alone: no record is looked at.

        Parameters
        ----------
        keys : sequence of LeveledKey
        levels : tuple of int
            None below the level that it has here.

        Notes
        -----
        Source: El Emam et al. (2009), A globally optimal k-anonymity method for the de-identification of health data;
        Kohlmayer et al. (2012), section on roll-up.
        """
        columns = [
            codes if own == level else _upward(key, own, level)[codes]
            for key, codes, own, level in zip(keys, self.codes, self.levels, levels, strict=True)
        ]
        which, first = _distinct_rows(columns, len(self))
        count = len(first)
        having = np.empty((count, self.having.shape[1]), dtype=np.int64)
        for at in range(having.shape[1]):
            having[:, at] = _summed(which, self.having[:, at], count)
        return KeyGroups(
            levels,
            tuple(column[first] for column in columns),
            _summed(which, self.sizes, count),
            np.bincount(which, self.population, count),
            having,
            self.patterns,
            {name: counts.rolled(which) for name, counts in self.diverse.items()},
        )


def _upward(key: LeveledKey, below: int, above: int) -> NDArray[np.int32]:
    """Return the label above of each label below; the last entry is that of -1."""
    labels = key.labels[below]
    found = np.full(int(labels.max(initial=-1)) + 2, -1, dtype=np.int32)
    found[labels] = key.labels[above]
    return found


def _summed(which: NDArray[np.int64], numbers: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Add whole numbers up; sums below 2**53 are exact."""
    return np.bincount(which, numbers, count).astype(np.int64)


def _distinct_rows(
    columns: Sequence[NDArray[np.integer[Any]]], n: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number the distinct rows; return the number of each row, and a row that has each number."""
    numbers, bound = combined(columns, n)
    row = np.full(bound, -1, dtype=np.int64)
    row[numbers] = np.arange(n)
    used = np.flatnonzero(row >= 0)
    place = np.empty(bound, dtype=np.int64)
    place[used] = np.arange(len(used))
    return place[numbers], row[used]


def key_groups(
    keys: Sequence[LeveledKey],
    weights: NDArray[np.float64] | None = None,
    confidential: Mapping[str, NDArray[np.integer[Any]]] | None = None,
) -> KeyGroups:
    """Find the combinations of the values themselves.

    Parameters
    ----------
    keys : sequence of LeveledKey
    weights : ndarray of float64, shape (n,), optional
        1 each where not given.
    confidential : mapping of str to ndarray of int, shape (n,) each
        Codes from 0, -1 where missing, of fields whose values shall differ beside a combination.

    Raises
    ------
    UsageError
        There is no key, shapes differ, or a code is below -1.
    """
    columns = [key.codes.astype(np.int32) for key in keys]
    fields = dict(confidential or {})
    n = require_codes(columns, *([list(fields.values())] if fields else []))
    if fields and any(len(column) != n for column in fields.values()):
        raise UsageError.of("bad-arrays", detail="the columns must have the same records")
    which, first = _distinct_rows(columns, n)
    count = len(first)
    has, patterns = _having_of(list(fields.values()), n)
    having = np.bincount(which * len(patterns) + has, minlength=count * len(patterns)).reshape(count, -1)
    diverse = {
        name: _pairs_of(which[column >= 0], column[column >= 0], int(column.max(initial=0)) + 1)
        for name, column in fields.items()
    }
    return KeyGroups(
        (0,) * len(keys),
        tuple(column[first] for column in columns),
        np.bincount(which, minlength=count),
        np.bincount(which, weights, count).astype(np.float64),
        having,
        patterns,
        diverse,
    )


def _having_of(columns: Sequence[NDArray[np.integer[Any]]], n: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Say which of some columns each record has a value of.

    Returns
    -------
    numbers : ndarray of int64, shape (n,)
        The pattern of each record.
    patterns : ndarray of bool, shape (q, columns)
    """
    if not columns:
        return np.zeros(n, dtype=np.int64), np.zeros((1, 0), dtype=np.bool_)
    patterns, numbers = np.unique(np.column_stack([column >= 0 for column in columns]), axis=0, return_inverse=True)
    return numbers.reshape(n).astype(np.int64), patterns
