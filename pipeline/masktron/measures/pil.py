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
from masktron.measures.base import FieldPairs

type _Weights = NDArray[np.float64] | None

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


def pil(
    original: NDArray[np.float64], masked: NDArray[np.float64], weights: NDArray[np.float64] | None = None
) -> Pil:
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

    Survey weights: every statistic is the weighted one, and in the variances ``mean(z^2) / n`` of means, variances,
    covariances and correlations becomes ``sum(w^2 z^2) / sum(w)^2``, by linearisation. Quantiles interpolate between
    the shares of weight below order statistics, divided by that below the last one (rule hf7 of R's package survey);
    in their variance and bandwidth n is Kish's effective number, ``sum(w)^2 / sum(w^2)``. Equal weights change
    nothing.

    Parameters
    ----------
    original, masked : ndarray of float64, shape (n, p)
        The same variables; the order of records does not matter without weights. NaN where missing.
    weights : ndarray of float64, shape (n,), optional
        Of the records; all 1 where not given.

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
    protection of continuous microdata; used by edit constraints (2009), second paper, section 5. Weights: Särndal,
    Swensson and Wretman (1992), Model assisted survey sampling, section 5.5; Kish (1965), Survey sampling.
    """
    return pil_of_fields(FieldPairs.over(original, masked, weights))


def pil_of_fields(pairs: FieldPairs) -> Pil:
    """Compute `pil` from one field after the other; it is the same to the last bit."""
    weights = pairs.relative_weights(0), pairs.relative_weights(1)
    known = standardise_columns(pairs.side(0), pairs.shape, weights=weights[0])
    released = standardise_columns(pairs.side(1), pairs.shape, known.origins, weights[1])
    varies = known.deviations > 0
    unit = np.where(varies, known.deviations, np.where(known.origins != 0, np.abs(known.origins), 1.0))
    with np.errstate(over="ignore", invalid="ignore"):
        shift, ratio = (released.means - known.means) / unit, released.deviations / unit
        kinds = (
            _quantiles(known.units, released.units, shift, ratio, weights),
            *_univariate(known, varies, shift, ratio, weights[0]),
            *_of_pairs(known.units, released.units, ratio, weights),
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
    known: Standardised,
    varies: NDArray[np.bool_],
    shift: NDArray[np.float64],
    ratio: NDArray[np.float64],
    weights: _Weights,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Losses of means and of variances, shape (p,) each."""
    errors = np.zeros((len(varies), 2))
    for j in np.flatnonzero(varies):
        errors[j] = _errors(known.units[:, j], weights)
    none = np.where(np.isnan(known.means), np.nan, 0.0)
    return _loss(none, shift, errors[:, 0]), _loss(none + varies, np.square(ratio), errors[:, 1])


def _errors(units: NDArray[np.float64], weights: _Weights) -> tuple[float, float]:
    """Standard deviations of the mean and of the variance of a standardised column."""
    present = ~np.isnan(units)
    excess = np.square(units[present]) - 1.0
    if weights is None:
        root = math.sqrt(len(excess))
        return 1.0 / root, math.sqrt(np.square(excess).mean()) / root
    shares = weights[present] / weights[present].sum()
    return math.sqrt(np.square(shares * units[present]).sum()), math.sqrt(np.square(shares * excess).sum())


def _quantiles(
    known: NDArray[np.float64],
    released: NDArray[np.float64],
    shift: NDArray[np.float64],
    ratio: NDArray[np.float64],
    weights: tuple[_Weights, _Weights],
) -> NDArray[np.float64]:
    """Losses of quantiles, shape (p, 19)."""
    losses = np.full((known.shape[1], len(_LEVELS)), np.nan)
    for j, (before, after) in enumerate(zip(known.T, released.T, strict=True)):
        (x, own), (y, now) = _sorted(before, weights[0]), _sorted(after, weights[1])
        if not x.size:
            continue
        at = _interpolated(x, own)
        moved = shift[j] + ratio[j] * _interpolated(y, now) if y.size else np.full_like(at, np.nan)
        deviation = np.zeros_like(at)
        if x[0] < x[-1]:
            size = float(len(x)) if own is None else float(own.sum() ** 2 / np.square(own).sum())
            with np.errstate(divide="ignore"):
                deviation = np.sqrt(_LEVELS * (1.0 - _LEVELS) / size) / _density(x, own, size, at)
        losses[j] = _loss(at, moved, deviation)
    return losses


def _sorted(values: NDArray[np.float64], weights: _Weights) -> tuple[NDArray[np.float64], _Weights]:
    """Sort the present values, and their weights with them."""
    held = values[~np.isnan(values)]
    if weights is None:
        return np.sort(held), None
    own = weights[~np.isnan(values)]
    order = np.lexsort((own, held))
    return held[order], own[order]


def _interpolated(values: NDArray[np.float64], weights: _Weights) -> NDArray[np.float64]:
    """Quantiles of sorted values; `numpy.quantile` would look for order first, and does not interpolate weights."""
    if weights is not None and len(values) > 1:
        below_each = np.cumsum(weights) - weights
        return np.interp(_LEVELS, below_each / below_each[-1], values)
    place = _LEVELS * (len(values) - 1)
    below = place.astype(np.intp)
    above = np.minimum(below + 1, len(values) - 1)
    quantiles: NDArray[np.float64] = values[below] + (place - below) * (values[above] - values[below])
    return quantiles


def _density(
    values: NDArray[np.float64], weights: _Weights, size: float, at: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Density of sorted values, of which `size` count, by a normal kernel with Scott's bandwidth."""
    if weights is None:
        weights, deviation = np.ones(len(values)), float(values.std(ddof=1))
    else:
        variance = np.average(np.square(values - np.average(values, weights=weights)), weights=weights)
        deviation = math.sqrt(variance * size / (size - 1.0))
    width = deviation * size**-0.2
    sums = [
        (weights[start:end] * np.exp(-0.5 * np.square((values[start:end] - point) / width))).sum()
        for point, start, end in zip(
            at, *(np.searchsorted(values, at + side * _REACH * width) for side in (-1, 1)), strict=True
        )
    ]
    density: NDArray[np.float64] = np.array(sums) / (weights.sum() * width * math.sqrt(2.0 * math.pi))
    return density


def _of_pairs(
    known: NDArray[np.float64],
    released: NDArray[np.float64],
    ratio: NDArray[np.float64],
    weights: tuple[_Weights, _Weights],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Losses of covariances and of correlations, shape (p (p - 1) / 2,) each."""
    before, after = pair_moments(known, weights[0]), pair_moments(released, weights[1])
    upper = np.triu_indices(known.shape[1], 1)
    root = np.sqrt(before.counts[upper])
    variations = pair_variations(known, before, weights[0])
    of_covariances, of_correlations = (np.sqrt(part[upper]) / root for part in variations)
    moved = after.covariances * ratio[:, None] * ratio
    return (
        _loss(before.covariances[upper], moved[upper], of_covariances),
        _loss(before.correlations[upper], after.correlations[upper], of_correlations),
    )
