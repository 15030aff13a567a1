"""Which records are alike in several columns, numbered without sorting them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray


def codes_of(column: NDArray[Any]) -> NDArray[np.int32]:
    """Number the distinct values of a column by first appearance.

    Parameters
    ----------
    column : ndarray, shape (n,)
        Texts as objects, or numbers; n below 2**31.

    Returns
    -------
    ndarray of int32, shape (n,)
        From 0; -1 for None and NaN.
    """
    return pd.factorize(column)[0].astype(np.int32)


def alike(columns: Iterable[NDArray[np.int32]], n: int) -> tuple[NDArray[np.intp], int]:
    """Number the distinct rows of several columns by first appearance.

    Parameters
    ----------
    columns : iterable of ndarray of int32, each of shape (n,)
        From -1. Those behind the ones that tell all records apart are not asked for.
    n : int

    Returns
    -------
    codes : ndarray of intp, shape (n,)
        Equal where rows are equal in all columns.
    count : int
        How many rows are distinct.
    """
    codes, count = np.zeros(n, dtype=np.intp), min(n, 1)
    for column in columns:
        # both factors are at most 2**31, so that the product fits
        pairs = codes * (int(column.max(initial=-1)) + 2) + column + 1
        codes, seen = pd.factorize(pairs)
        count = len(seen)
        if count == n:
            break
    return codes, count
