"""Aggregators: how a group of records becomes one prototype, and which edits survive that."""

from __future__ import annotations

from masktron.aggregators.base import Aggregator, GroupContext, ObservedAggregator, variables_of
from masktron.aggregators.geometric_mean import GeometricMean
from masktron.aggregators.mean import Mean
from masktron.aggregators.median import Median
from masktron.aggregators.medoid import Medoid
from masktron.aggregators.mode import Mode

ALL: tuple[Aggregator, ...] = (Mean(), GeometricMean(), Median(), Mode(), Medoid())
"""Every aggregator, observed ones last."""

__all__ = [
    "ALL",
    "Aggregator",
    "GeometricMean",
    "GroupContext",
    "Mean",
    "Median",
    "Medoid",
    "Mode",
    "ObservedAggregator",
    "variables_of",
]
