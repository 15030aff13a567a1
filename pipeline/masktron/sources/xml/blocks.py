"""Flat files in blocks of bytes: the kernel's table of names, its rows, and batches made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from masktron.errors import DocumentError
from masktron.kernels.scanner import END, FULL, MORE, PADDING, byte_classes, scan_records, table_of
from masktron.sources.columns import Batch, Cells
from masktron.sources.flat_records import RecordSlice
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
