"""Special uniques: the smallest sets of values that only one record has."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import require_value
from masktron.measures.keys.combinations import combined, require_codes
from masktron.progress import Told, untold

LARGEST_SET = 3
"""Values of a minimal sample unique, at most, where nobody says otherwise."""


@dataclass(frozen=True, slots=True)
class Uniqueness:
    """The minimal sample uniques (MSUs) of a file.

    Attributes
    ----------
    smallest : ndarray of int64, shape (n,)
        Values of the smallest MSU of each record; 0 where it has none.
    scores : ndarray of float64, shape (n,)
        SUDA score of each record: 0 where it has no MSU.
    disclosure : ndarray of float64, shape (n,)
        DIS-SUDA score of each record, from 0 to 1.
    sizes : tuple of int
        How many MSUs have one value, two, and so on.
    by_field : ndarray of float64, shape (keys,)
        Of the sum of all scores, what comes from MSUs with a value of this field, in per cent: together more than
        100, as an MSU has several fields.
    by_value : tuple of ndarray of float64
        For each field the same by its codes, shape (codes,). Confidential: it tells of single values.
    """

    smallest: NDArray[np.int64]
    scores: NDArray[np.float64]
    disclosure: NDArray[np.float64]
    sizes: tuple[int, ...]
    by_field: NDArray[np.float64]
    by_value: tuple[NDArray[np.float64], ...]

    @property
    def share(self) -> float:
        """Records with an MSU, in per cent; NaN without records."""
        return 100 * float((self.smallest > 0).mean()) if len(self.smallest) else math.nan


def suda(
    keys: Sequence[NDArray[np.integer[Any]]],
    largest: int = LARGEST_SET,
    *,
    fraction: float = 1.0,
    told: Told = untold,
) -> Uniqueness:
    """Find all minimal sample uniques of up to some values, and what they say of records and fields.

    A set of fields is a sample unique of a record where no other record has its values in all of them, and a minimal
    one where that holds of no part of the set. A missing value is in no set, and makes no other record alike.

    An MSU of s values, of K keys, scores the product of K - i for i from s to min(M, K - 1), with M the largest size
    that is looked for: the smaller, the more larger sets it makes unique. The score of a record is the sum over its
    MSUs.

    Parameters
    ----------
    keys : sequence of ndarray of int, shape (n,) each
        Codes from 0; -1 where missing.
    largest : int
        M, at least 1.
    fraction : float
        Records by the population, above 0 and at most 1, for DIS-SUDA.
    told : callable, optional
        Told of the sets of fields that have been looked at, and of how many there are.

    Returns
    -------
    Uniqueness

    Raises
    ------
    UsageError
        There is no key, shapes differ, a code is below -1, `largest` is below 1 or `fraction` outside its bounds.

    Notes
    -----
    Exact: each set of fields is counted once over all records, and a unique record is looked up in the sets that lack
    one of its fields. There are sum of C(K, s) sets, 41 for six keys up to three values.

    DIS-SUDA gives the estimate of data intrusion simulation for the file, theta = pi U / (pi U + (1 - pi) P) with U
    sample uniques and P records in pairs (by all keys), to the records with an MSU in proportion to their scores, so
    that its mean over these is theta; cut at 1. Other programs scale it otherwise.

    Source: Elliot, Manning, Mayes, Gurd and Bane (2005), SUDA: a program for detecting special uniques; Manning,
    Haglin and Keane (2008), A recursive search algorithm for statistical disclosure assessment (SUDA2), for the sets
    that are found; Skinner and Elliot (2002), A measure of disclosure risk for microdata, for theta.
    """
    n = require_codes(keys)
    require_value(largest >= 1, "largest", "1 or more", largest)
    require_value(0 < fraction <= 1, "fraction", "above 0, at most 1", fraction)
    fields, largest = len(keys), min(largest, len(keys))
    found = _Found(keys, n)
    total = sum(math.comb(fields, size) for size in range(1, largest + 1))
    done = 0
    uniques: dict[tuple[int, ...], NDArray[np.bool_]] = {(): np.zeros(n, dtype=np.bool_)}
    for size in range(1, largest + 1):
        score = float(math.prod(fields - at for at in range(size, min(largest, fields - 1) + 1)))
        here: dict[tuple[int, ...], NDArray[np.bool_]] = {}
        for chosen in combinations(range(fields), size):
            told(done, total)
            alone = _alone([keys[at] for at in chosen], n)
            minimal = alone.copy()
            for left in range(size):
                minimal &= ~uniques[chosen[:left] + chosen[left + 1 :]]
            found.add(chosen, np.flatnonzero(minimal), score)
            if size < largest:
                here[chosen] = alone
        uniques = here
    told(total, total)
    return found.all(_intrusion(keys, n, fraction))


class _Found:
    """What is counted while sets of fields are looked at."""

    def __init__(self, keys: Sequence[NDArray[np.integer[Any]]], n: int) -> None:
        self._keys = keys
        self._smallest = np.zeros(n, dtype=np.int64)
        self._scores = np.zeros(n)
        self._sizes: list[int] = []
        self._by_value = [np.zeros(int(key.max(initial=-1)) + 1) for key in keys]

    def add(self, chosen: tuple[int, ...], rows: NDArray[np.intp], score: float) -> None:
        size = len(chosen)
        self._sizes += [0] * (size - len(self._sizes))
        self._sizes[size - 1] += len(rows)
        self._smallest[rows] = np.where(self._smallest[rows] == 0, size, self._smallest[rows])
        self._scores[rows] += score
        for at in chosen:
            values = self._by_value[at]
            values += score * np.bincount(self._keys[at][rows], minlength=len(values))

    def all(self, theta: float) -> Uniqueness:
        total = float(self._scores.sum())
        share = 100 / total if total else 0.0
        mean = total / max(1, int((self._scores > 0).sum()))
        return Uniqueness(
            smallest=self._smallest,
            scores=self._scores,
            disclosure=np.minimum(1.0, self._scores * (theta / mean if mean else 0.0)),
            sizes=tuple(self._sizes),
            by_field=np.array([share * float(values.sum()) for values in self._by_value]),
            by_value=tuple(share * values for values in self._by_value),
        )


def _alone(keys: Sequence[NDArray[np.integer[Any]]], n: int) -> NDArray[np.bool_]:
    """Mask of the records that have values of all keys, and no other record these."""
    numbers, bound = combined(keys, n)
    found: NDArray[np.bool_] = np.bincount(numbers, minlength=bound)[numbers] == 1
    for key in keys:
        found &= key >= 0
    return found


def _intrusion(keys: Sequence[NDArray[np.integer[Any]]], n: int, fraction: float) -> float:
    """The probability that a unique match is a right one, by data intrusion simulation."""
    numbers, bound = combined(keys, n)
    sizes = np.bincount(numbers, minlength=bound)
    alone, pairs = int((sizes == 1).sum()), 2 * int((sizes == 2).sum())
    weighed = fraction * alone + (1 - fraction) * pairs
    return fraction * alone / weighed if weighed else 0.0
