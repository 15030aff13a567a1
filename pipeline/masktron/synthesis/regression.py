"""Regressions of confidential variables on kept ones, for many groups of one size at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Floats
from masktron.errors import UsageError
from masktron.kernels.linear_algebra import product, singular_decomposition

type Flags = NDArray[np.bool_]

CONSTANT = 64 * np.finfo(np.float64).eps
"""A variable that varies by less than this times its largest value is constant, and varies by rounding alone: by some
roundings, since what is taken for constant comes out as its mean."""
CUT, MOST_CUT = 1e-10, 1e-6
"""Directions in which standardised values deviate by less are those of exact linear relations; where values are large
beside their deviations, what rounding makes of them, but never more than the second."""
LARGEST = 1e150
"""Squares of larger values overflow."""


@dataclass(frozen=True, slots=True, eq=False)
class Regression:
    """Least squares of X on [1, Y] in each of g groups, with the residuals taken apart: E = U S V'.

    All but `location` and `unit` is in units of the deviations of the group. Where a group has fewer directions than
    another, the columns that it does not use are zeros.

    Attributes
    ----------
    location, unit : ndarray of float64, shape (g, 1, p)
        Mean, and standard deviation or 1 where the variable is constant in the group.
    fitted : ndarray of float64, shape (g, n, p)
        Deviations of the fitted values from the mean.
    basis : ndarray of float64, shape (g, n, 1 + q)
        Orthonormal basis of [1, Y].
    left : ndarray of float64, shape (g, n, r)
        U.
    singular : ndarray of float64, shape (g, r)
        The diagonal of S.
    right : ndarray of float64, shape (g, r, p)
        V'.
    rank, freedom : ndarray of intp, shape (g,)
        Rank of E; records less the rank of [1, Y].
    unchanged : ndarray of bool, shape (g, p)
        Variables that are not constant and an exact linear function of Y: without a residual, so that whatever keeps
        means and covariances returns them as they are.
    """

    location: Floats
    unit: Floats
    fitted: Floats
    basis: Floats
    left: Floats
    singular: Floats
    right: Floats
    rank: NDArray[np.intp]
    freedom: NDArray[np.intp]
    unchanged: Flags

    @property
    def residuals(self) -> Floats:
        """E, shape (g, n, p)."""
        return self.spread(self.left)

    def spread(self, scores: Floats) -> Floats:
        """Return residuals with these scores in place of U: scores S V', shape (g, n, p)."""
        return product(scores * self.singular[:, None, :], self.right)

    def values(self, residuals: Floats) -> Floats:
        """Return fitted values and such residuals in the units of the variables, shape (g, n, p)."""
        return np.asarray(self.location + self.unit * (self.fitted + residuals))


def regress(confidential: Floats, kept: Floats) -> Regression:
    """Regress confidential variables on kept ones, group by group.

    Parameters
    ----------
    confidential : ndarray of float64, shape (g, n, p)
        X: finite.
    kept : ndarray of float64, shape (g, n, q)
        Y: finite; q may be 0. Constant and collinear variables do no harm.

    Returns
    -------
    Regression

    Raises
    ------
    UsageError
        A value is too large for squares.
    """
    _require_squares(confidential)
    _require_squares(kept)
    n = confidential.shape[1]
    outcome, regressors = _standardised(confidential), _standardised(kept)
    directions, sizes, _ = singular_decomposition(regressors.points)
    used = sizes > regressors.cut[:, None] * np.sqrt(n)
    ones = np.full((len(kept), n, 1), 1.0 / np.sqrt(n))
    basis = np.concatenate([ones, directions * used[:, None, :]], axis=2)
    residuals = outcome.points
    for _ in range(2):  # once leaves what rounding leaves
        residuals = residuals - product(basis, product(np.matrix_transpose(basis), residuals))
    fitted = outcome.points - residuals
    left, singular, right = singular_decomposition(residuals)
    real = singular > outcome.cut[:, None] * np.sqrt(n)
    rank = real.sum(axis=1)
    width = int(rank.max(initial=0))
    still = np.sqrt(np.square(residuals).mean(axis=1)) <= outcome.cut[:, None]
    return Regression(
        outcome.location,
        outcome.unit,
        fitted,
        basis,
        (left * real[:, None, :])[:, :, :width],
        (singular * real)[:, :width],
        # rounding leaves constant variables traces of the directions of others
        right[:, :width] * outcome.varies[:, None, :],
        rank,
        n - 1 - used.sum(axis=1),
        outcome.varies & still,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Standardised:
    """Points (g, n, p), location and unit (g, 1, p), where they vary (g, p), and what counts as rounding (g,)."""

    points: Floats
    location: Floats
    unit: Floats
    varies: Flags
    cut: Floats


def _standardised(values: Floats) -> _Standardised:
    # from the first record on, so that what is constant becomes zeros exactly
    first = values[:, :1]
    moved = values - first
    means = moved.mean(axis=1, keepdims=True)
    centred = moved - means
    peak = np.abs(centred).max(axis=1, keepdims=True, initial=0.0)
    size = np.abs(values).max(axis=1, keepdims=True, initial=0.0)
    varies = peak > CONSTANT * size
    peak = np.where(varies, peak, 1.0)
    points = np.where(varies, centred / peak, 0.0)
    points -= points.mean(axis=1, keepdims=True)
    deviation = np.where(varies, np.sqrt(np.square(points).mean(axis=1, keepdims=True)), 1.0)
    unit = peak * deviation
    rounding = np.where(varies, 8 * np.finfo(np.float64).eps * size / unit, 0.0).max(axis=(1, 2), initial=0.0)
    return _Standardised(points / deviation, first + means, unit, varies[:, 0], np.clip(rounding, CUT, MOST_CUT))


def _require_squares(values: Floats) -> None:
    if values.size and np.abs(values).max() > LARGEST:
        raise UsageError.of("values-too-large", what=f"values above {LARGEST:g}")
