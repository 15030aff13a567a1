"""Weighted order statistics: minimum, quartiles and maximum; the median is one of them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from masktron.aggregators.base import GroupContext, ObservedAggregator, checked_groups, variables_of
from masktron.constraints import Atom, Linear, Product, Relation
from masktron.kernels.integers import as_integers


@dataclass(frozen=True, slots=True)
class OrderStatistic(ObservedAggregator):
    """The smallest value that, with all smaller ones, has at least a share of the group's weight, and some weight.

    It is an observed value; the same weights serve all variables. Source: edit-constraint microaggregation, section
    3.5 (order statistics).

    Attributes
    ----------
    share : Fraction
        From 0 (the minimum) to 1 (the maximum), both of the records with weight.
    """

    share: ClassVar[Fraction]

    def keeps(self, atom: Atom, context: GroupContext) -> bool:
        """Theorem: an order statistic keeps every atom on one variable, and monotone relations of few.

        Proof. One replaced variable: its cell comes from a record that satisfies the atom, and what else the atom
        reads is constant in the group. Several: let s be the share, W the total weight, p the statistic of x. By
        definition w(x > p) <= (1 - s) W, and w(x < p) < s W or, for s = 0, nothing. Let ``g <= c`` (or ``g < c``)
        hold in all records, where g rises or falls, weakly, in each of its variables. In a record with x >= p for
        every x in which g rises and y <= q for every y in which it falls, g is at least what it is at the
        prototype, which therefore satisfies the atom. There is such a record if what the sets leave out weighs less
        than W in sum: less than s W for each rising variable, at most (1 - s) W for each falling one, and less than
        W for s = 0. See `shares_a_record`.

        An equality is two inequalities, turned round. For a linear atom the coefficients decide what rises; for a
        product atom, on positive variables, the powers after division by the right side.
        """
        varying = variables_of(atom) & context.replaced
        if len(varying) == 1:
            return True
        found = directions(atom, varying, context)
        return found is not None and relation_kept(*found, self.share)

    def choose(
        self,
        values: NDArray[np.float64],
        labels: NDArray[np.intp],
        weights: NDArray[np.float64] | None = None,
    ) -> NDArray[np.intp]:
        """Choose the cells of the statistics; see `ObservedAggregator.choose`. Weights are added exactly.

        Of records with equal values, sorted by index, it is the one in which the share is reached.
        """
        groups = checked_groups(values, labels, weights)
        exact, _ = as_integers(groups.weights)
        chosen = np.empty((len(groups.sizes), values.shape[1]), dtype=np.intp)
        for column in range(values.shape[1]):
            order = np.lexsort((values[:, column], labels))
            chosen[:, column] = order[reached_at(groups.sizes, groups.starts, exact[order], self.share)]
        return chosen


@dataclass(frozen=True, slots=True)
class Minimum(OrderStatistic):
    """The smallest value with weight."""

    name: ClassVar[str] = "minimum"
    share: ClassVar[Fraction] = Fraction(0)


@dataclass(frozen=True, slots=True)
class LowerQuartile(OrderStatistic):
    """The smallest value that, with all smaller ones, has at least a quarter of the weight."""

    name: ClassVar[str] = "lower_quartile"
    share: ClassVar[Fraction] = Fraction(1, 4)


@dataclass(frozen=True, slots=True)
class UpperQuartile(OrderStatistic):
    """The smallest value that, with all smaller ones, has at least three quarters of the weight."""

    name: ClassVar[str] = "upper_quartile"
    share: ClassVar[Fraction] = Fraction(3, 4)


@dataclass(frozen=True, slots=True)
class Maximum(OrderStatistic):
    """The largest value with weight."""

    name: ClassVar[str] = "maximum"
    share: ClassVar[Fraction] = Fraction(1)


def reached_at(
    sizes: NDArray[np.intp], starts: NDArray[np.intp], weights: NDArray[Any], share: Fraction
) -> NDArray[np.intp]:
    """Return where a share of each group's weight is reached, among records sorted by group and value.

    Parameters
    ----------
    sizes, starts : ndarray of intp, shape (g,)
        Of each group: its records, and where they begin.
    weights : ndarray of int64 or of Python int, shape (n,)
        In that order, with a sum that does not overflow.
    share : Fraction
        From 0 to 1.

    Returns
    -------
    ndarray of intp, shape (g,)
    """
    if not len(sizes):
        return np.empty(0, dtype=np.intp)
    reached = np.cumsum(weights)
    before = np.where(starts > 0, reached[starts - 1], 0)
    total = reached[starts + sizes - 1] - before
    # ceil(share * total), without a product that overflows; some weight in any case
    whole, part = total // share.denominator, total % share.denominator
    bound = np.maximum(whole * share.numerator - (-part * share.numerator // share.denominator), 1)
    missed = reached - np.repeat(before, sizes) < np.repeat(bound, sizes)
    at: NDArray[np.intp] = starts + np.add.reduceat(missed, starts, dtype=np.intp)
    return at


def directions(atom: Atom, varying: frozenset[str], context: GroupContext) -> tuple[list[int], Relation] | None:
    """Say whether the left side of an atom, the right side brought there, rises (1) or falls (-1) in each variable.

    It is 0 where the variable cancels out, and None is returned where the atom is not monotone in some of them, or is
    none whose monotony is known.
    """
    match atom:
        case Linear(terms=terms, relation=relation):
            return [1 if coefficient > 0 else -1 for name, coefficient in terms if name in varying], relation
        case Product(left=left, right=right, relation=relation):
            positive = all(monomial.coefficient > 0 for monomial in (*left, right))
            if not positive or not variables_of(atom) <= context.positive:
                return None
            found = []
            for name in varying:
                divisor = dict(right.powers).get(name, 0)
                powers = [dict(monomial.powers).get(name, 0) - divisor for monomial in left]
                if min(powers) < 0 < max(powers):
                    return None
                found.append((max(powers) > 0) - (min(powers) < 0))
            return found, relation
        case _:
            return None


def relation_kept(rising: list[int], relation: Relation, share: Fraction) -> bool:
    """Whether the theorem covers a relation whose left side has these directions."""
    up, down = rising.count(1), rising.count(-1)
    return shares_a_record(up, down, share) and (relation != "=" or shares_a_record(down, up, share))


def shares_a_record(rising: int, falling: int, share: Fraction) -> bool:
    """Whether so many sets ``x >= p`` and ``y <= q`` have a record in common, whatever the values."""
    left_out = rising * share + falling * (1 - share)
    strict = rising > 0 if share > 0 else falling > 0
    return left_out < 1 or (left_out == 1 and strict)
