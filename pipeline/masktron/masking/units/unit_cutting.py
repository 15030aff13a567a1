"""Units of near records: the parts in which a file is masked that does not fit as a whole.

A unit is whole strata, or a part of one stratum: what parts records when groups are formed parts them here first, so
that nearly all groups could be formed as in the whole file. Of a stratum of too many records, those that lie far out
come first: they are few, and near each other alone, so that cutting between them costs most. The others are cut by
planes that are found in every so-many-th record. Where units lie depends on the records, the partition, k and the
size of a unit, and on nothing else: not on memory that happens to be free, nor on who masks them.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from masktron.grouping.members import Members, Rows
from masktron.large_arrays import kept
from masktron.masking.file_values import FileValues
from masktron.masking.groups.strata import parted
from masktron.masking.record_rules import RecordRules
from masktron.masking.totals.file_conditions import FileConditions
from masktron.partitions.kdcut import kd_cut
from masktron.partitions.kdplanes import Edge, KdPlanes
from masktron.plan import Partition

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
