"""Microperturbation: group means with noise that gives back the covariance that averaging takes away."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Floats, Labels
from masktron.errors import InfeasibleError
from masktron.kernels.linear_algebra import product, singular_decomposition, triangular

_NO_SPREAD = 1e-12
"""Share of a column's range below which it does not vary within groups."""


def microperturb(
    values: Floats, partitions: Sequence[Labels], generator: np.random.Generator, *, as_printed: bool = False
) -> Floats:
    """Replace records by the means of their groups and noise, so that the covariance of the file is expected back.

    With several partitions the result is the average of a run for each.

    Theorem 1: the expected mean of the file is the original one; by default the means of all columns are kept
    exactly, and with one partition those of every group. Theorem 2: the expected sample covariance is the original
    one, by default. Proof: let ``A_r`` average within the groups of run r, ``M`` be the average of the ``A_r X``,
    ``C`` take off the mean, and the noise be the average of ``(I - A_r) Z_r``, where the rows of all ``Z_r`` are
    independent and of covariance S. Then ``E[Y'CY] = M'CM + S sum(N - G_r) / c^2``, which is ``X'CX`` for
    ``S = c^2 (X'CX - M'CM) / sum(N - G_r)``. With one partition that is the printed S of (11), the pooled covariance
    within groups, so that centring the noise is all that the theorem lacks. ``X'CX - M'CM`` is the sum of squares of
    the ``(I - A_r) X`` and the ``A_r X - M`` together, divided by c, so that S is never indefinite.

    Exact linear relations between columns that hold in every record hold in every masked one, to rounding: noise is
    drawn through the singular directions of the standardised residuals themselves, whose extents across a relation
    are roundings; the root of their covariance would have the roots of roundings there.

    Parameters
    ----------
    values : ndarray of float64, shape (n, p)
        Finite.
    partitions : sequence of ndarray of intp, shape (n,)
        Groups 0 to g - 1 of each run, at least one run; fewer groups than records.
    generator : numpy.random.Generator
    as_printed : bool
        Noise as in the paper: not centred, so that the means of groups move; its own S for each run, although an
        average of runs has less noise. `expected_covariance` says what comes out.

    Returns
    -------
    ndarray of float64, shape (n, p)

    Raises
    ------
    InfeasibleError
        Every record of a partition is a group of its own, so that nothing is known about variation within groups; or
        values are so near the largest double that noise leads beyond it.

    Notes
    -----
    Source: class-restricted clustering (2013), section 5, theorems 1 and 2, (11); section 8 for several runs.
    """
    for labels in partitions:
        _require_company(labels)
    origins, powers, scaled = _near_one(values)
    means = [_means(scaled, labels) for labels in partitions]
    middle = np.mean(means, axis=0)
    noise = np.zeros_like(scaled)
    for labels, root in zip(partitions, _roots(scaled, partitions, means, as_printed), strict=True):
        drawn = product(generator.normal(size=(len(values), len(root))), root)
        noise += drawn if as_printed else drawn - _means(drawn, labels)
    with np.errstate(over="ignore"):  # told below
        perturbed = origins + np.ldexp(middle + noise / len(partitions), powers)
    if (wrong := np.argwhere(~np.isfinite(perturbed))).size:
        raise InfeasibleError.of("values-too-large", f"column {wrong[0, 1] + 1}", what="values with noise")
    return perturbed


def _roots(
    scaled: Floats, partitions: Sequence[Labels], means: Sequence[Floats], as_printed: bool
) -> Sequence[Floats]:
    """Return for each run a matrix R of noise of covariance R'R."""
    free = [len(labels) - int(labels.max()) - 1 for labels in partitions]
    if as_printed:
        return [_root(scaled - mean, degrees) for mean, degrees in zip(means, free, strict=True)]
    middle = np.mean(means, axis=0)
    runs = len(partitions)
    lost = [scaled - mean for mean in means] + [mean - middle for mean in means if runs > 1]
    # sum of squares of the stack is c times X'CX - M'CM
    return [_root(np.concatenate(lost), sum(free) / runs)] * runs


def _root(residuals: Floats, degrees: float) -> Floats:
    """Return R, shape (r, p), with ``R'R = residuals' residuals / degrees``; r is at most p."""
    spread = np.sqrt(np.square(residuals).sum(axis=0))
    varying = spread > _NO_SPREAD * np.sqrt(len(residuals))
    root = np.zeros((0, residuals.shape[1]))
    if not varying.any():
        return root
    triangle = triangular(residuals[:, varying] / spread[varying])
    _, extents, directions = singular_decomposition(triangle)
    root = np.zeros((len(extents), residuals.shape[1]))
    root[:, varying] = extents[:, None] * directions * (spread[varying] / np.sqrt(degrees))
    return root


def _near_one(values: Floats) -> tuple[Floats, NDArray[np.int32], Floats]:
    """Move columns to their first value and scale them by a power of two: constant ones become exact zeros."""
    origins = values[0]
    # halves, so that no difference overflows
    moved = np.ldexp(values, -1) - np.ldexp(origins, -1)
    powers = np.frexp(np.abs(moved).max(axis=0))[1]
    return origins, powers + 1, np.ldexp(moved, -powers)


def _means(values: Floats, labels: Labels) -> Floats:
    """Return for each record the mean of its group."""
    sums = np.zeros((int(labels.max()) + 1, values.shape[1]))
    np.add.at(sums, labels, values)
    return (sums / np.bincount(labels)[:, None])[labels]


def _require_company(labels: Labels) -> None:
    if int(labels.max()) + 1 == len(labels):
        raise InfeasibleError.of(
            "bad-value", name="the largest group", expected="2 records or more", given="1 record"
        )
