"""CSV that is not in memory: its records are surveyed and read block by block, as those of a file in memory are."""

from __future__ import annotations

import codecs
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from masktron.errors import DocumentError
from masktron.kernels.separated import unlike_cell
from masktron.sources.flat_records import RecordSlice
from masktron.sources.tables.column_names import xml_names
from masktron.sources.tables.column_strings import one_array, placed_cells
from masktron.sources.tables.separated.again import second_reading
from masktron.sources.tables.separated.content import beginning_of
from masktron.sources.tables.separated.csv_dialect import said_dialect, suffix_delimiter
from masktron.sources.tables.separated.csv_doubts import CsvDoubts, is_excel_line, notes_of, require_columns
from masktron.sources.tables.separated.csv_outline import (
    CsvOutline,
    Segment,
    outline_of,
    records_of,
    survey_of,
    variables_of,
)
from masktron.sources.tables.table_format import Options
from masktron.sources.tables.table_stream import StampedStream, TableStream, places_of_values
from masktron.sources.tables.two_readings import ComparedBlocks, disagreement, unlike_counts, unlike_names
from masktron.sources.xml.wellformed import Stamp, stamp_of

_BLOCK = 1 << 22
"""Bytes that are read at a time, more where a record is longer."""
_SLICED = 2
"""Segments of a slice, whatever the number of workers."""
_HEAD = 64


class FileText:
    """The bytes of a file on a disk, without a mark at their beginning.

    Parameters
    ----------
    path : Path
    skipped : int
        Bytes of the mark.
    """

    def __init__(self, path: Path, skipped: int) -> None:
        self._path, self._skipped = path, skipped

    def blocks(self) -> Generator[tuple[bytes, bool]]:
        """Yield the bytes in blocks, the last one empty.

        Raises
        ------
        UnicodeDecodeError
            They are not in UTF-8.
        """
        decoder, last = codecs.getincrementaldecoder("utf-8")(), False
        with self._path.open("rb") as stream:
            stream.seek(self._skipped)
            while not last:
                block = stream.read(_BLOCK)
                last = not block
                decoder.decode(block, final=last)
                yield block, last

    def mapped(self) -> NDArray[np.uint8]:
        """Return all bytes, mapped to memory."""
        return np.asarray(np.memmap(self._path, np.uint8, "r", offset=self._skipped))

    def part(self, begin: int, size: int) -> bytes:
        """Return some of the bytes."""
        with self._path.open("rb") as stream:
            stream.seek(self._skipped + begin)
            return stream.read(size)


