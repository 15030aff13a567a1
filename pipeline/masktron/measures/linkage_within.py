"""Record linkage by an intruder who knows a class of each record, such as the composition of a household."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from masktron.measures.base import FieldPairs, require_comparable
from masktron.measures.linkage import linkage_of_fields


def linkage_within(
    original: NDArray[np.float64],
    masked: NDArray[np.float64],
    classes: NDArray[np.integer],
    *,
    workers: int = 1,
) -> float:
    """Compute the share of masked records whose nearest original record of the same class is their own.

    Each class is linked as a file of its own, by `masktron.measures.linkage.linkage`: variables are standardised
    within it, and one that does not vary there tells nothing.

    Parameters
    ----------
    original, masked : ndarray of float64, shape (n, p)
        Row i of both belongs to the same respondent; NaN where missing.
    classes : ndarray of integer, shape (n,)
        The same of both: what is not masked.
    workers : int
        Threads for a class of many records.

    Returns
    -------
    float
        Per cent of the n records; 0 without records.

    Raises
    ------
    UsageError
        The shapes differ, or a value is infinite.
    """
    require_comparable(original, masked)
    right = 0.0
    for code in np.unique(classes):
        own = np.flatnonzero(classes == code)
        right += len(own) * linkage_of_fields(FieldPairs.over(original[own], masked[own]), workers=workers)
    return right / len(original) if len(original) else 0.0
