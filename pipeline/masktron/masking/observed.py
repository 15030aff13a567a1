"""The cap on records whose values are published since no aggregate of their group satisfies the rules."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from masktron.aggregators.geometric_mean import GeometricMean
from masktron.aggregators.mean import Mean
from masktron.aggregators.median import Median
from masktron.aggregators.medoid import Medoid
from masktron.errors import InfeasibleError
from masktron.masking.masked import MaskedBlock
from masktron.plan import DERIVED
from masktron.read.records import Column

AVERAGED = frozenset({Mean.name, GeometricMean.name}) | DERIVED
"""Aggregators that publish nobody's values: a group of theirs that does has left by a fallback."""


def observed_groups(masked: MaskedBlock, columns: Mapping[str, Column]) -> NDArray[np.bool_]:
    """Tell which groups of a block publish the values of one observed record; shape (groups,).

    These are the groups that left by the medoid, and those that took medians instead of another aggregate where the
    medians of all fields are the values of one record.

    Parameters
    ----------
    masked : MaskedBlock
    columns : mapping of str to Column
        The original values of the records that were masked.
    """
    exits = masked.settled.exits
    if masked.block.aggregator == Median.name:
        return np.asarray(exits == Medoid.name)
    same = np.ones(len(masked.grouping.labels), dtype=np.bool_)
    for position, name in enumerate(masked.block.variables):
        same &= np.asarray(columns[name].lexemes == masked.lexemes(position), dtype=np.bool_)
    held = np.bincount(masked.grouping.labels, same, minlength=masked.grouping.groups) > 0
    return np.asarray((exits == Medoid.name) | ((exits == Median.name) & held))


def refuse_observed(
    blocks: Sequence[MaskedBlock], columns: Mapping[str, Column], most: float, *, where: str = ""
) -> None:
    """Stop where more observed records than wanted would be published in the place of means.

    A block whose plan is the median, the mode or the medoid is made of observed values by design, so it is counted
    in the result and not capped.

    Parameters
    ----------
    blocks : sequence of MaskedBlock
    columns : mapping of str to Column
        The original values of the records that were masked.
    most : float
        Groups of each block that may publish an observed record, in per cent of the records, rounded up to whole
        groups: so a small file may have one, unless `most` is 0.
    where : str
        The file, for the message.

    Raises
    ------
    InfeasibleError
        Naming each block over the cap, and its share.
    """
    capped = [(masked, observed_groups(masked, columns)) for masked in blocks if masked.block.aggregator in AVERAGED]
    records = len(blocks[0].grouping.labels) if blocks else 0
    allowed = math.ceil(Fraction(str(most)) * records / 100)
    over = [_described(masked, observed, records) for masked, observed in capped if observed.sum() > allowed]
    if over:
        raise InfeasibleError(
            f"too many groups have no mean that satisfies the rules and would publish the values of a real record: "
            f"{'; '.join(over)}; at most {most:g} % of the records may, which is {allowed}",
            where=where,
            hint="raise --max-observed-share, change k, let a rule go with --allow, or give a field another role",
        )


def _described(masked: MaskedBlock, observed: NDArray[np.bool_], records: int) -> str:
    count, pooled = int(observed.sum()), int((observed & masked.grouping.pooled).sum())
    groups = f"{count} group" if count == 1 else f"{count} groups"
    rare = f", {pooled} of them since a pattern of missing values is rarer than k" if pooled else ""
    return f"{', '.join(masked.block.variables)}: {groups}, {100 * count / records:.2g} % of the records{rare}"
