"""Logistic regression without a penalty, where its estimate exists and where only its limit does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_STEPS = 200
_SHORTEST = 1e-12
"""Part of a step that is tried last."""
_ROUNDING = 1e-12
"""Part of the likelihood by which a step may lower it: rounding hides what the last steps gain."""
_NORMAL = 1e-10
"""Least part of the largest curvature down to which cross products tell it; below, it takes a QR decomposition."""
_FLOOR = 1e-28
"""Curvature below this part of the largest is taken for it: such directions only move probabilities near 0 or 1."""
_APART = 1.0
"""Log odds of their own label that all records must have to count as separated: far above what rounding makes."""
_REMAINING = 1e-11
"""Change of a probability (root of mean square) that a further step could make, where the search ends."""
_MADE = 1e-10
"""Change of a probability that the last step did make, where the search ends."""
_ENOUGH = 1e-5
"""As `_REMAINING`, for a search that rounding keeps from ending: what it came nearest to is exact enough."""
_PATIENCE = 25
"""Steps without coming nearer after which rounding alone is at work, once it is near enough."""


@dataclass(frozen=True, slots=True)
class _Point:
    odds: NDArray[np.float64]
    gradient: NDArray[np.float64]
    curvature: NDArray[np.float64]


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
    of the mean square). Where rounding keeps it from that, as it may where some records are separated, it ends 25
    steps after it came nearest.

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
        False where 200 steps were not enough, or no part of one raises the likelihood, and a further one could change
        the probabilities by more than 1e-5. They are those of the point where it could change them least.
    """
    coefficients = np.zeros(functions)
    careful = False
    here = _at(blocks, labels, coefficients, careful)
    nearest, left, since = here, np.inf, 0
    near = 4 * len(labels) * _ENOUGH**2
    for _ in range(_STEPS):
        if not careful and _blurred(here.curvature):
            careful = True
            here = _at(blocks, labels, coefficients, careful)
        step = _newton(here, careful)
        decrement = float(step @ here.gradient)
        if decrement <= 4 * len(labels) * _REMAINING**2:
            return _chances(here.odds), True
        since += 1
        if decrement < left:
            nearest, left, since = here, decrement, 0
        if left <= near and since >= _PATIENCE:
            break
        there = _at(blocks, labels, coefficients + step, careful)
        part = _part(here, there, labels)
        if not part:
            break
        if part < 1.0:
            there = _at(blocks, labels, coefficients + part * step, careful)
        if -_wrong(there.odds, labels).max() >= _APART:
            return labels.astype(np.float64), True
        made = float(np.sqrt(np.square(_chances(there.odds) - _chances(here.odds)).mean()))
        coefficients += part * step
        here = there
        if made <= part * _MADE:
            return _chances(here.odds), True
    return _chances(nearest.odds), left <= near


def _part(here: _Point, there: _Point, labels: NDArray[np.bool_]) -> float:
    """Part of a step that does not lower the likelihood: 1, 1/2, 1/4, ..., or 0. Odds are linear along it."""
    before, change = _likelihood(here.odds, labels), there.odds - here.odds
    part = 1.0
    while _likelihood(here.odds + part * change, labels) < before - _ROUNDING * abs(before):
        part /= 2
        if part < _SHORTEST:
            return 0.0
    return part


def _likelihood(odds: NDArray[np.float64], labels: NDArray[np.bool_]) -> float:
    return -float(np.logaddexp(0.0, _wrong(odds, labels)).sum())


def _wrong(odds: NDArray[np.float64], labels: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Log odds of the other label."""
    return np.where(labels, -odds, odds)


def _at(
    blocks: Iterable[NDArray[np.float64]],
    labels: NDArray[np.bool_],
    coefficients: NDArray[np.float64],
    careful: bool,
) -> _Point:
    """Log odds, and the slope of the likelihood; its curvature, or if careful the triangle R of R'R equal to it."""
    start, size = 0, len(coefficients)
    gradient, curvature = np.zeros(size), np.zeros((size, size))
    odds = np.empty(len(labels))
    for values in blocks:
        own = slice(start, start + values.shape[1])
        start = own.stop
        odds[own] = coefficients @ values
        chance, other = _chances(odds[own]), _chances(-odds[own])
        # labels - chance, without cancellation where a chance is near 1
        gradient += values @ np.where(labels[own], other, -chance)
        if careful:
            rows = np.concatenate([curvature, (values * np.sqrt(chance * other)).T])
            curvature = np.linalg.qr(rows, mode="r")
        else:
            curvature += (values * (chance * other)) @ values.T
    return _Point(odds, gradient, curvature)


def _blurred(curvature: NDArray[np.float64]) -> bool:
    """Whether some directions are so flat that rounding hides how flat they are."""
    sizes = np.linalg.eigvalsh(curvature)
    return bool(sizes[0] <= _NORMAL * sizes[-1])


def _newton(here: _Point, careful: bool) -> NDArray[np.float64]:
    if not careful:
        return np.linalg.solve(here.curvature, here.gradient)
    _, roots, directions = np.linalg.svd(here.curvature)
    sizes = np.square(roots)
    if sizes[0] <= 0.0:
        return np.zeros_like(here.gradient)
    along: NDArray[np.float64] = (directions @ here.gradient / np.maximum(sizes, _FLOOR * sizes[0])) @ directions
    return along


def _chances(odds: NDArray[np.float64]) -> NDArray[np.float64]:
    from scipy.special import expit  # noqa: PLC0415 -- loads slowly

    chances: NDArray[np.float64] = expit(odds)
    return chances
