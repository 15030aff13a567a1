"""Draws within groups: normal numbers with the means and covariances of each group, and its categories."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from masktron.errors import InfeasibleError
from masktron.kernels.standardise import standardised

type Floats = NDArray[np.float64]
type Labels = NDArray[np.intp]

SPARE = 3
"""Records that a group needs beyond its rank: with one direction and two records, draws with the very moments of the
group are the records themselves or their mirror image."""
_CUT = 1e-10
"""Singular values of standardised columns below this part of the largest are exact relations, but for rounding."""


def draw_normal(values: Floats, labels: Labels, generator: np.random.Generator, *, exact: bool) -> Floats:
    """Draw normal values for every record, with the moments of its group.

    Each group's deviations are U S V' with standardised columns; drawn are Q S V', where Q is an orthonormal basis
    drawn at random, orthogonal to the constant. So mean and covariance are the group's to rounding, and so is every
    linear relation that holds in the group. Plain draws have independent normal numbers in place of Q, scaled so
    that mean and covariance are the group's in expectation.

    Parameters
    ----------
    values : ndarray of float64, shape (n, p)
        Finite.
    labels : ndarray of intp, shape (n,)
        Groups, 0 to g - 1, each of at least its rank + 3 records.
    generator : numpy.random.Generator
    exact : bool
        Whether the moments are to be exact; plain draws otherwise.

    Returns
    -------
    ndarray of float64, shape (n, p)
        Row i was drawn for the group of record i. What is constant in a group stays.

    Raises
    ------
    InfeasibleError
        A group has fewer records than its rank + 3.
    """
    drawn = np.empty_like(values)
    order = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels)
    ends = np.cumsum(sizes)
    # more threads would add up in another order
    with threadpool_limits(1, "blas"):  # type: ignore[no-untyped-call]
        for size in np.unique(sizes):
            groups = np.flatnonzero(sizes == size)
            rows = order[(ends[groups] - size)[:, None] + np.arange(size)]
            drawn[rows] = _draw_stacked(values[rows], generator, exact=exact)
    return drawn


def rank(values: Floats) -> int:
    """Return how many directions the records differ in, by the cut that draws use."""
    singular = np.linalg.svd(standardised(values), compute_uv=False)
    return int((singular > _CUT * singular[:1]).sum()) if singular.size else 0


def draw_codes(codes: Labels, labels: Labels, generator: np.random.Generator, *, exact: bool) -> Labels:
    """Draw categories for every record, of each column by itself.

    Parameters
    ----------
    codes : ndarray of intp, shape (n, c)
    labels : ndarray of intp, shape (n,)
        Groups, 0 to g - 1.
    generator : numpy.random.Generator
    exact : bool
        Whether each group has each category as often as before, among records drawn at random. Otherwise they are
        drawn from the group's shares, to which one record with the shares of the file is added.

    Returns
    -------
    ndarray of intp, shape (n, c)
    """
    drawn = np.empty_like(codes)
    places = np.argsort(labels, kind="stable")
    for column in range(codes.shape[1]):
        chance = generator.random(len(codes))
        if exact:
            drawn[places, column] = codes[np.lexsort((chance, labels)), column]
        else:
            drawn[:, column] = _by_shares(codes[:, column], labels, chance)
    return drawn


def _by_shares(codes: Labels, labels: Labels, chance: Floats) -> Labels:
    groups, categories = int(labels.max()) + 1, int(codes.max()) + 1
    counts = np.bincount(labels * categories + codes, minlength=groups * categories).reshape(groups, categories)
    limits = np.cumsum(counts + counts.sum(axis=0) / len(codes), axis=1)
    limits = limits / limits[:, -1:] + np.arange(groups)[:, None]
    places = np.searchsorted(limits.ravel(), chance + labels, side="right") - labels * categories
    return np.asarray(np.minimum(places, categories - 1), dtype=np.intp)


def _draw_stacked(values: Floats, generator: np.random.Generator, *, exact: bool) -> Floats:
    """Draw for groups of one size, shape (groups, size, p)."""
    size = values.shape[1]
    means, scales, deviations = _standardised(values)
    _, singular, turned = np.linalg.svd(deviations, full_matrices=False)
    singular[singular <= np.maximum(_CUT * singular[:, :1], _rounding(values, scales))] = 0.0
    directions = int((singular > 0).sum(axis=1).max(initial=0))
    if size < directions + SPARE and directions:
        raise InfeasibleError(
            f"a group of {size} records that differ in {directions} directions cannot be drawn anew",
            hint=f"form groups of at least {directions + SPARE} records, or mask fewer variables together",
        )
    noise = generator.standard_normal((len(values), size, directions))
    if exact:
        noise -= noise.mean(axis=1, keepdims=True)
        basis, triangle = np.linalg.qr(noise)
        # with these signs every basis is as likely as any other
        noise = basis * np.sign(np.diagonal(triangle, axis1=1, axis2=2))[:, None, :]
    else:
        noise /= np.sqrt(size - 1)
    drawn = (noise * singular[:, None, :directions]) @ turned[:, :directions]
    return np.asarray(means + np.where(np.isinf(scales), 0.0, scales) * drawn)


def _standardised(values: Floats) -> tuple[Floats, Floats, Floats]:
    """Means and scales, shape (groups, 1, p), and deviations from the means in these scales."""
    constant = values.max(axis=1, keepdims=True) == values.min(axis=1, keepdims=True)
    means = np.where(constant, values[:, :1], values.mean(axis=1, keepdims=True))
    deviations = values - means
    largest = np.abs(deviations).max(axis=1, keepdims=True)
    scales = np.where(largest > 0, largest, np.inf)
    return means, scales, deviations / scales


def _rounding(values: Floats, scales: Floats) -> Floats:
    """Size that singular values of exact relations may have from the rounding of the values, shape (groups, 1)."""
    relative = (np.abs(values).max(axis=1) / scales[:, 0]).max(axis=1, initial=0.0, keepdims=True)
    return np.asarray(8 * np.finfo(np.float64).eps * np.sqrt(values.shape[1] * values.shape[2]) * relative)
