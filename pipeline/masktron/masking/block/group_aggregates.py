"""What stands for the groups of a block before the rules are asked: aggregates, or values that were drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from masktron.aggregators.base import ObservedAggregator
from masktron.aggregators.mean import Mean
from masktron.aggregators.medoid import Medoid
from masktron.aggregators.mode import Mode
from masktron.arrays import Floats
from masktron.grouping.record_groups import RecordGroups
from masktron.masking.block.targets import targets
from masktron.masking.inputs import MaskingInputs
from masktron.plan import Block, aggregator_of
from masktron.settle.lattice import SettleExit
from masktron.settle.prototypes import EXITS


@dataclass(frozen=True, slots=True, eq=False)
class Aggregates:
    """The aggregates of the groups of one block.

    Attributes
    ----------
    values : ndarray of float64, shape (n, p)
        Numbers, ranks of ordered categories and codes of others, of the records; NaN where missing.
    missing : ndarray of intp, shape (n, p)
        What is missing in each record, by variable; 0 for values.
    pooled : ndarray of bool, shape (groups,)
        Groups that no aggregate stands for: they hold several patterns of missing values, or the medoid does.
    targets : ndarray of float64, shape (groups, p)
        Aggregates of the other groups; NaN for categories and where nothing has a value.
    centres : ndarray of float64, shape (groups, p)
        Arithmetic means of the same groups.
    middles : ndarray of intp, shape (groups, p), or None
        Records with the mode or median of each category, in the same groups; None where there are no categories.
    drawn : bool
        The targets were drawn, so that `middles` alone say which categories a group may have, not its records.
    exit : SettleExit or None
        Exit of groups whose aggregator takes observed values.
    choices : ndarray of intp, shape (groups, p), or None
        The records that hold these values.
    whole : bool
        The medoid of numbers was asked for: means would not be what was asked for, so nothing else is looked for.
    """

    values: Floats
    missing: NDArray[np.intp]
    pooled: NDArray[np.bool_]
    targets: Floats
    centres: Floats
    middles: NDArray[np.intp] | None
    drawn: bool
    exit: SettleExit | None
    choices: NDArray[np.intp] | None
    whole: bool


def aggregates_of(
    inputs: MaskingInputs, block: Block, grouping: RecordGroups, aims: Floats | None = None
) -> Aggregates:
    """Aggregate the groups of a block; `aims`, shape (groups, p), stand in for aggregates."""
    file = inputs.file
    values = file.coded(block.variables)
    aggregator = aggregator_of(block)
    medoid = isinstance(aggregator, Medoid)
    missing = file.missing(block.variables)
    # No aggregate stands for these groups. Zeros keep the aggregator from refusing them.
    pooled = grouping.varying(missing) | medoid
    usable = np.where(pooled[grouping.labels, None], 0.0, values)
    middles = None
    if not file.numeric.issuperset(block.variables):
        middles = file.middles(block.variables, usable, grouping.labels)
        if aims is not None:
            middles = file.holders(block.variables, aims, middles)
    taken: SettleExit | None = None
    choices = None
    if isinstance(aggregator, ObservedAggregator):
        taken = next((one for one in EXITS if one == aggregator.name), "observed")
        choices = aggregator.choose(usable, grouping.labels, file.weights)
    if isinstance(aggregator, Mode) and middles is not None:
        # Ordered categories beside others take their median, which keeps all that the mode was chosen for.
        choices = middles
    centres = Mean().aggregate(usable, grouping.labels, file.weights) if aims is None else aims
    return Aggregates(
        values=values,
        missing=missing,
        pooled=pooled,
        targets=targets(inputs, block, usable, grouping, centres) if aims is None else aims,
        centres=centres,
        middles=middles,
        drawn=aims is not None,
        exit=taken,
        choices=choices,
        whole=medoid and not file.numeric.isdisjoint(block.variables),
    )
