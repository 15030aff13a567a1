"""What all blocks of a run share: records, rules, what forms groups; and what several runs have in common."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from masktron.aggregators.medoid import Medoid
from masktron.arrays import Labels
from masktron.classify import Edit
from masktron.grouping.members import codes_of
from masktron.grouping.record_groups import RecordGroups
from masktron.masking.file_values import FileValues
from masktron.masking.judging import RecordRules
from masktron.methods.base import Partitioning
from masktron.partitions.column_kinds import Kinds
from masktron.partitions.kdcut import Cuts, kd_cut
from masktron.partitions.partitioner import Partitioner
from masktron.plan import Block, Partition, Plan, aggregator_of
from masktron.rulebook.schema import Rulebook
from masktron.sources.dataset import Dataset


@dataclass(frozen=True, slots=True, eq=False)
class MethodPartitioner:
    """Forms groups by a method, of records that may be a part of the file.

    Attributes
    ----------
    method : Partitioning
    classes : ndarray of intp, shape (n, c), or None
        Classes of the records.
    shares : ndarray of float64, shape (combinations,), or None
        Shares of the combinations of classes among the records of the file.
    kinds : Kinds or None
        What the columns of points are; numbers where not given.
    most : int or None
        Records that are partitioned together; more are cut into blocks of near records first. What that costs is not
        found: methods differ too much for an estimate.
    """

    method: Partitioning
    classes: NDArray[np.intp] | None = None
    shares: NDArray[np.float64] | None = None
    kinds: Kinds | None = None
    most: int | None = None

    @classmethod
    def of(cls, method: Partitioning, classes: NDArray[np.intp] | None, most: int | None) -> MethodPartitioner:
        """Return the partitioner of all records of a file."""
        if classes is None:
            return cls(method, most=most)
        combined = codes_of(classes)
        return cls(method, combined[:, None], np.bincount(combined) / len(combined), most=most)

    @property
    def by_points(self) -> bool:
        """Whether records may change places for less spread."""
        return self.classes is None

    def restricted(self, records: NDArray[np.intp], columns: NDArray[np.bool_] | None = None) -> MethodPartitioner:
        """Return the partitioner of some of the records, and of some columns of their points."""
        classes = None if self.classes is None else self.classes[records]
        kinds = self.kinds if self.kinds is None or columns is None else self.kinds.having(columns)
        return replace(self, classes=classes, kinds=kinds)

    def of_kinds(self, kinds: Kinds) -> MethodPartitioner:
        """Return the partitioner of points whose columns are of some kinds."""
        return replace(self, kinds=kinds)

    def recording(self, cuts: Cuts) -> MethodPartitioner:
        """Return the partitioner itself, which records no cuts."""
        del cuts
        return self

    def alone(self) -> MethodPartitioner:
        """Return the partitioner itself, which has no other threads."""
        return self

    def whole(self) -> MethodPartitioner:
        """Return the same without a cut."""
        return replace(self, most=None)

    def __call__(self, points: NDArray[np.float64], k: int) -> Labels:
        """Partition points, shape (n, d), of its records; see `masktron.methods.base.Partitioning.partition`."""
        if not points.shape[1]:
            # a part of the file without any value: all of its records are in one place
            return replace(self, kinds=None)(np.zeros((len(points), 1)), k)
        if self.most is None or len(points) <= self.most:
            return self.method.partition(points, classes=self.classes, shares=self.shares, kinds=self.kinds)
        labels = np.empty(len(points), dtype=np.intp)
        groups = 0
        for block in kd_cut(points, self.most, k):
            labels[block] = groups + self.restricted(block).whole()(points[block], k)
            groups = int(labels[block].max()) + 1
        return labels


@dataclass(frozen=True, slots=True, eq=False)
class MaskingInputs:
    """The records to mask, the rules that they obey, and what forms their groups.

    Attributes
    ----------
    rules : RecordRules
    k : int
        Records that share what is published, at least.
    partitioner : Partitioner or MethodPartitioner
        Partitions points, shape (n, d), in groups of at least k.
    unlike : ndarray of intp, shape (n,), or None
        Codes of records that never share a group, whatever that costs: units of different compositions. None where
        all records may.
    strata : tuple of str
        Fields whose values are part of these codes.
    """

    rules: RecordRules
    k: int
    partitioner: Partitioner | MethodPartitioner
    unlike: NDArray[np.intp] | None = None
    strata: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        records: Dataset,
        plan: Plan,
        edits: Sequence[Edit],
        rulebook: Rulebook,
        original: Path,
        partitioner: Partitioner | MethodPartitioner | None = None,
    ) -> MaskingInputs:
        """Collect the inputs; MDAV forms the groups where no partitioner is given."""
        rules = RecordRules.of(FileValues.of(records, plan), plan, edits, rulebook, original)
        return cls(rules, plan.k, Partitioner() if partitioner is None else partitioner)

    def part(self, records: NDArray[np.intp], fields: frozenset[str] | None = None) -> MaskingInputs:
        """Return the inputs of some of the records, in the scales of all.

        Parameters
        ----------
        records : ndarray of intp, shape (m,)
            Positions, ascending.
        fields : frozenset of str, optional
            Those that are needed; all by default.
        """
        rules = self.rules.part(records, fields)
        unlike = None if self.unlike is None else self.unlike[records]
        return replace(self, rules=rules, partitioner=self.partitioner.restricted(records), unlike=unlike)

    @property
    def file(self) -> FileValues:
        """The records."""
        return self.rules.file


_GROUPINGS = 16
"""Groupings that are kept: one is eight bytes for each record."""


@dataclass(slots=True, eq=False)
class SharedWork:
    """The records beside the rules, and the groups that MDAV has formed of them.

    It is for runs on the same records, with the same roles and rules; k, blocks, aggregators and methods may differ.
    """

    _rules: RecordRules | None = None
    _groups: OrderedDict[object, RecordGroups] = field(default_factory=OrderedDict)

    def rules(self, made: Callable[[], RecordRules]) -> RecordRules:
        """Return the records beside the rules."""
        if self._rules is None:
            self._rules = made()
        return self._rules

    def groups(self, inputs: MaskingInputs, partition: Partition, formed: Callable[[], RecordGroups]) -> RecordGroups:
        """Return the groups of a partition; formed anew where they depend on more than is known here."""
        if not isinstance(inputs.partitioner, Partitioner):
            return formed()
        key = inputs.k, inputs.partitioner.most, inputs.strata, tuple(map(_asks, partition.blocks))
        found = self._groups.pop(key, None) or formed()
        self._groups[key] = found
        while len(self._groups) > _GROUPINGS:
            self._groups.popitem(last=False)
        return found


def _asks(block: Block) -> tuple[object, ...]:
    """What groups depend on in a block: its fields and rules, and of its aggregator what `run` tells apart."""
    aggregator = aggregator_of(block)
    kind = block.one_signed, aggregator.observed, isinstance(aggregator, Medoid), block.solved
    return block.variables, block.conditions, block.ties, block.checks, kind
