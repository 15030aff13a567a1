"""Moments of columns and of their pairs, in units in which nothing overflows, with or without missing values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.sums import scaled

ROUNDING = 1e-12
"""Far above the rounding of a statistic in standard units, and far below what anybody would call a difference."""
_ROWS = 1 << 14
"""Records looked at together: a few arrays of so many stay in the cache."""
_SINGLE = 1 << 18
"""Multiplications of a matrix product up to which OpenBLAS uses one thread."""


@dataclass(frozen=True, slots=True)
class Standardised:
    """Columns moved and scaled to zero mean and unit variance (divisor n), and what leads back.

    Attributes
    ----------
    units : ndarray of float64, shape (n, p)
        NaN where missing; zeros where a column is constant.
    origins : ndarray of float64, shape (p,)
        A value near the column; 0 without values.
    means : ndarray of float64, shape (p,)
        Mean minus origin; NaN without values.
    deviations : ndarray of float64, shape (p,)
        Standard deviations; 0 for a constant, NaN without values.
    """

    units: NDArray[np.float64]
    origins: NDArray[np.float64]
    means: NDArray[np.float64]
    deviations: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PairMoments:
    """Moments of two columns over the records in which both are present; NaN where there is none.

    Attributes
    ----------
    counts, means, variances, covariances, correlations : ndarray of float64, shape (p, p)
        At (i, j): records, or the sum of their weights; mean and variance of column i where j is present, too;
        covariance and correlation of i and j. Divisor n, or that sum. No correlation with a column that is constant
        there.
    """

    counts: NDArray[np.float64]
    means: NDArray[np.float64]
    variances: NDArray[np.float64]
    covariances: NDArray[np.float64]
    correlations: NDArray[np.float64]


def standardise(values: NDArray[np.float64], origins: NDArray[np.float64] | None = None) -> Standardised:
    """Standardise columns by their present values.

    Parameters
    ----------
    values : ndarray of float64, shape (n, p)
        Finite or NaN.
    origins : ndarray of float64, shape (p,), optional
        From which means are told; without them, the first value of each column. With the origins of another file its
        means can be compared to the last digit, however far they are from 0.

    Returns
    -------
    Standardised
    """
    return standardise_columns(values.T, values.shape, origins)


def standardise_columns(
    columns: Iterable[NDArray[np.float64]],
    shape: tuple[int, ...],
    origins: NDArray[np.float64] | None = None,
    weights: NDArray[np.float64] | None = None,
) -> Standardised:
    """Standardise as `standardise` columns that come one after the other; `shape` says how long and how many.

    With weights, shape (n,), means and variances are weighted ones.
    """
    units = np.full(shape, np.nan)
    first = np.zeros(shape[1]) if origins is None else origins.copy()
    means, deviations = np.full((2, shape[1]), np.nan)
    for j, column in enumerate(columns):
        present = ~np.isnan(column)
        numbers = column[present]
        if not numbers.size:
            continue
        if origins is None:
            first[j] = numbers[0]
        # a power of two: nothing is rounded, and no square overflows or vanishes
        power = -int(np.frexp(max(np.abs(numbers).max(), abs(first[j])))[1])
        moved = scaled(numbers, power) - np.ldexp(first[j], power)
        # the mean of a constant may be rounded away from it
        own = None if weights is None else weights[present]
        mean = moved[0] if moved.min() == moved.max() else np.average(moved, weights=own)
        moved -= mean
        deviation = moved.std() if own is None else np.sqrt(np.average(np.square(moved), weights=own))
        units[present, j] = moved / deviation if deviation else 0.0
        with np.errstate(over="ignore"):
            means[j], deviations[j] = np.ldexp(mean, -power), np.ldexp(deviation, -power)
    return Standardised(units, first, means, deviations)


def pair_moments(units: NDArray[np.float64], weights: NDArray[np.float64] | None = None) -> PairMoments:
    """Compute the moments of all pairs of columns.

    Parameters
    ----------
    units : ndarray of float64, shape (n, p)
        NaN where missing; of means and standard deviations near 0 and 1, or both 0.
    weights : ndarray of float64, shape (n,), optional
        Of the records; all 1 where not given.

    Returns
    -------
    PairMoments
    """
    counts, sums, squares, products = np.zeros((4, units.shape[1], units.shape[1]))
    # products so small that no library starts threads for them, which would wait for busy cores
    for block, own in _blocks(units, weights, max(_SINGLE // max(1, units.shape[1]) ** 2, 64)):
        present, weighed = ~np.isnan(block), block
        if weights is None and present.all():
            counts += len(block)
            sums += block.sum(axis=0)[:, None]
            squares += np.square(block).sum(axis=0)[:, None]
        else:
            block = np.where(present, block, 0.0)  # noqa: PLW2901 -- the former is a part of the argument
            held, weighed = present.astype(np.float64), block * own[:, None]
            counts += (held * own[:, None]).T @ held
            sums += weighed.T @ held
            squares += (weighed * block).T @ held
        products += weighed.T @ block
    with np.errstate(invalid="ignore", divide="ignore"):
        means, squares = sums / counts, squares / counts
        covariances = products / counts - means * means.T
        variances = squares - np.square(means)
        # what a constant leaves is rounding
        variances[variances <= ROUNDING * squares] = 0.0
        correlations = np.clip(covariances / np.sqrt(variances * variances.T), -1.0, 1.0)
    correlations[(variances == 0) | (variances.T == 0)] = np.nan
    return PairMoments(counts, means, variances, covariances, correlations)


def pair_variations(
    units: NDArray[np.float64], pairs: PairMoments, weights: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute what the variances of covariances and correlations come from, record by record.

    With a and b the deviations of two columns from their means, and u and v the same divided by their standard
    deviations, the covariance of n records has asymptotic variance ``mean((a b - cov)^2) / n``, the correlation
    ``mean((u v - r (u^2 + v^2) / 2)^2) / n``. Both are the formulas with central moments, multiplied out; these
    subtract large numbers, and divide by a covariance that may be 0. With weights of sum W these variances are, by
    linearisation, ``sum(w^2 (...)^2) / W^2``.

    Parameters
    ----------
    units : ndarray of float64, shape (n, p)
    pairs : PairMoments
        Of these columns, with the same weights.
    weights : ndarray of float64, shape (n,), optional

    Returns
    -------
    of_covariances, of_correlations : ndarray of float64, shape (p, p)
        Upper triangles; the formulas before the division by n, or before one of those by W. NaN as the covariances
        and correlations.
    """
    p = units.shape[1]
    covariance, correlation = np.zeros((2, p, p))
    deviations = np.sqrt(np.where(pairs.variances > 0, pairs.variances, 1.0))
    for block, own in _blocks(units, weights, _ROWS):
        columns = np.ascontiguousarray(block.T)
        gaps = np.isnan(columns)
        complete = not gaps.any()
        for i in range(p - 1):
            rest = slice(i + 1, p)
            left = columns[i] - pairs.means[i, rest, None]
            right = columns[rest] - pairs.means[rest, i, None]
            across = np.square(left * right - pairs.covariances[i, rest, None])
            left /= deviations[i, rest, None]
            right /= deviations[rest, i, None]
            along = np.square(left) + np.square(right)
            along *= -0.5 * pairs.correlations[i, rest, None]
            along += left * right
            if not complete:
                gap = gaps[i] | gaps[rest]
                across[gap] = along[gap] = 0.0
            if weights is not None:
                across *= np.square(own)
                along *= own
            covariance[i, rest] += across.sum(axis=1)
            correlation[i, rest] += np.square(along).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return covariance / pairs.counts, correlation / pairs.counts


