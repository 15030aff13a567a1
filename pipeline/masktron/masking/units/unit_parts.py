"""Units of near records, for files that do not fit as a whole: how they are cut, and their parts on disk.

A part is read by the processes of this run alone, and lies where nobody but its user writes
(`masktron.executor.run_parts`): so it holds objects as Python pickles them.

A unit is whole strata, or a part of one stratum: what parts records when groups are formed parts them here first, so
that nearly all groups could be formed as in the whole file. Of a stratum of too many records, those that lie far out
come first: they are few, and near each other alone, so that cutting between them costs most. The others are cut by
planes that are found in every so-many-th record. Where units lie depends on the records, the partition, k and the
size of a unit, and on nothing else: not on memory that happens to be free, nor on who masks them.
"""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from masktron.classify.forms import variables_of
from masktron.constraints import CrossRecordEdit
from masktron.errors import MasktronError
from masktron.executor.contract import Executor
from masktron.executor.run_parts import RunPart, RunParts, read_part, write_part
from masktron.grouping.members import Members, Rows
from masktron.grouping.record_groups import RecordGroups
from masktron.large_arrays import kept
from masktron.masking.file_values import FileValues
from masktron.masking.groups.strata import parted
from masktron.masking.inputs import MaskingInputs
from masktron.masking.judging import RecordRules
from masktron.masking.totals.file_conditions import FileConditions
from masktron.partitions.kdcut import kd_cut
from masktron.partitions.kdplanes import Edge, KdPlanes
from masktron.plan import Partition
from masktron.progress import Told, untold
from masktron.settle.prototypes import Settled

SAMPLE = 200_000
"""Records in which planes are found."""
LEAST = 10
"""A unit has at least so many groups of k."""
FAR = 1 / 32
"""Part of the records of a stratum that lie far out, if one unit holds so many."""
_FILLED = 0.8
"""Part of a unit that a cell of the planes is meant to fill: a sample does not halve exactly."""
_AT_ONCE = 1 << 18


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """Records in units, unit by unit.

    Attributes
    ----------
    members : Members
        Positions of the records of each unit, ascending; every record is in one.
    cut : tuple of (int, int, int)
        Of each stratum that was cut: its records, its units, and the records of the largest of these. Their units
        come first, and of each of them the one with the records that lie far out.
    """

    members: Members
    cut: tuple[tuple[int, int, int], ...]

    def __len__(self) -> int:
        return len(self.members)


def cut_into_units(
    rules: RecordRules,
    partition: Partition,
    k: int,
    most: int,
    *,
    sample: int = SAMPLE,
    unlike: NDArray[np.intp] | None = None,
) -> Units:
    """Part the records that one partition of the plan groups.

    Parameters
    ----------
    rules : RecordRules
        Beside all records.
    partition : Partition
    k : int
    most : int
        Records of a unit; a few more where these would be too few for one of their own. At least ``LEAST_UNIT * k``.
    sample : int
        Records of a stratum in which planes are looked for.
    unlike : ndarray of intp, shape (n,), optional
        Codes of records that never share a group. Records of one code are in one unit, or in units of their own.

    Notes
    -----
    Theorem: every unit has at least k records, if the file has. Proof: parts are joined to the next one, and the last
    one to the one before it, until they have `LEAST` times k records or there is one unit.
    """
    if unlike is not None:
        return _by_code(rules, partition, k, most, Members.of(unlike), sample)
    strata = Members.of(parted(rules, partition, FileConditions(rules), rules.file.patterns(partition.variables)))
    near = _Near(rules.file, partition, sample)
    units: list[Rows] = []
    cut: list[tuple[int, int, int]] = []
    large = np.flatnonzero(strata.sizes > most).tolist()
    for stratum in large:
        parts = list(_filled(near.parts(strata[stratum], k, most), most, LEAST * k))
        cut.append((int(strata.sizes[stratum]), len(parts), max(map(len, parts))))
        units += parts
    small = (strata[stratum] for stratum in np.flatnonzero((strata.sizes > 0) & (strata.sizes <= most)).tolist())
    units = _without_remnant([*units, *_filled(small, most, LEAST * k)], LEAST * k)
    return Units(_members(units), tuple(cut))


