"""Fuzzy c-means: memberships of points in clusters, the centres that they weigh, and groups of at least k."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Floats, Labels
from masktron.kernels.elementary import power
from masktron.kernels.linear_algebra import product
from masktron.partitions.mdav import require_groups
from masktron.partitions.partitioner import partition_whole

CELLS = 2_000_000
"""Distances that are in memory at a time."""
_NO_WEIGHT = float(np.finfo(np.float64).tiny / np.finfo(np.float64).eps)
"""Below, what a centre weighs has lost digits, and its mean would not be one of records."""


@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """What fuzzy c-means ended with.

    Attributes
    ----------
    centres : ndarray of float64, shape (c, d)
    converged : bool
        No centre moved by more than the tolerance in the last round.
    rounds : int
    """

    centres: Floats
    converged: bool
    rounds: int


def cluster(points: Floats, start: Floats, *, m: float, tolerance: float, most: int) -> Clusters:
    """Run fuzzy c-means from some centres.

    Each round gives every centre the mean of all points, weighted by their memberships to the power m.

    Parameters
    ----------
    points : ndarray of float64, shape (n, d)
    start : ndarray of float64, shape (c, d)
    m : float
        Fuzzifier, above 1.
    tolerance : float
        Largest move of a coordinate of a centre at which it is done.
    most : int
        Rounds at most.

    Notes
    -----
    O(n c d) time a round, and O(n d + c d) memory.
    """
    centres = start.copy()
    for done in range(1, most + 1):
        moved = weighted_centres(points, points, centres, m)
        shift = float(np.abs(moved - centres).max(initial=0.0))
        centres = moved
        if shift <= tolerance:
            return Clusters(centres, converged=True, rounds=done)
    return Clusters(centres, converged=False, rounds=most)


def memberships(points: Floats, centres: Floats, m: float) -> Floats:
    """Return how much each point belongs to each cluster.

    ``u[i, j] = 1 / sum over l of (d[i, j] / d[i, l]) ** (2 / (m - 1))``, where d are distances. A point that is a
    centre belongs to it alone, and in equal parts to several that are the same.

    Parameters
    ----------
    points : ndarray of float64, shape (n, d)
    centres : ndarray of float64, shape (c, d)
    m : float
        Above 1.

    Returns
    -------
    ndarray of float64, shape (n, c)
        From 0 to 1; rows add up to 1.
    """
    squares = np.zeros((len(points), len(centres)))
    for own, their in zip(points.T, centres.T, strict=True):
        squares += np.square(own[:, None] - their)
    nearest = squares.min(axis=1, keepdims=True)
    # ratios to the nearest are at least 1: no power of them overflows, and zeros are told apart
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = power(np.where(squares > nearest, nearest / squares, 1.0), 1.0 / (m - 1.0))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def weighted_centres(
    values: Floats, points: Floats, centres: Floats, m: float, weights: Floats | None = None
) -> Floats:
    """Return the means of values, weighted by the memberships of their points to the power m, shape (c, p).

    Parameters
    ----------
    values : ndarray of float64, shape (n, p)
        Of the same records as the points.
    points : ndarray of float64, shape (n, d)
    centres : ndarray of float64, shape (c, d)
        A centre that no point weighs takes the value of the nearest point with a weight.
    m : float
    weights : ndarray of float64, shape (n,), optional
        Of the records, not negative and with a positive sum; all 1 where not given.

    Notes
    -----
    Theorem: a linear equality or inequality that all records satisfy holds for every centre. Proof: the weights are
    not negative and have a positive sum, so that a centre is a convex combination of records.
    """
    share = np.ones(len(values)) if weights is None else weights / weights.max()
    # by powers of two, so that no sum overflows
    powers = np.frexp(np.abs(values).max(axis=0))[1]
    scaled = np.ldexp(values, -powers)
    middle = scaled.mean(axis=0)
    sums, totals = np.zeros((len(centres), values.shape[1])), np.zeros(len(centres))
    pace = max(1, CELLS // max(1, len(centres)))
    for first in range(0, len(points), pace):
        rows = slice(first, first + pace)
        part = power(memberships(points[rows], centres, m), m) * share[rows, None]
        totals += part.sum(axis=0)
        sums += product(part.T, scaled[rows] - middle)
    weighing = np.flatnonzero(share)
    for centre in np.flatnonzero(totals <= _NO_WEIGHT).tolist():
        nearest = weighing[np.square(points[weighing] - centres[centre]).sum(axis=1).argmin()]
        totals[centre], sums[centre] = 1.0, scaled[nearest] - middle
    means = np.ldexp(middle + sums / totals[:, None], powers)
    # roundings may lead outside of what the records span
    return np.clip(means, values.min(axis=0), values.max(axis=0))


def starting_centres(points: Floats, count: int) -> Floats:
    """Return centres to start with, shape (at most count, d): the means of the groups of MDAV."""
    size = len(points) // (count + 1) + 1  # the smallest of which there are no more than that
    return centres_of(points, partition_whole(points, size))


def centres_of(points: Floats, labels: Labels) -> Floats:
    """Return the mean of the points of each group, shape (g, d)."""
    sizes = np.bincount(labels)
    means = np.empty((len(sizes), points.shape[1]))
    for column in range(points.shape[1]):
        means[:, column] = np.bincount(labels, points[:, column]) / sizes
    return means


def partition(points: Floats, centres: Floats, k: int) -> Labels:
    """Partition points in groups of at least k, by the nearest centre as far as that is possible.

    A cluster with fewer than k records is given up, the smallest first, of equal ones the last: its records go to
    the clusters, among those that are left, in which their membership is largest. That ends with groups of at least
    k, since n >= k.

    Parameters
    ----------
    points : ndarray of float64, shape (n, d)
    centres : ndarray of float64, shape (c, d)
    k : int

    Returns
    -------
    ndarray of intp, shape (n,)
        Labels 0 to g - 1, in the order of the centres.

    Notes
    -----
    The order of memberships is the reverse of that of distances, whatever the fuzzifier.
    """
    require_groups(points, k)
    left = np.ones(len(centres), dtype=np.bool_)
    labels = _nearest(points, centres, left)
    sizes = np.bincount(labels, minlength=len(centres))
    while (small := np.flatnonzero(left & (sizes < k))).size:
        leaving = small[::-1][np.argmin(sizes[small[::-1]])]
        left[leaving] = False
        records = np.flatnonzero(labels == leaving)
        labels[records] = _nearest(points[records], centres, left)
        sizes = np.bincount(labels, minlength=len(centres))
    return np.unique(labels, return_inverse=True)[1].astype(np.intp).reshape(-1)


def _nearest(points: Floats, centres: Floats, left: NDArray[np.bool_]) -> Labels:
    """Return the nearest centre of each point among those that are left, the first of several."""
    found = np.empty(len(points), dtype=np.intp)
    which = np.flatnonzero(left)
    pace = max(1, CELLS // max(1, len(which)))
    for first in range(0, len(points), pace):
        squares = np.zeros((len(points[first : first + pace]), len(which)))
        for own, their in zip(points[first : first + pace].T, centres[which].T, strict=True):
            squares += np.square(own[:, None] - their)
        found[first : first + pace] = which[squares.argmin(axis=1)]
    return found
