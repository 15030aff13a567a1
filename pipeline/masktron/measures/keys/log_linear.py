"""Risk of sample uniques by a log-linear model of the population, which knows how keys go together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expi

from masktron.errors import UsageError
from masktron.measures.keys.combinations import combined, require_codes
from masktron.measures.keys.individual_risk import Z95

type KeyModel = Literal["main-effects", "two-way"]

MOST_CELLS = 2_000_000
"""Cells of the table of all combinations up to which a model of two-way interactions is fitted."""
_ROUNDS = 200
_NEAR = 1e-8
_SMALL = 1.0
_LARGE = 40.0


@dataclass(frozen=True, slots=True)
class LogLinearRisk:
    """Risk over the sample uniques.

    Attributes
    ----------
    tau1, tau2 : float
        Sample uniques expected to be alone in the population; right matches expected of who matches all of them.
    tau1_interval, tau2_interval : tuple of float
        Intervals of 95 per cent given the fitted model: normal, with the cells independent.
    uniques : int
        Sample uniques, of the records that lack no key.
    rounds : int
        Rounds of iterative proportional fitting.
    """

    tau1: float
    tau2: float
    tau1_interval: tuple[float, float]
    tau2_interval: tuple[float, float]
    uniques: int
    rounds: int


def log_linear_risk(
    keys: Sequence[NDArray[np.integer[Any]]], fraction: float, model: KeyModel = "main-effects"
) -> LogLinearRisk:
    """Estimate two measures of risk of the file by a Poisson log-linear model.

    The frequency of combination k in the population is Poisson with mean lambda_k, and each member is in the file
    with probability pi. The fitted frequencies of the file are mu_k = pi lambda_k, by main effects or with all
    two-way interactions. With h_k = (1 - pi) mu_k / pi, summed over sample uniques ::

        tau1 = sum of exp(-h_k)                  expected population uniques
        tau2 = sum of (1 - exp(-h_k)) / h_k      expected right matches, E(1/F | f = 1)

    Parameters
    ----------
    keys : sequence of ndarray of int, shape (n,) each
        Codes from 0; -1 where missing: such records are left out.
    fraction : float
        pi, above 0 and at most 1: the records by the sum of their weights.
    model : {"main-effects", "two-way"}

    Returns
    -------
    LogLinearRisk

    Raises
    ------
    UsageError
        There is no key, shapes differ, a code is below -1, `fraction` is outside its bounds, or the table for
        ``two-way`` has more than `MOST_CELLS` cells.

    Notes
    -----
    The variance of tau1 is the sum of P (1 - P), that of tau2 of E(1/F^2) - E(1/F)^2, with
    E(1/F^2 | f = 1) = exp(-h) (Ei(h) - log(h) - gamma) / h. They hold the model for known: intervals are too short
    where few records stand behind a cell. Fitting ends when no margin is off by more than 1e-8 of the records.

    Source: Skinner and Shlomo (2008), Assessing identification risk in survey microdata using log-linear models,
    equations for tau1 and tau2 with simple random sampling.
    """
    n = require_codes(keys)
    if not 0 < fraction <= 1:
        raise UsageError(f"the sampling fraction must be above 0 and at most 1, not {fraction!r}")
    complete = np.ones(n, dtype=np.bool_)
    for key in keys:
        complete &= key >= 0
    own = [np.unique(key[complete], return_inverse=True)[1] for key in keys]
    numbers, bound = combined(own, int(complete.sum()))
    alone = np.bincount(numbers, minlength=bound)[numbers] == 1
    fitted, rounds = _main_effects(own) if model == "main-effects" else _two_way(own)
    unseen = (1 - fraction) / fraction * fitted[alone]
    first, second = np.exp(-unseen), _mean_inverse(unseen)
    spread = float((first * (1 - first)).sum()), float((_mean_inverse_square(unseen) - second**2).sum())
    uniques = int(alone.sum())
    tau1, tau2 = float(first.sum()), float(second.sum())
    return LogLinearRisk(
        tau1, tau2, _interval(tau1, spread[0], uniques), _interval(tau2, spread[1], uniques), uniques, rounds
    )


def _interval(value: float, variance: float, most: int) -> tuple[float, float]:
    half = Z95 * math.sqrt(max(0.0, variance))
    return max(0.0, value - half), min(float(most), value + half)


def _main_effects(keys: Sequence[NDArray[np.intp]]) -> tuple[NDArray[np.float64], int]:
    """Fitted frequency of the combination of each record under independence: the product of shares."""
    n = len(keys[0])
    fitted = np.full(n, float(n))
    for key in keys:
        fitted *= np.bincount(key, minlength=1)[key] / max(1, n)
    return fitted, 1


def _two_way(keys: Sequence[NDArray[np.intp]]) -> tuple[NDArray[np.float64], int]:
    """Fit all two-way margins by iterative proportional fitting over the whole table."""
    n, shape = len(keys[0]), tuple(int(key.max(initial=-1)) + 1 for key in keys)
    cells = math.prod(shape)
    if cells > MOST_CELLS:
        raise UsageError(
            f"the table of these keys has {cells:,} cells, too many for two-way interactions",
            hint=f'at most {MOST_CELLS:,}; recode keys, or take the model "main-effects"',
        )
    if not n or len(keys) == 1:
        return _main_effects(keys)
    table = np.bincount(np.ravel_multi_index(tuple(keys), shape), minlength=cells).reshape(shape).astype(np.float64)
    fitted, rounds = proportionally_fitted(table)
    return fitted[tuple(keys)], rounds


def proportionally_fitted(table: NDArray[np.float64]) -> tuple[NDArray[np.float64], int]:
    """Fit the model of all two-way interactions to a table of counts, by iterative proportional fitting.

    Parameters
    ----------
    table : ndarray of float64, shape (values of each key)
        Of at least two keys.

    Returns
    -------
    fitted : ndarray of float64, of the same shape
        With the margins of every two keys of `table`, and no interaction of more.
    rounds : int
        All margins once each.
    """
    every, total = range(table.ndim), float(table.sum())
    others = [tuple(at for at in every if at not in pair) for pair in combinations(every, 2)]
    margins = [(rest, table.sum(axis=rest, keepdims=True)) for rest in others]
    fitted = np.full(table.shape, total / table.size)
    rounds, off = 0, math.inf
    while off > _NEAR * total and rounds < _ROUNDS:
        rounds, off = rounds + 1, 0.0
        for rest, wanted in margins:
            now = fitted.sum(axis=rest, keepdims=True)
            off = max(off, float(np.abs(now - wanted).max()))
            fitted *= np.divide(wanted, now, out=np.zeros_like(wanted), where=now > 0)
    return fitted, rounds


def _mean_inverse(h: NDArray[np.float64]) -> NDArray[np.float64]:
    """E(1/F) for F - 1 Poisson with mean h: (1 - exp(-h)) / h, and 1 for 0."""
    safe = np.where(h > 0, h, 1.0)
    return np.where(h > 0, -np.expm1(-safe) / safe, 1.0)


def _mean_inverse_square(h: NDArray[np.float64]) -> NDArray[np.float64]:
    """E(1/F^2) for F - 1 Poisson with mean h."""
    found = np.empty(len(h))
    small, large = h < _SMALL, h > _LARGE
    x = h[small]
    term, total = np.ones(len(x)), np.ones(len(x))
    for j in range(1, 25):
        term = term * x / j
        total += term / (j + 1) ** 2
    found[small] = total * np.exp(-x)
    x = h[~small & ~large]
    found[~small & ~large] = np.exp(-x) * (expi(x) - np.log(x) - np.euler_gamma) / x
    x = h[large]
    term, total = np.ones(len(x)), np.ones(len(x))
    for j in range(1, 25):
        # the asymptotic series of exp(-x) Ei(x); of 24 terms none grows from 40 on
        term = term * j / x
        total += term
    found[large] = total / x**2
    return found
