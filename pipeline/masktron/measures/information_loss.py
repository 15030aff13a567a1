"""Information loss: how much of the standardised variation masking has moved."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.sums import scaled
from masktron.measures.base import FieldPairs


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
    return loss_of_fields(FieldPairs.over(original, masked))


def loss_of_fields(pairs: FieldPairs) -> float:
    """Compute `information_loss` field by field; it is the same to the last bit."""
    within = total = 0.0
    for before, after in pairs:
        known, released = _in_both(before, after)
        if not known.size or known.min() == known.max():
            continue
        power = -int(np.frexp(max(-known.min(), known.max()))[1])
        unit = scaled(known, power)
        variance = unit.var()
        within += float(np.square(scaled(released, power) - unit).sum() / variance)
        total += float(known.size)
    return 100.0 * within / total if total else 0.0


def _in_both(
    before: NDArray[np.float64], after: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    both = ~(np.isnan(before) | np.isnan(after))
    if both.all():
        return np.ascontiguousarray(before), np.ascontiguousarray(after)
    return before[both], after[both]
