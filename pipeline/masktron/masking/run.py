"""All blocks of a plan, from strata to masked blocks.

1. Groups: each partition of the plan parts and ties its records, and forms groups (`groups/strata`).
2. Prototypes: of each candidate of a block, from aggregates to lexemes that the rules accept (`block/settling`).
3. The choice: the candidate that loses least among those that publish few records (`choice`, `disclosure/exposure`).
4. Draws: where a method draws, each record is settled on its own (`draws/perturbing`).
5. Totals: prototypes are moved until counts and totals over the file are what the rules ask for (`totals/repair`).
6. The cap: what publishes too many records in the place of means is refused (`disclosure/cap`).
"""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from masktron.aggregators.medoid import Medoid
from masktron.classify import Edit
from masktron.errors import InfeasibleError, RefusalFacts, UsageError
from masktron.grouping.members import codes_of_columns
from masktron.grouping.record_groups import RecordGroups
from masktron.kernels.cores import usable_cores
from masktron.masking.block.joint_search import settle_block
from masktron.masking.choice import MaskedBlock, choose
from masktron.masking.disclosure.cap import refuse_observed
from masktron.masking.draws.drawing import Drawing
from masktron.masking.draws.perturbing import Perturbed, perturb, perturbed
from masktron.masking.file_values import FileValues
from masktron.masking.groups.strata import group, strata_of
from masktron.masking.inputs import MaskingInputs, MethodPartitioner, SharedWork
from masktron.masking.totals.repair import Repair, keep_totals
from masktron.masking.units.by_units import ByUnits
from masktron.masking.units.unit_parts import UnitSlices, cut_into_units
from masktron.methods.base import Method, Partitioning
from masktron.methods.mdav import MdavMethod
from masktron.partitions.partitioner import Partitioner
from masktron.plan import Block, Partition, Plan, aggregator_of
from masktron.problems.problem import Note, Setting, fields
from masktron.progress import Progress, Told, no_progress, told_as, untold
from masktron.rulebook.schema import Rulebook
from masktron.settle.prototypes import Settled
from masktron.sources.dataset import Dataset
from masktron.streams import Streams

_NAMED = 3
"""Fields of a block that its stage is called by."""

type _Forming = Callable[[Partition], RecordGroups]
"""Forms the groups of a partition."""


@dataclass(frozen=True, slots=True)
class Masked:
    """All masked records of a run.

    Attributes
    ----------
    blocks : tuple of MaskedBlock
        In the order of the plan.
    repairs : tuple of Repair
        Totals over the file that were off and were mended.
    perturbed : Perturbed or None
        What a method drew, where it draws.
    """

    blocks: tuple[MaskedBlock, ...]
    repairs: tuple[Repair, ...]
    perturbed: Perturbed | None