class CsvStream(StampedStream):
    """A file that is neither packed nor in another encoding, and whose numbers are lexemes.

    Parameters
    ----------
    path : Path
    text : FileText
    outline : CsvOutline
    stamp : Stamp
    said : bool
        Whether the user says what the decimal point is.

    Attributes
    ----------
    outline : CsvOutline
    bytes : FileText
    """

    def __init__(self, path: Path, text: FileText, outline: CsvOutline, stamp: Stamp, *, said: bool) -> None:
        self.path, self.bytes, self.outline, self._stamp, self._said = path, text, outline, stamp, said
        self._seen: object = None
        columns = outline.columns
        self.names = xml_names(columns, f"{path}:1")
        self._doubts()  # names alone may tell
        self.count = outline.records
        self.text = sum(segment.size for segment in outline.segments)
        self.first = places_of_values(self._read(), len(columns))
        self.variables = variables_of(self.names, outline)
        with closing(self._read()) as blocks:
            some = pa.table(next(blocks, [pa.nulls(0, pa.string())] * len(columns)), names=self.names)
        self.notes = tuple(notes_of(some, columns, outline.dialect))

    def read_blocks(self) -> Generator[Sequence[pa.Array]]:
        """Yield what pyarrow reads, after a kernel of our own has cut the same bytes into the same cells."""
        doubts = self._doubts()
        with closing(self._read()) as blocks:
            for block in blocks:
                doubts.look(block)
                yield block
        doubts.settle(self._read)

    def again(self) -> Generator[Sequence[pa.Array]]:
        """Yield what the standard library reads, which agrees with what pyarrow does."""
        where = str(self.path)
        reading = second_reading(self.path, self.outline.dialect, self.outline.longest)
        if reading.columns != self.outline.columns:
            raise unlike_names(where)
        with closing(self.blocks()) as blocks:
            compared = ComparedBlocks(blocks, self.names, where)
            for block in reading.in_columns(where):
                compared.take(block)
                yield block
            compared.end()

    def pieces(self) -> Sequence[RecordSlice]:
        """Return slices of `_SLICED` segments, by their positions."""
        segments, first, found = self.outline.segments, 0, []
        for begin in range(0, len(segments), _SLICED):
            size = sum(segment.records for segment in segments[begin : begin + _SLICED])
            found.append(RecordSlice(first, size, begin, begin + _SLICED))
            first += size
        return found

    def blocks_of(self, piece: RecordSlice) -> Generator[Sequence[pa.Array]]:
        """Yield what both readers have of a slice."""
        doubts = self._doubts()
        with closing(self._read(piece)) as blocks:
            for block in blocks:
                doubts.look(block)
                yield block
        self._seen = doubts.seen

    def remarks(self) -> object:
        """Return what a slice tells of doubts about the file."""
        return self._seen

    def settle(self, remarks: Sequence[Any]) -> None:
        """Refuse the file where a doubt is left, as `read_blocks` does."""
        doubts = self._doubts()
        for seen in remarks:
            doubts.join(seen)
        doubts.settle(self._read)

    def lines(self, first: int, size: int) -> NDArray[np.int64]:
        """Return the lines in which records begin."""
        return self.outline.lines(first, size)

    def _doubts(self) -> CsvDoubts:
        return CsvDoubts(self.outline, str(self.path), said=self._said)

    def _read(self, piece: RecordSlice | None = None) -> Generator[Sequence[pa.Array]]:
        done = 0 if piece is None else piece.first
        segments = self.outline.segments
        self.require_unchanged()
        for segment in segments if piece is None else segments[piece.begin : piece.end]:
            try:
                block = self._block(segment, done)
            except DocumentError:
                self.require_unchanged()
                raise
            yield block
            done += segment.records
        self.require_unchanged()

    def _block(self, segment: Segment, before: int) -> Sequence[pa.Array]:
        """Return the records of a segment, on which pyarrow and a kernel agree."""
        data, where = self.bytes.part(segment.begin, segment.size), str(self.path)
        table = records_of(data, segment.records, self.outline, where)
        block = [one_array(column) for column in table.columns]
        at = self._unlike(data, block)
        if at >= 0:
            record, column = divmod(at, len(block))
            raise (
                unlike_counts(where)
                if record >= segment.records
                else disagreement(self.names[column], before + record, where)
            )
        return block

    def _unlike(self, data: bytes, block: Sequence[pa.Array]) -> int:
        dialect = self.outline.dialect
        texts, starts, stops, there = placed_cells(block)
        null = [text.encode() for text in dialect.null]
        return unlike_cell(
            np.frombuffer(data, dtype=np.uint8),
            *dialect.codes,
            texts,
            starts,
            stops,
            there,
            np.frombuffer(b"".join(null) or b"\0", dtype=np.uint8),
            np.cumsum([0, *map(len, null)], dtype=np.int64),
            np.empty(len(data), dtype=np.uint8),
        )


def csv_stream(path: Path, options: Options) -> TableStream | None:
    """Open a file; None where it is packed, in another encoding, has other numbers than lexemes, or is not sound.

    Reading it as a whole says what is wrong.

    Raises
    ------
    UsageError
        An option has no such value.
    DocumentError
        Columns have no names or the same, or numbers for names; or several delimiters would do.
    """
    said, where = said_dialect(options), str(path)
    if said.own_numbers or not path.is_file():
        return None
    with path.open("rb") as stream:
        stamp, head = stamp_of(stream), stream.read(_HEAD)
    begin = beginning_of(head, path, said)
    body = head[len(begin.mark) :]
    if begin.other or begin.codec != "utf-8" or not body or is_excel_line(body):
        return None
    text = FileText(path, len(begin.mark))
    try:
        found = survey_of(text, replace(said, codec=begin.codec, mark=begin.mark), suffix_delimiter(path), where)
    except UnicodeDecodeError:
        return None
    if not found.sound or not found.segments or (found.columns == 1 and not said.delimiter):
        return None
    outline = outline_of(text, found, where)
    require_columns(outline, where)
    if outline.dialect.has_names and second_reading(path, outline.dialect, outline.begin).columns != outline.columns:
        raise unlike_names(where)
    return CsvStream(path, text, outline, stamp, said="decimal" in options)
