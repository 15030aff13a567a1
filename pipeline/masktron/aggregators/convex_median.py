"""The weighted convex median."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from masktron.aggregators.base import GroupContext, ObservedAggregator, checked_groups, variables_of
from masktron.aggregators.order_statistic import directions, reached_at
from masktron.constraints import Atom
from masktron.kernels.integers import as_integers

_LARGEST = 2**62
"""Sums of int64 stay below."""


@dataclass(frozen=True, slots=True)
class ConvexMedian(ObservedAggregator):
    """The lower median after the weights of values were made convex: ``min(largest below, largest above)``.

    A value that lies between two heavier ones weighs as much as the lighter of these, itself included on both
    sides. So a group whose records crowd at both ends of an order is represented by its middle more often than by
    the end that is a little heavier. Only values that the group holds count.

    Source: edit-constraint microaggregation, section 3.3, which names it; the convex hull of the weights is our
    reading of Domingo-Ferrer and Torra (2003), Median-based aggregation operators for prototype construction in
    ordinal scales, who admit categories that no record of the group holds as well.
    """

    name: ClassVar[str] = "convex_median"

    def keeps(self, atom: Atom, context: GroupContext) -> bool:
        """Theorem: the convex median keeps every atom on one variable, and equalities that rise.

        Proof. One variable: as for every observed value. Two, with an equality whose left side rises strictly in x
        and falls strictly in y: y is a strictly rising function of x in the group, so both divide it in the same
        classes, in the same order and of the same weights; so are the convex weights, and the same class is the
        median. Where y falls as x rises, a tie takes the lower of two middles in both. The convex median is not
        monotone, so that no inequality of two variables survives: of the records (1, 1, 1, 2, 3, 3) it is 2, and of
        (1, 1, 1, 2, 3, 4) it is 1.
        """
        varying = variables_of(atom) & context.replaced
        if len(varying) == 1:
            return True
        found = directions(atom, varying, context)
        return found is not None and sorted(found[0]) == [-1, 1] and found[1] == "="

    def choose(
        self,
        values: NDArray[np.float64],
        labels: NDArray[np.intp],
        weights: NDArray[np.float64] | None = None,
    ) -> NDArray[np.intp]:
        """Choose the first record with the median; see `ObservedAggregator.choose`. Weights are added exactly."""
        groups = checked_groups(values, labels, weights)
        exact, _ = as_integers(groups.weights)
        chosen = np.empty((len(groups.sizes), values.shape[1]), dtype=np.intp)
        for column in range(values.shape[1]):
            order = np.lexsort((values[:, column], labels))
            chosen[:, column] = order[_middle_classes(values[order, column], labels[order], exact[order])]
        return chosen


def _middle_classes(values: NDArray[np.float64], labels: NDArray[np.intp], weights: NDArray[Any]) -> NDArray[np.intp]:
    """Return where the class of the median begins in each group, among records sorted by group and value."""
    if not len(values):
        return np.empty(0, dtype=np.intp)
    same = (values[1:] == values[:-1]) | (np.isnan(values[1:]) & np.isnan(values[:-1]))
    begins = np.flatnonzero(np.concatenate([[True], ~same | (labels[1:] != labels[:-1])]))
    label = labels[begins]
    sizes = np.bincount(label)
    starts = np.cumsum(sizes) - sizes
    convex = _convex(np.add.reduceat(weights, begins), label)
    at: NDArray[np.intp] = begins[reached_at(sizes, starts, convex, Fraction(1, 2))]
    return at


def _convex(weights: NDArray[Any], labels: NDArray[np.intp]) -> NDArray[Any]:
    """Return the smaller one of the largest weight up to each class and of that from it on, group by group."""
    # weights may be Python integers; their ranks stay in order when each group gets a range of its own
    distinct, rank = np.unique(weights, return_inverse=True)
    count = len(distinct)
    up = np.maximum.accumulate(rank + labels * count) % count
    down = np.maximum.accumulate((rank - labels * count)[::-1] + labels[-1] * count)[::-1] % count
    if int(distinct[-1]) * len(weights) >= _LARGEST:
        distinct = distinct.astype(object)
    convex: NDArray[Any] = distinct[np.minimum(up, down)]
    return convex