def mask_records(
    records: Dataset,
    plan: Plan,
    edits: Sequence[Edit],
    rulebook: Rulebook,
    *,
    original: Path,
    max_observed_share: float,
    method: Method | None = None,
    streams: Streams | None = None,
    classes: NDArray[np.intp] | None = None,
    unlike: NDArray[np.intp] | None = None,
    excluded: int = 0,
    keep_missing: bool = False,
    workers: int | None = None,
    max_block_records: int | None = None,
    units: UnitSlices | None = None,
    shared: SharedWork | None = None,
    progress: Progress = no_progress,
) -> Masked:
    """Mask all blocks of a plan, and mend the totals over the file that this shifts.

    Parameters
    ----------
    records : Dataset
        Those to release, without the ones that break a rule.
    original : Path
        What ``document()`` in the rules means.
    max_observed_share : float
        Groups that may publish an observed record in each block that is planned with means, in per cent of the
        records.
    method : Method, optional
        With its parameters; MDAV of k when not given. Blocks with categories are masked by MDAV where the method
        draws numbers alone.
    streams : Streams, optional
        What a method draws from; needed where it draws.
    classes : ndarray of intp, shape (n, c), optional
        Class of each record, for methods that need one.
    unlike : ndarray of intp, shape (n,), optional
        Codes of records that never share a group, at least k of each: units of different compositions.
    excluded : int
        Further records of the file that are not masked, for messages.
    keep_missing : bool
        Stop where records would have to take over another pattern of missing values.
    workers : int, optional
        Partitions whose groups are formed at once, in threads, before their blocks are settled, or blocks of a cut
        where there is one partition; the number of cores when not given. The result is the same for any number.
    max_block_records : int, optional
        Records that are partitioned together; more are cut into blocks of near records first.
    units : UnitSlices, optional
        Where groups and prototypes are found unit by unit; where there are more records than a unit has. Where a
        method draws, it draws for all.
    shared : SharedWork, optional
        Of former runs on the same records, roles and rules.
    progress : callable, optional
        Told of stages: the groups that are formed, and those of each block that have a prototype.

    Returns
    -------
    Masked

    Raises
    ------
    InfeasibleError
        There are fewer than k records, a group has no prototype that satisfies the rules, a pattern of missing
        values is rarer than k and has to be kept, a count or total over the file cannot be mended, or too many groups
        publish an observed record.
    """
    if len(records) < plan.k:
        raise InfeasibleError.of(
            "too-few-records",
            records.path,
            records=len(records),
            what=f"k = {plan.k}",
            least=plan.k,
            left=Note(
                " left of {all}, as {excluded} {excluded:is|are} excluded",
                all=len(records) + excluded,
                excluded=excluded,
            )
            if excluded
            else None,
            facts=[RefusalFacts("few-records", records=len(records))],
        )
    cores = workers or usable_cores()
    partitioner = _partitioner(plan, method, classes, max_block_records, cores, len(records))
    shared = SharedWork() if shared is None else shared
    rules = shared.rules(lambda: MaskingInputs.of(records, plan, edits, rulebook, original).rules)
    parting = None if method is None else strata_of(rules.file, method, plan.k)
    apart = [codes for codes in (unlike, parting) if codes is not None]
    inputs = MaskingInputs(
        rules,
        plan.k,
        partitioner,
        codes_of_columns(apart, len(records)) if apart else None,
        () if method is None else tuple(map(str, method.strata)),
    )
    drawn = [] if method is None or isinstance(method, Partitioning) else _drawable(inputs.file, plan, method)
    if units is not None and len(records) > units.most:
        masked = _by_units(inputs, plan, drawn, units, keep_missing=keep_missing, progress=progress)
    else:
        masked = _by_groups(
            inputs, plan, drawn, shared=shared, keep_missing=keep_missing, cores=cores, progress=progress
        )
    drawing = None
    if method is not None and drawn:
        if streams is None:
            raise TypeError(f"{method.name} draws, and there is nothing to draw from")
        progress(f"drawing values by {method.name}", 0)
        drawing = Drawing.of(inputs, method, drawn, streams=streams, classes=classes, parting=parting)
        alone = functools.partial(_alone, inputs, shared, keep_missing=keep_missing)
        masked += perturb(
            inputs, drawn, drawing, fallback=alone, told=lambda block: told_as(progress, _masking(block))
        )
    progress("keeping totals", 0)
    made = {one.block.variables: one for one in masked}
    mended, repairs = keep_totals(inputs, [made[block.variables] for block in plan.blocks])
    refuse_observed(mended, max_observed_share, where=str(records.path), edits=inputs.rules.edits)
    own = [one for one in mended if one.block.drawn]
    return Masked(tuple(mended), repairs, None if drawing is None else perturbed(inputs, drawing, own))


def _partitioner(
    plan: Plan, method: Method | None, classes: NDArray[np.intp] | None, most: int | None, cores: int, n: int
) -> Partitioner | MethodPartitioner:
    """Return what forms the groups: MDAV with its cut, or another method of partition."""
    if isinstance(method, Partitioning) and not isinstance(method, MdavMethod):
        return MethodPartitioner.of(method, classes, most)
    # the blocks of a cut are shared by the cores that other partitions leave idle
    return Partitioner(most, cores if len(plan.partitions) == 1 else 1, of=n)


