"""Expectation and maximisation for mixtures of normal components, with categories that are independent within one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Floats, Labels

type CovarianceFamily = Literal["EII", "VII", "EEI", "VVI", "EEE", "VVV"]

FAMILIES: tuple[CovarianceFamily, ...] = get_args(CovarianceFamily.__value__)
"""Covariances, named as in mclust: spherical, diagonal, any; E with a volume or shape in common, V of their own."""
FLOOR = 1e-6
"""Least eigenvalue of a covariance, where the variance of the file is 1: the likelihood of a component that lies on
a plane or at a point has no bound without it."""
PRIOR = 1.0
"""Records with the shares of the whole file that are added to each component, so that no category has share 0."""
_ROWS = 8_192


@dataclass(frozen=True, slots=True, eq=False)
class MixtureRecords:
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
        """Variables, shape (r, m), and codes, shape (m, c), of m records after the others: what fits a cache."""
        for first in range(0, len(self.points), _ROWS):
            rows = slice(first, first + _ROWS)
            yield np.ascontiguousarray(self.points[rows].T), self.codes[rows]

    def some(self, chosen: Labels) -> MixtureRecords:
        """Return these records alone."""
        return MixtureRecords(self.points[chosen], self.codes[chosen], self.shares)


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
    products : ndarray of float64, shape (g, r, r)
        Of two variables each.
    tallies : tuple of ndarray of float64, shape (categories, g)
    """

    counts: Floats
    sums: Floats
    products: Floats
    tallies: tuple[Floats, ...]

    def scatters(self) -> Floats:
        """Sums of squares and products around the means, shape (g, r, r)."""
        return self.products - self.sums[:, :, None] * (self.sums / self.counts[:, None])[:, None, :]


def parameters(family: CovarianceFamily, components: int, dimensions: int, categories: int = 0) -> int:
    """Number of free parameters of a mixture; `categories` counts those of all nominal columns less one for each."""
    triangle = dimensions * (dimensions + 1) // 2
    own = {"EII": 1, "VII": components, "EEI": dimensions, "VVI": components * dimensions, "EEE": triangle,
           "VVV": components * triangle}[family]  # fmt: skip
    return components - 1 + components * (dimensions + categories) + (own if dimensions else 0)


def log_joint(components: Components, variables: Floats, codes: Labels) -> Floats:
    """Log of weight times density of each component and record of a chunk, shape (g, m)."""
    g, r = components.means.shape
    roots = np.linalg.cholesky(components.covariances)
    whitening = np.linalg.inv(roots)
    offsets = np.einsum("gab,gb->ga", whitening, components.means)
    white = (whitening.reshape(g * r, r) @ variables).reshape(g, r, variables.shape[1])
    white -= offsets[:, :, None]
    np.square(white, out=white)
    joint: Floats = white.sum(axis=1)
    joint *= -0.5
    volumes = np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1)
    joint += (np.log(components.weights) - volumes - 0.5 * r * np.log(2 * np.pi))[:, None]
    for shares, column in zip(components.shares, codes.T, strict=True):
        joint += np.log(shares.T)[:, column]
    return joint


def expect(components: Components, observed: MixtureRecords) -> tuple[Statistics, float]:
    """Return the expected counts and sums of every component, and the log-likelihood."""
    total: Statistics | None = None
    likelihood = 0.0
    for variables, codes in observed.chunks():
        joint = log_joint(components, variables, codes)
        highest = joint.max(axis=0)
        joint -= highest
        np.exp(joint, out=joint)
        sums = joint.sum(axis=0)
        likelihood += float(np.log(sums).sum() + highest.sum())
        joint /= sums
        total = _added(total, statistics(joint, variables, codes, observed.shares))
    assert total is not None  # noqa: S101 -- there are records
    return total, likelihood


def begin(labels: Labels, observed: MixtureRecords) -> Statistics:
    """Return counts and sums of records that belong to one component each, 0 to g - 1."""
    memberships = np.eye(int(labels.max()) + 1)[:, labels]
    return statistics(memberships, observed.points.T, observed.codes, observed.shares)


def statistics(memberships: Floats, variables: Floats, codes: Labels, shares: tuple[Floats, ...]) -> Statistics:
    """Return counts and sums of records that belong to components in these proportions, shape (g, m)."""
    r, m = variables.shape
    tallies = tuple(
        np.stack([np.bincount(column, part, len(known)) for part in memberships], axis=1)
        for column, known in zip(codes.T, shares, strict=True)
    )
    products = memberships @ (variables[:, None, :] * variables[None, :, :]).reshape(r * r, m).T
    return Statistics(
        memberships.sum(axis=1), memberships @ variables.T, products.reshape(len(memberships), r, r), tallies
    )


def maximise(
    found: Statistics, family: CovarianceFamily, shares: tuple[Floats, ...], pooled: float = 0.0
) -> Components:
    """Return the mixture of a family that is most likely for these counts and sums.

    Parameters
    ----------
    found : Statistics
    family : CovarianceFamily
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


def _constrained(own: Floats, within: Floats, family: CovarianceFamily) -> Floats:
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
