"""The weighted geometric mean."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, assert_never

import numpy as np
from numpy.typing import NDArray

from masktron.aggregators.base import Aggregator, GroupContext, Groups, checked_groups, variables_of
from masktron.constraints import (
    Atom,
    InDomain,
    Lexical,
    Linear,
    Member,
    Missing,
    Polynomial,
    Present,
    Product,
    Range,
    Untranslated,
    Whole,
)
from masktron.errors import UsageError
from masktron.kernels.elementary import exponential, logarithm
from masktron.kernels.groups import weighted_means


@dataclass(frozen=True, slots=True)
class GeometricMean(Aggregator):
    """``sign * exp(sum(w * log|x|) / sum(w))``; zero where a group has a zero.

    Source: edit-constraint microaggregation, EC-NLC (products).
    """

    name: ClassVar[str] = "geometric_mean"

    def keeps(self, atom: Atom, context: GroupContext) -> bool:
        """Theorem: monomial relations and posynomial <= monomial survive inside one sign pattern.

        Proof: let every variable have one sign in the group, so that each monomial has one sign too, and its value
        at the prototype has that sign. Where no variable is zero, the log of a monomial's magnitude at the prototype
        is the weighted mean of its logs at the records; so

        - an equality, or an inequality of two monomials of equal sign, is a linear relation of logs and survives
          (of two negative ones, turned round); signs that differ decide an inequality alone;
        - of a sum of positive monomials, the log is a convex function of the variables' logs (log-sum-exp), hence
          at most the mean of its logs at the records, hence at most the right side's log;
        - a zero variable is zero in all records and in the prototype, and so are its monomials.

        On variables >= 0 with powers > 0, zeros may stand beside positive values: a monomial at the prototype is the
        product of its values at the records to the powers of their weights, zeros included, and for sums Hoelder's
        inequality takes the place of log-sum-exp.

        Strict relations survive there too, because the right side of ``sum < monomial`` is positive in every record,
        zeros and all, and so it is at the prototype; one mean of logs is then smaller than the other, or the left
        side is zero.

        A linear atom is one of these when its terms, brought to the side where their coefficient is positive, leave
        at most one monomial on the right. Two terms of equal sign, without a bound, compare a sum with zero: on
        variables >= 0, ``= 0`` and ``<= 0`` say that both are zero, in every record and in the prototype, and
        ``>= 0`` says nothing; but ``> 0`` needs one variable that is positive, since of records (0, 1) and (1, 0)
        both means are zero. With ``=`` a sum is never kept. The mean lies between the group's extremes,
        so intervals and sets of one number survive. Missing: where all are, nothing is replaced; present: a mean of
        numbers is a number.
        """
        match atom:
            case Linear():
                return _linear(atom, context)
            case Product():
                return _product(atom, context)
            case Missing():
                return True
            case Range() | Present():
                return _defined(frozenset({atom.variable}), context)
            case Member(values=values, negated=negated):
                single = not negated and len(values) == 1 and all(isinstance(v, Fraction) for v in values)
                return single and _defined(frozenset({atom.variable}), context)
            case Polynomial() | Whole() | Lexical() | InDomain() | Untranslated():
                return False
            case _:
                assert_never(atom)

    def aggregate(
        self,
        values: NDArray[np.float64],
        labels: NDArray[np.intp],
        weights: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]:
        """Compute the means through logs; see `Aggregator.aggregate`.

        Raises
        ------
        UsageError
            A variable is negative and positive in one group, besides what `Aggregator.aggregate` names.
        """
        groups = checked_groups(values, labels, weights)
        ordered = values[groups.order]
        lowest = np.minimum.reduceat(ordered, groups.starts, axis=0)
        highest = np.maximum.reduceat(ordered, groups.starts, axis=0)
        _require_one_side(lowest, highest)
        return np.clip(_through_logs(ordered, groups), lowest, highest)


def _defined(variables: frozenset[str], context: GroupContext) -> bool:
    """Whether no variable is negative and positive in one group."""
    return context.all_one_signed(variables - context.nonnegative)


def _product(atom: Product, context: GroupContext) -> bool:
    variables = variables_of(atom)
    monomials = (*atom.left, atom.right)
    divides = any(power < 0 for monomial in monomials for _, power in monomial.powers)
    nonnegative = context.all_nonnegative(variables)
    if not context.all_one_signed(variables) and (divides or not nonnegative):
        return False
    if len(atom.left) == 1:
        return True
    return atom.relation != "=" and nonnegative and all(monomial.coefficient > 0 for monomial in atom.left)


def _linear(atom: Linear, context: GroupContext) -> bool:
    variables = variables_of(atom)
    if len(variables & context.replaced) == 1:
        # Constants join the bound: this is an interval for the one variable.
        return _defined(variables & context.replaced, context)
    nonnegative = context.all_nonnegative(variables)
    if len(atom.terms) == 2 and atom.bound == 0:
        above_zero = atom.relation == "<" and all(coefficient < 0 for _, coefficient in atom.terms)
        safe = nonnegative and not (above_zero and variables.isdisjoint(context.positive))
        return safe or context.all_one_signed(variables)
    right = sum(coefficient < 0 for _, coefficient in atom.terms) + (atom.bound > 0)
    return atom.relation != "=" and nonnegative and right <= 1


def _require_one_side(lowest: NDArray[np.float64], highest: NDArray[np.float64]) -> None:
    both = (lowest < 0) & (highest > 0)
    if both.any():
        group, column = np.argwhere(both)[0].tolist()
        raise UsageError.of("mixed-signs", group=group, column=column + 1)


def _through_logs(ordered: NDArray[np.float64], groups: Groups) -> NDArray[np.float64]:
    zero = ordered == 0
    logs = logarithm(np.abs(np.where(zero, 1.0, ordered)))
    magnitude = exponential(weighted_means(logs, groups.weights[groups.order], groups.sizes))
    # A record without weight says nothing, its zero or sign included.
    heavy = (groups.weights[groups.order] > 0)[:, np.newaxis]
    has_zero = np.logical_or.reduceat(zero & heavy, groups.starts, axis=0)
    negative = np.logical_or.reduceat((ordered < 0) & heavy, groups.starts, axis=0)
    return np.where(has_zero, 0.0, np.where(negative, -magnitude, magnitude))
