"""Units on disk: the inputs of each as a part of the run, for whichever worker has it, and what came of it as others.

A part is read by the processes of this run alone, and lies where nobody but its user writes
(`masktron.executor.run_parts`): so it holds objects as Python pickles them.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from masktron.classify.forms import variables_of
from masktron.constraints import CrossRecordEdit
from masktron.errors import MasktronError
from masktron.executor.contract import Executor
from masktron.executor.run_parts import RunPart, RunParts, read_part, write_part
from masktron.grouping.record_groups import RecordGroups
from masktron.masking.inputs import MaskingInputs
from masktron.masking.record_rules import RecordRules
from masktron.masking.units.unit_cutting import Units
from masktron.plan import Partition
from masktron.progress import Told, untold
from masktron.settle.prototypes import Settled

type GroupUnit = Callable[[MaskingInputs], RecordGroups]
type SettleUnit = Callable[[MaskingInputs, RecordGroups], Settled]
type FindInUnit = Callable[[MaskingInputs], float]


class UnitSlices:
    """Where units are worked on, and the names of their parts.

    Parameters
    ----------
    parts : RunParts
    executor : Executor
    most : int
        Records of a unit.

    Attributes
    ----------
    parts, executor, most
        As they were given.
    """

    def __init__(self, parts: RunParts, executor: Executor, most: int) -> None:
        self.parts = parts
        self.executor = executor
        self.most = most
        self._given = 0

    def next_name(self, what: str) -> str:
        """Return a name for what is done next; the same in a run that goes on from this one."""
        self._given += 1
        return f"{self.parts.run}-{self._given:04d}-{what}"


@dataclass(frozen=True, slots=True)
class _Names:
    """The parts of one task: of what, and of which unit."""

    stem: str

    def __call__(self, unit: int) -> str:
        return f"{self.stem}-{unit:06d}"


class UnitParts:
    """The units of one partition.

    Parameters
    ----------
    slices : UnitSlices
    inputs : MaskingInputs
        Of all records.
    partition : Partition
    units : Units
    """

    def __init__(self, slices: UnitSlices, inputs: MaskingInputs, partition: Partition, units: Units) -> None:
        self._slices = slices
        self._inputs = inputs
        self._fields = fields_of(inputs.rules, partition)
        self._units = units
        self._given = _Names(slices.next_name("records"))
        self._groups = _Names(slices.next_name("groups"))

    def grouped(self, work: GroupUnit, told: Told = untold) -> Iterator[RecordGroups]:
        """Form the groups of each unit, and yield them in the order of the units."""
        task = _UnitTask(self._parts.folder, work, self._groups)
        for part in self._parts.map(
            self._slices.executor,
            task,
            _Spilled(self, self._groups),
            stage="forming groups",
            told=told,
        ):
            yield _load(self._parts.folder, part)

    def settled(self, work: SettleUnit) -> Iterator[Settled]:
        """Find the prototypes of each unit, and yield them in the order of the units."""
        names = _Names(self._slices.next_name("prototypes"))
        task = _UnitTask(self._parts.folder, work, names)
        slices = [(names(unit), (unit, *self._written(unit))) for unit in range(len(self._units))]
        for part in self._parts.map(self._slices.executor, task, slices, stage="finding prototypes"):
            yield _load(self._parts.folder, part)

    def found(self, work: FindInUnit, units: Sequence[int]) -> Iterator[float]:
        """Find a number in some units, and yield it in their order."""
        task = _FindTask(self._parts.folder, work)
        given = [self._parts.entered(self._given(unit)) for unit in units]
        yield from self._slices.executor.map(task, given, stage="measuring what the cut costs")

    @property
    def _parts(self) -> RunParts:
        return self._slices.parts

    def __len__(self) -> int:
        return len(self._units)

    def spilled(self, unit: int) -> RunPart:
        """Write the records of a unit as a part, if there is none, and return it."""
        name = self._given(unit)
        part = self._parts.done(name)
        if part is None:
            inputs = self._inputs.part(self._units.members[unit], self._fields)
            part = write_part(self._parts.folder, name, partial(_dump, inputs))
            self._parts.enter(part)
        return part

    def _written(self, unit: int) -> tuple[RunPart, RunPart]:
        """Return the parts that have the records of a unit, and its groups."""
        return self._parts.entered(self._given(unit)), self._parts.entered(self._groups(unit))


@dataclass(frozen=True, slots=True)
class _Spilled:
    """Units, each with the name of what is made of it; its records are in a part when it is asked for."""

    parts: UnitParts
    made: _Names

    def __len__(self) -> int:
        return len(self.parts)

    def __iter__(self) -> Iterator[tuple[str, tuple[int, RunPart]]]:
        for unit in range(len(self)):
            yield self.made(unit), (unit, self.parts.spilled(unit))


@dataclass(frozen=True, slots=True)
class _UnitTask:
    """Makes a part of a unit from others of it."""

    folder: Path
    work: GroupUnit | SettleUnit
    made: _Names

    def __call__(self, piece: tuple[int, *tuple[RunPart, ...]]) -> RunPart:
        unit, *given = piece
        loaded = [_load(self.folder, part) for part in given]
        with _in_unit(unit):
            found = self.work(*loaded)
        return write_part(self.folder, self.made(unit), partial(_dump, found))


@dataclass(frozen=True, slots=True)
class _FindTask:
    folder: Path
    work: FindInUnit

    def __call__(self, given: RunPart) -> float:
        return self.work(_load(self.folder, given))


def _dump(what: object, stream: BinaryIO) -> None:
    pickle.dump(what, stream, protocol=pickle.HIGHEST_PROTOCOL)


def _load(folder: Path, part: RunPart) -> Any:
    return pickle.loads(read_part(folder, part))  # noqa: S301 -- written by this run: `read_part`


@contextmanager
def _in_unit(unit: int) -> Iterator[None]:
    """Let errors say in which unit they came up: there, records are counted anew."""
    try:
        yield
    except MasktronError as error:
        error.at(f"{error.where}, unit {unit + 1}" if error.where else f"unit {unit + 1}")
        raise


def fields_of(rules: RecordRules, partition: Partition) -> frozenset[str]:
    """Name the fields of the records that are read while the blocks of a partition are masked.

    Rules over several records ask for fields by which they part and choose records.
    """
    names: set[str] = set()
    for block in partition.blocks:
        names.update(block.variables, block.conditions, block.ties)
        for form in rules.forms(block):
            names.update(variables_of(form))
    for index in rules.over_file:
        constraint = rules.edits[index].constraint
        bounds = constraint.bounds if isinstance(constraint, CrossRecordEdit) else ()
        for tally, _ in (term for bound in bounds for term in bound.terms):
            names.update((tally.field,), tally.by, variables_of(tally.where))
    return frozenset(names & rules.file.columns.keys())
