"""Flat and nested files in blocks of bytes: the kernels' tables of names, their rows, and batches made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from masktron.errors import DocumentError
from masktron.kernels.level_scanner import INNER, UNREADABLE, scan_levels
from masktron.kernels.scanner import END, FULL, MORE, PADDING, byte_classes, scan_records, table_of
from masktron.sources.columns import Batch, Cells
from masktron.sources.flat_records import BatchRows, RecordSlice, UnitBatch
from masktron.sources.level_tree import TOP, LevelPath, Tree
from masktron.sources.record_layout import Layout
from masktron.sources.xml.wellformed import Stamp, stamp_of

SLICED = 1 << 23
"""Bytes of a slice, whatever the number of workers."""


@dataclass(frozen=True, slots=True)
class Name:
    """A tag or attribute name of records.

    Attributes
    ----------
    raw : bytes
        As written, with its prefix.
    attribute : bool
    column : int
        Position of its field in the layout; -1 where a record that has it can only be read by a parser.
    """

    raw: bytes
    attribute: bool
    column: int


@dataclass(frozen=True, slots=True)
class PlainFile:
    """A flat file that the kernel can read, as `masktron.sources.xml.plain.survey_plain` has established it.

    Attributes
    ----------
    codec : str
        Python's codec: UTF-8, or one byte per character.
    start, line : int
        Byte at which the first record begins, and its source line (from 1).
    records : int
    record : bytes
        Name of the record element, as written.
    names : tuple of Name
    stamp : tuple of int
    slices : tuple of RecordSlice
        All records, in slices of about `SLICED` bytes; the last one ends where it ends.
    """

    codec: str
    start: int
    line: int
    records: int
    record: bytes
    names: tuple[Name, ...]
    stamp: Stamp
    slices: tuple[RecordSlice, ...] = ()

    @property
    def whole(self) -> RecordSlice:
        """All records as one slice."""
        return RecordSlice(0, self.records, self.start, -1, self.line)


class Found(NamedTuple):
    """What one call of a kernel returns.

    See `masktron.kernels.scanner.scan_records`, and `masktron.kernels.level_scanner.scan_levels` for the levels of
    nested files: there, rows are units, and `level` is where the name stands.
    """

    rows: int
    at: int
    line: int
    reason: int
    name_start: int
    name_stop: int
    is_attribute: bool
    level: int = 0


class ScanTable:
    """Names of records in the form that the kernel reads, with rows for what it finds."""

    def __init__(self, record: bytes, names: Sequence[Name], columns: int, rows: int) -> None:
        elements = [name for name in names if not name.attribute]
        attributes = [name for name in names if name.attribute]
        self._names = (
            np.frombuffer(record, dtype=np.uint8).copy(),
            *table_of([name.raw for name in elements]),
            np.array([name.column for name in elements], dtype=np.int64),
            *table_of([name.raw for name in attributes]),
            np.array([name.column for name in attributes], dtype=np.int64),
        )
        self._classes = byte_classes()
        self._columns = columns
        self._rows = rows
        self.padding = PADDING + 2 * max(len(name) for name in [record, *(name.raw for name in names)])
        self.renew()

    def renew(self) -> None:
        """Take new rows; those that were filled belong to whoever holds them."""
        self.starts, self.stops, self.lines = (np.zeros(self._rows, dtype=np.int64) for _ in range(3))
        self.odd = np.zeros(self._rows, dtype=np.bool_)
        self.look = np.zeros(self._rows, dtype=np.uint8)
        self.cell_starts, self.cell_stops = (np.zeros((self._columns, self._rows), dtype=np.int64) for _ in range(2))
        self.status = np.zeros((self._columns, self._rows), dtype=np.uint8)

    def scan(self, data: NDArray[np.uint8], size: int, line: int, *, learn: bool) -> Found:
        """Find records from the first byte on."""
        found = scan_records(
            data,
            size,
            0,
            line,
            *self._names,
            learn,
            self._classes,
            self.starts,
            self.stops,
            self.lines,
            self.odd,
            self.look,
            self.cell_starts,
            self.cell_stops,
            self.status,
        )
        return Found(*found)


def joined(rest: NDArray[np.uint8], block: bytes, padding: int) -> tuple[NDArray[np.uint8], int]:
    """Return what was left and what was read, with the zeros that the kernel wants behind, and the size without."""
    size = len(rest) + len(block)
    data = np.empty(size + padding, dtype=np.uint8)
    data[: len(rest)] = rest
    data[len(rest) : size] = np.frombuffer(block, dtype=np.uint8)
    data[size:] = 0
    return data, size


class Scanning(Protocol):
    """What finds records in blocks of bytes, and has rows for them."""

    padding: int

    def renew(self) -> None:
        """Take new rows; those that were filled belong to whoever holds them."""

    def scan(self, data: NDArray[np.uint8], size: int, line: int, *, learn: bool) -> Found:
        """Find records from the first byte on."""


def scanned[T: Scanning, B](
    path: Path,
    stream: BinaryIO,
    stamp: Stamp,
    piece: RecordSlice,
    block: int,
    table: T,
    batch: Callable[[T, NDArray[np.uint8], int, int, int], B],
) -> Iterator[B]:
    """Yield batches of the records of a slice; the next block is read in a thread meanwhile.

    Parameters
    ----------
    path : Path
    stream : BinaryIO
        The file, open.
    stamp : tuple of int
        What the survey has seen.
    piece : RecordSlice
    block : int
        Bytes that are read at once.
    table : Scanning
    batch : callable
        Makes a batch of a table with rows, bytes, the place of the first one in the file, the number of the first
        record, and how many there are.

    Raises
    ------
    DocumentError
        The file has changed.
    """
    if stamp_of(stream) != stamp:
        raise changed(path)
    stream.seek(piece.begin)
    rest = np.empty(0, dtype=np.uint8)
    offset, first, line, reason = piece.begin, piece.first, piece.line, MORE

    def read() -> bytes:
        return stream.read(block if piece.end < 0 else min(block, piece.end - stream.tell()))

    with ThreadPoolExecutor(max_workers=1) as helper:
        coming = helper.submit(read)
        while reason == MORE and (bytes_read := coming.result()):
            coming = helper.submit(read)
            data, size = joined(rest, bytes_read, table.padding)
            reason = FULL
            while reason == FULL:
                found = table.scan(data, size, line, learn=False)
                reason = found.reason
                if found.rows:
                    yield batch(table, data[: found.at], offset, first, found.rows)
                    table.renew()
                offset, first, line = offset + found.at, first + found.rows, found.line
                data, size = data[found.at :], size - found.at
            rest = data[:size]
    ended = reason == END if piece.end < 0 else reason == MORE and not len(rest)
    if not ended or first != piece.first + piece.records or stamp_of(stream) != stamp:
        raise changed(path)


def batches_of(
    path: Path, stream: BinaryIO, layout: Layout, plain: PlainFile, block: int, rows: int, piece: RecordSlice
) -> Iterator[Batch]:
    """Yield the records of a slice of an open file; see `masktron.sources.xml.plain.iter_batches`."""

    def batch(table: ScanTable, data: NDArray[np.uint8], offset: int, first: int, rows: int) -> Batch:
        return Batch(
            layout=layout,
            codec=plain.codec,
            buffer=data,
            offset=offset,
            first=first,
            starts=table.starts[:rows],
            stops=table.stops[:rows],
            lines=table.lines[:rows],
            odd=table.odd[:rows],
            cells=tuple(
                Cells(table.cell_starts[at, :rows], table.cell_stops[at, :rows], table.status[at, :rows])
                for at in range(len(layout.fields))
            ),
        )

    table = ScanTable(plain.record, plain.names, len(layout.fields), rows)
    return scanned(path, stream, plain.stamp, piece, block, table, batch)


def changed(path: Path) -> DocumentError:
    """Return the error of a file that is not the one that was surveyed."""
    return DocumentError.of("file-changed", path)


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
