"""Measures written straight from their definitions, over all pairs of records: slow, and easy to read.

They share nothing with `masktron.measures`, so that tests can hold the one against the other. Files have no missing
values here.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import gaussian_kde, rankdata

type Values = NDArray[np.float64]

QUANTILES = np.arange(5, 100, 5) / 100
WIDTHS = range(1, 11)


@dataclass(frozen=True, slots=True)
class Pil:
    """Probabilistic information loss, 0 to 100, and the five means that it averages."""

    quantiles: float
    means: float
    variances: float
    covariances: float
    correlations: float
    total: float


def pil(original: Values, masked: Values) -> Pil:
    """Compute the loss of Mateo-Sanz, Domingo-Ferrer and Sebé (2005), densities by a normal kernel (Scott's rule)."""
    columns = list(zip(original.T, masked.T, strict=True))
    pairs = list(itertools.combinations(columns, 2))
    quantiles, means, variances, covariances, correlations = parts = (
        _mean([_quantiles(*both) for both in columns]),
        _mean([_moved(y.mean() - x.mean(), _moment(x, x, 1, 1) / len(x)) for x, y in columns]),
        _mean([_moved(_moment(y, y, 1, 1) - _moment(x, x, 1, 1), _variance_of_product(x, x)) for x, y in columns]),
        _mean([_moved(_moment(c, d, 1, 1) - _moment(a, b, 1, 1), _variance_of_product(a, b))
               for (a, c), (b, d) in pairs]),
        _mean([_moved(_correlation(c, d) - _correlation(a, b), _variance_of_correlation(a, b))
               for (a, c), (b, d) in pairs]),
    )  # fmt: skip
    return Pil(quantiles, means, variances, covariances, correlations, _mean(parts))


def linkage(original: Values, masked: Values) -> float:
    """Per cent of masked records whose nearest original is their own; t nearest ones count 1/t."""
    squares = np.zeros((len(original), len(original)))
    for before, after in zip(original.T, masked.T, strict=True):
        known, released = ((column - before.mean()) / before.std() for column in (before, after))
        squares += np.square(released[:, None] - known[None, :])
    nearest = squares.min(axis=1)
    ties = np.count_nonzero(squares == nearest[:, None], axis=1)
    return 100 * float(np.where(squares.diagonal() == nearest, 1 / ties, 0).mean())


def by_knowledge(original: Values, masked: Values, most: int) -> float:
    """Average the linkage of intruders who know the first 1, ..., most variables."""
    return _mean([linkage(original[:, :known], masked[:, :known]) for known in range(1, most + 1)])


def by_groups(original: Values, masked: Values, groups: Sequence[Sequence[int]]) -> float:
    """Average the linkage of intruders who know one group of variables each."""
    return _mean([linkage(original[:, list(own)], masked[:, list(own)]) for own in groups])


def by_deviation(original: Values, masked: Values) -> float:
    """Per cent of original values within p % of a standard deviation of the masked ones, p = 1, ..., 10."""
    distances = np.abs(original - masked) / original.std(axis=0)
    return _mean([100 * float((distances <= width / 100).mean()) for width in WIDTHS])


def by_ranks(original: Values, masked: Values) -> float:
    """Per cent of original values between the masked ones p % of the ranks below and above, p = 1, ..., 10."""
    return _mean([_in_ranks(x, y, width) for x, y in zip(original.T, masked.T, strict=True) for width in WIDTHS])


def score(loss: float, risk: float) -> float:
    """SCORE, the mean of loss and risk; 50 for data that were not masked."""
    return (loss + risk) / 2


def _in_ranks(x: Values, y: Values, width: int) -> float:
    """Ranks are 1 to n; masked values that are equal have the mean of their ranks."""
    n = len(y)
    own = rankdata(y, method="average")
    near = 100 * np.abs(np.arange(1, n + 1) - own[:, None]) <= width * n
    places = np.sort(y)
    low = np.minimum(np.where(near, places, np.inf).min(axis=1), y)
    high = np.maximum(np.where(near, places, -np.inf).max(axis=1), y)
    return 100 * float(((low <= x) & (x <= high)).mean())


def _quantiles(x: Values, y: Values) -> float:
    before, after = np.quantile(x, QUANTILES), np.quantile(y, QUANTILES)
    density = gaussian_kde(x)(before)
    variances = QUANTILES * (1 - QUANTILES) / (len(x) * density**2)
    return _mean([_moved(*one) for one in zip(after - before, variances, strict=True)])


def _moved(difference: float, variance: float) -> float:
    """Probability that a sample's statistic is nearer than the masked one, in per cent."""
    if variance <= 0:
        return 0.0 if difference == 0 else 100.0
    return 200 * (float(ndtr(abs(difference) / np.sqrt(variance))) - 0.5)


def _moment(a: Values, b: Values, r: int, s: int) -> float:
    return float(((a - a.mean()) ** r * (b - b.mean()) ** s).mean())


def _variance_of_product(a: Values, b: Values) -> float:
    return (_moment(a, b, 2, 2) - _moment(a, b, 1, 1) ** 2) / len(a)


def _correlation(a: Values, b: Values) -> float:
    return _moment(a, b, 1, 1) / float(np.sqrt(_moment(a, a, 1, 1) * _moment(b, b, 1, 1)))


def _variance_of_correlation(a: Values, b: Values) -> float:
    m = {(r, s): _moment(a, b, r, s) for r in range(5) for s in range(5) if r + s in {2, 4}}
    crossed = m[2, 2] / m[1, 1] ** 2
    own = m[4, 0] / m[2, 0] ** 2 + m[0, 4] / m[0, 2] ** 2 + 2 * m[2, 2] / (m[2, 0] * m[0, 2])
    mixed = m[3, 1] / (m[1, 1] * m[2, 0]) + m[1, 3] / (m[1, 1] * m[0, 2])
    return _correlation(a, b) ** 2 / len(a) * (crossed + own / 4 - mixed)


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))
