"""HybridMicro: normal draws for the groups of MDAV."""

from __future__ import annotations

from typing import ClassVar, override

import numpy as np

from masktron.arrays import Floats
from masktron.contracts import MethodContract, PartitionedSynthesis
from masktron.errors import InfeasibleError
from masktron.methods.base import Drawn, GroupedMethod, RecordContext, require_records
from masktron.methods.conditioned import ConditionedMethod, Conditioning
from masktron.methods.parameters import parameter
from masktron.partitions.mdav import standardise
from masktron.partitions.partitioner import partition_whole
from masktron.synthesis.within import SPARE, draw_normal, joined, rank, short, unchanged


class HybridMicroMethod(GroupedMethod, ConditionedMethod):
    """Normal draws with the moments of each group of MDAV.

    Parameters
    ----------
    k : int
        Smallest number of records in a group. Groups of 3 records more than they have dimensions are formed if k is
        smaller: with fewer, draws that keep covariances would hardly differ from the original.
    exact : bool
        Draws moved and scaled to the moments of the group, else plain draws.
    random_state : int, RandomState or None
        For the estimator.

    Notes
    -----
    A relation that the whole file keeps nearly, a rounded total beside large values, may be none within a group: such
    a group joins the nearest other one. Records of a group that are all equal stay as they are. Both are said.

    Source: Oganian and Domingo-Ferrer (2012), section 4; Domingo-Ferrer and Gonzalez-Nicolas (2010).
    """

    name: ClassVar[str] = "hybrid_micro"
    title: ClassVar[str] = "HybridMicro"
    says: ClassVar[str] = (
        "Draws values from the normal distribution of each group of MDAV, in cells of like conditions."
    )
    when: ClassVar[str] = "Means and covariances of small parts of the file have to stay, and records be no copies."
    source: ClassVar[str] = "Oganian and Domingo-Ferrer 2012, section 4; Domingo-Ferrer and Gonzalez-Nicolas 2010"
    attacker: ClassVar[str] = (
        "Values are drawn from means and covariances of groups alone: with the secret, too, there is nothing to "
        "invert for a record but what these tell, and in small groups of few variables that is much. With "
        "exact=true whoever knows all records of the file or of a cell of like conditions but one computes that one "
        "from the means, but for rounding."
    )
    preserves: ClassVar[tuple[str, ...]] = (
        "means and covariances of all variables, within each group, in each cell of like conditions and in the file; "
        "exactly with exact draws",
        "linear relations that hold exactly in the file",
    )
    loses: ClassVar[tuple[str, ...]] = (
        "differences by condition within a cell",
        "relations with unmasked fields that are not conditions",
    )
    conditioning: ClassVar[Conditioning] = Conditioning.CELLS

    k: int = 10
    exact: bool = parameter("Whether draws get the moments of their group exactly, or in expectation.", default=True)

    @property
    def contract(self) -> MethodContract:
        """Draws for groups of at least k."""
        return PartitionedSynthesis(int(self.k))

    def least(self, variables: int) -> int:
        """Three records more than variables, and k."""
        return max(int(self.k), variables + SPARE)

    @override
    def _mask(self, values: Floats, generator: np.random.Generator, context: RecordContext) -> Drawn:
        """Draw the values of each record for its group."""
        require_records(len(values), self.least(values.shape[1]), self.name)
        size = max(int(self.k), rank(values) + SPARE)
        points = standardise(values)
        formed = partition_whole(points, size)
        labels = joined(points, formed, lambda rows: short(values[rows]))
        notes: tuple[str, ...] = () if size == self.k else (
            f"groups of at least {size} records were formed, not of {self.k}: records differ in {size - SPARE} "
            "directions, and draws that keep their covariances need as many records and 3 more",
        )  # fmt: skip
        if fewer := int(formed.max() - labels.max()):
            notes += (
                f"{fewer} of {formed.max() + 1} groups joined the nearest other one: their records differ in "
                "directions that are nothing beside the spread of the file",
            )
        if alike := unchanged(values, labels):
            notes += (alike,)
        try:
            return Drawn(draw_normal(values, labels, generator, exact=self.exact), labels, notes)
        except InfeasibleError as refused:
            refused.at(self.name)
            raise
