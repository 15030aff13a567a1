"""How often each value of a confidential field stands in each class of records that are alike in their keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.distinct import factorized
from masktron.measures.keys.combinations import combined, require_codes


@dataclass(frozen=True, slots=True, eq=False)
class ConfidentialCounts:
    """Counts of the values in each class, for those that occur there, sorted by class and value.

    Records without a value of the field are in no class.

    Attributes
    ----------
    of_record : ndarray of intp, shape (n,)
        Class of each record, from 0; -1 where the record has no value.
    value_of_record : ndarray of int, shape (n,)
    classes, values, counts : ndarray, shape (pairs,)
        Class, value and how many records have both.
    starts : ndarray of intp, shape (number of classes,)
        Where the pairs of each class begin.
    totals : ndarray of float64, shape (values,)
        Records of the file with each value, whether or not it occurs.
    """

    of_record: NDArray[np.intp]
    value_of_record: NDArray[np.integer[Any]]
    classes: NDArray[np.intp]
    values: NDArray[np.intp]
    counts: NDArray[np.float64]
    starts: NDArray[np.intp]
    totals: NDArray[np.float64]

    @property
    def sizes(self) -> NDArray[np.float64]:
        """Records of each class, shape (number of classes,)."""
        return np.add.reduceat(self.counts, self.starts) if len(self.starts) else np.empty(0)

    @property
    def shares(self) -> NDArray[np.float64]:
        """Share of each value in its class, shape (pairs,)."""
        return self.counts / self.sizes[self.classes]

    def to_records(self, of_class: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give each record what its class has, shape (n,); NaN where it is in none."""
        found = np.full(len(self.of_record), np.nan)
        known = self.of_record >= 0
        found[known] = of_class[self.of_record[known]]
        return found


def class_counts(
    keys: Sequence[NDArray[np.integer[Any]]], confidential: NDArray[np.integer[Any]]
) -> ConfidentialCounts:
    """Count the values of a field in the classes of records that are alike in all keys.

    Records that lack the same keys and are alike in the others are a class of their own: what is missing matches
    nothing else here, so that classes are not too large.

    Parameters
    ----------
    keys : sequence of ndarray of int, shape (n,) each
        Codes from 0; -1 where missing.
    confidential : ndarray of int, shape (n,)
        Likewise; for an ordered field in its order.

    Raises
    ------
    UsageError
        There is no key, shapes differ, or a code is below -1.
    """
    n = require_codes(keys, [confidential])
    held = confidential >= 0
    own = factorized(combined(keys, n)[0][held])[0]
    of_record = np.full(n, -1, dtype=np.intp)
    of_record[held] = own
    most = int(confidential.max(initial=-1)) + 1
    values = confidential[held].astype(np.int64)
    totals = np.bincount(values, minlength=most).astype(np.float64)
    pairs, counts = np.unique(own.astype(np.int64) * max(1, most) + values, return_counts=True)
    classes, value = np.divmod(pairs, max(1, most))
    starts = np.flatnonzero(np.diff(classes, prepend=-1))
    return ConfidentialCounts(of_record, confidential, classes, value, counts.astype(np.float64), starts, totals)
