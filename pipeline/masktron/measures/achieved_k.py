"""Achieved k: how many released records are alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from masktron.errors import UsageError


def group_sizes(columns: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    """Count, for each record, the records that equal it in all columns, itself included.

    Parameters
    ----------
    columns : sequence of ndarray, each of shape (n,), at least one
        Lexemes as written, compared as text: ``5`` and ``5.0`` differ, and None (absent) equals only None. Or
        codes; NaN equals NaN.

    Returns
    -------
    ndarray of int64, shape (n,)

    Raises
    ------
    UsageError
        There is no column, or their lengths differ.
    """
    if not columns:
        raise UsageError("group sizes were asked for without a variable")
    lengths = {len(column) for column in columns}
    if len(lengths) > 1:
        raise UsageError(f"columns of different lengths make no records: {sorted(lengths)}")
    codes = np.zeros(lengths.pop(), dtype=np.int64)
    for column in columns:
        # Both factors are below n, so that the product fits an int64; -1 stands for None or NaN.
        own = pd.factorize(column)[0].astype(np.int64) + 1
        codes = np.unique(codes * (own.max(initial=0) + 1) + own, return_inverse=True)[1].astype(np.int64)
    return np.bincount(codes)[codes].astype(np.int64)


def achieved_k(columns: Sequence[NDArray[Any]]) -> int:
    """Return the smallest number of records that are alike in all columns; 0 where there is no record.

    This is the k of k-anonymity if the columns are the key variables. Parameters and errors are those of
    `group_sizes`.

    Notes
    -----
    Source: Samarati (2001) and Sweeney (2002), k-anonymity.
    """
    sizes = group_sizes(columns)
    return int(sizes.min()) if sizes.size else 0
