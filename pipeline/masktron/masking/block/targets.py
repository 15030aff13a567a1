"""Where settle looks for the prototypes of a block: the aggregate of each group."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from masktron.aggregators.base import variables_of
from masktron.aggregators.geometric_mean import GeometricMean
from masktron.aggregators.mean import Mean
from masktron.constraints import Polynomial, Product
from masktron.grouping.record_groups import RecordGroups
from masktron.masking.groups.partitioning import MethodPartitioner
from masktron.masking.inputs import MaskingInputs
from masktron.partitions.mdav import standardise
from masktron.plan import DERIVE_GEOMETRIC, Block, aggregator_of


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
