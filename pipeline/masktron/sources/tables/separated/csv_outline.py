"""The records of a file in CSV that is sound: the names of their columns, their cells and their lines."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from masktron.errors import DocumentError
from masktron.kernels import separated as kernel
from masktron.kernels.separated import survey
from masktron.problems.problem import Place
from masktron.sources.tables.separated.csv_dialect import CsvDialect
from masktron.sources.tables.separated.csv_survey import CsvSurvey, CsvText, Segment
from masktron.sources.tables.two_readings import unlike_counts
from masktron.sources.variables import Typed, Variable

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
