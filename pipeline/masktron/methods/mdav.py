"""MDAV: groups around the records that are farthest from the mean."""

from __future__ import annotations

from typing import ClassVar, override

from masktron.arrays import Floats, Labels
from masktron.methods.base import Partitioning, RecordContext
from masktron.partitions.partitioner import partition_whole


class MdavMethod(Partitioning):
    """Maximum distance to average vector; the univariate optimum where records differ in one variable alone.

    Parameters
    ----------
    k : int
        Smallest number of records in a group, at least 2.

    Notes
    -----
    Source: Domingo-Ferrer and Torra (2005); Domingo-Ferrer and Gonzalez-Nicolas (2010), section 2.2. Groups hold k
    records, the last ones k to 2k - 1; the last step is for 2k to 3k - 1 records.
    """

    name: ClassVar[str] = "mdav"
    title: ClassVar[str] = "MDAV microaggregation"
    says: ClassVar[str] = "Groups of k near records, formed from the outside in, share their aggregate."
    when: ClassVar[str] = "The default: little loss, fast, and k records are identical in each block."
    source: ClassVar[str] = "Domingo-Ferrer and Torra 2005; Domingo-Ferrer and Gonzalez-Nicolas 2010, section 2.2"
    preserves: ClassVar[tuple[str, ...]] = ("means of all variables, where the aggregate is the mean",)

    @override
    def _partition(self, points: Floats, context: RecordContext) -> Labels:
        """Partition points by MDAV; see `Partitioning.partition`."""
        return partition_whole(points, int(self.k))
