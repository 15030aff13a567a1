"""Moments on subdomains: what masking does to statistics of a tenth of the records, which nothing was fitted to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from masktron.errors import UsageError
from masktron.kernels.moments import Standardised, average, pair_moments, relative_changes, standardise_columns
from masktron.measures.base import FieldPairs


@dataclass(frozen=True, slots=True)
class Variations:
    """Mean variation of each statistic, per cent; NaN where no sample gives one.

    Attributes
    ----------
    means, variances, thirds, fourths : tuple of float, one for each variable
        Of means, variances, third and fourth central moments.
    covariances, correlations : tuple of float, one for each pair of variables
        In the order (0, 1), (0, 2), ..., (1, 2), ...
    left_out : int
        Statistics of samples, of all kinds together, that are 0 in the original and not in the masked file, or
        undefined in the original: no relative variation.
    """

    means: tuple[float, ...]
    variances: tuple[float, ...]
    thirds: tuple[float, ...]
    fourths: tuple[float, ...]
    covariances: tuple[float, ...]
    correlations: tuple[float, ...]
    left_out: int


@dataclass(frozen=True, slots=True)
class Subdomains:
    """`Variations`, averaged over variables and pairs of variables, per cent; NaN where nothing could be compared."""

    means: float
    variances: float
    thirds: float
    fourths: float
    covariances: float
    correlations: float
    left_out: int


def subdomains(
    original: NDArray[np.float64],
    masked: NDArray[np.float64],
    *,
    samples: int = 100,
    share: float = 0.1,
    seed: int = 0,
) -> Subdomains:
    """Average the variations of `variations` over variables and pairs; parameters, errors and source are its own."""
    return _averaged(variations(original, masked, samples=samples, share=share, seed=seed))


def subdomains_of_fields(pairs: FieldPairs, *, samples: int = 100, share: float = 0.1, seed: int = 0) -> Subdomains:
    """Compute `subdomains` from one field after the other; they are the same to the last bit."""
    return _averaged(_variations(pairs, samples, share, seed))


def _averaged(each: Variations) -> Subdomains:
    means, variances, thirds, fourths, covariances, correlations = (
        average(np.array(kind))
        for kind in (each.means, each.variances, each.thirds, each.fourths, each.covariances, each.correlations)
    )
    return Subdomains(means, variances, thirds, fourths, covariances, correlations, each.left_out)


def variations(
    original: NDArray[np.float64],
    masked: NDArray[np.float64],
    *,
    samples: int = 100,
    share: float = 0.1,
    seed: int = 0,
) -> Variations:
    """Compare moments of random samples of records with those of the same records after masking.

    For each statistic the mean over samples of ``|t' - t| / |t|``. Samples are drawn without replacement; the same
    seed and number of records give the same samples. Moments are central, with divisor the number of records.

    A statistic that is 0 in both samples has not varied; a sample in which it is 0 in the original alone, or
    undefined there (correlations with a variable that is constant in the sample), is left out. Zero is what is below
    1e-12 of its unit: for means of the variable's deviation and first value, for covariances of the product of the
    sample's deviations, for third moments of their cube, for correlations of 1. Statistics near 0, such as third
    moments of symmetric variables, may vary without bound; exact linear relations do no harm. A statistic that the
    masked sample does not have counts 100. Samples of one record have variances and higher moments 0, and no
    correlation; samples of two have correlations of 1 or -1; without records all is NaN.

    Missing values: each file's statistics are of its own present cells, those of pairs of the records with both.

    Parameters
    ----------
    original, masked : ndarray of float64, shape (n, p)
        The same records and variables in the same order; NaN where missing. Unmasked variables may be among them,
        for their covariances with others.
    samples : int
        At least 1.
    share : float
        Of the n records in each sample, above 0 and at most 1; at least one record.
    seed : int
        Of the samples, at least 0.

    Returns
    -------
    Variations
        All 0 where nothing changed.

    Raises
    ------
    UsageError
        The shapes differ, a value is infinite, or samples, share or seed are out of range.

    Notes
    -----
    Source: hybrid microdata using microaggregation (2010), section 5.3, which prints fractions, not per cent, in
    tables 2 to 5. Correlations are not among its statistics.
    """
    return _variations(FieldPairs.over(original, masked), samples, share, seed)


def _variations(pairs: FieldPairs, samples: int, share: float, seed: int) -> Variations:
    if samples < 1 or not 0.0 < share <= 1.0 or seed < 0:
        given = f"{samples}, {share} and {seed}"
        expected = "1 or more, above 0 to 1, and 0 or more"
        raise UsageError.of("bad-value", name="samples, share and seed", expected=expected, given=given)
    known = standardise_columns(pairs.side(0), pairs.shape)
    released = standardise_columns(pairs.side(1), pairs.shape, known.origins)
    unit = np.where(known.deviations > 0, known.deviations, 1.0)
    size = np.abs(known.origins) / unit + np.nan_to_num(known.deviations) / unit
    p = len(pairs)
    first, second = np.triu_indices(p, 1)
    changes = [np.full((samples, width), np.nan) for width in (p, p, p, p, len(first), len(first))]
    with np.errstate(over="ignore", invalid="ignore"):
        for draw, rows in enumerate(_samples(pairs.records, samples, share, seed)):
            before, after = (_moments(file, rows, known.origins / unit, unit) for file in (known, released))
            spread = np.sqrt(before[1])
            # even moments of what varies are far from 0
            scales: list[NDArray[np.float64] | float]
            scales = [size, 0.0, spread**3, 0.0, spread[first] * spread[second], 1.0]
            for change, old, new, scale in zip(changes, before, after, scales, strict=True):
                change[draw] = relative_changes(old, new, scale)
    means, variances, thirds, fourths, covariances, correlations = (
        tuple(100.0 * average(statistic) for statistic in change.T) for change in changes
    )
    left_out = sum(int(np.isnan(change).sum()) for change in changes)
    return Variations(means, variances, thirds, fourths, covariances, correlations, left_out)


def _samples(n: int, samples: int, share: float, seed: int) -> Iterator[NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    size = max(1, round(share * n))
    for _ in range(samples if n else 0):
        yield rng.choice(n, size, replace=False, shuffle=False)


def _moments(
    file: Standardised, rows: NDArray[np.int64], origins: NDArray[np.float64], unit: NDArray[np.float64]
) -> tuple[NDArray[np.float64], ...]:
    """Mean, variance, third and fourth moment of variables; covariance and correlation of pairs. In given units."""
    sample = file.units[rows]
    present = ~np.isnan(sample)
    counts = present.sum(axis=0)
    # what is constant in the sample becomes 0 exactly
    first = sample[present.argmax(axis=0), np.arange(sample.shape[1])]
    sample -= first
    complete = bool((counts == len(sample)).all())
    held = sample if complete else np.where(present, sample, 0.0)
    with np.errstate(divide="ignore"):
        mean = np.where(counts > 0, held.sum(axis=0) / counts, np.nan)
    sample -= mean
    held = sample if complete else np.where(present, sample, 0.0)
    squares = np.square(held)
    sums = squares.sum(axis=0), np.einsum("ij,ij->j", squares, held), np.einsum("ij,ij->j", squares, squares)
    ratio = file.deviations / unit
    second, third, fourth = (np.where(counts > 0, total / counts, np.nan) for total in sums)
    pairs, upper = pair_moments(sample), np.triu_indices(sample.shape[1], 1)
    covariances = pairs.covariances * ratio[:, None] * ratio
    return (
        origins + file.means / unit + ratio * (first + mean),
        ratio**2 * second,
        ratio**3 * third,
        ratio**4 * fourth,
        covariances[upper],
        pairs.correlations[upper],
    )
