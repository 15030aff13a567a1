"""Aggregators: how a group of records becomes one prototype, and which edits survive that.

Begin with `base.Aggregator`; `median` is the shortest example. An aggregator is a module and a line in `ALL`, and
declares the constraints that it keeps, each with its proof.
"""

from __future__ import annotations

from masktron.aggregators.base import Aggregator, GroupContext, ObservedAggregator, variables_of
from masktron.aggregators.boolean_max_min import BooleanMaxMin
from masktron.aggregators.convex_median import ConvexMedian
from masktron.aggregators.geometric_mean import GeometricMean
from masktron.aggregators.mean import Mean
from masktron.aggregators.median import Median
from masktron.aggregators.medoid import Medoid
from masktron.aggregators.mode import Mode
from masktron.aggregators.order_statistic import LowerQuartile, Maximum, Minimum, UpperQuartile

AUTOMATIC: tuple[Aggregator, ...] = (Mean(), GeometricMean(), Median(), Mode(), Medoid())
"""Those among which the rules and the measured loss choose, observed ones last."""
OFFERED: tuple[Aggregator, ...] = (
    ConvexMedian(),
    BooleanMaxMin(),
    Minimum(),
    LowerQuartile(),
    UpperQuartile(),
    Maximum(),
)
"""Those that are used where they are asked for by name alone."""
ALL: tuple[Aggregator, ...] = (*AUTOMATIC, *OFFERED)
"""Every aggregator."""

__all__ = [
    "ALL",
    "AUTOMATIC",
    "OFFERED",
    "Aggregator",
    "BooleanMaxMin",
    "ConvexMedian",
    "GeometricMean",
    "GroupContext",
    "LowerQuartile",
    "Maximum",
    "Mean",
    "Median",
    "Medoid",
    "Minimum",
    "Mode",
    "ObservedAggregator",
    "UpperQuartile",
    "variables_of",
]
