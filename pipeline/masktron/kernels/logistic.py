"""Logistic regression without a penalty, where its estimate exists and where only its limit does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

_STEPS = 200
_SHORTEST = 1e-12
"""Part of a step that is tried last."""
_ROUNDING = 1e-12
"""Part of the likelihood by which a step may lower it: rounding hides what the last steps gain."""
_FLOOR = 1e-12
"""Curvature below this part of the largest is taken for it: such directions only move probabilities near 0 or 1."""
_APART = 1.0
"""Log odds of their own label that all records must have to count as separated: far above what rounding makes."""
_REMAINING = 1e-11
"""Change of a probability (root of mean square) that a further step could make, where the search ends."""
_MADE = 1e-10
"""Change of a probability that the last step did make, where the search ends."""


@dataclass(frozen=True, slots=True)
class _Point:
    likelihood: float
    gradient: NDArray[np.float64]
    curvature: NDArray[np.float64]
    fitted: NDArray[np.float64]
    margin: float


def logistic(
    blocks: Iterable[NDArray[np.float64]], labels: NDArray[np.bool_], functions: int
) -> tuple[NDArray[np.float64], bool]:
    """Fit the probability of a label by maximum likelihood, without a penalty.

    Newton's method from the coefficients 0, a step halved while it would lower the likelihood. Where the functions
    separate the labels, coefficients grow without end and the likelihood has no maximum; the probabilities do have a
    limit. As soon as every record has log odds of 1 for its own label the separation is complete, and the limit is
    0 and 1. Where it is of some records only, each step divides what is left by e. So the search ends by
    probabilities: when a further step could change them by at most 1e-11, since ``rms(p' - p) <= sqrt(l / (4 n))``
    to first order with l the squared Newton decrement, or when the last one has changed them by at most 1e-10 (root
    of the mean square).

    Parameters
    ----------
    blocks : iterable of ndarray of float64, shape (functions, records of the block)
        The values of the functions, the constant among them: gone through once for each step. They should be
        nearly orthogonal, with mean square 1.
    labels : ndarray of bool, shape (n,)
        Of the records of all blocks, one after the other.
    functions : int

    Returns
    -------
    fitted : ndarray of float64, shape (n,)
        The probability of the label, for each record.
    converged : bool
        False where 200 steps were not enough, or no part of one raises the likelihood.
    """
    coefficients = np.zeros(functions)
    here = _at(blocks, labels, coefficients)
    for _ in range(_STEPS):
        step = _newton(here)
        if float(step @ here.gradient) <= 4 * len(labels) * _REMAINING**2:
            return here.fitted, True
        there = _at(blocks, labels, coefficients + step)
        least = here.likelihood - _ROUNDING * abs(here.likelihood)
        part = 1.0
        while there.likelihood < least and part > _SHORTEST:
            part /= 2
            there = _at(blocks, labels, coefficients + part * step)
        if there.likelihood < least:
            return here.fitted, False
        if there.margin >= _APART:
            return labels.astype(np.float64), True
        made = float(np.sqrt(np.square(there.fitted - here.fitted).mean()))
        coefficients += part * step
        here = there
        if made <= part * _MADE:
            return here.fitted, True
    return here.fitted, False


def _at(
    blocks: Iterable[NDArray[np.float64]], labels: NDArray[np.bool_], coefficients: NDArray[np.float64]
) -> _Point:
    likelihood, margin, start, size = 0.0, np.inf, 0, len(coefficients)
    gradient, curvature = np.zeros(size), np.zeros((size, size))
    fitted = np.empty(len(labels))
    for values in blocks:
        own = slice(start, start + values.shape[1])
        start = own.stop
        odds = coefficients @ values
        chance = expit(odds)
        wrong = np.where(labels[own], -odds, odds)
        likelihood -= float(np.logaddexp(0.0, wrong).sum())
        margin = min(margin, -float(wrong.max()))
        # labels - chance, without cancellation where a chance is near 1
        gradient += values @ np.where(labels[own], expit(-odds), -chance)
        curvature += (values * (chance * expit(-odds))) @ values.T
        fitted[own] = chance
    return _Point(likelihood, gradient, curvature, fitted, margin)


def _newton(here: _Point) -> NDArray[np.float64]:
    sizes, directions = np.linalg.eigh(here.curvature)
    if sizes[-1] <= 0.0:
        return np.zeros_like(here.gradient)
    along: NDArray[np.float64] = directions @ (directions.T @ here.gradient / np.maximum(sizes, _FLOOR * sizes[-1]))
    return along
