"""Nested files in blocks of bytes: the kernel's tables of names, its rows, and batches of units made of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.level_scanner import INNER, UNREADABLE, scan_levels
from masktron.kernels.scanner import PADDING, byte_classes, table_of
from masktron.sources.columns import Cells
from masktron.sources.flat_records import BatchRows, RecordSlice, UnitBatch
from masktron.sources.level_tree import TOP, LevelPath, Tree
from masktron.sources.xml.blocks import Found, scanned
from masktron.sources.xml.wellformed import Stamp


@dataclass(frozen=True, slots=True)
class LevelName:
    """A tag or attribute name of the records of a level.

    Attributes
    ----------
    raw : bytes
        As written, with its prefix.
    attribute : bool
    field : int
        Position of its field among those of the level; -1 where it is none.
    inner : LevelPath or None
        The level whose records it names.
    """

    raw: bytes
    attribute: bool
    field: int = -1
    inner: LevelPath | None = None


type NamesByLevel = Mapping[LevelPath, Sequence[LevelName]]
"""The names of each level, those of the units first, each level before those within it.

Of a level, fields stand before the records in its records, each in the order of the tree.
"""


@dataclass(frozen=True, slots=True)
class NestedFile:
    """A nested file that the kernel can read: `masktron.sources.xml.nested_units.survey_nested` has established it.

    Attributes
    ----------
    codec : str
        Python's codec: UTF-8, or one byte per character.
    start, line : int
        Byte at which the first unit begins, and its source line (from 1).
    units : int
    unit : bytes
        Name of the unit, as written.
    names : tuple of (LevelPath, tuple of LevelName)
        The items of `NamesByLevel`. A level that is not among them stands in odd units alone.
    stamp : tuple of int
    """

    codec: str
    start: int
    line: int
    units: int
    unit: bytes
    names: tuple[tuple[LevelPath, tuple[LevelName, ...]], ...]
    stamp: Stamp


class LevelScan:
    """Names of levels in the form that the kernel reads, with rows for what it finds.

    Parameters
    ----------
    unit : bytes
    names : mapping of LevelPath to sequence of LevelName
    fields : sequence of int
        Number of fields of each level.
    rows : int
        Most records of a level.
    """

    def __init__(self, unit: bytes, names: NamesByLevel, fields: Sequence[int], rows: int) -> None:
        self.paths = tuple(names)
        self.columns = np.concatenate(([0], np.cumsum(fields))).astype(np.int64)
        raw: list[bytes] = []
        slots: list[int] = []
        sections = [0]
        for at, own in enumerate(names.values()):
            for attribute in (False, True):
                chosen = [one for one in own if one.attribute == attribute]
                raw += [one.raw for one in chosen]
                slots += [self._slot(at, one) for one in chosen]
                sections.append(len(raw))
        self._names = (
            np.frombuffer(unit, dtype=np.uint8).copy(),
            *table_of(raw),
            np.array(slots, dtype=np.int64),
            np.array(sections, dtype=np.int64),
            self.columns,
        )
        self._classes = byte_classes()
        self._rows = rows
        self.padding = PADDING + 2 * max(map(len, (unit, *raw)))
        self.renew()

    def _slot(self, level: int, name: LevelName) -> int:
        if name.inner is not None:
            return INNER - self.paths.index(name.inner)
        return UNREADABLE if name.field < 0 else int(self.columns[level]) + name.field

    def renew(self) -> None:
        """Take new rows; those that were filled belong to whoever holds them."""
        rows, levels, columns = self._rows, len(self.paths), int(self.columns[-1])
        self.counts = np.zeros(levels, dtype=np.int64)
        self.starts, self.stops = (np.empty(rows, dtype=np.int64) for _ in range(2))
        self.odd, self.mixed = (np.empty(rows, dtype=np.bool_) for _ in range(2))
        self.look = np.empty(rows, dtype=np.uint8)
        self.lines, self.parents = (np.empty((levels, rows), dtype=np.int64) for _ in range(2))
        self.cell_starts, self.cell_stops = (np.empty((columns, rows), dtype=np.int64) for _ in range(2))
        self.status = np.empty((columns, rows), dtype=np.uint8)

    def scan(self, data: NDArray[np.uint8], size: int, line: int, *, learn: bool) -> Found:
        """Find units from the first byte on."""
        found = scan_levels(
            data,
            size,
            line,
            *self._names,
            learn,
            self._classes,
            self.counts,
            self.starts,
            self.stops,
            self.odd,
            self.mixed,
            self.look,
            self.lines,
            self.parents,
            self.cell_starts,
            self.cell_stops,
            self.status,
        )
        at, line, reason, level, start, stop, is_attribute = found
        return Found(int(self.counts[0]), at, line, reason, start, stop, is_attribute, level)

    def level(self, at: int) -> BatchRows:
        """Return the records of a level that were found; absent and odd cells have offsets that mean nothing."""
        rows = int(self.counts[at])
        columns = range(int(self.columns[at]), int(self.columns[at + 1]))
        cells = (Cells(self.cell_starts[k, :rows], self.cell_stops[k, :rows], self.status[k, :rows]) for k in columns)
        return BatchRows(self.parents[at, :rows], self.lines[at, :rows], tuple(cells))


def unit_batches_of(
    path: Path, stream: BinaryIO, tree: Tree, nested: NestedFile, block: int, rows: int
) -> Iterator[UnitBatch]:
    """Yield the units of an open file; see `masktron.sources.xml.nested_units.iter_units`."""

    def batch(table: LevelScan, data: NDArray[np.uint8], offset: int, first: int, units: int) -> UnitBatch:
        levels = {path: table.level(at) for at, path in enumerate(table.paths)}
        return UnitBatch(
            layout=tree.layout,
            codec=nested.codec,
            buffer=data,
            offset=offset,
            first=first,
            starts=table.starts[:units],
            stops=table.stops[:units],
            lines=levels[TOP].lines,
            odd=table.odd[:units],
            cells=levels[TOP].cells,
            tree=tree,
            mixed=table.mixed[:units],
            levels=MappingProxyType(levels),
        )

    names = dict(nested.names)
    table = LevelScan(nested.unit, names, [len(tree.level(at).fields) for at in names], rows)
    whole = RecordSlice(0, nested.units, nested.start, -1, nested.line)
    return scanned(path, stream, nested.stamp, whole, block, table, batch)
