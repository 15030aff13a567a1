"""How far the correlations of a masked file are from those of its original."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.moments import ROUNDING, pair_moments, standardise_columns
from masktron.measures.base import FieldPairs


@dataclass(frozen=True, slots=True)
class CorrelationChange:
    """Absolute differences of correlations, over the pairs of variables that have one in the original.

    Attributes
    ----------
    largest, average : float
        From 0 to 2; NaN where no two variables have a correlation.
    pair : tuple of int, or None
        The two variables whose correlation changed most.
    """

    largest: float
    average: float
    pair: tuple[int, int] | None


def correlation_change(
    original: NDArray[np.float64], masked: NDArray[np.float64], weights: NDArray[np.float64] | None = None
) -> CorrelationChange:
    """Compute ``|r' - r|`` for all pairs of variables.

    The difference is absolute: a correlation near 0 that stays near 0 has hardly changed, whatever the quotient of
    the two. Where a variable is constant in the masked file only, nothing is left of its correlations, and r' counts
    as 0. Pairs with a variable that is constant in the original have no correlation, and are left out.

    Missing values: each file's correlations are those of its records with both.

    Parameters
    ----------
    original, masked : ndarray of float64, shape (n, p)
        The same variables; the order of records does not matter without weights. NaN where missing.
    weights : ndarray of float64, shape (n,), optional
        Of the records; all 1 where not given.

    Returns
    -------
    CorrelationChange

    Raises
    ------
    UsageError
        The shapes differ, or a value is infinite.

    Notes
    -----
    Source: J. Domingo-Ferrer, V. Torra, *A quantitative comparison of disclosure control methods for microdata*
    (2001), who average the absolute differences of the correlation matrices.
    """
    return correlation_change_of_fields(FieldPairs.over(original, masked, weights))


def correlation_change_of_fields(pairs: FieldPairs) -> CorrelationChange:
    """Compute `correlation_change` from one field after the other; it is the same to the last bit."""
    rows, columns = np.triu_indices(len(pairs), 1)
    before, after = (_correlations(pairs, side)[rows, columns] for side in (0, 1))
    changes = np.abs(np.nan_to_num(after) - before)
    changes[changes <= ROUNDING] = 0.0
    known = ~np.isnan(changes)
    if not known.any():
        return CorrelationChange(float("nan"), float("nan"), None)
    at = int(np.nanargmax(changes))
    return CorrelationChange(float(changes[at]), float(changes[known].mean()), (int(rows[at]), int(columns[at])))


def _correlations(pairs: FieldPairs, side: int) -> NDArray[np.float64]:
    """Return the correlations of one file; its standardised columns are gone before those of the other are made."""
    columns, weights = pairs.side(side), pairs.relative_weights(side)
    return pair_moments(standardise_columns(columns, pairs.shape, weights=weights).units, weights).correlations
