"""What all blocks of a run share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from masktron.classify import Edit
from masktron.masking.file_values import FileValues
from masktron.masking.groups.partitioning import MethodPartitioner
from masktron.masking.record_rules import RecordRules
from masktron.partitions.partitioner import Partitioner
from masktron.plan import Plan
from masktron.rulebook.schema import Rulebook
from masktron.sources.dataset import Dataset


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
