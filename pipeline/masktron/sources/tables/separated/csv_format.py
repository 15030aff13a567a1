"""CSV, TSV and whatever else is text with delimiters, packed or not."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from masktron.errors import DocumentError, UsageError
from masktron.progress import Told
from masktron.sources.dataset import Dataset
from masktron.sources.tables.column_names import xml_names
from masktron.sources.tables.column_strings import column_of
from masktron.sources.tables.descriptions import is_typed
from masktron.sources.tables.release import Release, StreamedRelease, losses_by_column
from masktron.sources.tables.separated import csv_dialect as said
from masktron.sources.tables.separated.again import second_reading
from masktron.sources.tables.separated.content import content_of
from masktron.sources.tables.separated.csv_dialect import OPTIONS, has_groups, said_dialect, to_lexemes
from masktron.sources.tables.separated.csv_doubts import (
    NAMES,
    RECORD,
    CellBlocks,
    CsvDoubts,
    notes_of,
    only_numbers,
    refuse_ambiguous,
    refuse_excel_line,
    refuse_unsound,
    require_columns,
)
from masktron.sources.tables.separated.csv_outline import (
    CsvOutline,
    HeldText,
    outline_of,
    records_in,
    survey_of,
    variables_of,
)
from masktron.sources.tables.separated.csv_stream import CsvStream, csv_stream
from masktron.sources.tables.separated.writing import write_like, write_mapped, write_new
from masktron.sources.tables.table_format import Options, SecondReading, TableFormat
from masktron.sources.tables.table_stream import TableStream
from masktron.sources.variables import NONE


@dataclass(frozen=True, slots=True, eq=False)
class CsvCarried:
    """What is needed to write a file like one that was read.

    Attributes
    ----------
    path : Path
        The file itself: it is read again when it is written.
    digest : bytes
        Of its unpacked bytes.
    outline : CsvOutline
    groups : frozenset of str
        Variables whose numbers have groups of digits.
    """

    path: Path
    digest: bytes
    outline: CsvOutline
    groups: frozenset[str]


class CsvFormat(TableFormat):
    """Text in which delimiters separate cells, as RFC 4180 describes it, in many dialects."""

    name: ClassVar[str] = "csv"
    options: ClassVar[Mapping[str, str]] = OPTIONS
    respells_numbers: ClassVar[bool] = False

    def read(self, path: Path, options: Options) -> Dataset:
        """Read a file."""
        content, where = content_of(path, said_dialect(options)), str(path)
        text = HeldText(content.data)
        refuse_excel_line(content.data, where)
        found = survey_of(text, content.dialect, said.suffix_delimiter(path), where)
        refuse_unsound(text, found, where)
        outline = outline_of(text, found, where)
        require_columns(outline, where)
        dialect, names = outline.dialect, xml_names(outline.columns, f"{where}:1")
        table = records_in(text, outline, where).rename_columns(names)
        doubts = CsvDoubts(outline, where, said="decimal" in options)
        for block in _blocks(table):
            doubts.look(block)
        doubts.settle(lambda: _blocks(table))
        notes = tuple(notes_of(table, outline.columns, dialect))
        groups: frozenset[str] = frozenset()
        if dialect.own_numbers:
            refuse_ambiguous(table, outline, where)
            own = dict(zip(names, map(dialect.of_column, outline.columns), strict=True))
            groups = frozenset(name for name in names if has_groups(table[name], own[name]))
            table = pa.table({name: to_lexemes(table[name], own[name]) for name in names})
        columns = map(column_of, variables_of(names, outline), table.columns)
        dataset = Dataset.of_columns(path, columns, outline.lines(0, outline.records))
        return replace(dataset, format_state=CsvCarried(path, content.digest, outline, groups), notes=notes)

    def stream(self, path: Path, options: Options) -> TableStream | None:
        """Open a file that is neither packed nor in another encoding, and whose numbers are lexemes."""
        return csv_stream(path, options)

    def read_again(self, path: Path, table: Dataset) -> SecondReading:
        """Read a file with the standard library."""
        outline: CsvOutline = table.format_state.outline
        return second_reading(path, outline.dialect, outline.longest)

    def write(self, target: Path, release: Release, options: Options = NONE) -> None:
        """Write a file in the dialect of the original; where nothing has changed, it is the original.

        A new one is in UTF-8, has a line of names, and quotes where there have to be, unless options say otherwise.
        """
        carried: CsvCarried | None = release.original.format_state
        if not isinstance(carried, CsvCarried):
            _write_new(target, release, options)
            return
        content = content_of(carried.path, carried.outline.dialect)
        if content.digest != carried.digest:
            raise DocumentError.of("file-changed", carried.path)
        same = write_like(target, content, carried.outline, release, carried.groups)
        if same and content.dialect.compression:
            shutil.copyfile(carried.path, target)

    def write_blocks(self, target: Path, stream: TableStream, release: StreamedRelease, told: Told) -> bool:
        """Write a file in the dialect of the original, of which the system holds what it likes in memory."""
        if not isinstance(stream, CsvStream):
            return False
        stream.require_unchanged()
        write_mapped(target, stream, release, told)
        stream.require_unchanged()
        return True

    def losses(self, table: Dataset) -> Iterator[str]:
        """Say what of a table is not written."""
        yield from losses_by_column(table, ("types of columns", is_typed))

    def form(self, table: Dataset) -> Iterator[str]:
        """Say in which dialect the file is, where that is not the one of a new file."""
        carried: CsvCarried = table.format_state
        if own := list(carried.outline.dialect.peculiarities):
            yield f"the dialect of the file: {', '.join(own)}"

    def reading_options(self, held: Any) -> Mapping[str, str]:
        """Return the dialect, as options say it; of texts, the columns that the file has."""
        outline: CsvOutline = held.format_state.outline if isinstance(held, Dataset) else held.outline
        texts = tuple(name for name in outline.dialect.texts if name in outline.columns)
        return replace(outline.dialect, texts=texts).as_options

    def misnamed(self, data: Path, out: Path) -> str:
        """Say that a name stands for another delimiter, or another compression, than the file will have."""
        if said.suffix_compression(data) != said.suffix_compression(out):
            return "a masked file is packed as the original is"
        if said.suffix_delimiter(out) not in ("", said.suffix_delimiter(data)):
            return "a masked file has the delimiter of the original"
        return ""


def _write_new(target: Path, release: Release, options: Options) -> None:
    dialect = said_dialect(options)
    dialect = replace(
        dialect,
        delimiter=dialect.delimiter or said.suffix_delimiter(target) or ",",
        codec=dialect.codec or "utf-8",
        compression=said.suffix_compression(target),
    )
    if dialect.header is None and release.variables and only_numbers([v.column for v in release.variables]):
        raise UsageError.of(
            "unclear-header", target, detail="all column names are numbers", names=NAMES, record=RECORD
        )
    write_new(target, release, dialect)


def _blocks(table: pa.Table) -> CellBlocks:
    for batch in table.to_batches():
        yield batch.columns
