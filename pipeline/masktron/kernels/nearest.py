"""The nearest places of points and all that tie with them, through SciPy's tree, a block of points at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_SURE = 1 << 16
"""Points without ties that are handled together."""
_BLOCK = 64
"""Points with ties whose places are listed together: bounds memory by _BLOCK places for each place."""
_SLACK = 1e-9
"""Far above the rounding of any distance: what the tree finds within it is compared again, as defined."""
_TINY = 1e-150
"""Distances whose squares vanish."""


@dataclass(frozen=True, slots=True)
class Nearest:
    """Places near some points, as lists one after the other.

    Attributes
    ----------
    points : ndarray of intp, shape (b,)
        The points, by number.
    starts : ndarray of intp, shape (b,)
        Where the list of each begins; none is empty.
    place : ndarray of intp, shape (c,)
        The places, by number.
    squared : ndarray of float64, shape (c,)
        Squared distances, added in the order of the dimensions.
    """

    points: NDArray[np.intp]
    starts: NDArray[np.intp]
    place: NDArray[np.intp]
    squared: NDArray[np.float64]

    def spread[T: np.generic](self, values: NDArray[T]) -> NDArray[T]:
        """Repeat a number of each point, shape (b,), for each place of its list, shape (c,)."""
        sizes = np.diff(self.starts, append=len(self.place))
        return np.repeat(values, sizes)


def squared_distances(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squared distances of rows, one dimension after the other."""
    total = np.zeros(len(a))
    for x, y in zip(a.T, b.T, strict=True):
        total += np.square(x - y)
    return total


def nearest_places(places: NDArray[np.float64], points: NDArray[np.float64], depth: int) -> Iterator[Nearest]:
    """List for every point the places that are no farther than its `depth`-th nearest, and perhaps a few more.

    Parameters
    ----------
    places : ndarray of float64, shape (m, d)
        Distinct and finite; m and d at least 1.
    points : ndarray of float64, shape (n, d)
        Finite; squared distances must not overflow.
    depth : int
        At least 1.

    Yields
    ------
    Nearest
        Each point in one of them.
    """
    from scipy.spatial import cKDTree  # noqa: PLC0415 -- loads for a quarter of a second

    tree = cKDTree(places)
    depth = min(depth, len(places))
    reach, near = tree.query(points, k=list(range(1, depth + 2)))
    # The tree adds squares in an order of its own, so it proposes places and the caller compares.
    bound = reach[:, depth - 1] * (1 + _SLACK) + _TINY
    # beyond the last place the distance is infinite
    sure = reach[:, depth] > bound
    for rows in _cut(np.flatnonzero(sure), _SURE):
        place = near[rows, :depth].ravel()
        yield _measured(places, points, rows, np.full(len(rows), depth), place)
    for rows in _cut(np.flatnonzero(~sure), _BLOCK):
        found = tree.query_ball_point(points[rows], bound[rows])
        sizes = np.array([len(those) for those in found], dtype=np.intp)
        place = np.concatenate([np.array(those, dtype=np.intp) for those in found])
        yield _measured(places, points, rows, sizes, place)


def _cut(rows: NDArray[np.intp], size: int) -> Iterator[NDArray[np.intp]]:
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def _measured(
    places: NDArray[np.float64],
    points: NDArray[np.float64],
    rows: NDArray[np.intp],
    sizes: NDArray[np.intp],
    place: NDArray[np.intp],
) -> Nearest:
    squared = squared_distances(np.repeat(points[rows], sizes, axis=0), places[place])
    return Nearest(rows, np.cumsum(sizes) - sizes, place, squared)
