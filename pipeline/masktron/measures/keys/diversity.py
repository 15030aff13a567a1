"""l-diversity: how many values of a confidential field stand beside one combination of keys."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.distinct import factorized
from masktron.measures.keys.combinations import combined, require_codes


def l_diversity(keys: Sequence[NDArray[np.integer[Any]]], confidential: NDArray[np.integer[Any]]) -> float:
    """Return the fewest different values in a class of records that are alike in all keys; NaN without a value.

    Records that lack the same keys and are alike in the others are a class of their own: what is missing matches
    nothing else here, so that classes are not too large.

    Parameters
    ----------
    keys : sequence of ndarray of int, shape (n,) each
        Codes from 0; -1 where missing.
    confidential : ndarray of int, shape (n,)
        Codes from 0; a missing value, -1, counts as no value.

    Raises
    ------
    UsageError
        There is no key, shapes differ, or a code is below -1.

    Notes
    -----
    Source: Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam (2007), l-diversity: privacy beyond k-anonymity,
    definition 4.1 with distinct values.
    """
    n = require_codes(keys, [confidential])
    held = confidential >= 0
    if not held.any():
        return math.nan
    classes, values = factorized(combined(keys, n)[0][held])[0].astype(np.int64), confidential[held].astype(np.int64)
    most = int(values.max()) + 1
    return float(np.bincount(np.unique(classes * most + values) // most).min())
