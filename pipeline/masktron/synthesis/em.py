"""Expectation and maximisation for mixtures of normal components, with categories that are independent within one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

type Floats = NDArray[np.float64]
type Labels = NDArray[np.intp]
type Family = Literal["EII", "VII", "EEI", "VVI", "EEE", "VVV"]

FAMILIES: tuple[Family, ...] = get_args(Family.__value__)
"""Covariances, named as in mclust: spherical, diagonal, any; E with a volume or shape in common, V of their own."""
FLOOR = 1e-6
"""Least eigenvalue of a covariance, where the variance of the file is 1: the likelihood of a component that lies on
a plane or at a point has no bound without it."""
PRIOR = 1.0
"""Records with the shares of the whole file that are added to each component, so that no category has share 0."""
_ROWS = 16_384


@dataclass(frozen=True, slots=True, eq=False)
class Observed:
    """Records of a mixture.

    Attributes
    ----------
    points : ndarray of float64, shape (n, r)
        Standardised, without a column that others give.
    codes : ndarray of intp, shape (n, c)
        Categories of each nominal column, 0 to its number of categories - 1.
    shares : tuple of ndarray of float64, shape (categories,)
        Of the categories of each nominal column in the whole file; none is 0.
    """

    points: Floats
    codes: Labels
    shares: tuple[Floats, ...]

    @property
    def categories(self) -> int:
        """Categories of all nominal columns, less one for each."""
        return sum(len(known) - 1 for known in self.shares)

    def chunks(self) -> Iterator[tuple[Floats, Labels]]:
        """Some records after the others, so that no array grows with components and records at once."""
        for first in range(0, len(self.points), _ROWS):
            yield self.points[first : first + _ROWS], self.codes[first : first + _ROWS]

    def some(self, chosen: Labels) -> Observed:
        """Return these records alone."""
        return Observed(self.points[chosen], self.codes[chosen], self.shares)


@dataclass(frozen=True, slots=True, eq=False)
class Components:
    """A mixture.

    Attributes
    ----------
    weights : ndarray of float64, shape (g,)
    means : ndarray of float64, shape (g, r)
    covariances : ndarray of float64, shape (g, r, r)
    shares : tuple of ndarray of float64, shape (categories, g)
        One for each nominal column.
    """

    weights: Floats
    means: Floats
    covariances: Floats
    shares: tuple[Floats, ...]

    @property
    def floored(self) -> NDArray[np.bool_]:
        """Components whose covariance would be singular, or nearly, without the floor, shape (g,)."""
        if not self.means.shape[1]:
            return np.zeros(len(self.weights), dtype=bool)
        lowest: Floats = np.linalg.eigvalsh(self.covariances)[:, 0]
        return lowest <= FLOOR * (1 + 1e-6)


@dataclass(frozen=True, slots=True, eq=False)
class Statistics:
    """What maximisation needs of the records: expected counts and sums by component.

    Attributes
    ----------
    counts : ndarray of float64, shape (g,)
    sums : ndarray of float64, shape (g, r)
    products : ndarray of float64, shape (g, r (r + 1) / 2)
        Of two variables each, the upper triangle row by row.
    tallies : tuple of ndarray of float64, shape (categories, g)
    """

    counts: Floats
    sums: Floats
    products: Floats
    tallies: tuple[Floats, ...]

    def scatters(self) -> Floats:
        """Sums of squares and products around the means, shape (g, r, r)."""
        r = self.sums.shape[1]
        full = np.empty((len(self.counts), r, r))
        first, second = np.triu_indices(r)
        full[:, first, second] = full[:, second, first] = self.products
        return full - self.sums[:, :, None] * (self.sums / self.counts[:, None])[:, None, :]


def parameters(family: Family, components: int, dimensions: int, categories: int = 0) -> int:
    """Number of free parameters of a mixture; `categories` counts those of all nominal columns less one for each."""
    triangle = dimensions * (dimensions + 1) // 2
    own = {"EII": 1, "VII": components, "EEI": dimensions, "VVI": components * dimensions, "EEE": triangle,
           "VVV": components * triangle}[family]  # fmt: skip
    return components - 1 + components * (dimensions + categories) + (own if dimensions else 0)


def log_joint(components: Components, points: Floats, codes: Labels) -> Floats:
    """Log of weight times density of each record and component, shape (n, g)."""
    g, r = components.means.shape
    roots = np.linalg.cholesky(components.covariances)
    whitening = np.linalg.inv(roots)
    offsets = np.einsum("gab,gb->ga", whitening, components.means)
    white = (points @ whitening.transpose(2, 0, 1).reshape(r, g * r)).reshape(-1, g, r) - offsets
    volumes = np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1)
    joint: Floats = np.einsum("ngr,ngr->ng", white, white)
    joint *= -0.5
    joint += np.log(components.weights) - volumes - 0.5 * r * np.log(2 * np.pi)
    for shares, column in zip(components.shares, codes.T, strict=True):
        joint += np.log(shares)[column]
    return joint


def expect(components: Components, observed: Observed) -> tuple[Statistics, float]:
    """Return the expected counts and sums of every component, and the log-likelihood."""
    total: Statistics | None = None
    likelihood = 0.0
    for points, codes in observed.chunks():
        joint = log_joint(components, points, codes)
        highest = joint.max(axis=1, keepdims=True)
        joint -= highest
        np.exp(joint, out=joint)
        sums = joint.sum(axis=1, keepdims=True)
        likelihood += float(np.log(sums).sum() + highest.sum())
        joint /= sums
        total = _added(total, statistics(joint, points, codes, observed.shares))
    assert total is not None  # noqa: S101 -- there are records
    return total, likelihood


def statistics(memberships: Floats, points: Floats, codes: Labels, shares: tuple[Floats, ...]) -> Statistics:
    """Return counts and sums of records that belong to components in these proportions, shape (n, g)."""
    first, second = np.triu_indices(points.shape[1])
    tallies = tuple(
        np.stack([np.bincount(column, part, len(known)) for part in memberships.T], axis=1)
        for column, known in zip(codes.T, shares, strict=True)
    )
    products = memberships.T @ (points[:, first] * points[:, second])
    return Statistics(memberships.sum(axis=0), memberships.T @ points, products, tallies)


def maximise(found: Statistics, family: Family, shares: tuple[Floats, ...], pooled: float = 0.0) -> Components:
    """Return the mixture of a family that is most likely for these counts and sums.

    Parameters
    ----------
    found : Statistics
    family : Family
    shares : tuple of ndarray of float64, shape (categories,)
        Of the whole file, for `PRIOR`.
    pooled : float
        Records with the pooled covariance that are added to each component.
    """
    n, scatters = found.counts.sum(), found.scatters()
    within = scatters.sum(axis=0) / n
    if pooled:
        own = (scatters + pooled * within) / (found.counts + pooled)[:, None, None]
    else:
        own = scatters / found.counts[:, None, None]
    smoothed = tuple(
        (tally + PRIOR * known[:, None]) / (found.counts + PRIOR)
        for tally, known in zip(found.tallies, shares, strict=True)
    )
    means = found.sums / found.counts[:, None]
    return Components(found.counts / n, means, _constrained(own, within, family), smoothed)


def _constrained(own: Floats, within: Floats, family: Family) -> Floats:
    g, r = own.shape[:2]
    unit = np.eye(r)
    match family:
        case "VVV":
            return _lifted(own)
        case "EEE":
            return np.repeat(_lifted(within[None]), g, axis=0)
        case "VVI":
            diagonals = np.diagonal(own, axis1=1, axis2=2)
        case "EEI":
            diagonals = np.repeat(np.diagonal(within)[None], g, axis=0)
        case "VII":
            diagonals = np.repeat(np.trace(own, axis1=1, axis2=2)[:, None] / max(r, 1), r, axis=1)
        case "EII":
            diagonals = np.full((g, r), np.trace(within) / max(r, 1))
    return np.asarray(np.maximum(diagonals, FLOOR)[:, :, None] * unit)


def _lifted(covariances: Floats) -> Floats:
    """Raise eigenvalues to the floor: what is most likely among covariances that are bounded like that."""
    if not covariances.shape[1]:
        return covariances
    values, vectors = np.linalg.eigh(covariances)
    if (values[:, 0] >= FLOOR).all():
        return covariances
    return np.asarray((vectors * np.maximum(values, FLOOR)[:, None, :]) @ vectors.transpose(0, 2, 1))


def _added(one: Statistics | None, other: Statistics) -> Statistics:
    if one is None:
        return other
    return Statistics(
        one.counts + other.counts,
        one.sums + other.sums,
        one.products + other.products,
        tuple(a + b for a, b in zip(one.tallies, other.tallies, strict=True)),
    )
