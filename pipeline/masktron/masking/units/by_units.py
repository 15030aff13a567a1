"""One partition of the plan, unit by unit: groups and prototypes of each are found as if it were the file.

What is found in a unit is joined to what a run on all records at once would have: groups of the file, numbered unit
after unit, and their prototypes. Distances, grids and steps are those of the file (`masking.file_scales`), so that a
unit differs from the file in nothing but in which records can share a group.

Theorem: what the rules are promised for a file holds for the joined groups. Proof: every group has its members in one
unit, was formed of at least k of them, and its prototype was accepted beside each of them; rules over several
records are looked at when all units are joined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from masktron.grouping.record_groups import RecordGroups
from masktron.masking.block.settling import settle_block
from masktron.masking.groups.strata import group, points_of, spread_within
from masktron.masking.inputs import MaskingInputs
from masktron.masking.units.cutting import Units
from masktron.partitions.kdcut import Cut, kd_cut
from masktron.plan import Block, Partition
from masktron.progress import Told, untold
from masktron.settle.prototypes import Settled

LOOKED_AT = 3
"""Units that are cut once more, to estimate what cutting costs."""


class Answers(Protocol):
    """Does a function for each of some units, and returns its answers in their order."""

    def __call__[R](self, work: Callable[[int], R], units: Sequence[int], /) -> Iterable[R]:
        """Yield the answer for each unit."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class UnitInputs:
    """The inputs of single units.

    Attributes
    ----------
    inputs : MaskingInputs
        Of all records.
    units : Units
    """

    inputs: MaskingInputs
    units: Units

    def of(self, unit: int) -> MaskingInputs:
        """Return the inputs of one unit."""
        rows = self.units.members[unit]
        return replace(
            self.inputs, rules=self.inputs.rules.part(rows), partitioner=self.inputs.partitioner.restricted(rows)
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Grouping:
    """Forms the groups of a unit; without anything else, so that any process can."""

    inputs: UnitInputs
    partition: Partition

    def __call__(self, unit: int) -> RecordGroups:
        inputs = self.inputs.of(unit)
        points = points_of(inputs.rules, self.partition)
        return replace(group(inputs, self.partition), spread=float(np.nansum(np.square(points))))


@dataclass(frozen=True, slots=True, eq=False)
class _Halving:
    """Finds what it would cost to cut a unit once more: the sum of squares within groups that this adds."""

    inputs: UnitInputs
    partition: Partition

    def __call__(self, unit: int) -> float:
        inputs = self.inputs.of(unit)
        points = np.nan_to_num(points_of(inputs.rules, self.partition))
        halves = kd_cut(points, max(len(points) - 1, 2 * inputs.k), inputs.k)
        within = 0.0
        for rows in halves:
            half = replace(inputs, rules=inputs.rules.part(rows), partitioner=inputs.partitioner.restricted(rows))
            within += spread_within(half.rules, self.partition, group(half, self.partition))
        return within - spread_within(inputs.rules, self.partition, group(inputs, self.partition))


@dataclass(frozen=True, slots=True, eq=False)
class _Settling:
    """Finds the prototypes of a unit."""

    inputs: UnitInputs
    block: Block
    groupings: Sequence[RecordGroups]

    def __call__(self, unit: int) -> Settled:
        return settle_block(self.inputs.of(unit), self.block, self.groupings[unit])


class ByUnits:
    """Groups and prototypes of one partition of the plan.

    Parameters
    ----------
    inputs : MaskingInputs
        Of all records.
    units : Units
    answers : callable
        Does the work for all units.
    """

    def __init__(self, inputs: MaskingInputs, units: Units, answers: Answers) -> None:
        self._units = units
        self._of = UnitInputs(inputs, units)
        self._answers = answers

    def group(self, partition: Partition) -> RecordGroups:
        """Form the groups of all units.

        Raises
        ------
        InfeasibleError
            A unit cannot be grouped.
        """
        groupings = [*self._answers(_Grouping(self._of, partition), range(len(self._units)))]
        joined = joined_groups(self._units, groupings)
        return replace(joined, cut=self._cut(partition))

    def _cut(self, partition: Partition) -> Cut | None:
        """Return the largest cut, with an estimate of what cutting all strata costs.

        Some units are cut once more. A cut costs in proportion to the groups that it goes through, and a level of
        cuts has 2 ** (1 / d) times the surface of the level above (`masktron.partitions.partitioner`).
        """
        if not self._units.cut:
            return None
        records, blocks, largest = max(self._units.cut)
        inside = np.flatnonzero(self._units.members.sizes >= 4 * self._of.inputs.k).tolist()
        looked_at = inside[:: -(-len(inside) // LOOKED_AT)]
        once_more = sum(self._answers(_Halving(self._of, partition), looked_at))
        share = sum(len(self._units.members[unit]) for unit in looked_at) / sum(own for own, *_ in self._units.cut)
        ratio = 2.0 ** (-1.0 / max(len(partition.grouped), 1))
        scale = ratio * (1.0 - ratio ** np.log2(max(blocks, 2))) / (1.0 - ratio) if ratio < 1.0 else 1.0
        return Cut(records, blocks, largest, float(once_more / share * scale), measured=False)

    def settle(self, inputs: MaskingInputs, block: Block, grouping: RecordGroups, told: Told = untold) -> Settled:
        """Find the prototypes of the groups that `group` has returned, with the contract of `settle_block`."""
        del inputs
        parts = parted_groups(self._units, grouping)
        done = 0
        found: list[Settled] = []
        told(0, grouping.groups)
        for settled in self._answers(_Settling(self._of, block, parts), range(len(parts))):
            found.append(settled)
            done += len(settled.exits)
            told(done, grouping.groups)
        return joined_prototypes(self._units, parts, found)


def joined_groups(units: Units, groupings: Sequence[RecordGroups]) -> RecordGroups:
    """Number the groups of all units, unit after unit."""
    labels = np.empty(len(units.members.order), dtype=np.intp)
    groups = 0
    for rows, own in zip(units.members, groupings, strict=True):
        labels[rows] = groups + own.labels
        groups += own.groups
    return RecordGroups(
        labels,
        np.concatenate([own.mixed for own in groupings]),
        np.concatenate([own.pooled for own in groupings]),
        spread=sum(own.spread for own in groupings),
    )


def parted_groups(units: Units, grouping: RecordGroups) -> list[RecordGroups]:
    """Return the groups of each unit, given those that `joined_groups` has made of them."""
    parts: list[RecordGroups] = []
    first = 0
    for rows in units.members:
        labels = grouping.labels[rows]
        behind = int(labels.max()) + 1
        parts.append(RecordGroups(labels - first, grouping.mixed[first:behind], grouping.pooled[first:behind]))
        first = behind
    return parts


def joined_prototypes(units: Units, groupings: Sequence[RecordGroups], found: Sequence[Settled]) -> Settled:
    """Put the prototypes of all units after each other, and what records have of their own where these stand."""
    own: dict[int, NDArray[np.object_]] = {}
    for position in sorted({position for settled in found for position in settled.own}):
        own[position] = np.empty(len(units.members.order), dtype=np.object_)
        for rows, grouping, settled in zip(units.members, groupings, found, strict=True):
            own[position][rows] = settled.column(position, grouping.labels)
    known = [settled.known for settled in found]
    return Settled(
        np.concatenate([settled.lexemes for settled in found]),
        np.concatenate([settled.exits for settled in found]),
        own,
        None if any(one is None for one in known) else np.concatenate([one for one in known if one is not None]),
    )
