"""Units of one composition as batches of wide records: the same bytes, seen as a flat table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self, overload

import numpy as np
from numpy.typing import NDArray

from masktron.evaluation.nested.unit_groups import UnitMembers
from masktron.sources.columns import Batch, Cell, Cells
from masktron.sources.level_tree import LevelPath
from masktron.sources.unit_batches import BatchRows
from masktron.sources.wide.wide_record import UnitField, UnitPlace, WideRecord

type PlaceRows = Mapping[str, NDArray[np.intp]]
"""By the name of a place, the row of the member of each unit in its level; -1 where it has none."""


@dataclass(frozen=True, slots=True, eq=False)
class WideView:
    """How wide records of a class of compositions are seen in batches of units.

    Attributes
    ----------
    wide : WideRecord
    fields : tuple of UnitField or UnitPlace
        What each field of its layout is: a field of a member, or whether a member is there.
    """

    wide: WideRecord
    fields: tuple[UnitField | UnitPlace, ...]

    @classmethod
    def of(cls, wide: WideRecord) -> Self:
        """Find out what the fields of a wide record are."""
        known: dict[str, UnitField | UnitPlace] = {f"@{p.presence}": p for p in wide.places if p.presence}
        known |= {leaf.name: leaf for place in wide.places for leaf in place.leaves}
        return cls(wide, tuple(known[field.name] for field in wide.layout.fields))

    def rows(self, members: UnitMembers, units: NDArray[np.intp]) -> tuple[PlaceRows, NDArray[np.bool_]]:
        """Return where the members of units stand, and which of the units the wide record describes."""
        found: dict[str, NDArray[np.intp]] = {self.wide.unit.name: units}
        fits = np.ones(len(units), dtype=np.bool_)
        for place in self.wide.places:
            above = found[place.name]
            for kind, child in zip(place.members, place.level.children, strict=True):
                path = (*place.level_path, child.name)
                nobody = np.full(len(units), -1)
                if path not in members.counts:
                    found.update((member.name, nobody) for member in kind)
                    continue
                there = above >= 0
                counts = np.where(there, members.counts[path].take(above, mode="clip"), 0)
                first = members.first[path].take(above, mode="clip")
                fits &= counts <= len(kind)
                for at, member in enumerate(kind):
                    fits &= (counts > at) | (not member.sure)
                    found[member.name] = np.where(counts > at, first + at, nobody)
        return found, fits

    def batch(self, members: UnitMembers, units: NDArray[np.intp], rows: PlaceRows) -> Batch:
        """Return the wide records of units that this describes."""
        batch = members.batch
        return Batch(
            layout=self.wide.layout,
            codec=batch.codec,
            buffer=batch.buffer,
            offset=batch.offset,
            first=batch.first,
            starts=batch.starts[units],
            stops=batch.stops[units],
            lines=batch.lines[units],
            odd=batch.odd[units],
            cells=_WideCells(batch.levels, self, rows),
        )


class _WideCells(Sequence[Cells]):
    """The cells of wide records, gathered field by field when they are asked for."""

    def __init__(self, levels: Mapping[LevelPath, BatchRows], view: WideView, rows: PlaceRows) -> None:
        self._levels, self._view, self._rows = levels, view, rows
        self._known: dict[int, Cells] = {}

    def __len__(self) -> int:
        return len(self._view.fields)

    @overload
    def __getitem__(self, at: int) -> Cells: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Cells]: ...
    def __getitem__(self, at: int | slice) -> Cells | Sequence[Cells]:
        if isinstance(at, slice):
            return [self[one] for one in range(len(self))[at]]
        if at not in self._known:
            self._known[at] = self._gathered(self._view.fields[at])
        return self._known[at]

    def _gathered(self, one: UnitField | UnitPlace) -> Cells:
        place = one if isinstance(one, UnitPlace) else one.place
        rows = self._rows[place.name]
        there = rows >= 0
        level = self._levels.get(place.level_path)
        if isinstance(one, UnitPlace) or level is None:
            start = np.zeros(len(rows), dtype=np.int64)  # nobody reads the text of what says that a member is there
            stop, status = start + there, np.where(there, Cell.TEXT, Cell.ABSENT).astype(np.uint8)
            return Cells(start, stop if isinstance(one, UnitPlace) else start, status)
        cells = level.cells[place.level.fields.index(one.field)]
        status = cells.status.take(rows, mode="clip")
        if not there.all():
            status[~there] = Cell.ABSENT
        return Cells(cells.start.take(rows, mode="clip"), cells.stop.take(rows, mode="clip"), status)
