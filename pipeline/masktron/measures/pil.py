"""PIL: how surely the statistics of the masked file are other than sampling would have made those of the original."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.moments import (
    ROUNDING,
    Standardised,
    average,
    pair_moments,
    pair_variations,
    standardise_columns,
)
from masktron.measures.base import FieldPairs, require_comparable

_LEVELS = np.arange(1, 20) / 20.0
_REACH = 9.0
"""Bandwidths beyond which a normal kernel is less than rounding: exp(-40)."""


@dataclass(frozen=True, slots=True)
class Pil:
    """Probabilistic information loss by kind of statistic, each 0 to 100; NaN where there is no such statistic.

    Attributes
    ----------
    quantiles : float
        Mean over variables and the quantiles at 5, 10, ..., 95 %.
    means, variances : float
        Mean over variables.
    covariances, correlations : float
        Mean over pairs of variables.
    total : float
        Mean of those of the five that are numbers.
    """

    quantiles: float
    means: float
    variances: float
    covariances: float
    correlations: float
    total: float


def pil(original: NDArray[np.float64], masked: NDArray[np.float64]) -> Pil:
    """Compute the probabilistic information loss, ``200 (Phi(z) - 1/2)`` with ``z = |t' - t| / sd(t)``.

    t is a statistic of the original, t' the same of the masked file, and sd(t) the asymptotic standard deviation of
    t in a sample of n records. The loss is the probability, per cent, that sampling error is smaller than the change.

    - Quantiles interpolate linearly between order statistics (type 7 of Hyndman and Fan); variance
      ``q (1 - q) / (n f^2)``, f the density of the original at its quantile by a normal kernel with Scott's
      bandwidth, ``s n^(-1/5)`` and s with divisor n - 1.
    - Means: ``mu_2 / n``. Variances (divisor n): ``(mu_4 - mu_2^2) / n``. Covariances: ``(mu_22 - mu_11^2) / n``.
    - Correlations: ``(r^2 / n) [mu_22 / mu_11^2 + (mu_40 / mu_20^2 + mu_04 / mu_02^2 + 2 mu_22 / (mu_20 mu_02)) / 4
      - (mu_31 / (mu_11 mu_20) + mu_13 / (mu_11 mu_02))]``, which is ``mean((u v - r (u^2 + v^2) / 2)^2) / n`` for
      standardised u and v, and computed so.

    Corners. The correlation's variance at mu_11 = 0 is its limit, ``mu_22 / (n mu_20 mu_02)``. Where sd(t) is 0
    (everything of a constant variable, the variance of a variable with two values that are equally frequent,
    correlations of 1 and -1), the loss is 0 if t' = t and else 100; numbers that differ by less than 1e-12 standard
    units are equal, so an exact linear relation that is kept costs nothing. A constant variable has no correlation:
    where it is constant in the original, its pairs are left out; where in the masked file alone, they count 100.
    Two records have correlations of 1 or -1; one record makes every variable constant; without records nothing is
    defined, and all is NaN.

    Missing values: each file's statistics are of its own present cells, those of pairs of the records that have
    both, and n counts these in the original. A statistic for which the masked file has no values counts 100.

    Parameters
    ----------
    original, masked : ndarray of float64, shape (n, p)
        The same variables; the order of records does not matter. NaN where missing.

    Returns
    -------
    Pil

    Raises
    ------
    UsageError
        The shapes differ, or a value is infinite.

    Notes
    -----
    Source: Mateo-Sanz, Domingo-Ferrer and Sebé (2005), Probabilistic information loss measures in confidentiality
    protection of continuous microdata; used by edit constraints (2009), second paper, section 5.
    """
    require_comparable(original, masked)
    return pil_of_fields(FieldPairs.over(original, masked))


def pil_of_fields(pairs: FieldPairs) -> Pil:
    """Compute `pil` from one field after the other; it is the same to the last bit."""
    known = standardise_columns(pairs.side(0, "has no mean"), pairs.shape)
    released = standardise_columns(pairs.side(1, "has no mean"), pairs.shape, known.origins)
    varies = known.deviations > 0
    unit = np.where(varies, known.deviations, np.where(known.origins != 0, np.abs(known.origins), 1.0))
    with np.errstate(over="ignore", invalid="ignore"):
        shift, ratio = (released.means - known.means) / unit, released.deviations / unit
        kinds = (
            _quantiles(known.units, released.units, shift, ratio),
            *_univariate(known, varies, shift, ratio),
            *_of_pairs(known.units, released.units, ratio),
        )
    quantiles, means, variances, covariances, correlations = losses = [average(kind) for kind in kinds]
    return Pil(quantiles, means, variances, covariances, correlations, average(np.array(losses)))


def _loss(
    known: NDArray[np.float64], released: NDArray[np.float64], deviation: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Loss of statistics in standard units; NaN where the original has none."""
    from scipy.special import erf  # noqa: PLC0415 -- loads slowly

    change = np.abs(released - known)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(change <= ROUNDING, 0.0, change / deviation)
    # lost, or infinite in the masked file
    z[np.isnan(z)] = np.inf
    return np.where(np.isnan(known), np.nan, 100.0 * erf(z / math.sqrt(2.0)))


