"""Risk of all records by a log-linear model of the population, which knows how keys go together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.errors import UsageError
from masktron.measures.keys.combinations import KeyFrequencies, key_frequencies, missing_patterns, require_codes

type KeyPairs = tuple[tuple[int, int], ...]

MOST_CELLS = 1_000_000
"""Cells of the table of all combinations up to which interactions of two keys are fitted."""
UNDERFITS = 1.96
"""Standardised minimum error above which a model misses an interaction."""
_ROUNDS = 200
_NEAR = 1e-6
_SMALL = 1e-3


@dataclass(frozen=True, slots=True)
class LogLinearRisk:
    """Expected numbers of records, given the fitted model.

    Attributes
    ----------
    expected : float
        Re-identifications over all records: the sum of E(1/F | f).
    tau1, tau2 : float
        Of the sample uniques: how many are alone in the population, and how many are re-identified.
    records : float
    pairs : tuple of (int, int)
        Positions of the keys whose interaction the model has; empty for main effects alone.
    """

    expected: float
    tau1: float
    tau2: float
    records: float
    pairs: KeyPairs

    @property
    def mean(self) -> float:
        """Mean risk of a record, from 0 to 1; NaN without records."""
        return self.expected / self.records if self.records else math.nan


def log_linear_risk(
    keys: Sequence[NDArray[np.integer[Any]]],
    weights: NDArray[np.float64] | None = None,
    *,
    frequencies: KeyFrequencies | None = None,
    sizes: NDArray[np.float64] | None = None,
    pairs: KeyPairs | None = None,
) -> LogLinearRisk:
    """Estimate the risk of all records by a Poisson log-linear model of the population.

    The frequency of combination k in the population is Poisson with mean lambda_k, and each of its members is in the
    file with probability pi_k. Those that are not in it are Poisson with mean h_k = (1 - pi_k) lambda_k, whatever f_k
    is. So F_k = f_k + Poisson(h_k), and ::

        E(1/F | f) = integral over v from 0 to 1 of v^(f-1) exp(-h (1 - v)) = M(1, f + 1, -h) / f

    with Kummer's function M: (1 - exp(-h)) / h for f = 1, and 1/f where the file is the population. The sum over all
    records is the number of expected re-identifications. P(F = 1 | f = 1) is exp(-h).

    Parameters
    ----------
    keys : sequence of ndarray of int, shape (n,) each
        Codes from 0; -1 where missing: such a record may be anybody with its other values.
    weights : ndarray of float64, shape (n,), optional
        1 each where not given. lambda is fitted to their sums, and pi_k is f_k by the sum of the weights.
    frequencies : KeyFrequencies, optional
        Of these keys and weights, where they are known already.
    sizes : ndarray of float64, shape (n,), optional
        Where rows are combinations: how many records each stands for. `weights` are then the sums of theirs.
    pairs : tuple of (int, int), optional
        Interactions of the model, beside all main effects. Chosen where not given: see Notes.

    Returns
    -------
    LogLinearRisk

    Raises
    ------
    UsageError
        There is no key, shapes differ, a code is below -1, a weight is not above 0, or the table has more than
        `MOST_CELLS` cells and `pairs` are given.

    Notes
    -----
    Pairs are chosen by a forward search. It begins with main effects and ends as soon as `minimum_error` is at most
    `UNDERFITS`: nothing shows any more that the model overstates the risk. Until then it adds the pair that lowers
    Akaike's criterion most beside main effects, and none that raises it. Tables of more than `MOST_CELLS` cells have
    main effects alone.

    Source: Skinner and Shlomo (2008), Assessing identification risk in survey microdata using log-linear models, for
    tau1, tau2, the criterion and the forward search; Rinott and Shlomo (2006), A generalized negative binomial
    smoothing model for sample disclosure risk estimation, for f + Poisson. Their sums go over f = 1, this one over
    all f.
    """
    n = require_codes(keys)
    sizes = np.ones(n) if sizes is None else sizes
    weights = sizes if weights is None else weights
    if frequencies is None:
        frequencies = key_frequencies(keys, weights)
    fitted, pairs = _fitted([_dense(key) for key in keys], weights, sizes, pairs)
    sample = frequencies.sample
    unseen = (1 - np.minimum(sample / frequencies.population, 1.0)) * fitted
    inverse = mean_inverse(sample, unseen)
    alone = frequencies.unique
    return LogLinearRisk(
        float((sizes * inverse).sum()),
        float(np.exp(-unseen[alone]).sum()),
        float(inverse[alone].sum()),
        float(sizes.sum()),
        pairs,
    )


def mean_inverse(f: NDArray[np.float64], h: NDArray[np.float64]) -> NDArray[np.float64]:
    """E(1/F) where F - f is Poisson with mean h."""
    from scipy.special import hyp1f1  # noqa: PLC0415 -- most runs do without

    found: NDArray[np.float64] = hyp1f1(1.0, f + 1.0, -h) / f
    return found


def _dense(key: NDArray[np.integer[Any]]) -> NDArray[np.intp]:
    """Number the values that occur, from 0; -1 where missing."""
    occurs = np.bincount(key[key >= 0], minlength=1) > 0
    ranks: NDArray[np.intp] = np.append(np.cumsum(occurs) - 1, -1)
    return np.take(ranks, key)


def _fitted(
    keys: Sequence[NDArray[np.intp]], weights: NDArray[np.float64], sizes: NDArray[np.float64], pairs: KeyPairs | None
) -> tuple[NDArray[np.float64], KeyPairs]:
    """Return lambda of the combination of each record, and the pairs of the model."""
    shape = tuple(int(key.max(initial=-1)) + 1 for key in keys)
    cells, total = math.prod(shape), float(weights.sum())
    complete = np.logical_and.reduce([key >= 0 for key in keys])
    if pairs and cells > MOST_CELLS:
        raise UsageError.of(
            "too-many-values",
            number=cells,
            most=MOST_CELLS,
            things="cells of the table of these keys",
            more=", or give no pairs",
        )
    if pairs != () and cells <= MOST_CELLS and complete.any() and len(keys) > 1 and sizes.sum() < total:
        at = np.ravel_multi_index([key[complete] for key in keys], shape)
        table, counts = (
            np.bincount(at, own[complete], cells).reshape(shape).astype(np.float64) for own in (weights, sizes)
        )
        fitted, pairs = _with_pairs(table, counts, float(sizes.sum()) / total, pairs)
        if pairs:
            return _at_records(fitted * (total / table.sum()), keys, len(weights)), pairs
    fitted = np.full(len(weights), total)
    for key in keys:
        held = key >= 0
        sums = np.bincount(key[held], weights[held])
        fitted[held] *= (sums / sums.sum())[key[held]]
    return fitted, ()


def _at_records(fitted: NDArray[np.float64], keys: Sequence[NDArray[np.intp]], n: int) -> NDArray[np.float64]:
    """Return the fitted frequency of each record, summed over all values of the keys that it lacks."""
    found = np.empty(n)
    for one in missing_patterns(keys, n):
        lacking = tuple(at for at, has in enumerate(one.held) if not has)
        held = tuple(column for column, has in zip(one.columns, one.held, strict=True) if has)
        found[one.rows] = fitted.sum(axis=lacking)[held]
    return found


def _with_pairs(
    table: NDArray[np.float64], counts: NDArray[np.float64], fraction: float, pairs: KeyPairs | None
) -> tuple[NDArray[np.float64], KeyPairs]:
    """Fit the pairs that are given, or those of the forward search, to a table of weights."""
    fitted = np.full(table.shape, float(table.sum()))
    for axis in range(table.ndim):
        margin = table.sum(axis=tuple(at for at in range(table.ndim) if at != axis), keepdims=True)
        fitted *= margin / table.sum()
    if pairs is not None:
        return proportionally_fitted(table, pairs, fitted), pairs
    chosen: KeyPairs = ()
    for pair in _associated(table * fraction, fitted * fraction):
        if minimum_error(table, counts, fitted, fraction) <= UNDERFITS:
            break
        chosen = (*chosen, pair)
        fitted = proportionally_fitted(table, chosen, fitted)
    return fitted, chosen


def _associated(table: NDArray[np.float64], independent: NDArray[np.float64]) -> KeyPairs:
    """Return the pairs whose interaction lowers Akaike's criterion beside main effects, the most first."""
    gains: dict[tuple[int, int], float] = {}
    for pair in combinations(range(table.ndim), 2):
        rest = _others(table.ndim, pair)
        margin, expected = table.sum(axis=rest), independent.sum(axis=rest)
        there = margin > 0
        likelihood = 2 * float((margin[there] * np.log(margin[there] / expected[there])).sum())
        gains[pair] = likelihood - 2 * math.prod(int(there.any(axis=axis).sum()) - 1 for axis in (0, 1))
    return tuple(sorted((pair for pair in gains if gains[pair] > 0), key=lambda pair: -gains[pair]))


