"""Columns of arrays that hold codes of categories, for methods that draw categories beside numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from masktron.errors import UsageError
from masktron.methods.parameters import Parameter

NOMINAL = Parameter("nominal", "fields", "Columns with codes of categories; in a file, declare the fields nominal.")
"""In a file, kinds are declared for the file; an array says nothing of its columns."""


def require_positions(columns: Sequence[int]) -> None:
    """Refuse what are no positions of columns.

    Raises
    ------
    UsageError
    """
    if not all(isinstance(column, int | np.integer) and column >= 0 for column in columns):
        raise UsageError(
            f"nominal must be positions of columns from 0, not {tuple(columns)!r}",
            hint="fields of a file are declared with --nominal FIELD, for every method",
        )


def nominal_columns(columns: Sequence[int], p: int, declared: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
    """Return which of p columns hold categories: those at some positions, and those that are declared.

    Raises
    ------
    UsageError
        There is no such column.
    """
    nominal = np.zeros(p, dtype=np.bool_) if declared is None else declared.copy()
    if beyond := sorted(column for column in columns if column >= p):
        raise UsageError(f"there is no column {beyond[0]} among {p}", hint="columns are counted from 0")
    nominal[list(columns)] = True
    return nominal
