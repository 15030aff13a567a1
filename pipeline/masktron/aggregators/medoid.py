"""The medoid: the record of the group with the least sum of squared distances to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from masktron.aggregators.base import GroupContext, ObservedAggregator, checked_groups
from masktron.constraints import Atom
from masktron.kernels.groups import weighted_means
from masktron.kernels.standardise import standardised


@dataclass(frozen=True, slots=True)
class Medoid(ObservedAggregator):
    """An observed record, the same for all variables.

    The sum of weighted squared distances to a group is least for the record nearest to its weighted mean (Huygens),
    here in standardised space: unit variance of each variable over all records given.
    """

    name: ClassVar[str] = "medoid"

    def keeps(self, atom: Atom, context: GroupContext) -> bool:
        """Theorem: the medoid keeps every atom.

        Proof: all replaced variables come from one record of the group, and what else the atom reads has there the
        same lexemes as everywhere in the group; so the atom says of the prototype what it says of that record.
        """
        return True

    def choose(
        self,
        values: NDArray[np.float64],
        labels: NDArray[np.intp],
        weights: NDArray[np.float64] | None = None,
        points: NDArray[np.float64] | None = None,
    ) -> NDArray[np.intp]:
        """Choose the medoid record of each group, the lowest index of equals; see `ObservedAggregator.choose`.

        Here a group may mix missing and present values: a missing one stands at the mean of the present ones of its
        group, and whether it is missing counts as a variable of its own, with values 0 and 1.

        Parameters
        ----------
        points : ndarray of float64, shape (n, d), optional
            Coordinates in which to measure instead of the standardised values: for codes of text, or to standardise
            over more records than are given.
        """
        groups = checked_groups(values, labels, weights, mixed_missing=True)
        squared = self.distances(standardised(values) if points is None else points, labels, weights)
        nearest = np.lexsort((squared, labels))[groups.starts]
        return np.repeat(nearest[:, np.newaxis], values.shape[1], axis=1)

    def distances(
        self,
        points: NDArray[np.float64],
        labels: NDArray[np.intp],
        weights: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]:
        """Return the squared distance of each record to the mean of its group, shape (n,): least for the medoid.

        Missing values count as in `choose`, and errors are those of `aggregate`.
        """
        groups = checked_groups(points, labels, weights, mixed_missing=True)
        squared = np.empty(len(points))
        ordered = points[groups.order]
        squared[groups.order] = _squared_distances(ordered, groups.weights[groups.order], groups.sizes)
        return squared


def _squared_distances(
    points: NDArray[np.float64], weights: NDArray[np.float64], sizes: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Squared distance of each record, sorted by group, to the mean of its group."""
    starts = np.cumsum(sizes) - sizes
    missing = np.isnan(points)
    share = weighted_means(missing.astype(np.float64), weights, sizes)
    squared = np.zeros(len(points))
    for column in range(points.shape[1]):
        gap = missing[:, column]
        weight = np.where(gap, 0.0, weights)
        # Where no present cell has weight, there is no mean to be near to: the variable does not count.
        void = np.repeat(np.maximum.reduceat(weight, starts) == 0, sizes)
        filled = np.where(gap, 0.0, points[:, column])[:, np.newaxis]
        mean = weighted_means(filled, np.where(void, 1.0, weight), sizes)[:, 0]
        squared += np.where(gap | void, 0.0, np.square(filled[:, 0] - np.repeat(mean, sizes)))
        squared += np.square(gap - np.repeat(share[:, column], sizes))
    return squared
