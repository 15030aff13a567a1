"""Mask: partitions, aggregates and settled prototypes for every block of a plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from masktron.classify import Edit
from masktron.errors import InfeasibleError
from masktron.masking.masked import MaskedBlock
from masktron.masking.prototypes import settle_block
from masktron.masking.strata import group
from masktron.masking.totals import Repair, keep_totals
from masktron.masking.views import Views
from masktron.plan import Block, Plan
from masktron.read.records import Records
from masktron.read.rulebook import Rulebook

__all__ = ["MaskedBlock", "Repair", "mask_records"]


def mask_records(
    records: Records,
    plan: Plan,
    edits: Sequence[Edit],
    rulebook: Rulebook,
    *,
    original: Path,
    keep_missing: bool = False,
    progress: Callable[[Block], None] | None = None,
) -> tuple[list[MaskedBlock], tuple[Repair, ...]]:
    """Mask all blocks of a plan, and mend the totals over the file that this shifts.

    Parameters
    ----------
    records : Records
        Those to release, without the ones that break a rule.
    original : Path
        What ``document()`` in the rules means.
    keep_missing : bool
        Stop where records would have to take over another pattern of missing values.
    progress : callable, optional
        Called with each block before it is settled.

    Returns
    -------
    list of MaskedBlock
        In the order of the plan.
    tuple of Repair
        Totals over the file that were off and were mended.

    Raises
    ------
    InfeasibleError
        There are fewer than k records, a group has no prototype that satisfies the rules, or a pattern of missing
        values is rarer than k and has to be kept, or a count or total over the file cannot be mended.
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
    return keep_totals(views, masked)
