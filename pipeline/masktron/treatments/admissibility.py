"""Which values the rules admit in a record, asked of a callable: treatments know no rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import require_arrays, require_value
from masktron.errors import UsageError

type KeyCodes = NDArray[np.intp]
"""Values of one field as numbers from 0, shape (n,); -1 where the value is missing."""

type AdmitsCodes = Callable[[Sequence[KeyCodes]], NDArray[np.bool_]]
"""Takes a value for each record in each treated field, and tells record by record whether the rules admit them beside
what the record has in all other fields, shape (n,). Of a record it looks at nothing but that record."""


def checked_codes(columns: Sequence[NDArray[np.integer]], what: str) -> tuple[KeyCodes, ...]:
    """Return columns as codes of one type.

    Raises
    ------
    UsageError
        There is no column, lengths differ, a column holds no whole numbers, or one is below -1.
    """
    require_arrays(columns, f"{what} takes at least one column")
    found = []
    for column in map(np.asarray, columns):
        if column.ndim != 1 or len(column) != len(columns[0]):
            raise UsageError.of("bad-arrays", detail=f"the columns of {what} differ in length")
        if column.dtype.kind not in "iu" or (len(column) and int(column.min()) < -1):
            raise UsageError.of("bad-arrays", detail=f"{what} takes codes: whole numbers from 0, and -1 for missing")
        found.append(column.astype(np.intp))
    return tuple(found)


def checked_weights(weights: NDArray[np.float64] | None, n: int) -> NDArray[np.float64]:
    """Return weights of n records, 1 each where none are given.

    Raises
    ------
    UsageError
        Their number is another one, or one is not a number above 0.
    """
    if weights is None:
        return np.ones(n)
    found = np.asarray(weights, dtype=np.float64)
    require_arrays(found.shape == (n,), f"{n} records need {n} weights, not {found.size}")
    require_value((np.isfinite(found) & (found > 0)).all(), "each weight", "a number above 0", "another one")
    return found


def asked(admissible: AdmitsCodes, proposed: Sequence[KeyCodes]) -> NDArray[np.bool_]:
    """Ask which records may have what is proposed, and look at the form of the answer.

    Raises
    ------
    UsageError
        The answer is not one truth value for each record.
    """
    answer = np.asarray(admissible(proposed))
    if answer.dtype != np.bool_ or answer.shape != proposed[0].shape:
        raise UsageError.of(
            "bad-arrays", detail=f"admissible must return one truth value for each of {len(proposed[0])} records"
        )
    return answer
