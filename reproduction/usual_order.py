"""The usual order of protections, which knows no rule: recoding, local suppression, microaggregation.

Source: Templ, Kowarik and Meindl (2015), Statistical disclosure control for micro-data using the R package sdcMicro,
Journal of Statistical Software 67(4), and the documentation of its function `localSuppression`: keys are gone through
from the least important one; without an importance, keys with many values are the least important. Written from the
description, not from the program, so that counts of suppressed cells may differ from its.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from masktron.measures.keys import key_frequencies
from masktron.partitions.mdav import partition, standardise


def locally_suppressed(
    keys: Sequence[NDArray[np.int32]], k: int, importance: Sequence[int] | None = None
) -> tuple[NDArray[np.int32], ...]:
    """Suppress cells until k records match every record, where a missing value matches all values.

    Each key in turn, the least important first, loses its value in the records that still match fewer than k, if
    that makes them match more; what is left at risk then loses one key after the other, whatever comes of it.

    Parameters
    ----------
    keys : sequence of ndarray of int32, shape (n,) each
        Codes from 0; -1 where missing.
    k : int
    importance : sequence of int, optional
        By key, 1 for the one that stays longest; by the number of values when None.

    Returns
    -------
    tuple of ndarray of int32
        The keys with -1 in suppressed cells.
    """
    left = [key.copy() for key in keys]
    ranks = importance or np.argsort(np.argsort([len(np.unique(key)) for key in keys], kind="stable")) + 1
    order = np.argsort(-np.asarray(ranks), kind="stable").tolist()
    for only_better in (True, False):
        for at in order:
            counts = key_frequencies(left).sample
            rows = np.flatnonzero((counts < k) & (left[at] >= 0))
            if not len(rows):
                continue
            tried = [key.copy() for key in left]
            tried[at][rows] = -1
            better = key_frequencies(tried).sample[rows] > counts[rows]
            left[at][rows[better] if only_better else rows] = -1
    return tuple(left)


def microaggregated(numbers: pd.DataFrame, k: int) -> pd.DataFrame:
    """Replace numbers by the means of groups of k that MDAV forms over all of them; records with a gap stay apart.

    Parameters
    ----------
    numbers : DataFrame
        Of floats; a pattern of missing values with fewer than k records is left as it is.
    k : int
    """
    masked = numbers.copy()
    for _, own in numbers.groupby(numbers.isna().apply(tuple, axis=1)):
        there = own.columns[own.notna().all()]
        if len(own) < k or not len(there):
            continue
        values = own[there].to_numpy(dtype=np.float64)
        groups = partition(standardise(values), k)
        masked.loc[own.index, there] = pd.DataFrame(values).groupby(groups).transform("mean").to_numpy()
    return masked
