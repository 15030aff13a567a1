"""MST: the minimum spanning tree, cut at its longest edges."""

from __future__ import annotations

from typing import ClassVar, Literal, override

from masktron.arrays import Floats, Labels
from masktron.methods.base import Partitioning, RecordContext
from masktron.methods.parameters import parameter
from masktron.partitions.mst import to_unit, tree_partition


class TreePartitioning(Partitioning):
    """A method that cuts the minimum spanning tree.

    Parameters
    ----------
    scale : {"standard", "unit"}
        Coordinates as they are given, or each variable rescaled to [0, 1] among the records that are partitioned.
    """

    scale: Literal["standard", "unit"] = parameter(
        "Coordinates that distance is measured in: as they are given, standardised, or each variable from 0 to 1.",
        default="standard",
        kw_only=True,
    )

    def scaled(self, points: Floats) -> Floats:
        """Return points in these coordinates."""
        return to_unit(points) if self.scale == "unit" and len(points) else points


class MstMethod(TreePartitioning):
    """The minimum spanning tree, cut at the longest edge that leaves k records on both sides until there is none.

    Parameters
    ----------
    k : int
        Smallest number of records in a group, at least 2. There is no largest one.
    scale : {"standard", "unit"}
        Coordinates as they are given, or each variable rescaled to [0, 1] among the records that are partitioned.

    Notes
    -----
    Source: Laszlo and Mukherjee (2005), Minimum spanning tree partitioning algorithm for microaggregation, IEEE TKDE
    17(7); Li and Sarkar (2013), section 4, which scales to [0, 1].
    """

    name: ClassVar[str] = "mst"
    title: ClassVar[str] = "Microaggregation by the minimum spanning tree"
    says: ClassVar[str] = "The tree that joins all records with the shortest edges is cut at its longest ones."
    when: ClassVar[str] = "Records that form natural clusters of uneven size; up to some 50,000 at a time."
    source: ClassVar[str] = "Laszlo and Mukherjee 2005; Li and Sarkar 2013, section 4"
    preserves: ClassVar[tuple[str, ...]] = ("means of all variables, where the aggregate is the mean",)

    @override
    def _partition(self, points: Floats, context: RecordContext) -> Labels:
        """Partition points by their minimum spanning tree; see `Partitioning.partition`."""
        return tree_partition(self.scaled(points), int(self.k))