def _by_code(rules: RecordRules, partition: Partition, k: int, most: int, codes: Members, sample: int) -> Units:
    """Cut the records of each code that are too many for a unit, and join the others whole."""
    parts: list[Rows] = []
    others: list[Rows] = []
    cut: list[tuple[int, int, int]] = []
    for rows in codes:
        if len(rows) > most:
            own = cut_into_units(rules.part(rows), partition, k, most, sample=sample)
            made, count = [rows[members] for members in own.members], sum(units for _, units, _ in own.cut)
            parts, others = [*parts, *made[:count]], [*others, *made[count:]]
            cut += own.cut
    whole = (rows for rows in codes if len(rows) <= most)
    return Units(_members([*parts, *others, *_filled(whole, most, LEAST * k)]), tuple(cut))


def _members(units: Sequence[Rows]) -> Members:
    """Put units one behind the other, with the records of each in ascending order."""
    order = np.concatenate(units)
    starts = np.concatenate([[0], np.cumsum([len(rows) for rows in units])]).astype(np.intp)
    for begin, end in pairwise(starts.tolist()):
        order[begin:end].sort()
    return Members(kept(order), starts)


def _filled(parts: Iterable[Rows], most: int, least: int) -> Iterator[Rows]:
    """Join parts that follow each other, while they have at most `most` records or fewer than `least`."""
    waiting: list[Rows] = []
    held = 0
    for part in parts:
        if held >= least and held + len(part) > most:
            yield np.concatenate(waiting)
            waiting, held = [], 0
        waiting.append(part)
        held += len(part)
    if waiting:
        yield np.concatenate(waiting)


def _without_remnant(units: list[Rows], least: int) -> list[Rows]:
    """Join each unit of fewer than `least` records to the one before it; the first to the next."""
    joined: list[Rows] = []
    for unit in units:
        if joined and min(len(unit), len(joined[-1])) < least:
            joined[-1] = np.concatenate([joined[-1], unit])
        else:
            joined.append(unit)
    return joined


class _Near:
    """Parts of near records of a stratum, in the coordinates that a partition groups by."""

    def __init__(self, file: FileValues, partition: Partition, sample: int) -> None:
        self._sample = sample
        self._file = file
        self._variables = partition.grouped

    @functools.cached_property
    def _coordinates(self) -> _Coordinates:
        return _Coordinates(self._file, self._variables)

    def parts(self, rows: Rows, k: int, most: int) -> Iterator[Rows]:
        """Yield parts of at most `most` records: those far out, then others, side by side."""
        step = -(-len(rows) // self._sample)
        sample = self._coordinates(rows[::step])
        full = max(1, int(_FILLED * most / step))
        edge = Edge.of(sample, min(full, int(FAR * len(sample))))
        planes = KdPlanes.of(sample[~edge.beyond(sample)], full)
        places = np.empty(len(rows), dtype=np.intp)
        for start in range(0, len(rows), _AT_ONCE):
            points = self._coordinates(rows[start : start + _AT_ONCE])
            places[start : start + _AT_ONCE] = np.where(edge.beyond(points), 0, 1 + planes.places(points))
        for members in Members.of(places, 1 + planes.blocks):
            part = rows[members]
            if not len(part):
                continue
            if len(part) <= most:
                yield part
                continue
            for block in kd_cut(self._coordinates(part), most, k):
                yield part[block]


class _Coordinates:
    """Where records lie: numbers and ranks as groups see them; where there are none, categories by their text."""

    def __init__(self, file: FileValues, variables: Iterable[str]) -> None:
        names = list(variables)
        ordered = [name for name in names if name in file.numeric or name in file.ranks]
        self._file = file
        self._standards = {name: file.standard(name) for name in ordered or names[:1]}
        self._categories = {name: file.ordered(name) for name in names[:1] if not ordered}

    def __call__(self, rows: Rows) -> NDArray[np.float64]:
        """Return the coordinates of some records, shape (rows, d); 0 where the value is missing."""
        own = ((standard, self._values(name, rows)) for name, standard in self._standards.items())
        return np.stack([np.nan_to_num(standard.places(values)) for standard, values in own], axis=1)

    def _values(self, name: str, rows: Rows) -> NDArray[np.float64]:
        categories = self._categories.get(name)
        return self._file.ordered_of(name, rows) if categories is None else categories[rows]


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
