"""CSV that is not in memory: where its records are is found block by block, and cells are read so again."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from masktron.errors import DocumentError
from masktron.kernels import separated as kernel
from masktron.kernels.separated import Places, survey, unlike_cell
from masktron.sources.lexical import parse_number
from masktron.sources.other_formats import magic_of
from masktron.sources.tables.arrow_scalars import text_scalar
from masktron.sources.tables.column_names import xml_names
from masktron.sources.tables.separated.again import second_reading
from masktron.sources.tables.separated.cell_texts import cells_of
from masktron.sources.tables.separated.content import compression_of, encoding_of
from masktron.sources.tables.separated.csv_dialect import (
    CANDIDATES,
    ENDINGS,
    CsvDialect,
    said_dialect,
    suffix_delimiter,
)
from masktron.sources.tables.separated.csv_notes import (
    all_decimal_comma,
    has_decimal_comma,
    notes_of,
    only_numbers,
    seems_a_record,
    undeclared_comma,
)
from masktron.sources.tables.separated.csv_outline import names_of_columns, numbered_columns
from masktron.sources.tables.stamped_stream import StampedStream
from masktron.sources.tables.string_cells import octets_of, placed_cells
from masktron.sources.tables.table_format import Options
from masktron.sources.tables.table_stream import TableStream, places_of_values
from masktron.sources.tables.two_readings import disagreement, unlike_counts, unlike_names
from masktron.sources.variables import Variable
from masktron.sources.xml.wellformed import Stamp, stamp_of

_BLOCK = 1 << 22
"""Bytes that are read at a time, more where a record is longer."""
_HEAD = 64
_NONE = np.zeros(0, dtype=np.int64)
_IN_NUMBERS = np.isin(np.arange(256), np.frombuffer(b"0123456789+-,", dtype=np.uint8))
_COMMA = ord(",")


@dataclass(frozen=True, slots=True)
class _Segment:
    """Whole records of a file: where they are in its bytes, how many, and the line of the first one."""

    begin: int
    size: int
    records: int
    line: int


@dataclass(frozen=True, slots=True)
class _Surveyed:
    """A file in a dialect."""

    dialect: CsvDialect
    facts: Places
    segments: tuple[_Segment, ...]


class _CsvStream(StampedStream):
    def __init__(self, path: Path, found: _Surveyed, columns: tuple[str, ...], stamp: Stamp, *, comma: bool) -> None:
        self.path, self._dialect, self._stamp = path, found.dialect, stamp
        self._columns, self._segments = columns, found.segments
        self._longest = int(found.facts[kernel.LONGEST])
        self._breaks = bool(found.facts[kernel.BREAKS])
        self._comma_is_plain = comma
        self.names = xml_names(columns, f"{path}:1")
        self.count = sum(segment.records for segment in found.segments)
        self.text = sum(segment.size for segment in found.segments)
        self._lines = np.concatenate([*self._found_lines(), _NONE]) if self._breaks else None
        self.first = places_of_values(self._read(), len(columns))
        self.variables = tuple(map(Variable, self.names, columns))
        with closing(self._read()) as blocks:
            some = pa.table(next(blocks, [pa.nulls(0, pa.string())] * len(columns)), names=self.names)
        self.notes = tuple(notes_of(some, columns, self._dialect))

    def readings(self) -> Generator[tuple[Sequence[pa.Array], None]]:
        """Yield what pyarrow reads, after a kernel of our own has cut the same bytes into the same cells."""
        doubts = _Doubts(self)
        with closing(self._read()) as blocks:
            for block in blocks:
                doubts.look(block)
                yield block, None
        doubts.end()

    def lines(self, first: int, size: int) -> NDArray[np.int64]:
        """Return the lines in which records begin."""
        if self._lines is not None:
            return self._lines[first : first + size]
        begin = first + 1 + self._dialect.has_names
        return np.arange(begin, begin + size, dtype=np.int64)

    def _read(self) -> Generator[Sequence[pa.Array]]:
        done, where = 0, str(self.path)
        self.require_unchanged()
        for segment, data in self._data():
            try:
                table = cells_of(
                    data,
                    self._dialect,
                    len(self.names),
                    self._longest,
                    breaks=self._breaks,
                    null=self._dialect.null,
                )
            except pa.ArrowException as error:
                self.require_unchanged()
                hint = "convert it to UTF-8"
                raise DocumentError("pyarrow cannot read this as CSV", where=where, hint=hint) from error
            if len(table) != segment.records:
                self.require_unchanged()
                raise unlike_counts(where)
            block = [_one(column) for column in table.columns]
            at = self._unlike(data, block)
            if at >= 0:
                self.require_unchanged()
                record, column = divmod(at, len(block))
                if record >= len(table):
                    raise unlike_counts(where)
                raise disagreement(self.names[column], done + record, where)
            yield block
            done += len(table)
        self.require_unchanged()

    def _data(self) -> Iterator[tuple[_Segment, bytes]]:
        with self.path.open("rb") as stream:
            for segment in self._segments:
                stream.seek(segment.begin)
                yield segment, stream.read(segment.size)

    def _unlike(self, data: bytes, block: Sequence[pa.Array]) -> int:
        texts, starts, stops, there = placed_cells(block)
        null = [text.encode() for text in self._dialect.null]
        return unlike_cell(
            np.frombuffer(data, dtype=np.uint8),
            *self._dialect.codes,
            texts,
            starts,
            stops,
            there,
            np.frombuffer(b"".join(null) or b"\0", dtype=np.uint8),
            np.cumsum([0, *map(len, null)], dtype=np.int64),
            np.empty(len(data), dtype=np.uint8),
        )

    def _found_lines(self) -> Iterator[NDArray[np.int64]]:
        for segment, data in self._data():
            facts = np.zeros(kernel.FACTS, dtype=np.int64)
            facts[kernel.LINE] = segment.line
            starts, lines = (np.zeros(segment.records, dtype=np.int64) for _ in range(2))
            octets = np.frombuffer(data, dtype=np.uint8)
            survey(octets, *self._dialect.codes, facts, starts, lines, True)
            yield lines


class _Doubts:
    """What only all records tell: whether the first line is one, and whether commas are decimal points."""

    def __init__(self, stream: _CsvStream) -> None:
        self._stream, dialect = stream, stream._dialect
        names = dict(enumerate(stream._columns))
        asked = dialect.header is None and len(names) > 1 and stream.count > 0
        self._asked = asked
        # a name that is no number, and no value of its column
        self._unseen = {at: text_scalar(name) for at, name in names.items() if asked and np.isnan(parse_number(name))}
        commas = not (stream._comma_is_plain or dialect.delimiter == "," or dialect.grouping)
        self._numeric = set(names) if commas else set()
        self._commas: set[int] = set()

    def look(self, block: Sequence[pa.Array]) -> None:
        for at, name in list(self._unseen.items()):
            if pc.any(pc.equal(block[at], name)).as_py():
                del self._unseen[at]
        for at in list(self._numeric):
            octets = octets_of(block[at])
            if not _IN_NUMBERS[octets].all():
                self._numeric.discard(at)
            elif (octets == _COMMA).any():
                self._commas.add(at)

    def end(self) -> None:
        where = str(self._stream.path)
        if self._asked and not self._unseen:
            raise seems_a_record(where)
        left = self._commas & self._numeric
        found: set[int] = set()
        if left:
            with closing(self._stream._read()) as blocks:
                for block in blocks:
                    left = {at for at in left if all_decimal_comma(block[at].drop_null())}
                    found |= {at for at in left if has_decimal_comma(block[at])}
        for at in sorted(left & found):
            raise undeclared_comma(self._stream._columns[at], where)


def csv_stream(path: Path, options: Options) -> TableStream | None:
    """Open a file; None where it is packed, in another encoding, has other numbers than lexemes, or is not sound.

    Raises
    ------
    UsageError
        An option has no such value.
    DocumentError
        Columns have no names or the same.
    """
    said = said_dialect(options)
    if said.own_numbers or not path.is_file():
        return None
    with path.open("rb") as stream:
        stamp, head = stamp_of(stream), stream.read(_HEAD)
    mark, codec = encoding_of(head, said.codec)
    body = head[len(mark) :]
    if compression_of(head) or magic_of(head, path) is not None or codec != "utf-8" or not body:
        return None
    if head.startswith(b"<?xml") or body[:4].lower() == b"sep=":
        return None
    found = _sound(path, replace(said, codec=codec, mark=mark), suffix_delimiter(path))
    if found is None:
        return None
    columns, segments = _header(path, found)
    if found.dialect.header is None and only_numbers(columns):
        return None  # reading it says so
    found = replace(found, segments=segments)
    return _CsvStream(path, found, columns, stamp, comma="decimal" in options)


def _sound(path: Path, said: CsvDialect, suffix: str) -> _Surveyed | None:
    """Return the one dialect that cuts a file into two columns or more; None where reading it has to say more."""
    if said.delimiter:
        return _surveyed(path, said, several=False)
    tried = [replace(said, delimiter=mark) for mark in CANDIDATES if mark not in {said.quote, said.escape}]
    sound = [found for one in tried if (found := _surveyed(path, one, several=True)) is not None]
    if suffix:
        return next((found for found in sound if found.dialect.delimiter == suffix), None)
    return sound[0] if len(sound) == 1 else None


def _surveyed(path: Path, dialect: CsvDialect, *, several: bool) -> _Surveyed | None:
    """Find the records of a file; None where it is not sound, or has one column and shall have several."""
    facts, segments = np.zeros(kernel.FACTS, dtype=np.int64), []
    with path.open("rb") as stream:
        begin = len(dialect.mark)
        stream.seek(begin)
        rest, last = b"", False
        while not last:
            block = stream.read(max(_BLOCK, len(rest)))
            data, last = rest + block, not block
            records, line = int(facts[kernel.RECORDS]), max(1, int(facts[kernel.LINE]))
            survey(np.frombuffer(data, dtype=np.uint8), *dialect.codes, facts, _NONE, _NONE, last)
            if facts[kernel.ERROR] != kernel.SOUND or (several and facts[kernel.COLUMNS] == 1):
                return None
            found, stop = int(facts[kernel.RECORDS]) - records, int(facts[kernel.STOP])
            if found:
                try:
                    data[:stop].decode()
                except UnicodeDecodeError:
                    return None
                segments.append(_Segment(begin, stop, found, line))
            done = int(facts[kernel.AT])
            begin, rest = begin + done, data[done:]
    ending = ENDINGS.get(int(facts[kernel.ENDING]), "\n")
    return _Surveyed(replace(dialect, ending=ending), facts, tuple(segments)) if segments else None


def _header(path: Path, found: _Surveyed) -> tuple[tuple[str, ...], tuple[_Segment, ...]]:
    """Return the names of the columns, and the segments without them."""
    count, first = int(found.facts[kernel.COLUMNS]), found.segments[0]
    if not found.dialect.has_names:
        return numbered_columns(count), found.segments
    body = int(found.facts[kernel.BODY])
    with path.open("rb") as stream:
        stream.seek(first.begin)
        head = stream.read(body)
    names = names_of_columns(head, found.dialect, count, str(path))
    if second_reading(path, found.dialect, body).columns != names:
        raise unlike_names(str(path))
    facts, starts, lines = np.zeros(kernel.FACTS, dtype=np.int64), np.zeros(1, dtype=np.int64), _NONE
    survey(np.frombuffer(head, dtype=np.uint8), *found.dialect.codes, facts, starts, lines, True)
    rest = _Segment(first.begin + body, first.size - body, first.records - 1, int(facts[kernel.LINE]))
    return names, (*([rest] if rest.records else []), *found.segments[1:])


def _one(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)
