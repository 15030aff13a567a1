"""RMSE and RelRMSE of imputed values: how well an intruder who averages the imputations guesses the true ones."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from masktron.errors import UsageError


@dataclass(frozen=True, slots=True)
class ErrorQuartiles:
    """What is small of the errors of one variable; NaN without errors.

    Attributes
    ----------
    smallest, first_quartile, median : float
    cells : int
        Replaced cells that have such an error.
    """

    smallest: float
    first_quartile: float
    median: float
    cells: int


@dataclass(frozen=True, slots=True)
class ImputationError:
    """Errors of one variable.

    Attributes
    ----------
    rmse : ErrorQuartiles
        In the unit of the variable.
    relative : ErrorQuartiles
        Per cent of the magnitude of the true value.
    """

    rmse: ErrorQuartiles
    relative: ErrorQuartiles


def imputation_error(
    original: NDArray[np.float64], imputed: NDArray[np.float64], replaced: NDArray[np.bool_]
) -> tuple[ImputationError, ...]:
    """Compute the errors of an intruder who takes the mean of m imputations for the true value of a replaced cell.

    ``RMSE = sqrt((mean - y)^2 + sum((y_l - mean)^2) / ((m - 1) m))``: what the mean is off, and the variance it has
    over m draws. ``RelRMSE = RMSE / |y|``. Small errors are the risk, so the smallest, the first quartile and the
    median over the replaced cells are told (type 7 of Hyndman and Fan, as for the quantiles of `pil`).

    With one imputation nothing is known of its variance, and the error is ``|y_1 - y|``. A replaced cell that is
    missing in the original or in an imputation is left out; from RelRMSE also one whose true value is 0, unless its
    RMSE is 0: then it is 0.

    Parameters
    ----------
    original : ndarray of float64, shape (n, p)
        NaN where missing.
    imputed : ndarray of float64, shape (m, n, p)
        The same records and variables in the same order, m at least 1.
    replaced : ndarray of bool, shape (n, p)
        Cells whose value was imputed.

    Returns
    -------
    tuple of ImputationError
        One for each variable. 0 where all imputations are the true values.

    Raises
    ------
    UsageError
        The shapes do not fit, or a value is infinite.

    Notes
    -----
    Source: hierarchical cluster analysis for partially synthetic data (2013), section 3.2 and table 7, after Reiter
    (2005), Using CART to generate partially synthetic public use microdata. The paper prints RelRMSE as a fraction.
    """
    if original.ndim != 2 or imputed.ndim != 3 or not len(imputed):
        raise UsageError(f"imputations of shape {imputed.shape} do not go with a file of shape {original.shape}")
    if not original.shape == imputed.shape[1:] == replaced.shape:
        raise UsageError(
            f"imputations of shape {imputed.shape} and replaced cells of shape {replaced.shape} "
            f"do not go with a file of shape {original.shape}"
        )
    if np.isinf(original).any() or np.isinf(imputed).any():
        raise UsageError("an infinite value has no distance to others")
    return tuple(
        _errors(original[replaced[:, j], j], imputed[:, replaced[:, j], j]) for j in range(original.shape[1])
    )


def _errors(true: NDArray[np.float64], imputed: NDArray[np.float64]) -> ImputationError:
    held = ~(np.isnan(true) | np.isnan(imputed).any(axis=0))
    true, imputed = true[held], imputed[:, held]
    m = len(imputed)
    # a power of two: nothing is rounded, and no square overflows
    power = int(np.frexp(max(np.abs(true).max(initial=0.0), np.abs(imputed).max(initial=0.0)))[1])
    true, imputed = np.ldexp(true, -power), np.ldexp(imputed, -power)
    mean = imputed.mean(axis=0)
    spread = np.sqrt(np.square(imputed - mean).sum(axis=0) / ((m - 1) * m)) if m > 1 else np.zeros_like(mean)
    error = np.hypot(mean - true, spread)
    counted = (true != 0) | (error == 0)
    # 0 of 0 is 0
    relative = error[counted] / np.where(true[counted] != 0, np.abs(true[counted]), 1.0)
    with np.errstate(over="ignore"):
        return ImputationError(_quartiles(np.ldexp(error, power)), _quartiles(100.0 * relative))


def _quartiles(errors: NDArray[np.float64]) -> ErrorQuartiles:
    if not errors.size:
        return ErrorQuartiles(math.nan, math.nan, math.nan, 0)
    smallest, quartile, median = np.quantile(errors, (0.0, 0.25, 0.5)).tolist()
    return ErrorQuartiles(smallest, quartile, median, len(errors))
