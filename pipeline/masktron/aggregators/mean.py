"""The weighted arithmetic mean."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, assert_never

import numpy as np
from numpy.typing import NDArray

from masktron.aggregators.base import Aggregator, GroupContext, checked_groups, variables_of
from masktron.constraints import (
    Atom,
    InDomain,
    Lexical,
    Linear,
    Member,
    Missing,
    Monomial,
    Polynomial,
    Present,
    Product,
    Range,
    Untranslated,
    Whole,
)
from masktron.kernels.groups import weighted_means


@dataclass(frozen=True, slots=True)
class Mean(Aggregator):
    """The weighted arithmetic mean of each variable, the same records and weights for all of them.

    Source: edit-constraint microaggregation, EC-LC (linear constraints).
    """

    name: ClassVar[str] = "mean"

    def keeps(self, atom: Atom, context: GroupContext) -> bool:
        """Theorem: the mean keeps every atom whose solutions form a convex set.

        Proof: with weights >= 0 of positive sum, the mean is a convex combination of the group's records, and a
        convex set holds the convex combinations of its points. Convex are

        - linear equalities and inequalities, strict ones too: the inequalities of the records add up, and at least
          one has a positive weight; for the same reason intervals, with open, closed or no ends;
        - a set of one number, which is a closed interval;
        - missing: where all are, nothing is replaced; present: a mean of numbers is a number;
        - products as far as `_convex` proves it.

        Integrality, larger sets and everything lexical have gaps; a combination need not be in the domain.
        """
        match atom:
            case Linear() | Range() | Missing() | Present():
                return True
            case Member(values=values, negated=negated):
                return not negated and len(values) == 1 and all(isinstance(v, Fraction) for v in values)
            case Product():
                return _convex(atom, context)
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
        """Compute the means in double-double; see `Aggregator.aggregate`.

        A constant column has exactly the constant as its mean, and no mean leaves the range of its group.
        """
        groups = checked_groups(values, labels, weights)
        return weighted_means(values[groups.order], groups.weights[groups.order], groups.sizes)


def _convex(atom: Product, context: GroupContext) -> bool:
    """Whether a product atom has a convex set of solutions; constants of the group count as coefficients.

    1. Every monomial has at most one replaced variable, with power 1: the atom is linear in these.
    2. An inequality whose right side is constant or linear, and whose left monomials are convex functions: constant,
       linear, an even power of one variable, or on positive variables as in `_convex_monomial`. A convex function
       below a linear one bounds a convex set. (Constants of unknown sign might turn a function over: refused.)
    3. An inequality between two monomials on positive variables, as in `_convex_ratio`.
    """
    monomials = (*atom.left, atom.right)
    if all(_affine(_powers(m, context.replaced)) for m in monomials):
        return True
    if atom.relation == "=" or any(m.coefficient < 0 for m in monomials):
        return False
    positive = variables_of(atom) <= context.positive
    if not positive and variables_of(atom) & context.constant - context.positive:
        return False
    bounded = _affine(_powers(atom.right, context.replaced))
    if bounded and all(_convex_monomial(_powers(m, context.replaced), positive) for m in atom.left):
        return True
    return positive and len(atom.left) == 1 and _convex_ratio(atom.left[0], atom.right, context.replaced)


def _powers(monomial: Monomial, replaced: frozenset[str]) -> dict[str, int]:
    return {name: power for name, power in monomial.powers if name in replaced}


def _affine(powers: dict[str, int]) -> bool:
    return not powers or list(powers.values()) == [1]


def _convex_monomial(powers: dict[str, int], positive: bool) -> bool:
    """Whether a monomial is a convex function.

    On the whole line: 1, x, and x ** p with p even and positive. On positive variables: all powers negative
    (exp of a convex function), or one positive and the sum of all at least 1 (a perspective of x ** p).
    """
    if _affine(powers):
        return True
    if not positive:
        return len(powers) == 1 and all(p > 0 and p % 2 == 0 for p in powers.values())
    risen = [p for p in powers.values() if p > 0]
    return not risen or (len(risen) == 1 and sum(powers.values()) >= 1)


def _convex_ratio(left: Monomial, right: Monomial, replaced: frozenset[str]) -> bool:
    """Whether ``left <= right`` bounds a convex set of positive points: ``prod(x ** a) <= constant`` after division.

    With all a <= 0 it reads ``prod(x ** -a) >= constant``: the left side is a positive power of a weighted geometric
    mean, which is concave. With one a_1 > 0 and the sum >= 0 it reads ``x_1 <= constant * prod(x ** (-a / a_1))``:
    exponents that add up to at most 1 make the right side concave.
    """
    ratio = _powers(left, replaced)
    for name, power in _powers(right, replaced).items():
        ratio[name] = ratio.get(name, 0) - power
    risen = [p for p in ratio.values() if p > 0]
    return not risen or (len(risen) == 1 and sum(ratio.values()) >= 0)
