"""Mask: partitions, aggregates and settled prototypes for every block of a plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from masktron.classify import Edit
from masktron.errors import InfeasibleError
from masktron.masking.observed import refuse_observed
from masktron.masking.prototypes import settle_block
from masktron.masking.strata import group
from masktron.masking.views import Views
from masktron.methods.grouping import Grouping
from masktron.plan import Block, Plan
from masktron.read.records import Records
from masktron.read.rulebook import Rulebook
from masktron.settle.prototypes import Settled


@dataclass(frozen=True, slots=True, eq=False)
class MaskedBlock:
    """A block with its groups and prototypes.

    Attributes
    ----------
    grouping : Grouping
        Of the records that were given to mask.
    settled : Settled
    """

    block: Block
    grouping: Grouping
    settled: Settled

    def lexemes(self, position: int) -> NDArray[np.object_]:
        """Masked lexemes of the variable at a position of the block, record by record."""
        column: NDArray[np.object_] = self.settled.lexemes[self.grouping.labels, position]
        return column


def mask_records(
    records: Records,
    plan: Plan,
    edits: Sequence[Edit],
    rulebook: Rulebook,
    *,
    original: Path,
    max_observed_share: float,
    keep_missing: bool = False,
    progress: Callable[[Block], None] | None = None,
) -> list[MaskedBlock]:
    """Mask all blocks of a plan.

    Parameters
    ----------
    records : Records
        Those to release, without the ones that break a rule.
    original : Path
        What ``document()`` in the rules means.
    max_observed_share : float
        Groups that may publish an observed record in each block that is planned with means, in per cent of the
        records.
    keep_missing : bool
        Stop where records would have to take over another pattern of missing values.
    progress : callable, optional
        Called with each block before it is settled.

    Raises
    ------
    InfeasibleError
        There are fewer than k records, a group has no prototype that satisfies the rules, a pattern of missing
        values is rarer than k and has to be kept, or too many groups publish an observed record.
    """
    if len(records) < plan.k:
        raise InfeasibleError(
            f"{len(records)} records cannot form a group of k = {plan.k}",
            where=str(records.source),
            hint=f"lower k to {len(records)} or less" if len(records) >= 2 else "",
        )
    views = Views(records, plan, edits, rulebook, original)
    masked: list[MaskedBlock] = []
    for partition in plan.partitions:
        grouping = group(views, partition)
        if keep_missing and grouping.pooled.any():
            raise InfeasibleError(
                f"fewer than k = {plan.k} records share their pattern of missing values in "
                f"{', '.join(partition.variables)}, so that they would take over another's",
                where=str(records.source),
                hint="run without --keep-missing, or lower k",
            )
        for block in partition.blocks:
            if progress:
                progress(block)
            masked.append(MaskedBlock(block, grouping, settle_block(views, block, grouping)))
    refuse_observed(masked, records.columns, max_observed_share, where=str(records.source))
    return masked
