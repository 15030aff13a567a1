"""The two scenarios of the edit paper: groups and aggregates that know its four edits, and such that do not.

Source: edit-constraints-and-numerical-hybrid-2009, second paper, sections 3 to 5. Variables that share an edit are
one block; "the remaining variables, the ones that are not involved in any edit constraint, are microaggregated
together grouping them in groups of size 3". V3 stands in an edit by itself, so it is a block by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from masktron.aggregators.base import Aggregator
from masktron.aggregators.geometric_mean import GeometricMean
from masktron.aggregators.mean import Mean
from masktron.grouping.disjuncts import Disjuncts
from masktron.grouping.record_groups import group_records
from masktron.partitions.mdav import partition, standardise
from reproduction.data import MEASURED, Values, column, columns

EDIT_AWARE = ((9, 10, 14), (5, 15, 16), (8, 12, 13), (3,), (1, 2, 4), (6, 7, 11))
"""Blocks of S1: the sum, the product, the rule in which V8 governs V12 and V13, the range, the rest in threes."""
PRODUCT, GOVERNED = EDIT_AWARE[1], EDIT_AWARE[2]


def edit_blind_blocks(variables: int = MEASURED) -> tuple[tuple[int, ...], ...]:
    """Return blocks of three variables in file order; the last may be smaller."""
    numbers = range(1, variables + 1)
    return tuple(tuple(numbers[start : start + 3]) for start in range(0, variables, 3))


def edit_aware(values: Values, k: int) -> Values:
    """Mask V1 to V16 as in scenario S1, with the aggregators of the paper.

    Parameters
    ----------
    values : ndarray of float64, shape (n, 16)
    k : int
        Smallest group, at least 1.

    Returns
    -------
    ndarray of float64, shape (n, 16)
        Aggregates as they are, not rounded to the grid of the data.
    """
    return _in_blocks(values, k, _alternatives_shared(values, k))


def by_antecedent(values: Values, k: int) -> Values:
    """Mask as `edit_aware` does, with the records of V8 < 1115 apart, as section 3.4 of the paper has it.

    They are four. For larger k they form one group with the others that are nearest to one of them, which the paper
    does not say.
    """
    return _in_blocks(values, k, _antecedent_shared(values, k))


def _in_blocks(values: Values, k: int, governed: NDArray[np.intp]) -> Values:
    masked = values.copy()
    for block in EDIT_AWARE:
        own = values[:, columns(block)]
        labels = governed if block == GOVERNED else partition(standardise(own), k)
        masked[:, columns(block)] = _aggregated(own, labels, GeometricMean() if block == PRODUCT else Mean())
    return masked


def edit_blind(values: Values, k: int) -> Values:
    """Mask variables as in scenario S2: MDAV and arithmetic means in threes, whatever the edits say; shape (n, p)."""
    masked = values.copy()
    for block in edit_blind_blocks(values.shape[1]):
        own = values[:, columns(block)]
        masked[:, columns(block)] = _aggregated(own, partition(standardise(own), k), Mean())
    return masked


@dataclass(frozen=True, slots=True)
class Broken:
    """Records that break each edit of the paper."""

    total: int
    product: int
    interval: int
    governing: int


def broken(values: Values) -> Broken:
    """Count records that break the edits by more than the rounding of doubles, in values of shape (n, 16)."""
    v = {number: column(values, number) for number in range(1, values.shape[1] + 1)}
    return Broken(
        _count(~_equal(v[9] + v[10], v[14])),
        _count(~_equal(v[5] * v[15], v[16])),
        _count((v[3] < 0) | (v[3] > 7500)),
        _count((v[8] < 1115) & (v[13] > v[12])),
    )


def _alternatives_shared(values: Values, k: int) -> NDArray[np.intp]:
    """Groups of V8, V12 and V13 that share a disjunct of "V8 >= 1115 or V13 <= V12"."""
    alternatives = np.column_stack([column(values, 8) >= 1115, column(values, 13) <= column(values, 12)])
    alike = np.zeros(len(values), dtype=np.intp)
    grouping = group_records(
        standardise(values[:, columns(GOVERNED)]),
        k,
        apart=alike,
        patterns=alike,
        disjuncts=Disjuncts.of(len(values), [alternatives]),
    )
    if grouping.mixed.any():
        raise RuntimeError(f"at k = {k} a group shares no alternative of the rule for V8")
    return grouping.labels


def _antecedent_shared(values: Values, k: int) -> NDArray[np.intp]:
    """Groups of V8, V12 and V13, the records with V8 < 1115 apart, with company if they are fewer than k."""
    points = standardise(values[:, columns(GOVERNED)])
    rare = column(values, 8) < 1115
    distances = np.square(points[:, None] - points[rare][None]).sum(axis=2).min(axis=1)
    # their own distances are 0, so they come first
    near = np.argsort(distances, kind="stable")[: max(k, np.count_nonzero(rare))]
    apart = np.zeros(len(values), dtype=np.bool_)
    apart[near] = True
    labels = np.empty(len(values), dtype=np.intp)
    labels[apart] = partition(points[apart], k)
    labels[~apart] = partition(points[~apart], k) + labels[apart].max() + 1
    return labels


def _aggregated(values: Values, labels: NDArray[np.intp], aggregator: Aggregator) -> Values:
    return aggregator.aggregate(values, labels)[labels]


def _equal(one: Values, other: Values) -> NDArray[np.bool_]:
    return np.isclose(one, other, rtol=1e-9, atol=0.0)


def _count(wrong: NDArray[np.bool_]) -> int:
    return int(np.count_nonzero(wrong))


def groups_of(blocks: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the positions of the measured variables of each block that has one."""
    kept = ([at for at in columns(block) if at < MEASURED] for block in blocks)
    return [own for own in kept if own]
