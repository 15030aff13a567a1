"""One partition of the plan, unit by unit: groups and prototypes of each are found as if it were the file.

What is found in a unit is joined to what a run on all records at once would have: groups of the file, numbered unit
after unit, and their prototypes. Distances, grids and steps are those of the file (`masking.file_scales`). What a
unit knows of itself alone: which records can share a group, whether an unmasked field that sets limits has a value in
each of them, and totals, which are kept over the file when all units are joined.

Theorem: what the rules are promised for a file holds for the joined groups. Proof: every group has its members in one
unit, was formed of at least k of them, and its prototype was accepted beside each of them; rules over several
records are looked at when all units are joined.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from masktron.grouping.record_groups import RecordGroups, joined_groups
from masktron.large_arrays import kept
from masktron.masking.block.joint_search import settle_block
from masktron.masking.groups.strata import group, points_of, spread_within
from masktron.masking.inputs import MaskingInputs
from masktron.masking.per_record import solved_parts
from masktron.masking.units.unit_parts import UnitParts, Units, UnitSlices
from masktron.partitions.kdcut import Cut, excess_of_cuts, kd_cut
from masktron.plan import Block, Partition
from masktron.progress import Told, untold
from masktron.settle.prototypes import Settled
from masktron.sources.lexicon import Lexicon

LOOKED_AT = 3
"""Units that are cut once more, to estimate what cutting costs, beside one of records far out."""


@dataclass(frozen=True, slots=True)
class _Halving:
    """Finds what it would cost to cut a unit once more: the sum of squares within groups that this adds."""

    partition: Partition

    def __call__(self, inputs: MaskingInputs) -> float:
        points = np.nan_to_num(points_of(inputs.rules, self.partition))
        if not points.shape[1]:  # all records of the unit are in one place
            return 0.0
        halves = kd_cut(points, max(len(points) - 1, 2 * inputs.k), inputs.k)
        return sum(self._within(inputs.part(rows)) for rows in halves) - self._within(inputs)

    def _within(self, inputs: MaskingInputs) -> float:
        return spread_within(inputs.rules, self.partition, group(inputs, self.partition))


class ByUnits:
    """Groups and prototypes of one partition of the plan.

    Parameters
    ----------
    inputs : MaskingInputs
        Of all records.
    partition : Partition
    units : Units
    slices : UnitSlices
        Where units are worked on.
    """

    def __init__(self, inputs: MaskingInputs, partition: Partition, units: Units, slices: UnitSlices) -> None:
        self._inputs = inputs
        self._partition = partition
        self._units = units
        self._parts = UnitParts(slices, inputs, partition, units)

    def group(self, told: Told = untold) -> RecordGroups:
        """Form the groups of all units.

        Raises
        ------
        InfeasibleError
            A unit cannot be grouped.
        """
        joined = joined_groups(
            self._units.members, self._parts.grouped(partial(group, partition=self._partition), told)
        )
        cut = self._cut() or joined.cut
        spread = 0.0 if cut is None else self._spread()
        return replace(joined, cut=cut, spread=spread)

    def _spread(self) -> float:
        """Return the sum of squares of the coordinates of all records."""
        rules = self._inputs.rules
        own = sum(rules.file.squares(name) for name in self._partition.grouped)
        solved = (solved_parts(rules, block) for block in self._partition.blocks if block.solved)
        return float(own + sum(np.nansum(np.square(part)) for part in solved))

    def settle(self, inputs: MaskingInputs, block: Block, grouping: RecordGroups, told: Told = untold) -> Settled:
        """Find the prototypes of the groups that `group` has returned, with the contract of `settle_block`."""
        del inputs
        told(0, grouping.groups)
        found: list[Settled] = []
        groups = 0
        for settled in self._parts.settled(partial(_settled, block=block)):
            found.append(settled)
            groups += settled.groups
            told(groups, grouping.groups)
        return joined_prototypes(self._units, grouping, found)

    def _cut(self) -> Cut | None:
        """Return the largest cut, with an estimate of what cutting all strata costs, for which some units are cut.

        Units with records far out are no part of a tree of cuts. One of them is cut, and what that costs is added for
        all of their records: most often more than the one cut around them did cost.
        """
        if not self._units.cut:
            return None
        records, blocks, largest = max(self._units.cut)
        sizes = self._units.members.sizes
        firsts = np.cumsum([0, *(own for _, own, _ in self._units.cut)])
        of_cuts = np.arange(min(len(sizes), firsts[-1]))
        far = np.isin(of_cuts, firsts[:-1])
        excess = excess_of_cuts(self._once_more(of_cuts[~far], LOOKED_AT), blocks, len(self._partition.grouped))
        excess += self._once_more(of_cuts[far], 1)
        return Cut(records, blocks, largest, excess, measured=False)

    def _once_more(self, units: NDArray[np.intp], most: int) -> float:
        """Return what it costs to cut each of these units once more, if they are like some of them."""
        sizes = self._units.members.sizes
        inside = units[sizes[units] >= 4 * self._inputs.k]
        if not len(inside):
            return 0.0
        looked_at = inside[:: -(-len(inside) // most)]
        found = sum(self._parts.found(_Halving(self._partition), looked_at.tolist()))
        return found * int(sizes[units].sum()) / int(sizes[looked_at].sum())


def _settled(inputs: MaskingInputs, grouping: RecordGroups, block: Block) -> Settled:
    """Find the prototypes of the groups of a unit."""
    return settle_block(inputs, block, grouping)


def joined_prototypes(units: Units, grouping: RecordGroups, found: Sequence[Settled]) -> Settled:
    """Put the prototypes of all units after each other, and what records have of their own where these stand.

    Parameters
    ----------
    units : Units
    grouping : RecordGroups
        What `joined_groups` has returned.
    found : sequence of Settled
        Of the groups of each unit.
    """
    own: dict[int, Lexicon] = {}
    for position in sorted({position for settled in found for position in settled.own}):
        parts = [
            settled.column(position, labels)
            for labels, settled in zip(_labels(units, grouping, found), found, strict=True)
        ]
        own[position] = _kept(Lexicon.joined(parts).only(np.argsort(units.members.order)))
    known = [settled.known for settled in found]
    return Settled(
        tuple(_kept(Lexicon.joined(parts)) for parts in zip(*(settled.written for settled in found), strict=True)),
        np.concatenate([settled.stages for settled in found]),
        own,
        None
        if any(one is None for one in known)
        else kept(np.concatenate([one for one in known if one is not None])),
    )


def _kept(lexicon: Lexicon) -> Lexicon:
    """Return texts that are held until they are written."""
    return replace(lexicon, data=kept(lexicon.data), ends=kept(lexicon.ends))


def _labels(units: Units, grouping: RecordGroups, found: Sequence[Settled]) -> Iterator[NDArray[np.intp]]:
    """Yield the groups of the records of each unit, numbered from 0 in each."""
    first = 0
    for rows, settled in zip(units.members, found, strict=True):
        yield grouping.labels[rows] - first
        first += settled.groups
