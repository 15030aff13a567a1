"""Mask: partitions, aggregates and settled prototypes for every block of a plan."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

from masktron.aggregators.medoid import Medoid
from masktron.classify import Edit
from masktron.errors import InfeasibleError
from masktron.grouping.records import Grouping
from masktron.kernels.cores import usable_cores
from masktron.masking.ahead import Ahead
from masktron.masking.choice import choose
from masktron.masking.masked import MaskedBlock, Trial
from masktron.masking.observed import refuse_observed
from masktron.masking.prototypes import settle_block
from masktron.masking.strata import compile_for, compiles_first, group
from masktron.masking.totals import Repair, keep_totals
from masktron.masking.views import Views, aggregator_of
from masktron.partitions.partitioner import Partitioner
from masktron.plan import Block, Partition, Plan
from masktron.read.records import Records
from masktron.read.rulebook import Rulebook

__all__ = [
    "MaskedBlock",
    "Repair",
    "Trial",
    "choose",
    "compile_for",
    "compiles_first",
    "group",
    "mask_records",
    "settle_block",
]


def mask_records(
    records: Records,
    plan: Plan,
    edits: Sequence[Edit],
    rulebook: Rulebook,
    *,
    original: Path,
    max_observed_share: float,
    keep_missing: bool = False,
    workers: int | None = None,
    max_block_records: int | None = None,
    progress: Callable[[Block], None] | None = None,
) -> tuple[list[MaskedBlock], tuple[Repair, ...]]:
    """Mask all blocks of a plan, and mend the totals over the file that this shifts.

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
    workers : int, optional
        Partitions whose groups are formed at once, in threads, before their blocks are settled, or blocks of a cut
        where there is one partition; the number of cores when not given. The result is the same for any number.
    max_block_records : int, optional
        Records that are partitioned together; more are cut into blocks of near records first.
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
        There are fewer than k records, a group has no prototype that satisfies the rules, a pattern of missing
        values is rarer than k and has to be kept, a count or total over the file cannot be mended, or too many groups
        publish an observed record.
    """
    if len(records) < plan.k:
        raise InfeasibleError(
            f"{len(records)} records cannot form a group of k = {plan.k}",
            where=str(records.source),
            hint=f"lower k to {len(records)} or less" if len(records) >= 2 else "",
        )
    cores = workers or usable_cores()
    # the blocks of a cut are shared by the cores that other partitions leave idle
    idle = cores if len(plan.partitions) == 1 else 1
    partitioner = Partitioner(max_block_records, idle, of=len(records))
    views = Views(records, plan, edits, rulebook, original, partitioner)
    masked: list[MaskedBlock] = []
    makers = [_Groups(views, partition, keep_missing=keep_missing) for partition in plan.partitions]
    ahead = Ahead([maker.first for maker in makers], cores)
    for position, (partition, maker) in enumerate(zip(plan.partitions, makers, strict=True)):
        groups = maker.using(functools.partial(ahead.take, position))
        for block in partition.blocks:
            if progress:
                progress(block)
            masked.append(choose(views, block, group=groups.of, settle=settle_block))
    mended, repairs = keep_totals(views, masked)
    refuse_observed(mended, max_observed_share, where=str(records.source))
    return mended, repairs


class _Groups:
    """The groups of a partition, made once for all candidates that ask the same of them.

    A single block may have other groups for each candidate. Several blocks share one partition of the records, which
    suits the first candidate of each; the others are carried out on it as well, and judged by the engine.
    """

    def __init__(self, views: Views, partition: Partition, *, keep_missing: bool) -> None:
        self._views = views
        self._partition = partition
        self._keep_missing = keep_missing
        self._made: dict[tuple[object, ...], Grouping] = {}
        self._taken: Callable[[], Grouping] | None = None

    def using(self, first: Callable[[], Grouping]) -> Self:
        """Take what `first` has returned, in another thread maybe, from a callable; once."""
        self._taken = first
        return self

    def first(self) -> Grouping:
        """Form the groups for the first candidate of the first block."""
        return self._formed(self._leading)

    def of(self, block: Block) -> Grouping:
        """Return the groups for the candidate that a block has in use."""
        demands = self._demands(block)
        if demands not in self._made:
            if self._taken is not None and demands == self._demands(self._leading):
                taken, self._taken = self._taken, None
                grouping = taken()
            else:
                grouping = self._formed(block)
            self._made[demands] = self._checked(grouping)
        return self._made[demands]

    @property
    def _leading(self) -> Block:
        block = self._partition.blocks[0]
        return block.choosing(0) if len(block.candidates) > 1 else block

    @property
    def _alone(self) -> bool:
        return len(self._partition.blocks) == 1

    def _demands(self, block: Block) -> tuple[object, ...]:
        return (block.one_signed, *_kind(block)) if self._alone else ()

    def _formed(self, block: Block) -> Grouping:
        return group(self._views, Partition((block,)) if self._alone else self._partition)

    def _checked(self, grouping: Grouping) -> Grouping:
        if self._keep_missing and grouping.pooled.any():
            raise InfeasibleError(
                f"fewer than k = {self._views.k} records share their pattern of missing values in "
                f"{', '.join(self._partition.variables)}, so that they would take over another's",
                where=str(self._views.source),
                hint="run without --keep-missing, or lower k",
            )
        return grouping


def _kind(block: Block) -> tuple[object, ...]:
    """What groups depend on in an aggregator besides signs: observed values, whole records, solved variables."""
    aggregator = aggregator_of(block)
    return aggregator.observed, isinstance(aggregator, Medoid), block.solved