def _by_groups(
    inputs: MaskingInputs,
    plan: Plan,
    drawn: Sequence[Block],
    *,
    shared: SharedWork,
    keep_missing: bool,
    cores: int,
    progress: Progress,
) -> list[MaskedBlock]:
    """Mask the blocks that no method draws; groups are formed in threads before they are asked for."""
    grouped = [partition for partition in plan.partitions if not all(block in drawn for block in partition.blocks)]
    whole = functools.partial(_whole, inputs, shared)
    makers = [_Groups(inputs, partition, whole, keep_missing=keep_missing) for partition in grouped]
    formed = Prefetch(_counted([maker.first for maker in makers], progress), cores)
    masked: list[MaskedBlock] = []
    for position, (partition, maker) in enumerate(zip(grouped, makers, strict=True)):
        groups = maker.using(functools.partial(formed.take, position))
        for block in partition.blocks:
            if block not in drawn:
                settle = functools.partial(settle_block, told=told_as(progress, _masking(block), "groups"))
                masked.append(choose(inputs, block, group=groups.of, settle=settle))
    return masked


def _by_units(
    inputs: MaskingInputs,
    plan: Plan,
    drawn: Sequence[Block],
    units: UnitSlices,
    *,
    keep_missing: bool,
    progress: Progress,
) -> list[MaskedBlock]:
    """Mask the blocks that no method draws, unit by unit."""
    file = replace(inputs.file, scales=inputs.file.found_scales())
    inputs = replace(inputs, rules=replace(inputs.rules, file=file), partitioner=inputs.partitioner.alone())
    masked: list[MaskedBlock] = []
    for partition in plan.partitions:
        parted = _Parted(inputs, units, progress)
        groups = _Groups(inputs, partition, parted, keep_missing=keep_missing)
        for block in partition.blocks:
            if block not in drawn:
                settle = functools.partial(parted.settle, told=told_as(progress, _masking(block), "groups"))
                masked.append(choose(inputs, block, group=groups.of, settle=settle))
    return masked


def _counted(tasks: Sequence[Callable[[], RecordGroups]], progress: Progress) -> list[Callable[[], RecordGroups]]:
    """Return the same tasks, each of which says how many of them are done: they run in threads."""
    told = told_as(progress, "forming groups", "partitions")
    done = itertools.count(1)

    def counted(task: Callable[[], RecordGroups]) -> RecordGroups:
        grouping = task()
        told(next(done), len(tasks))
        return grouping

    if tasks:
        told(0, len(tasks))
    return [functools.partial(counted, task) for task in tasks]


def _masking(block: Block) -> str:
    """Name the stage of a block by its first fields."""
    names = ", ".join(block.variables[:_NAMED])
    more = len(block.variables) - _NAMED
    return f"masking {names} and {more} more" if more > 0 else f"masking {names}"


def _drawable(file: FileValues, plan: Plan, method: Method) -> list[Block]:
    """The blocks whose variables a method can draw: all, or those that hold numbers alone.

    Raises
    ------
    UsageError
        There is none.
    """
    drawable = file.numeric.union(file.ranks) if method.orders else file.numeric
    found = [block for block in plan.blocks if method.categories or drawable.issuperset(block.variables)]
    if not found:
        raise UsageError.of(
            "bad-value",
            file.source,
            name=Setting("--method"),
            expected="a method that masks categories, as every block of masked fields has some",
            given=method.name,
        )
    return found


def _alone(inputs: MaskingInputs, shared: SharedWork, block: Block, *, keep_missing: bool) -> MaskedBlock:
    """Mask a block by groups of its own."""
    whole = functools.partial(_whole, inputs, shared)
    groups = _Groups(inputs, Partition((block,)), whole, keep_missing=keep_missing)
    return choose(inputs, block, group=groups.of, settle=settle_block)


def _whole(inputs: MaskingInputs, shared: SharedWork, partition: Partition) -> RecordGroups:
    """Form groups of all records together."""
    return shared.groups(inputs, partition, lambda: group(inputs, partition))


