"""Blocks of near records: a k-d cut at medians, so that no block holds more than a number of records."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

_EIGHTH = 8


@dataclass(frozen=True, slots=True)
class Cut:
    """What cutting a stratum before it is partitioned has done.

    Attributes
    ----------
    records, blocks : int
    largest : int
        Records of the largest block.
    excess : float
        Sum of squares within groups, in the unit of the points, that the uncut partition would not have. MDAV is a
        heuristic, so that it can be negative.
    measured : bool
        Whether it is the difference to the uncut partition, or an estimate.
    """

    records: int
    blocks: int
    largest: int
    excess: float
    measured: bool

    def loss(self, total: float) -> float:
        """Return the information loss that cutting costs, in percentage points.

        Parameters
        ----------
        total : float
            Sum of squares of the whole file: for standardised coordinates, those of all records squared and added.
        """
        return 100.0 * self.excess / total if total else 0.0


@dataclass(frozen=True, slots=True)
class Cuts:
    """What was cut while something was partitioned, from whatever thread."""

    _seen: list[Cut] = field(default_factory=list)

    def add(self, cut: Cut) -> None:
        """Remember a cut."""
        self._seen.append(cut)

    def largest(self) -> Cut | None:
        """Return the cut of most records, whatever the order in which they came; None without any.

        Records may be partitioned more than once, and among different others, before groups are chosen, so that cuts
        do not add up.
        """
        return max(self._seen, key=lambda cut: (cut.records, cut.blocks, cut.excess), default=None)


def excess_of_cuts(once_more: float, blocks: int, dimensions: int) -> float:
    """Carry what it costs to cut every block once more over to the levels of the cut that made them.

    A cut costs in proportion to the groups that it goes through. A level of cuts has 2 ** (1 / d) times the surface
    of the level above.

    Parameters
    ----------
    once_more : float
        Sum of squares within groups that this adds.
    blocks : int
        At least 2: where there are fewer, they are taken for two.
    dimensions : int
    """
    ratio: float = 2.0 ** (-1.0 / dimensions)
    levels = float(np.log2(max(blocks, 2)))
    scale: float = ratio * (1.0 - ratio**levels) / (1.0 - ratio)
    return once_more * scale


def kd_cut(points: NDArray[np.float64], most: int, k: int) -> list[NDArray[np.intp]]:
    """Halve records at the median of the widest column until no block has more than `most`.

    The lower half takes the smallest values, of equal ones those with the lowest index, and as many records as the
    half has, rounded down to whole groups of k, so that only the last block can have a group of more than k.
    A column is as wide as what lies between its first and its last eighth, so that outliers do not decide; where that
    is nothing in any column, as wide as all of its values. Only order statistics are compared, so that the cut is
    a function of the data; of columns equally wide, the first is cut.

    Parameters
    ----------
    points : ndarray of float64, shape (n, d)
        Finite.
    most : int
        At least 2k.
    k : int
        At least 1, and at most n.

    Returns
    -------
    list of ndarray of intp
        Positions, ascending in each block; the blocks in the order of the cuts, lower half first. Every record is in
        one block, and every block has at least k.

    Notes
    -----
    Theorem: every block has at least k records. Proof: what is cut has more than ``most >= 2k``, so that half of it
    holds a whole group, and the upper half is no smaller than the lower one.
    """
    blocks: list[NDArray[np.intp]] = []
    waiting = [np.arange(len(points))]
    while waiting:
        block = waiting.pop()
        if len(block) <= most:
            blocks.append(block)
            continue
        lower = _lower(points[block], len(block) // 2 // k * k)
        waiting += [block[~lower], block[lower]]
    return blocks


def _lower(points: NDArray[np.float64], size: int) -> NDArray[np.bool_]:
    """Mark the records with the smallest values in the widest column."""
    values = points[:, widest(points)]
    bound = np.partition(values, size - 1)[size - 1]
    lower: NDArray[np.bool_] = values < bound
    tied = np.flatnonzero(values == bound)
    lower[tied[: size - np.count_nonzero(lower)]] = True
    return lower


def widest(points: NDArray[np.float64]) -> int:
    """Return the column of points, shape (n, d), with n and d of at least 1, that is the widest but for outliers."""
    at = len(points) // _EIGHTH
    widths = np.empty(points.shape[1])
    for column, values in enumerate(points.T):
        ordered = np.partition(values, (at, len(values) - 1 - at))
        widths[column] = ordered[-1 - at] - ordered[at]
    return int((widths if widths.any() else np.ptp(points, axis=0)).argmax())
