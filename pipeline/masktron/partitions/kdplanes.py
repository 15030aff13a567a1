"""Blocks of near records, cut by a sphere and by planes that were found in a sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from masktron.partitions.kdcut import widest


@dataclass(frozen=True, slots=True, eq=False)
class Edge:
    """A sphere around the median, beyond which few records lie.

    Attributes
    ----------
    centre : ndarray of float64, shape (d,)
    reach : float
        Square of the radius.
    """

    centre: NDArray[np.float64]
    reach: float

    @classmethod
    def of(cls, sample: NDArray[np.float64], far: int) -> Self:
        """Find the sphere beyond which at most `far` records of a sample lie.

        Parameters
        ----------
        sample : ndarray of float64, shape (m, d)
            Finite, of at least one record.
        far : int
            Fewer than m.
        """
        centre = np.median(sample, axis=0)
        last = len(sample) - 1 - far
        return cls(centre, float(np.partition(_distances(sample, centre), last)[last]))

    def beyond(self, points: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Tell which points, shape (n, d), lie beyond it, shape (n,)."""
        return _distances(points, self.centre) > self.reach


def _distances(points: NDArray[np.float64], centre: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return squared distances, shape (n,), added column by column: the same on every processor."""
    total = np.zeros(len(points))
    for own, middle in zip(points.T, centre.tolist(), strict=True):
        total += np.square(own - middle)
    return total


@dataclass(frozen=True, slots=True, eq=False)
class KdPlanes:
    """A k-d tree of half-spaces, of which every leaf is a block.

    Node 0 is the root. What is at most `bound` in `column` goes to the node `below`, the rest to the one behind it.

    Attributes
    ----------
    column : ndarray of intp, shape (nodes,)
        -1 for leaves.
    bound : ndarray of float64, shape (nodes,)
    below : ndarray of intp, shape (nodes,)
        For leaves the number of the block, from 0, those below first.
    """

    column: NDArray[np.intp]
    bound: NDArray[np.float64]
    below: NDArray[np.intp]

    @classmethod
    def of(cls, sample: NDArray[np.float64], most: int) -> Self:
        """Halve a sample at the median of its widest column until no part has more than `most` of its records.

        A part whose records are all in one place is not cut.

        Parameters
        ----------
        sample : ndarray of float64, shape (m, d)
            Finite.
        most : int
            At least 1.
        """
        column, bound, below = [-1], [0.0], [0]
        waiting, leaves = [(0, np.arange(len(sample)))], 0
        while waiting:
            node, rows = waiting.pop()
            cut = _plane(sample[rows]) if len(rows) > most else None
            if cut is None:
                below[node] = leaves
                leaves += 1
                continue
            column[node], bound[node] = cut
            below[node] = len(column)
            lower = sample[rows, column[node]] <= bound[node]
            for part in (rows[lower], rows[~lower]):
                waiting.append((len(column), part))
                column.append(-1)
                bound.append(0.0)
                below.append(0)
            waiting[-2:] = reversed(waiting[-2:])
        return cls(np.array(column, dtype=np.intp), np.array(bound), np.array(below, dtype=np.intp))

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return int((self.column < 0).sum())

    def places(self, points: NDArray[np.float64]) -> NDArray[np.intp]:
        """Return the block of each point, shape (n,), given points, shape (n, d), that are finite."""
        node = np.zeros(len(points), dtype=np.intp)
        open_ = np.flatnonzero(self.column[node] >= 0)
        while open_.size:
            own = node[open_]
            upper = points[open_, self.column[own]] > self.bound[own]
            node[open_] = self.below[own] + upper
            open_ = open_[self.column[node[open_]] >= 0]
        return self.below[node]


def _plane(points: NDArray[np.float64]) -> tuple[int, float] | None:
    """Return a column and a bound that leave records on both sides; None where all are in one place."""
    column = widest(points) if points.shape[1] else 0
    if not points.shape[1] or np.ptp(points[:, column]) == 0:
        return None
    values = np.sort(points[:, column])
    middle = values[(len(values) - 1) // 2]
    # where half of the records and more are alike in the largest value, the next one below it bounds
    return column, float(middle if middle < values[-1] else values[values < middle][-1])
