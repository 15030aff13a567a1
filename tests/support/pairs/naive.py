"""What a tool that knows no rules does: groups of near records, an aggregate of each field, rounding."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.grouping.record_groups import RecordGroups
from masktron.partitions.mdav import partition as mdav
from masktron.plan import Block
from masktron.settle.prototypes import Settled
from masktron.sources.records import Column

type Records = NDArray[np.intp]
type Weights = NDArray[np.float64] | None


def blind_groups(inputs: Any, partition: Any) -> RecordGroups:
    """Partition the records by MDAV, whatever the rules say.

    Records are parted only by which values they lack, where k of them lack the same; means need no more. Those with a
    rarer pattern are a part of their own, or join the nearest group.
    """
    names = partition.variables
    lacks = np.stack([~inputs.file.columns[name].present for name in names], axis=1)
    _, patterns = np.unique(lacks, axis=0, return_inverse=True)
    labels = _parted(np.nan_to_num(inputs.file.points(names)), patterns.ravel(), inputs.k)
    grouping = RecordGroups(labels, *(np.zeros(int(labels.max()) + 1, dtype=np.bool_) for _ in range(2)))
    return RecordGroups(labels, grouping.mixed, grouping.varying(patterns.reshape(-1, 1)))


def _parted(points: NDArray[np.float64], patterns: Records, k: int) -> Records:
    counts = np.bincount(patterns)
    rare = counts[patterns] < k
    parts = [np.flatnonzero(patterns == pattern) for pattern in np.flatnonzero(counts >= k)]
    if not parts or rare.sum() >= k:
        parts.append(np.flatnonzero(rare))
        rare = np.zeros_like(rare)
    labels = np.full(len(points), -1, dtype=np.intp)
    for part in parts:
        labels[part] = labels.max() + 1 + mdav(points[part], k)
    groups = range(int(labels.max()) + 1)
    centres = np.stack([points[labels == group].mean(axis=0) for group in groups])
    for record in np.flatnonzero(rare):
        labels[record] = ((centres - points[record]) ** 2).sum(axis=1).argmin()
    return labels


def raw_prototypes(
    columns: Mapping[str, Column],
    numeric: Collection[str],
    weights: Weights,
    block: Block,
    labels: Records,
    *,
    rounded: bool = True,
) -> Settled:
    """Aggregate each field of each group on its own and write what comes out.

    The mean stands for the aggregators that it has no formula for: derive, and the geometric mean over several signs.
    A field that only some records of a group lack has the aggregate of the others.

    Parameters
    ----------
    rounded : bool
        Whether numbers take as many decimals as the original has; as doubles otherwise.
    """
    groups = [np.flatnonzero(labels == group) for group in range(int(labels.max()) + 1)]
    lexemes = np.empty((len(groups), len(block.variables)), dtype=np.object_)
    for at, members in enumerate(groups):
        lexemes[at] = list(_prototype(columns, numeric, weights, block, members, rounded))
    return Settled.of(lexemes, np.full(len(groups), "rounded"))


def _prototype(
    columns: Mapping[str, Column],
    numeric: Collection[str],
    weights: Weights,
    block: Block,
    members: Records,
    rounded: bool,
) -> Iterator[str | None]:
    for name in block.variables:
        column = columns[name]
        present = members[column.present[members]]
        if not present.size:
            yield column.lexemes[members[0]]
            continue
        weight = np.ones(len(present)) if weights is None else weights[present]
        if name not in numeric or block.aggregator in ("mode", "medoid"):
            yield _commonest(column.lexemes[present], weight)
        else:
            number = _aggregate(block.aggregator, column.values[present], weight)
            yield f"{number:.{column.decimals}f}" if rounded else f"{Decimal(repr(number)):f}"


def _commonest(lexemes: NDArray[np.object_], weights: NDArray[np.float64]) -> str:
    counts: Counter[str] = Counter()
    for lexeme, weight in zip(lexemes, weights, strict=True):
        counts[str(lexeme)] += weight
    return max(sorted(counts), key=counts.__getitem__)


def _aggregate(aggregator: str, values: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    if aggregator == "median":
        order = np.argsort(values)
        reached = np.cumsum(weights[order]) >= weights.sum() / 2
        return float(values[order][reached.argmax()])
    if aggregator == "geometric_mean" and values.all() and len(set(np.sign(values))) == 1:
        return float(np.sign(values[0]) * math.exp(np.average(np.log(np.abs(values)), weights=weights)))
    return float(np.average(values, weights=weights))
