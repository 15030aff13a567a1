"""The weighted lower median."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from masktron.aggregators.base import (
    GroupContext,
    ObservedAggregator,
    checked_groups,
    variables_of,
)
from masktron.constraints import Atom, Linear, Product, Relation
from masktron.kernels.integers import as_integers


@dataclass(frozen=True, slots=True)
class Median(ObservedAggregator):
    """The smallest value that, with all smaller ones, has at least half of the group's weight.

    It is an observed value; the same weights serve all variables. Source: edit-constraint microaggregation, EC-PV and
    EC-GV (order statistics).
    """

    name: ClassVar[str] = "median"

    def keeps(self, atom: Atom, context: GroupContext) -> bool:
        """Theorem: the lower median keeps every atom on one variable, and monotone inequalities of two.

        Proof. One replaced variable: its cell comes from a record that satisfies the atom, and what else the atom
        reads is constant in the group. Two, x and y with lower medians p and q and total weight W: by definition
        w(x <= p) >= W/2 and w(x >= p) > W/2, and so for y. Let ``g(x, y) <= c`` (or ``< c``) hold in all records.

        - g rises in both: the sets x >= p and y >= q weigh more than W/2 each, so they share a record, and there
          g(p, q) <= g(x, y). (Rising and falling are meant weakly.)
        - g rises in x and falls in y: the sets x >= p and y <= q share a record, for the same reason.
        - g falls in both: x <= p and y <= q may weigh W/2 each and share no record. Not kept.

        An equality is two inequalities, so it is kept only in the second case. For a linear atom the coefficients
        decide; for a product atom, on positive variables, the powers after division by the right side. With three
        variables, three sets of half the weight need not share a record.
        """
        varying = variables_of(atom) & context.replaced
        if len(varying) == 1:
            return True
        if len(varying) != 2:
            return False
        match atom:
            case Linear(terms=terms, relation=relation):
                rising = [coefficient > 0 for name, coefficient in terms if name in varying]
                return _kept(rising, relation)
            case Product():
                return _product(atom, varying, context)
            case _:
                return False

    def choose(
        self,
        values: NDArray[np.float64],
        labels: NDArray[np.intp],
        weights: NDArray[np.float64] | None = None,
    ) -> NDArray[np.intp]:
        """Choose the cells of the medians; see `ObservedAggregator.choose`. Weights are added exactly.

        Of records with equal values, sorted by index, it is the one in which half of the weight is reached.
        """
        groups = checked_groups(values, labels, weights)
        exact, _ = as_integers(groups.weights)
        chosen = np.empty((len(groups.sizes), values.shape[1]), dtype=np.intp)
        for column in range(values.shape[1]):
            order = np.lexsort((values[:, column], labels))
            reached = np.cumsum(exact[order])
            # With c reached before the group and e at its end: less than half is 2 * (r - c) < e - c.
            before = np.where(groups.starts > 0, reached[groups.starts - 1], 0)
            half = before + reached[groups.starts + groups.sizes - 1]
            below = np.add.reduceat(2 * reached < np.repeat(half, groups.sizes), groups.starts)
            chosen[:, column] = order[groups.starts + below]
        return chosen


def _kept(rising: list[bool], relation: Relation) -> bool:
    """Whether the theorem covers an atom of two variables whose left side rises in those marked, else falls."""
    return rising.count(True) == 1 or (all(rising) and relation != "=")


def _product(atom: Product, varying: frozenset[str], context: GroupContext) -> bool:
    positive = variables_of(atom) <= context.positive and all(
        monomial.coefficient > 0 for monomial in (*atom.left, atom.right)
    )
    if not positive:
        return False
    divisor = dict(atom.right.powers)
    rising = []
    for name in varying:
        powers = [dict(monomial.powers).get(name, 0) - divisor.get(name, 0) for monomial in atom.left]
        if min(powers) < 0 < max(powers):
            return False
        rising.append(max(powers) > 0)
    return _kept(rising, atom.relation)
