"""mu-Approx: groups cut from trees of near records."""

from __future__ import annotations

from typing import ClassVar, override

from masktron.arrays import Floats, Labels
from masktron.methods.base import Partitioning, RecordContext
from masktron.partitions.mu_approx import approx_partition


class MuApproxMethod(Partitioning):
    """Groups of k to 2k - 1 records, cut from trees in which each record is joined to a near one.

    Parameters
    ----------
    k : int
        Smallest number of records in a group, at least 2.

    Notes
    -----
    Source: Domingo-Ferrer, Sebe and Solanas (2008), A polynomial-time approximation to optimal multivariate
    microaggregation; the forest from Aggarwal et al. (2005), Approximation algorithms for k-anonymity.
    """

    name: ClassVar[str] = "mu_approx"
    title: ClassVar[str] = "mu-Approx microaggregation"
    says: ClassVar[str] = "Near records are joined in trees, and the trees cut to groups of k to 2k - 1."
    when: ClassVar[str] = "Records that form natural clusters, or many of them: groups vary in size with the data."
    source: ClassVar[str] = "Domingo-Ferrer, Sebe and Solanas 2008; Aggarwal et al. 2005"
    preserves: ClassVar[tuple[str, ...]] = ("means of all variables, where the aggregate is the mean",)

    @override
    def _partition(self, points: Floats, context: RecordContext) -> Labels:
        """Partition points by mu-Approx; see `Partitioning.partition`."""
        return approx_partition(points, int(self.k))