def _others(keys: int, pair: tuple[int, int]) -> tuple[int, ...]:
    return tuple(at for at in range(keys) if at not in pair)


def minimum_error(
    table: NDArray[np.float64], counts: NDArray[np.float64], fitted: NDArray[np.float64], fraction: float
) -> float:
    """Compute the minimum error statistic B2 of a model, by its standard error.

    B2 estimates by how much the model overstates tau2. With g(lambda) = (1 - exp(-h)) / h, Y the weight of a cell and
    V its variance it is the sum over all cells of ::

        pi lambda exp(-pi lambda) (g''(lambda) ((Y - lambda)^2 - V) / 2 - g'(lambda) (Y - lambda))

    Parameters
    ----------
    table, counts, fitted : ndarray of float64, all of one shape
        Y, records, and lambda.
    fraction : float
        pi, above 0 and below 1: records by the sum of their weights.

    Returns
    -------
    float
        Above 0 where an interaction is missing, below 0 where there are too many of them.

    Notes
    -----
    V is Y^2 by the number of records, as if the weights of a cell were equal, and the standard error is the root of
    the sum of the squared terms. With one weight Y is f / pi and V is f / pi^2, as in the source.

    Source: Skinner and Shlomo (2008), section on minimum error.
    """
    h = (1 - fraction) * fitted
    gone, safe = np.exp(-h), np.maximum(h, _SMALL)
    near = h < _SMALL
    value = -np.expm1(-safe) / safe
    slope = np.where(near, h / 3 - 0.5, (gone - value) / safe)
    bend = np.where(near, 1 / 3 - h / 4, -(gone + 2 * slope) / safe)
    off = table - fitted
    spread = off**2 - table**2 / np.maximum(counts, 1)
    terms = fraction * fitted * np.exp(-fraction * fitted)
    terms *= (1 - fraction) ** 2 * bend * spread / 2 - (1 - fraction) * slope * off
    error = math.sqrt(float((terms**2).sum()))
    return float(terms.sum()) / error if error else 0.0


def proportionally_fitted(
    table: NDArray[np.float64], pairs: KeyPairs, start: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Fit a model with the interactions of some pairs, by iterative proportional fitting.

    Parameters
    ----------
    table : ndarray of float64, shape (values of each key)
        Of at least two keys.
    pairs : tuple of (int, int)
    start : ndarray of float64, of the same shape
        A fitted model with main effects, and no interactions but of these pairs.

    Returns
    -------
    ndarray of float64, of the same shape
        With the margins of `table` for these pairs, none off by more than 1e-6 of the total.
    """
    margins = [(rest, table.sum(axis=rest, keepdims=True)) for rest in (_others(table.ndim, pair) for pair in pairs)]
    fitted, total = start.copy(), float(table.sum())
    for _ in range(_ROUNDS):
        off = 0.0
        for rest, wanted in margins:
            now = fitted.sum(axis=rest, keepdims=True)
            off = max(off, float(np.abs(now - wanted).max()))
            fitted *= np.divide(wanted, now, out=np.zeros_like(wanted), where=now > 0)
        if off <= _NEAR * total:
            break
    return fitted
