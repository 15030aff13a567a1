"""Information loss: how much of the standardised variation masking has moved."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from masktron.errors import UsageError


def information_loss(original: NDArray[np.float64], masked: NDArray[np.float64]) -> float:
    """Compute ``100 * SSE / SST`` over standardised variables.

    SSE adds the squared differences between original and masked values, each divided by the variance of its variable
    in the original; SST adds the original's squared deviations from its mean in the same unit, that is n for each
    variable that varies.

    A cell that is missing in one of the files is left out, from the mean and the variance too. A variable that is
    constant in the original contributes nothing, even if it was changed; with no other variable the loss is 0.

    Parameters
    ----------
    original, masked : ndarray of float64, shape (n, p)
        The same records and variables in the same order; NaN where missing.

    Returns
    -------
    float
        Per cent; 0 where nothing changed, at most 100 for microaggregation with means over one partition.

    Raises
    ------
    UsageError
        The shapes differ.

    Notes
    -----
    Source: class-restricted clustering (2013), equations (2) and (3); Domingo-Ferrer and Mateo-Sanz (2002).
    """
    if original.shape != masked.shape or original.ndim != 2:
        raise UsageError(f"files of shapes {original.shape} and {masked.shape} cannot be compared")
    within = total = 0.0
    for before, after in zip(original.T, masked.T, strict=True):
        both = ~(np.isnan(before) | np.isnan(after))
        if not both.any() or before[both].min() == before[both].max():
            continue
        power = -int(np.frexp(np.abs(before[both]).max())[1])
        scaled = np.ldexp(before[both], power)
        variance = scaled.var()
        within += float(np.square(np.ldexp(after[both], power) - scaled).sum() / variance)
        total += float(both.sum())
    return 100.0 * within / total if total else 0.0