class _Parted:
    """Forms groups, and finds their prototypes, unit by unit."""

    def __init__(self, inputs: MaskingInputs, slices: UnitSlices, progress: Progress) -> None:
        self._inputs = inputs
        self._slices = slices
        self._progress = progress
        self._made: list[tuple[RecordGroups, ByUnits]] = []

    def __call__(self, partition: Partition) -> RecordGroups:
        self._progress(f"cutting units for {', '.join(partition.variables[:_NAMED])}", 0)
        units = cut_into_units(
            self._inputs.rules, partition, self._inputs.k, self._slices.most, unlike=self._inputs.unlike
        )
        by_units = ByUnits(self._inputs, partition, units, self._slices)
        grouping = by_units.group(told_as(self._progress, "forming groups", "units"))
        self._made.append((grouping, by_units))
        return grouping

    def settle(self, inputs: MaskingInputs, block: Block, grouping: RecordGroups, told: Told = untold) -> Settled:
        """Find the prototypes of groups that were formed here."""
        by_units = next(own for made, own in self._made if made is grouping)
        return by_units.settle(inputs, block, grouping, told)


class _Groups:
    """The groups of a partition, made once for all candidates that ask the same of them.

    A single block may have other groups for each candidate. Several blocks share one partition of the records, which
    suits the first candidate of each; the others are carried out on it as well, and judged by the engine.
    """

    def __init__(self, inputs: MaskingInputs, partition: Partition, forming: _Forming, *, keep_missing: bool) -> None:
        self._inputs = inputs
        self._forming = forming
        self._partition = partition
        self._keep_missing = keep_missing
        self._made: dict[tuple[object, ...], RecordGroups] = {}
        self._taken: Callable[[], RecordGroups] | None = None

    def using(self, first: Callable[[], RecordGroups]) -> Self:
        """Take what `first` has returned, in another thread maybe, from a callable; once."""
        self._taken = first
        return self

    def first(self) -> RecordGroups:
        """Form the groups for the first candidate of the first block."""
        return self._formed(self._leading)

    def of(self, block: Block) -> RecordGroups:
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

    def _formed(self, block: Block) -> RecordGroups:
        return self._forming(Partition((block,)) if self._alone else self._partition)

    def _checked(self, grouping: RecordGroups) -> RecordGroups:
        if self._keep_missing and grouping.pooled.any():
            raise InfeasibleError.of(
                "rare-missing-pattern",
                self._inputs.file.source,
                k=self._inputs.k,
                fields=fields(self._partition.variables),
                facts=[RefusalFacts("missing-pattern", self._partition.variables, groups=int(grouping.pooled.sum()))],
            )
        return grouping


def _kind(block: Block) -> tuple[object, ...]:
    """What groups depend on in an aggregator besides signs: observed values, whole records, solved variables."""
    aggregator = aggregator_of(block)
    return aggregator.observed, isinstance(aggregator, Medoid), block.solved


class Prefetch[T]:
    """Carries out tasks in threads, in their order, a few of them before the first is asked for.

    What a task returns or raises comes out where it is asked for, so that nobody can tell whether it ran before.
    A task sees the context variables of whoever starts it: who is told of compiling, whether arrays go into files.
    The threads end with the process, whatever they are at: nobody has to wait for them after Ctrl-C.
    """

    def __init__(self, tasks: Sequence[Callable[[], T]], workers: int) -> None:
        """Take tasks; with one worker each is carried out when it is asked for, without a thread."""
        self._tasks = tasks
        self._workers = workers
        self._started: dict[int, Future[T]] = {}
        self._next = 0

    def take(self, position: int) -> T:
        """Return what a task has found; once only, and in their order. Up to `workers` others run meanwhile.

        Raises
        ------
        Exception
            Whatever the task has raised.
        """
        if self._workers == 1:
            return self._tasks[position]()
        self._start_before(position + self._workers)
        result = self._started.pop(position).result()
        self._start_before(position + 1 + self._workers)
        return result

    def _start_before(self, end: int) -> None:
        while self._next < min(end, len(self._tasks)):
            future = self._started[self._next] = Future()
            args = (_carry_out, self._tasks[self._next], future)
            threading.Thread(target=copy_context().run, args=args, name="masktron-groups", daemon=True).start()
            self._next += 1


def _carry_out[T](task: Callable[[], T], future: Future[T]) -> None:
    try:
        future.set_result(task())
    except BaseException as error:  # noqa: BLE001 -- raised again where the result is asked for
        future.set_exception(error)
