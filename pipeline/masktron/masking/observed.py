"""The cap on records whose values are published since no aggregate of their group satisfies the rules."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from masktron.aggregators.geometric_mean import GeometricMean
from masktron.aggregators.mean import Mean
from masktron.aggregators.medoid import Medoid
from masktron.errors import InfeasibleError
from masktron.plan import DERIVE

if TYPE_CHECKING:
    from masktron.masking import MaskedBlock

AVERAGED = frozenset({Mean.name, GeometricMean.name, DERIVE})
"""Aggregators that publish nobody's values: a group of theirs that leaves by the medoid is one that they failed."""


def observed_groups(masked: MaskedBlock) -> int:
    """Count the groups of a block that publish the values of one observed record."""
    return int((masked.settled.exits == Medoid.name).sum())


def refuse_observed(blocks: Sequence[MaskedBlock], records: int, most: float, *, where: str = "") -> None:
    """Stop where more observed records than wanted would be published in the place of means.

    A block whose plan is the median, the mode or the medoid is made of observed values by design, so it is counted
    in the result and not capped.

    Parameters
    ----------
    blocks : sequence of MaskedBlock
    records : int
        Records to release.
    most : float
        Groups that may leave by the medoid in each block, in per cent of the records, rounded up to whole groups: so
        a small file may have one, unless `most` is 0.
    where : str
        The file, for the message.

    Raises
    ------
    InfeasibleError
        Naming each block over the cap, and its share.
    """
    allowed = math.ceil(Fraction(str(most)) * records / 100)
    over = [masked for masked in blocks if masked.block.aggregator in AVERAGED and observed_groups(masked) > allowed]
    if not over:
        return
    parts = "; ".join(_described(masked, records) for masked in over)
    raise InfeasibleError(
        f"too many groups have no mean that satisfies the rules and would publish the values of a real record: "
        f"{parts}; at most {most:g} % of the records may, which is {allowed}",
        where=where,
        hint="raise --max-observed-share, change k, let a rule go with --allow, or give a field another role",
    )


def _described(masked: MaskedBlock, records: int) -> str:
    count = observed_groups(masked)
    pooled = int(np.count_nonzero((masked.settled.exits == Medoid.name) & masked.grouping.pooled))
    rare = f", {pooled} of them since a pattern of missing values is rarer than k" if pooled else ""
    groups = f"{count} group" if count == 1 else f"{count} groups"
    return f"{', '.join(masked.block.variables)}: {groups}, {100 * count / records:.2g} % of the records{rare}"
