"""The weighted lower median."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from masktron.aggregators.order_statistic import OrderStatistic


@dataclass(frozen=True, slots=True)
class Median(OrderStatistic):
    """The smallest value that, with all smaller ones, has at least half of the group's weight.

    What order statistics keep is, for the share 1/2: every atom on one variable, and of two variables what rises in
    both, or rises in one and falls in the other. If it falls in both, the sets x <= p and y <= q may weigh half each
    and share no record; three sets of half the weight need not share one either.

    Source: edit-constraint microaggregation, section 3.3 (weighted median), and 3.4 for its monotony. The printed
    formula, position N / 2 for even N, is the lower median.
    """

    name: ClassVar[str] = "median"
    share: ClassVar[Fraction] = Fraction(1, 2)
