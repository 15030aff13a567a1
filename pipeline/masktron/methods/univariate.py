"""Univariate: the optimal partition along one variable, or along a direction of several."""

from __future__ import annotations

from typing import ClassVar, override

from masktron.arrays import Floats, Labels
from masktron.methods.base import Partitioning, RecordContext
from masktron.methods.parameters import parameter
from masktron.partitions.univariate import Projection, projected_partition


class UnivariateMethod(Partitioning):
    """The groups of least loss along one variable, or along one direction of several.

    Parameters
    ----------
    k : int
        Smallest number of records in a group, at least 2.
    projection : {"pca", "sum"}
        What several variables are projected to: their first principal component, or the sum of their z-scores.

    Notes
    -----
    Source: Hansen and Mukherjee (2003), A polynomial algorithm for optimal univariate microaggregation, IEEE TKDE
    15(4). Groups hold k to 2k - 1 records.
    """

    name: ClassVar[str] = "univariate"
    title: ClassVar[str] = "Optimal univariate microaggregation"
    says: ClassVar[str] = "Groups of least loss along one variable, or along one direction of several."
    when: ClassVar[str] = "One variable, or several that rank the records alike; millions of records."
    source: ClassVar[str] = "Hansen and Mukherjee 2003; projections as in sdcMicro"
    preserves: ClassVar[tuple[str, ...]] = (
        "means of all variables, where the aggregate is the mean",
        "the order of the group means along the direction",
    )

    projection: Projection = parameter(
        "Direction for several variables: their first principal component, or the sum of their z-scores.",
        default="pca",
    )

    @override
    def _partition(self, points: Floats, context: RecordContext) -> Labels:
        """Partition points along one direction; see `Partitioning.partition`."""
        return projected_partition(points, int(self.k), self.projection)
