"""Groups of near records whose classes are mixed as in the file: class-restricted spanning trees."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Floats, Labels
from masktron.errors import UsageError
from masktron.kernels.crest import cut, grow
from masktron.partitions.mdav import require_groups
from masktron.problems.problem import Field

_MOST_CELLS = 50_000_000
"""Bound on records times classes: 400 MB of counts."""


def crest(
    points: Floats,
    k: int,
    classes: Labels,
    *,
    shares: Floats | None = None,
    alpha: float = 0.5,
    neighbours: int | None = None,
) -> Labels:
    """Partition records in groups of at least k that are near each other and of well-mixed classes.

    A spanning tree grows by Prim's algorithm with a composite of Euclidean distance and divergence of classes, and is
    cut where that separates classes the least for the length of the edge; ties: see `masktron.kernels.crest`.
    Columns are scaled to [0, 1] over these records, constant ones are no dimension, and the distance of d columns is
    divided by d.

    Parameters
    ----------
    points : ndarray of float64, shape (n, d)
        Finite, in any units.
    k : int
        Smallest size of a group, at least 1. Sizes have no upper bound: a star of records cannot be cut.
    classes : ndarray of intp, shape (n,) or (n, c)
        Codes from 0. Several class attributes count as one, whose classes are their combinations.
    shares : ndarray of float64, shape (classes,), or with c class attributes (classes_1, ..., classes_c), optional
        Shares, or counts, of the classes in the file of which these records are a part; those of these records if
        not given.
    alpha : float
        Weight of the distance, 0 to 1. With 1 the tree is a minimum spanning tree (Partial CREST).
    neighbours : int, optional
        Records among which the classes around an edge are counted, at least 2; k if not given.

    Returns
    -------
    ndarray of intp, shape (n,)
        Labels 0 to g - 1, in the order of each group's first record.

    Raises
    ------
    InfeasibleError
        There are fewer than k records.
    UsageError
        A coordinate is missing, infinite or too large to be squared; classes and shares do not go together; or
        records times classes are too many to count.

    Notes
    -----
    Source: class-restricted clustering (2013), section 4, figure 4. Theorem: every group has at least k records.
    Proof: the tree spans all n >= k records, and an edge is cut only where both sides keep k.
    """
    require_groups(points, k)
    codes, overall = _codes_and_shares(classes, shares, len(points))
    if len(points) * len(overall) > _MOST_CELLS:
        categories, n = len(overall), len(points)
        raise UsageError.of("too-many-categories", categories=categories, records=n, field=Field("FIELD"))
    scaled = _unit_range(points)
    near = max(k, 2) if neighbours is None else min(neighbours, len(points) + 2)
    tree = grow(scaled, codes, overall, float(alpha), near, 1.0 / max(scaled.shape[1], 1))
    return cut(tree, codes, overall, k)


def compound(classes: Labels) -> Labels:
    """Return one class for each combination that occurs of several class attributes, shape (n,).

    Parameters
    ----------
    classes : ndarray of int, shape (n,) or (n, c)

    Returns
    -------
    ndarray of intp, shape (n,)
        Codes from 0, in the order of the combinations.
    """
    _, codes = np.unique(classes.reshape(len(classes), -1), axis=0, return_inverse=True)
    return codes.reshape(-1).astype(np.intp)


def class_counts(labels: Labels, codes: Labels) -> NDArray[np.intp]:
    """Count the records of each class in each group, shape (g, c)."""
    width = int(codes.max(initial=-1)) + 1
    groups = int(labels.max(initial=-1)) + 1
    return np.bincount(labels * width + codes, minlength=groups * width).reshape(groups, width)


def _codes_and_shares(classes: Labels, shares: Floats | None, n: int) -> tuple[Labels, Floats]:
    if len(classes) != n:
        raise UsageError.of("arrays-differ", shapes=(f"{len(classes)} classes", f"{n} records"))
    if shares is None:
        codes = compound(classes)
        return codes, np.bincount(codes) / n
    columns = classes.reshape(n, -1)
    if shares.ndim != columns.shape[1] or (columns < 0).any() or (columns >= shares.shape).any():
        expected = f"as long in each of {columns.shape[1]} axes as a class attribute has classes"
        raise UsageError.of("bad-value", name="shares", expected=expected, given=repr(shares.shape))
    if not (np.isfinite(shares).all() and (shares >= 0).all() and shares.sum() > 0):
        given = "negative, missing or all 0"
        raise UsageError.of("bad-value", name="shares", expected="the share of each class in the file", given=given)
    codes = np.asarray(np.ravel_multi_index(tuple(columns.T), shares.shape), dtype=np.intp)
    # combinations that the file does not have are no class
    held = np.union1d(codes, np.flatnonzero(shares))
    overall = shares.ravel()[held]
    return np.searchsorted(held, codes), overall / overall.sum()


def _unit_range(points: Floats) -> Floats:
    low, high = points.min(axis=0), points.max(axis=0)
    varying = low < high
    width = (high - low)[varying]
    # a power of two brings widths near 1 without rounding, so that none is too small to divide by
    power = np.frexp(width)[1]
    return np.ascontiguousarray(np.ldexp(points[:, varying] - low[varying], -power) / np.ldexp(width, -power))
