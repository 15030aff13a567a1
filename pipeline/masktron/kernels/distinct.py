"""Which records are alike in several columns, numbered without sorting them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

HASHED_FROM = 20_000
"""Values from which on pandas numbers them: to load it takes longer than to sort fewer."""


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
    return factorized(column)[0].astype(np.int32)


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
        codes, distinct = factorized(pairs)
        count = len(distinct)
        if count == n:
            break
    return codes, count


def factorized(values: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Number distinct values by first appearance, as `pandas.factorize` does.

    Parameters
    ----------
    values : ndarray, shape (n,)
        Texts as objects, or numbers.

    Returns
    -------
    codes : ndarray of intp, shape (n,)
        From 0; -1 for None and NaN.
    distinct : ndarray
        In the order of the codes.
    """
    if len(values) >= HASHED_FROM:
        import pandas as pd  # noqa: PLC0415 -- loads for a third of a second

        return pd.factorize(values)
    if values.dtype == object:
        places: dict[Any, int] = {}
        missing = (value is None or (isinstance(value, float) and math.isnan(value)) for value in values)
        codes = [
            -1 if none else places.setdefault(value, len(places)) for value, none in zip(values, missing, strict=True)
        ]
        return np.array(codes, dtype=np.intp), np.array(list(places), dtype=object)
    found, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    known = ~np.isnan(found)
    order = first[known].argsort()
    rank = np.full(len(found), -1, dtype=np.intp)
    rank[known] = order.argsort()
    return rank[inverse], found[known][order]
