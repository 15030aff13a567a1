"""The values of one respondent among the prototypes: what is counted, what is said, and what is capped.

A prototype can equal a record of its group for three reasons, and only two of them publish that record.

1. Nothing else was found: the medoid, or medians of all fields that one record holds together. Or the rules leave no
   number free: lists of values (sets, points, domains, categories), equalities and unmasked fields settle every
   field that is not constant in the group, so that the points that obey them are, as far as is known, the records
   themselves. How the search came to such a point does not matter.
2. One record is the aggregate: it holds more than `DOMINANT` of the weight of its group, or it alone has a value of
   a field in a group of several patterns of missing values.
3. Chance. Numbers on a coarse grid have few points: the rounded mean of the children of three households is the
   number of one of them more often than not. Whoever sees it cannot tell which record that is, nor that it is one,
   and it was taken for being near the mean of all. In a file of small integers many groups are of this kind.

The first two are *copied* and capped; the third is *coincident* and printed. A combination that at least k records of
the file hold is nobody's, wherever it comes from: it tells no more than a group of k does. So lists and weights copy
only what fewer than k records hold. The medoid and the medians are capped in any case.

In blocks planned with observed aggregators somebody's values are the plan: they are counted and not capped.

Where a method draws, each record is a group of its own and publishes nobody, but for records that took the prototype
of a group: a prototype that copies a record does so there as well, once however many records took it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from masktron.aggregators.geometric_mean import GeometricMean
from masktron.aggregators.mean import Mean
from masktron.aggregators.median import Median
from masktron.aggregators.medoid import Medoid
from masktron.grouping.record_groups import RecordGroups
from masktron.masking.disclosure.determined import Determined
from masktron.masking.disclosure.holders import Holders
from masktron.masking.file_values import FileValues
from masktron.masking.inputs import MaskingInputs
from masktron.plan import DERIVED, Block
from masktron.settle.prototypes import Settled

AVERAGED = frozenset({Mean.name, GeometricMean.name}) | DERIVED
"""Aggregators that publish nobody's values: a group of theirs that does has left by a fallback."""
DOMINANT = 0.9
"""Share of the weight of a group above which its aggregate is, but for rounding, the values of one record."""


@dataclass(frozen=True, slots=True, eq=False)
class Exposure:
    """Groups of one block by what their prototypes tell of single records; arrays of bool, shape (groups,).

    Attributes
    ----------
    copied : ndarray
        One record's values stand in the place of an aggregate: what the cap is about. In a block of observed
        aggregators, the groups that left by the medoid.
    observed : ndarray
        In a block of observed aggregators, groups whose whole prototype one record of theirs holds; else those that
        are copied.
    coincident : ndarray
        Aggregates that equal a record of the group in all present fields by chance.
    dominated : ndarray
        One record holds more than `DOMINANT` of the weight.
    determined : mapping of str to ndarray
        For each masked field that equalities with unmasked ones settle somewhere: the groups in which every record
        gets its own value back.
    """

    copied: NDArray[np.bool_]
    observed: NDArray[np.bool_]
    coincident: NDArray[np.bool_]
    dominated: NDArray[np.bool_]
    determined: Mapping[str, NDArray[np.bool_]]

    def copying(self, copied: NDArray[np.bool_]) -> Exposure:
        """Return the same where some drawn records stand for prototypes that copy a record."""
        return replace(self, copied=copied, observed=copied, coincident=self.coincident & ~copied)


def exposure_of(inputs: MaskingInputs, block: Block, grouping: RecordGroups, settled: Settled) -> Exposure:
    """Tell what the prototypes of a block publish of single records.

    Theorem: in an averaged block, a group whose prototype equals a record of the group in all present fields is
    copied or coincident, never neither. Proof: `coincident` is what is held and not copied.

    Parameters
    ----------
    inputs : MaskingInputs
        The records that were masked.
    block : Block
    grouping : RecordGroups
    settled : Settled
    """
    held = Holders.of(inputs.file, inputs.k, block.variables, grouping, settled)
    if block.drawn:
        # each record has values of its own, and those of a respondent by chance alone; prototypes are added later
        none = np.zeros(grouping.groups, dtype=np.bool_)
        return Exposure(none, none, held.held, none, {})
    settling = Determined(inputs.rules, block, grouping, settled)
    medoids = settled.left_by(Medoid.name)
    dominant, dominated = _dominance(inputs.file, grouping)
    if block.aggregator in AVERAGED:
        rare = held.held & (held.in_file < inputs.k)
        copied = medoids | (settled.left_by(Median.name) & held.held)
        copied |= held.alone
        copied |= rare & dominated & held.equal[dominant]
        constant = {name: held.unchanged(position) for position, name in enumerate(block.variables)}
        copied |= settling.by_lists(rare & ~copied, constant)
        observed, coincident = copied, held.held & ~copied
    else:
        copied, observed, coincident = medoids, medoids | held.held, np.zeros_like(medoids)
    unchanged = {
        name: where & held.unchanged(position)
        for name, where in settling.by_unmasked(np.ones(grouping.groups, dtype=np.bool_)).items()
        for position in (block.variables.index(name),)
    }
    kept = {name: where for name, where in unchanged.items() if where.any()}
    return Exposure(copied, observed, coincident, dominated, kept)


def _dominance(file: FileValues, grouping: RecordGroups) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the heaviest record of each group, and whether it holds more than `DOMINANT` of the weight."""
    if file.weights is None:
        return grouping.first, grouping.sizes == 1
    weights = file.weights
    order = np.lexsort((-weights, grouping.labels))
    heaviest = order[np.searchsorted(grouping.labels[order], np.arange(grouping.groups))].astype(np.intp)
    # A share of the largest weight cannot overflow, unlike a sum of weights.
    shares = weights / np.maximum(weights[heaviest], np.finfo(np.float64).tiny)[grouping.labels]
    totals = np.bincount(grouping.labels, shares, minlength=grouping.groups)
    return heaviest, np.asarray((weights[heaviest] > 0) & (DOMINANT * totals < 1.0))
