"""Data shuffling: the values of a column go to other records, in an order that is drawn from a normal copula."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Floats
from masktron.kernels.elementary import normal_quantile
from masktron.kernels.linear_algebra import eigen_decomposition, product
from masktron.synthesis.moments import square_root

_CUT = 1e-10
"""Eigenvalues of correlations, and shares of a variance, below this are rounding."""
_TERMS = 9
"""Of the series of the sine: beyond these, less than the last digit."""


def shuffled(
    confidential: Floats,
    kept: Floats,
    generator: np.random.Generator,
    *,
    known: NDArray[np.bool_] | None = None,
) -> Floats:
    """Give the values of each column to other records, so that rank correlations stay.

    With R the product moment correlations ``2 sin(pi r / 6)`` of the rank correlations r of [X, S], S the kept
    columns with normal scores s, every record draws ``y = R_XS R_SS^-1 s + e`` with e normal of the covariance
    ``R_XX - R_XS R_SS^-1 R_SX``, and gets in column j the value of X with the rank of its y_j.

    Parameters
    ----------
    confidential : ndarray of float64, shape (n, p)
        X; p may be 0.
    kept : ndarray of float64, shape (n, q)
        S; q may be 0.
    generator : numpy.random.Generator
    known : ndarray of bool, shape (n, p), optional
        Values of X that exist; all by default. What does not exist goes nowhere, and stays where it is.

    Returns
    -------
    ndarray of float64, shape (n, p)
        Every column a permutation of the known values of that of X.

    Notes
    -----
    Source: Muralidhar and Sarathy (2006), Data shuffling: a new masking approach for numerical data, Management
    Science 52(5), section 3; the correlations from Fieller, Hartley and Pearson (1957). Given S, what a record gets
    does not depend on its own X. Rank correlations of pairs are not always those of one normal copula; then negative
    eigenvalues are taken for 0.
    """
    n, p = confidential.shape
    if not p:
        return confidential.copy()
    there = np.ones((n, p), dtype=np.bool_) if known is None else known
    ranks = np.column_stack([_centred_ranks(x, use) for x, use in zip(confidential.T, there.T, strict=True)])
    of_kept = np.column_stack([_centred_ranks(s, np.ones(n, dtype=np.bool_)) for s in kept.T] or [np.empty((n, 0))])
    correlations = _copula(np.column_stack([ranks, of_kept]))
    slopes, left = _conditional(correlations, p)
    root = square_root(left)
    drawn = product(generator.standard_normal((n, root.shape[1])), root.T)
    if kept.shape[1]:
        scores = normal_quantile((of_kept + n / 2) / n)
        drawn += product(scores, slopes.T)
    made = confidential.copy()
    for column, use in enumerate(there.T):
        at = np.flatnonzero(use)
        made[at[np.argsort(drawn[at, column], kind="stable")], column] = np.sort(confidential[at, column])
    return made


def explained(confidential: Floats, kept: Floats) -> NDArray[np.bool_]:
    """Tell which columns of X the order of kept ones gives away: nothing would be drawn, shape (p,)."""
    p = confidential.shape[1]
    if not p:
        return np.zeros(0, dtype=np.bool_)
    ones = np.ones(len(confidential), dtype=np.bool_)
    ranks = np.column_stack([_centred_ranks(one, ones) for one in (*confidential.T, *kept.T)])
    told: NDArray[np.bool_] = (np.diagonal(_conditional(_copula(ranks), p)[1]) == 0.0) & ranks[:, :p].any(axis=0)
    return told


def _centred_ranks(values: Floats, use: NDArray[np.bool_]) -> Floats:
    """Ranks, the mean of equal ones, less their mean; 0 where there is no value."""
    centred = np.zeros(len(values))
    taken = values[use]
    _, which, counts = np.unique(taken, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    centred[use] = (ends - (counts - 1) / 2 - (len(taken) + 1) / 2)[which]
    return centred


def _copula(ranks: Floats) -> Floats:
    """Correlations of the normal copula with the rank correlations of some columns, shape (p, p)."""
    scale = np.sqrt(np.square(ranks).mean(axis=0))
    unit = ranks / np.where(scale > 0, scale, 1.0)
    spearman = np.clip(product(unit.T, unit) / len(ranks), -1.0, 1.0)
    wanted = _twice_sine(np.pi / 6 * spearman)
    np.fill_diagonal(wanted, 1.0)
    eigenvalues, vectors = eigen_decomposition((wanted + wanted.T) / 2)
    if eigenvalues[-1] >= 0:
        return wanted
    near = product(vectors * np.maximum(eigenvalues, 0.0), vectors.T)
    deviations = np.sqrt(np.diagonal(near))
    return np.asarray(near / deviations[:, None] / deviations)


def _conditional(correlations: Floats, p: int) -> tuple[Floats, Floats]:
    """Slopes of the first p variables on the others, and the covariance that these leave; shapes (p, q), (p, p)."""
    own, across, others = correlations[:p, :p], correlations[:p, p:], correlations[p:, p:]
    if not others.size:
        return np.zeros((p, 0)), own
    eigenvalues, vectors = eigen_decomposition(others)
    large = eigenvalues > _CUT * len(eigenvalues)
    part = vectors[:, large] / np.sqrt(eigenvalues[large])
    turned = product(across, part)
    left = own - product(turned, turned.T)
    left = (left + left.T) / 2
    constant = np.diagonal(left) <= _CUT
    left[constant, :] = left[:, constant] = 0.0
    return product(turned, part.T), left


def _twice_sine(angles: Floats) -> Floats:
    """Return 2 sin of angles up to pi / 6, by the series, which has the same bits on every processor."""
    square, term, total = np.square(angles), angles.copy(), angles.copy()
    for m in range(1, _TERMS):
        term = -term * square / (2 * m * (2 * m + 1))
        total += term
    return np.asarray(2.0 * total)
