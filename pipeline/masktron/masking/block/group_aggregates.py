"""What stands for the groups of a block before the rules are asked: aggregates, or values that were drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from masktron.aggregators.base import ObservedAggregator, variables_of
from masktron.aggregators.geometric_mean import GeometricMean
from masktron.aggregators.mean import Mean
from masktron.aggregators.medoid import Medoid
from masktron.aggregators.mode import Mode
from masktron.arrays import Floats
from masktron.constraints import Polynomial, Product
from masktron.grouping.record_groups import RecordGroups
from masktron.masking.groups.partitioning import MethodPartitioner
from masktron.masking.inputs import MaskingInputs
from masktron.partitions.mdav import standardise
from masktron.plan import DERIVE_GEOMETRIC, Block, aggregator_of
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


def targets(
    inputs: MaskingInputs,
    block: Block,
    values: NDArray[np.float64],
    grouping: RecordGroups,
    means: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Aggregate the groups of a block.

    Where groups of the geometric mean mix signs, which only mixed groups do, the arithmetic mean stands in for it.

    Parameters
    ----------
    values : ndarray of float64, shape (n, p)
        Numbers and codes of categories, in the order of the block; in no group missing in some records only.
    means : ndarray of float64, shape (groups, p)
        Their arithmetic means.

    Returns
    -------
    ndarray of float64, shape (groups, p)
    """
    if (own := _of_method(inputs, block, values, grouping, means)) is not None:
        return own
    if block.aggregator == DERIVE_GEOMETRIC:
        return _geometric_factors(inputs, block, values, grouping, means)
    aggregator = aggregator_of(block)
    if not block.one_signed:
        plain = isinstance(aggregator, Mean)
        return means if plain else aggregator.aggregate(values, grouping.labels, inputs.file.weights)
    unlike = grouping.varying(np.nan_to_num(np.sign(values)))
    one_signed = np.where(unlike[grouping.labels, None], 0.0, values)
    return np.where(
        unlike[:, None],
        means,
        aggregator.aggregate(one_signed, grouping.labels, inputs.file.weights),
    )


def _of_method(
    inputs: MaskingInputs,
    block: Block,
    values: NDArray[np.float64],
    grouping: RecordGroups,
    means: NDArray[np.float64],
) -> NDArray[np.float64] | None:
    """Return prototypes that the method makes of more records than a group has, part by part of what is missing.

    Nothing vouches for them but the engine, as with any target. Groups of several patterns of missing values keep
    their means; so do blocks of another aggregate than the mean.
    """
    partitioner = inputs.partitioner
    if not isinstance(partitioner, MethodPartitioner) or not isinstance(aggregator_of(block), Mean):
        return None
    present = ~np.isnan(values)
    pooled = grouping.varying(present)[grouping.labels]
    targets = means.copy()
    for pattern in np.unique(present[~pooled], axis=0):
        records = np.flatnonzero((present == pattern).all(axis=1) & ~pooled)
        groups, labels = np.unique(grouping.labels[records], return_inverse=True)
        if not pattern.any() or not inputs.file.numeric.issuperset(block.variables):
            continue
        own = values[np.ix_(records, pattern)]
        weights = None if inputs.file.weights is None else inputs.file.weights[records]
        found = partitioner.method.prototypes(own, standardise(own), labels.astype(np.intp), weights)
        if found is None:
            return None
        targets[np.ix_(groups, pattern)] = found
    return targets


def _geometric_factors(
    inputs: MaskingInputs,
    block: Block,
    values: NDArray[np.float64],
    grouping: RecordGroups,
    means: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Geometric means of what products multiply, where that has one sign and no zero; arithmetic means elsewhere.

    Products of geometric means are geometric means of products, so that such targets agree with each other. A single
    zero would make the whole mean zero, far from the other records; and nothing is gained for a variable of sums,
    of which the arithmetic mean has the least sum of squares.
    """
    products = (
        variables_of(atom)
        for form in inputs.rules.forms(block)
        for conjunction in form
        for atom in conjunction
        if isinstance(atom, Polynomial | Product)
    )
    multiplied = frozenset[str]().union(*products)
    ordered = values[np.argsort(grouping.labels, kind="stable")]
    starts = np.cumsum(grouping.sizes) - grouping.sizes
    lowest, highest = (extreme.reduceat(ordered, starts, axis=0) for extreme in (np.minimum, np.maximum))
    factors = (lowest > 0) | (highest < 0)
    factors &= np.array([name in multiplied for name in block.variables])
    strict = np.where(factors[grouping.labels], values, 1.0)
    return np.where(
        factors,
        GeometricMean().aggregate(strict, grouping.labels, inputs.file.weights),
        means,
    )