def _univariate(
    known: Standardised, varies: NDArray[np.bool_], shift: NDArray[np.float64], ratio: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Losses of means and of variances, shape (p,) each."""
    root = np.sqrt(np.count_nonzero(~np.isnan(known.units), axis=0).clip(1))
    spread = [_spread(column) if vary else 0.0 for column, vary in zip(known.units.T, varies, strict=True)]
    none = np.where(np.isnan(known.means), np.nan, 0.0)
    means = _loss(none, shift, varies / root)
    return means, _loss(none + varies, np.square(ratio), np.array(spread) / root)


def _spread(units: NDArray[np.float64]) -> float:
    return math.sqrt(np.square(np.square(units[~np.isnan(units)]) - 1.0).mean())


def _quantiles(
    known: NDArray[np.float64],
    released: NDArray[np.float64],
    shift: NDArray[np.float64],
    ratio: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Losses of quantiles, shape (p, 19)."""
    losses = np.full((known.shape[1], len(_LEVELS)), np.nan)
    for j, (before, after) in enumerate(zip(known.T, released.T, strict=True)):
        x, y = np.sort(before[~np.isnan(before)]), np.sort(after[~np.isnan(after)])
        if not x.size:
            continue
        at = _interpolated(x)
        moved = shift[j] + ratio[j] * _interpolated(y) if y.size else np.full_like(at, np.nan)
        deviation = np.zeros_like(at)
        if x[0] < x[-1]:
            with np.errstate(divide="ignore"):
                deviation = np.sqrt(_LEVELS * (1.0 - _LEVELS) / len(x)) / _density(x, at)
        losses[j] = _loss(at, moved, deviation)
    return losses


def _interpolated(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Quantiles of sorted values; `numpy.quantile` would look for order first."""
    place = _LEVELS * (len(values) - 1)
    below = place.astype(np.intp)
    above = np.minimum(below + 1, len(values) - 1)
    quantiles: NDArray[np.float64] = values[below] + (place - below) * (values[above] - values[below])
    return quantiles


def _density(values: NDArray[np.float64], at: NDArray[np.float64]) -> NDArray[np.float64]:
    """Density of sorted values by a normal kernel with Scott's bandwidth."""
    width = values.std(ddof=1) * len(values) ** -0.2
    sums = [
        np.exp(-0.5 * np.square((values[start:end] - point) / width)).sum()
        for point, start, end in zip(
            at, *(np.searchsorted(values, at + side * _REACH * width) for side in (-1, 1)), strict=True
        )
    ]
    density: NDArray[np.float64] = np.array(sums) / (len(values) * width * math.sqrt(2.0 * math.pi))
    return density


def _of_pairs(
    known: NDArray[np.float64], released: NDArray[np.float64], ratio: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Losses of covariances and of correlations, shape (p (p - 1) / 2,) each."""
    before, after = pair_moments(known), pair_moments(released)
    upper = np.triu_indices(known.shape[1], 1)
    root = np.sqrt(before.counts[upper].clip(1))
    of_covariances, of_correlations = (np.sqrt(part[upper]) / root for part in pair_variations(known, before))
    moved = after.covariances * ratio[:, None] * ratio
    return (
        _loss(before.covariances[upper], moved[upper], of_covariances),
        _loss(before.correlations[upper], after.correlations[upper], of_correlations),
    )
