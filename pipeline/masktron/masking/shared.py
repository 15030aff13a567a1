"""What several runs on the same records, roles and rules have in common, found once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from masktron.aggregators.medoid import Medoid
from masktron.grouping.record_groups import RecordGroups
from masktron.masking.inputs import MaskingInputs
from masktron.masking.record_rules import RecordRules
from masktron.partitions.partitioner import Partitioner
from masktron.plan import Block, Partition, aggregator_of

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
