"""Where the records and cells of a CSV stand: surveyed block by block, then outlined in its dialect.

A file that is in memory is one block.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from masktron.errors import DocumentError
from masktron.kernels import separated as kernel
from masktron.kernels.separated import Places, survey
from masktron.problems.problem import Place
from masktron.sources.tables.separated.csv_dialect import CANDIDATES, ENDINGS, CsvDialect, named
from masktron.sources.tables.two_readings import unlike_counts
from masktron.sources.variables import Typed, Variable


class CsvText(Protocol):
    """The bytes of a file: UTF-8 without a byte order mark. Places are counted from the first one."""

    def blocks(self) -> Generator[tuple[bytes, bool]]:
        """Yield the bytes in blocks, each with whether it is the last one."""

    def part(self, begin: int, size: int) -> bytes | memoryview:
        """Return some of the bytes."""


class HeldText:
    """Bytes that are in memory.

    Parameters
    ----------
    data : bytes
    """

    def __init__(self, data: bytes) -> None:
        self._data = data

    def blocks(self) -> Generator[tuple[bytes, bool]]:
        """Yield all in one block."""
        yield self._data, True

    def part(self, begin: int, size: int) -> memoryview:
        """Return some of the bytes."""
        return memoryview(self._data)[begin : begin + size]


@dataclass(frozen=True, slots=True)
class Segment:
    """Whole records that follow each other.

    Attributes
    ----------
    begin, size : int
        Where they are in the bytes of the file.
    records : int
        How many.
    line : int
        Of the first one, from 1.
    """

    begin: int
    size: int
    records: int
    line: int


@dataclass(frozen=True, slots=True, eq=False)
class CsvSurvey:
    """A file in a dialect.

    Attributes
    ----------
    dialect : CsvDialect
        With the delimiter and what ends lines.
    facts : ndarray of int64
        What `masktron.kernels.separated.survey` says of all blocks, with places in the file.
    segments : tuple of Segment
        Those of all records, up to the first error; a line of names is one.
    """

    dialect: CsvDialect
    facts: Places
    segments: tuple[Segment, ...]

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return self[kernel.ERROR] == kernel.SOUND

    @property
    def columns(self) -> int:
        """Cells of the first record."""
        return self[kernel.COLUMNS]

    def __getitem__(self, fact: int) -> int:
        return int(self.facts[fact])


def survey_of(text: CsvText, dialect: CsvDialect, suffix: str, where: str) -> CsvSurvey:
    """Find the records of a file, and what separates their cells where that is not known.

    That is what cuts all records into as many cells, and into several. A file that nothing cuts so is surveyed with
    what comes farthest, which tells what is wrong.

    Parameters
    ----------
    text : CsvText
    dialect : CsvDialect
        What is known.
    suffix : str
        The delimiter that the name of the file stands for; empty for any.
    where : str
        The file.

    Raises
    ------
    DocumentError
        Several delimiters would do, or another one than the name stands for.
    """
    if dialect.delimiter:
        return _surveyed(text, dialect)
    tried = [replace(dialect, delimiter=mark) for mark in CANDIDATES if mark not in {dialect.quote, dialect.escape}]
    found = {one.delimiter: _surveyed(text, one, several=True) for one in tried}
    several = {mark: one for mark, one in found.items() if one.columns > 1}
    sound = [mark for mark, one in several.items() if one.sound]
    if suffix and suffix not in several and sound:
        raise DocumentError.of(
            "unclear-delimiter",
            where,
            detail=f"its name stands for a {named(suffix)}, its lines for a {named(sound[0])}",
        )
    if suffix in found:
        return found[suffix]
    if len(sound) > 1:
        raise DocumentError.of(
            "unclear-delimiter", where, detail=f"{' or '.join(map(named, sound))} would cut all lines alike"
        )
    if sound:
        return several[sound[0]]
    farthest = max(several, key=lambda mark: several[mark][kernel.AT], default="")
    return found[farthest or next(iter(found))]


def _surveyed(text: CsvText, dialect: CsvDialect, *, several: bool = False) -> CsvSurvey:
    """Find the records, up to the first error; where several columns are wanted, not behind a block with one."""
    facts, segments = np.zeros(kernel.FACTS, dtype=np.int64), []
    begin, rest, held = 0, b"", b""
    with closing(text.blocks()) as blocks:
        for block, last in blocks:
            held += block
            if not last and len(held) < len(rest):
                continue  # a record of many blocks is not looked at from its beginning for each of them
            data, held = rest + held, b""
            before, line = int(facts[kernel.RECORDS]), max(1, int(facts[kernel.LINE]))
            survey(np.frombuffer(data, dtype=np.uint8), *dialect.codes, facts, _NONE, _NONE, last)
            if found := int(facts[kernel.RECORDS]) - before:
                segments.append(Segment(begin, int(facts[kernel.STOP]), found, line))
                facts[kernel.STOP] += begin  # the first record, which ends at BODY, is not behind another block
            done = int(facts[kernel.AT])
            begin, rest = begin + done, data[done:]
            facts[kernel.AT] = begin
            if facts[kernel.ERROR] != kernel.SOUND or (several and facts[kernel.COLUMNS] == 1):
                break
    ending = ENDINGS.get(int(facts[kernel.ENDING]), "\n")
    return CsvSurvey(replace(dialect, ending=ending), facts, tuple(segments))


_BLOCK = 1 << 23
"""Bytes that are read at once, or more where a record is longer."""
_LARGEST = (1 << 31) - 1


def cells_of(
    data: bytes | memoryview,
    dialect: CsvDialect,
    count: int,
    longest: int,
    *,
    breaks: bool,
    null: tuple[str, ...] | None,
) -> pa.Table:
    """Read records that are known to be sound.

    Parameters
    ----------
    data : bytes
        Records alone, in UTF-8.
    dialect : CsvDialect
    count : int
        Of columns.
    longest : int
        Bytes of the longest record.
    breaks : bool
        Whether a cell may go over several lines.
    null : tuple of str, optional
        Cells that mean that there is no value; by default none is.

    Returns
    -------
    pyarrow.Table
        Columns of strings, named ``0``, ``1``, ...
    """
    names = [str(at) for at in range(count)]
    if not len(data):
        return pa.table({name: pa.chunked_array([], type=pa.string()) for name in names})
    if bytes(data[: len(BOM_UTF8)]) == BOM_UTF8:
        # pyarrow takes it for a mark, and drops it
        data = BOM_UTF8 + bytes(data)
    if data[-1] not in b"\n\r":
        # pyarrow does not read a first line that does not end
        data = bytes(data) + dialect.ending.encode()
    return pa.csv.read_csv(
        pa.BufferReader(data),
        pa.csv.ReadOptions(column_names=names, block_size=min(max(_BLOCK, 2 * longest + 64), _LARGEST)),
        pa.csv.ParseOptions(
            delimiter=dialect.delimiter,
            quote_char=dialect.quote or False,
            double_quote=bool(dialect.quote) and not dialect.escape,
            escape_char=dialect.escape or False,
            newlines_in_values=breaks,
            ignore_empty_lines=False,
        ),
        pa.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            null_values=[""] if null is None else ["", *null],
            strings_can_be_null=null is not None,
            quoted_strings_can_be_null=True,
        ),
    )


_NONE = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class CsvOutline:
    """Where records are in the bytes of a file.

    Attributes
    ----------
    dialect : CsvDialect
        With what was found.
    columns : tuple of str
        Names, as the file has them, or V1, V2, ...
    segments : tuple of Segment
        Of the records, without the line of names; one for a file in memory that has any.
    longest : int
        Bytes of the longest record.
    begin, stop : int
        Where the first record begins, behind the names, and where the last one ends.
    closed : bool
        Whether the last line ends.
    breaks : bool
        Whether a cell goes over several lines.
    own_lines : ndarray of int64, shape (records,), or None
        The line of each record, from 1; None where each is one line.
    """

    dialect: CsvDialect
    columns: tuple[str, ...]
    segments: tuple[Segment, ...]
    longest: int
    begin: int
    stop: int
    closed: bool
    breaks: bool
    own_lines: NDArray[np.int64] | None

    @property
    def records(self) -> int:
        """How many there are, without the line of names."""
        return sum(segment.records for segment in self.segments)

    def lines(self, first: int, size: int) -> NDArray[np.int64]:
        """Return the lines, from 1, in which some records in a row begin; shape (size,)."""
        if self.own_lines is not None:
            return self.own_lines[first : first + size]
        begin = first + 1 + self.dialect.has_names
        return np.arange(begin, begin + size, dtype=np.int64)

    def line(self, record: int) -> int:
        """Return the line of a record, from 1."""
        return int(self.lines(record, 1)[0])


def outline_of(text: CsvText, found: CsvSurvey, where: str) -> CsvOutline:
    """Return where the records are in a file that is sound.

    Parameters
    ----------
    text : CsvText
    found : CsvSurvey
        Of this file.
    where : str
        The file.

    Raises
    ------
    DocumentError
        A column has no name.
    """
    dialect, breaks = found.dialect, bool(found[kernel.BREAKS])
    body = found[kernel.BODY] if dialect.has_names else 0
    segments = tuple(_without_names(text, found)) if dialect.has_names else found.segments
    return CsvOutline(
        dialect,
        _names(text, found, where) if dialect.has_names else tuple(f"V{at + 1}" for at in range(found.columns)),
        segments,
        found[kernel.LONGEST],
        body,
        found[kernel.STOP],
        bool(found[kernel.CLOSED]),
        breaks,
        np.concatenate([_NONE, *(_lines(text, one, found) for one in segments)]) if breaks else None,
    )


def names_of(text: CsvText, found: CsvSurvey) -> tuple[str, ...]:
    """Return the cells of the first record of a file that has any."""
    body, count = found[kernel.BODY], found.columns
    head = text.part(0, body)
    columns = cells_of(head, found.dialect, count, body, breaks=True, null=None).columns
    return tuple(column[0].as_py() for column in columns)


def record_starts(data: bytes, dialect: CsvDialect, records: int) -> NDArray[np.int64]:
    """Return where each record begins in the bytes of a file that is sound; that with names is one of them."""
    starts = np.zeros(records, dtype=np.int64)
    facts = np.zeros(kernel.FACTS, dtype=np.int64)
    survey(np.frombuffer(data, dtype=np.uint8), *dialect.codes, facts, starts, _NONE, True)
    return starts


def records_in(text: CsvText, outline: CsvOutline, where: str) -> pa.Table:
    """Read all records with pyarrow; as `records_of`."""
    parts = [(text.part(one.begin, one.size), one.records) for one in outline.segments] or [(b"", 0)]
    return pa.concat_tables([records_of(data, records, outline, where) for data, records in parts])


def records_of(data: bytes | memoryview, records: int, outline: CsvOutline, where: str) -> pa.Table:
    """Read some records with pyarrow.

    Parameters
    ----------
    data : bytes
        Of these records.
    records : int
        How many there are.
    outline : CsvOutline
        Of their file.
    where : str
        The file.

    Returns
    -------
    pyarrow.Table
        As `cells_of`.

    Raises
    ------
    DocumentError
        pyarrow does not read them, or counts others.
    """
    dialect, columns = outline.dialect, len(outline.columns)
    try:
        table = cells_of(data, dialect, columns, outline.longest, breaks=outline.breaks, null=dialect.null)
    except pa.ArrowException as error:
        raise DocumentError.of("file-damaged", where, format="CSV", detail="pyarrow cannot read it") from error
    if len(table) != records:
        raise unlike_counts(where)
    return table


def _names(text: CsvText, found: CsvSurvey, where: str) -> tuple[str, ...]:
    """Return the names in the first line, and refuse a column that has none."""
    names = names_of(text, found)
    for at, name in enumerate(names, start=1):
        if not name:
            raise DocumentError.of("column-without-name", Place(where, 1), column=at)
    return names


def _without_names(text: CsvText, found: CsvSurvey) -> Iterator[Segment]:
    """Yield the segments without the first record."""
    first, body = found.segments[0], found[kernel.BODY]
    if first.records > 1:
        facts = np.zeros(kernel.FACTS, dtype=np.int64)
        head = np.frombuffer(text.part(0, body), dtype=np.uint8)
        survey(head, *found.dialect.codes, facts, _NONE, _NONE, True)
        yield Segment(body, first.begin + first.size - body, first.records - 1, int(facts[kernel.LINE]))
    yield from found.segments[1:]


def _lines(text: CsvText, segment: Segment, found: CsvSurvey) -> NDArray[np.int64]:
    """Return the lines of the records of a segment."""
    facts, lines = np.zeros(kernel.FACTS, dtype=np.int64), np.zeros(segment.records, dtype=np.int64)
    facts[kernel.LINE], facts[kernel.COLUMNS] = segment.line, found.columns
    octets = np.frombuffer(text.part(segment.begin, segment.size), dtype=np.uint8)
    survey(octets, *found.dialect.codes, facts, _NONE, lines, True)
    return lines


def variables_of(names: Sequence[str], outline: CsvOutline) -> tuple[Variable, ...]:
    """Return the variables of a file, which are texts where the user says so.

    Parameters
    ----------
    names : sequence of str
        Of the columns, as rules call them.
    outline : CsvOutline
    """
    texts = outline.dialect.texts
    return tuple(
        Variable(name, column, typed=Typed(text=column in texts))
        for name, column in zip(names, outline.columns, strict=True)
    )
