"""A Boolean max-min function: the largest of the smallest values of the coalitions that count."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from masktron.aggregators.base import GroupContext, ObservedAggregator, checked_groups, variables_of
from masktron.aggregators.order_statistic import directions, reached_at, relation_kept
from masktron.constraints import Atom
from masktron.kernels.integers import as_integers

_HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class BooleanMaxMin(ObservedAggregator):
    """``max over coalitions A of min over i in A of x_i``; A counts with more than half of weight and of records.

    A Boolean max-min function is given by the coalitions that count (a Sugeno integral whose measure is 0 or 1).
    With all it would be the maximum, with the whole group alone the minimum; the order statistics are those that
    do not ask who is in a coalition. Here a double majority counts, of the weight and of the records that have any,
    so that one heavy record cannot lift the value by itself, and many light ones cannot either. Without weights it is
    the lower median.

    Source: edit-constraint microaggregation, section 3.5, which leaves the coalitions open.
    """

    name: ClassVar[str] = "boolean_max_min"

    def keeps(self, atom: Atom, context: GroupContext) -> bool:
        """Theorem: every atom on one variable is kept, and of two variables what the lower median keeps.

        Proof. One variable: as for every observed value. Let p and q be the values for x and y. The set x >= p
        counts, and y > q does not, or q would be larger.

        - g rises in both: x >= p and y >= q hold more than half of the weight each, and share a record; there
          g(p, q) <= g(x, y).
        - g rises in x and falls in y: if x >= p and y <= q shared no record, x >= p would be part of y > q, which
          would then count.
        """
        varying = variables_of(atom) & context.replaced
        if len(varying) == 1:
            return True
        found = directions(atom, varying, context)
        # with two variables, and these alone, the conditions are those of an order statistic of share 1/2
        return found is not None and len(varying) == 2 and relation_kept(*found, _HALF)

    def choose(
        self,
        values: NDArray[np.float64],
        labels: NDArray[np.intp],
        weights: NDArray[np.float64] | None = None,
    ) -> NDArray[np.intp]:
        """Choose the cells; see `ObservedAggregator.choose`. Weights are added exactly.

        The largest value that a majority reaches is the lower median; the smaller one of two, by weight and by heads,
        is reached by both majorities.
        """
        groups = checked_groups(values, labels, weights)
        exact, _ = as_integers(groups.weights)
        heads = (groups.weights > 0).astype(np.int64)
        chosen = np.empty((len(groups.sizes), values.shape[1]), dtype=np.intp)
        for column in range(values.shape[1]):
            order = np.lexsort((values[:, column], labels))
            by_weight, by_heads = (
                reached_at(groups.sizes, groups.starts, measure[order], _HALF) for measure in (exact, heads)
            )
            chosen[:, column] = order[np.minimum(by_weight, by_heads)]
        return chosen
