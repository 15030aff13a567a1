"""Eta squared: the share of the variance of a number that lies between the categories of another field."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import require_fitting
from masktron.kernels.sums import scaled


@dataclass(frozen=True, slots=True)
class EtaSquared:
    """How much of the variance of a number its categories explain.

    Attributes
    ----------
    share : float
        Per cent; NaN where the number does not vary, or there are fewer than two categories.
    p_value : float
        Probability of at least this share by chance, by the F test of a one-way analysis of variance; NaN where each
        record has a category of its own.
    """

    share: float
    p_value: float


def eta_squared(
    values: NDArray[np.float64], codes: NDArray[np.integer[Any]], weights: NDArray[np.float64] | None = None
) -> EtaSquared:
    """Compute ``100 * sum_c W_c (m_c - m)^2 / sum_i w_i (x_i - m)^2`` over the records that have both fields.

    W_c is the weight of category c, m_c its weighted mean and m that of all. With weights the F test takes Kish's
    effective number of records, ``sum(w)^2 / sum(w^2)``.

    Parameters
    ----------
    values : ndarray of float64, shape (n,)
        NaN where missing.
    codes : ndarray of int, shape (n,)
        Categories, numbered from 0; -1 where missing.
    weights : ndarray of float64, shape (n,), optional
        Of the records; all 1 where not given.

    Raises
    ------
    UsageError
        The shapes differ.

    Notes
    -----
    Source: Fisher (1925), Statistical methods for research workers, section 45; Kish (1965), Survey sampling. Its
    square root is the correlation ratio.
    """
    weights = np.ones(len(values)) if weights is None else weights
    fitting = values.shape == codes.shape == weights.shape
    require_fitting(fitting, values=values, codes=codes, weights=weights)
    there = ~np.isnan(values) & (codes >= 0)
    held, own, weights = values[there], codes[there], weights[there]
    if not held.size or held.min() == held.max():
        return EtaSquared(math.nan, math.nan)
    # a power of two: nothing is rounded, and no square overflows or vanishes
    held = scaled(held, -int(np.frexp(np.abs(held).max())[1]))
    weights = weights / weights.max()
    moved = held - np.average(held, weights=weights)
    of_each = np.bincount(own, weights)
    known = of_each > 0
    sums = np.bincount(own, weights * moved)[known]
    groups, total = len(sums), float((weights * np.square(moved)).sum())
    if groups < 2 or not total:
        return EtaSquared(math.nan, math.nan)
    share = min(float((np.square(sums) / of_each[known]).sum()) / total, 1.0)
    return EtaSquared(100.0 * share, _by_chance(share, groups, weights.sum() ** 2 / np.square(weights).sum()))


def _by_chance(share: float, groups: int, records: float) -> float:
    from scipy.special import betainc  # noqa: PLC0415 -- loads slowly

    within = records - groups
    # the F test in terms of the share, whose distribution is a beta one
    return float(betainc(within / 2, (groups - 1) / 2, 1.0 - share)) if within > 0 else math.nan
