"""Parts of masktron taken away, to see what each is worth. The product has no such switch: functions are replaced."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any, Literal
from unittest.mock import patch

import masktron.jobs.mask as job
from masktron.config import Role
from masktron.masking import Masked, MaskedBlock, Repair, run
from masktron.settle.prototypes import Settled
from pairs.naive import blind_groups, raw_prototypes

type Part = Literal["strata", "settle", "derive", "rounding"]

PARTS: tuple[Part, ...] = ("strata", "settle", "derive")
"""What ``all`` takes away. Without rounding, which counts only without settle, doubles are written as they are."""


@contextmanager
def without(parts: Collection[Part]) -> Iterator[None]:
    """Take parts of masktron away, and the check that nothing is published which breaks a rule.

    strata
        Groups are those of plain MDAV, blind to the rules.
    settle
        Each field of a group has its own aggregate, rounded as the original is: no field is solved from others,
        nothing is searched, no record stands for its group.
    derive
        The same for the blocks for which masktron derives values; the other blocks are settled.
    """
    with ExitStack() as stack:
        if "strata" in parts:
            stack.enter_context(patch.object(run, "group", blind_groups))
        if "settle" in parts:
            stack.enter_context(patch.object(run, "settle_block", _Raw(rounded="rounding" not in parts)))
            stack.enter_context(patch.object(run, "keep_totals", _unmended))
        if "derive" in parts:
            stack.enter_context(patch.object(job, "mask_records", _underived))
        if parts:
            stack.enter_context(patch.object(job, "require_releasable", lambda *_: None))
        yield


class _Raw:
    """Takes the place of ``settle_block``."""

    def __init__(self, *, rounded: bool) -> None:
        self.rounded = rounded

    def __call__(self, inputs: Any, block: Any, grouping: Any, **_: Any) -> Settled:
        file = inputs.file
        return raw_prototypes(file.columns, file.numeric, file.weights, block, grouping.labels, rounded=self.rounded)


_mask_records = job.mask_records


def _unmended(_: Any, blocks: Any) -> tuple[list[MaskedBlock], tuple[Repair, ...]]:
    """Take the place of ``keep_totals``."""
    return list(blocks), ()


def _underived(records: Any, plan: Any, *arguments: Any, **options: Any) -> Masked:
    """Mask as ever, then replace what was derived."""
    numeric = {fact.name for fact in plan.fields if fact.numeric}
    weight = plan.by_role(Role.WEIGHT)
    weights = records.columns[weight[0]].values if weight else None
    masked = _mask_records(records, plan, *arguments, **options)
    naive = tuple(
        replace(one, settled=raw_prototypes(records.columns, numeric, weights, one.block, one.grouping.labels))
        if one.block.aggregator.startswith("derive")
        else one
        for one in masked.blocks
    )
    return replace(masked, blocks=naive)
