"""The weighted mode (plurality)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from masktron.aggregators.base import (
    GroupContext,
    ObservedAggregator,
    checked_groups,
    variables_of,
)
from masktron.constraints import Atom, Linear, Product
from masktron.kernels.integers import as_integers


@dataclass(frozen=True, slots=True)
class Mode(ObservedAggregator):
    """The value with the largest weight in the group; of equals, the one whose first record comes first.

    Source: edit-constraint microaggregation, EC-PV (weighted plurality).
    """

    name: ClassVar[str] = "mode"

    def keeps(self, atom: Atom, context: GroupContext) -> bool:
        """Theorem: the mode keeps every atom on one variable, and one-to-one relations of two.

        Proof. One replaced variable: its cell comes from a record that satisfies the atom, and what else the atom
        reads is constant in the group. Two, with ``a x + b y = c``: records share a value of x exactly if they
        share the value of y, so both variables divide the group alike, in classes of the same weights and first
        records, and the same class wins. An equality of two monomials does so too where both variables have one
        sign in the group and are not zero: powers are one-to-one there.
        """
        varying = variables_of(atom) & context.replaced
        if len(varying) == 1:
            return True
        if len(varying) != 2:
            return False
        match atom:
            case Linear():
                return atom.relation == "="
            case Product():
                return _one_to_one(atom, varying, context)
            case _:
                return False

    def choose(
        self,
        values: NDArray[np.float64],
        labels: NDArray[np.intp],
        weights: NDArray[np.float64] | None = None,
    ) -> NDArray[np.intp]:
        """Choose the first record with the mode; see `ObservedAggregator.choose`. Weights are added exactly."""
        groups = checked_groups(values, labels, weights)
        exact, _ = as_integers(groups.weights)
        chosen = np.empty((len(groups.sizes), values.shape[1]), dtype=np.intp)
        for column in range(values.shape[1]):
            chosen[:, column] = _first_of_heaviest(values[:, column], labels, exact)
        return chosen


def _first_of_heaviest(
    values: NDArray[np.float64], labels: NDArray[np.intp], weights: NDArray[Any]
) -> NDArray[np.intp]:
    """Return, for each group, the first record with the value of largest weight. NaN equals NaN here."""
    if not len(values):
        return np.empty(0, dtype=np.intp)
    order = np.lexsort((values, labels))
    value, label = values[order], labels[order]
    same = (value[1:] == value[:-1]) | (np.isnan(value[1:]) & np.isnan(value[:-1]))
    starts = np.flatnonzero(np.concatenate([[True], ~same | (label[1:] != label[:-1])]))
    # Weights may be Python integers, which lexsort cannot sort; their ranks it can.
    rank = np.unique(np.add.reduceat(weights[order], starts), return_inverse=True)[1]
    best = np.lexsort((order[starts], -rank, label[starts]))
    ranked_label = label[starts][best]
    first = np.concatenate([[True], ranked_label[1:] != ranked_label[:-1]])
    picked: NDArray[np.intp] = order[starts][best][first]
    return picked


def _one_to_one(atom: Product, varying: frozenset[str], context: GroupContext) -> bool:
    """Whether an equality of two monomials fixes each of the varying variables by the other."""
    if atom.relation != "=" or len(atom.left) != 1:
        return False
    powers = dict.fromkeys(varying, 0)
    for monomial, side in ((atom.left[0], 1), (atom.right, -1)):
        for name, power in monomial.powers:
            if name in powers:
                powers[name] += side * power
    return all(powers.values()) and variables_of(atom) <= context.positive