def relative_changes(
    before: NDArray[np.float64], after: NDArray[np.float64], scale: NDArray[np.float64] | float
) -> NDArray[np.float64]:
    """Compute ``|after - before| / |before|``, where that is a number.

    Parameters
    ----------
    before, after : ndarray of float64, of the same shape
        Statistics; NaN where undefined.
    scale : ndarray of float64 or float
        Magnitude of what was added up: a statistic that is smaller by `ROUNDING` is 0.

    Returns
    -------
    ndarray of float64
        0 where both are 0; 1 where only `after` is undefined, as if nothing were left. NaN where `before` is
        undefined, or 0 and `after` is not.
    """
    none = np.abs(before) <= ROUNDING * scale
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        changes: NDArray[np.float64] = np.abs(after - before) / np.abs(before)
    changes[none] = np.where(np.abs(after) <= ROUNDING * scale, 0.0, np.nan)[none]
    changes[np.isnan(after) & ~np.isnan(before) & ~none] = 1.0
    return changes


def average(values: NDArray[np.float64]) -> float:
    """Mean of what is not NaN; NaN where nothing is left."""
    held = values[~np.isnan(values)]
    return float(held.mean()) if held.size else float("nan")


def _blocks(
    units: NDArray[np.float64], weights: NDArray[np.float64] | None, rows: int
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    for start in range(0, len(units), rows):
        block = units[start : start + rows]
        yield block, np.ones(len(block)) if weights is None else weights[start : start + rows]
