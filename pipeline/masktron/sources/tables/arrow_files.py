"""Parquet, and Arrow files (Feather), with their types, metadata, row groups and compression."""

from __future__ import annotations

import datetime
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from masktron.errors import DocumentError, UsageError
from masktron.sources.tables.arrow_lexemes import UnfitError, lexemes_of, replaced, typed_of, values_of
from masktron.sources.tables.column_names import xml_names
from masktron.sources.tables.table_format import LexemeRow, Options, SecondReading, TableFormat
from masktron.sources.tables.table_model import Table, TableRelease
from masktron.sources.variables import Variable

_PLAIN_DIGITS = 40
_ROWS = 1 << 14
"""Rows that are Python objects at once."""


@dataclass(frozen=True, slots=True, eq=False)
class ArrowCarried:
    """What a file in Arrow's types holds beside the lexemes.

    Attributes
    ----------
    values : pyarrow.Table
        With the schema of the file, its metadata among them.
    written : mapping of str to value
        How it was written: compression, rows of a group.
    """

    values: pa.Table
    written: dict[str, Any]


class _ArrowTyped(TableFormat):
    """A format whose columns have Arrow's types."""

    tells_empty: ClassVar[bool] = True

    def read(self, path: Path, options: Options) -> Table:
        """Read a file."""
        del options
        try:
            values, written = self._load(path)
        except (OSError, pa.ArrowException) as error:
            reason = getattr(error, "strerror", None) or str(error).partition("\n")[0]
            raise DocumentError(f"cannot read this as {self.name}: {reason}", where=str(path)) from error
        return table_of(values, str(path), ArrowCarried(values, written))

    def write(self, target: Path, release: TableRelease) -> None:
        """Write a file with the schema, the metadata and the compression of the original."""
        carried: ArrowCarried = release.original.carried
        self._save(target, released_values(release, carried.values), carried.written)

    def create(self, target: Path, table: Table, options: Options) -> None:
        """Write a new file."""
        del options
        self._save(target, typed_values(table), {})

    @abstractmethod
    def _load(self, path: Path) -> tuple[pa.Table, dict[str, Any]]:
        """Return the values, and how they were written."""

    @abstractmethod
    def _save(self, target: Path, values: pa.Table, written: dict[str, Any]) -> None:
        """Write values."""


class ParquetFormat(_ArrowTyped):
    """Apache Parquet."""

    name: ClassVar[str] = "parquet"

    def _load(self, path: Path) -> tuple[pa.Table, dict[str, Any]]:
        with pq.ParquetFile(path) as file:
            values, meta = file.read(), file.metadata
            written: dict[str, Any] = {}
            if meta.num_row_groups:
                group = meta.row_group(0)
                written["row_group_size"] = max(1, group.num_rows)
                if group.num_columns:
                    written["compression"] = {
                        group.column(at).path_in_schema: group.column(at).compression.lower()
                        for at in range(group.num_columns)
                    }
        return values, written

    def _save(self, target: Path, values: pa.Table, written: dict[str, Any]) -> None:
        kept = dict(written)
        if "compression" in kept:
            kept["compression"] = {
                name: "none" if how == "uncompressed" else how
                for name, how in kept["compression"].items()
                if name in values.column_names
            }
        pq.write_table(values, target, **kept)

    def read_again(self, path: Path, table: Table) -> SecondReading:
        """Read the file row group by row group, as objects of Python."""
        del table

        def rows() -> Iterator[LexemeRow]:
            with pq.ParquetFile(path) as again:
                for batch in again.iter_batches(_ROWS):
                    yield from _object_rows(batch)

        return SecondReading(tuple(pq.read_schema(path).names), rows())


class ArrowFormat(_ArrowTyped):
    """Arrow's own files: the format with blocks, which is Feather version 2, or the stream."""

    name: ClassVar[str] = "arrow"

    def _load(self, path: Path) -> tuple[pa.Table, dict[str, Any]]:
        with _opened(path) as reader:
            stream = isinstance(reader, pa.ipc.RecordBatchStreamReader)
            return reader.read_all(), {"stream": stream}

    def _save(self, target: Path, values: pa.Table, written: dict[str, Any]) -> None:
        opener = pa.ipc.new_stream if written.get("stream") else pa.ipc.new_file
        with opener(str(target), values.schema) as writer:
            writer.write_table(values, max_chunksize=1 << 16)

    def read_again(self, path: Path, table: Table) -> SecondReading:
        """Read the file batch by batch, as objects of Python."""
        del table
        with _opened(path) as reader:
            names = tuple(reader.schema.names)

        def rows() -> Iterator[LexemeRow]:
            with _opened(path) as again:
                if isinstance(again, pa.ipc.RecordBatchStreamReader):
                    batches: Iterator[pa.RecordBatch] = iter(again)
                else:
                    batches = (again.get_batch(at) for at in range(again.num_record_batches))
                for batch in batches:
                    yield from _object_rows(batch)

        return SecondReading(names, rows())


def _opened(path: Path) -> Any:
    file = pa.memory_map(str(path)) if path.stat().st_size else pa.OSFile(str(path))
    try:
        return pa.ipc.open_file(file)
    except pa.ArrowInvalid:
        file.seek(0)
        return pa.ipc.open_stream(file)


def table_of(values: pa.Table, where: str, carried: object = None) -> Table:
    """Return typed columns as a table.

    Raises
    ------
    DocumentError
        Two columns have one name, or a type has no text form.
    """
    names = xml_names(values.column_names, where)
    cells, variables = {}, []
    for name, column, values_ in zip(names, values.column_names, values.columns, strict=True):
        cells[name] = lexemes_of(values_, column, where)
        variables.append(Variable(name, column, typed=typed_of(values_.type), stored=values_.type))
    return Table(tuple(variables), pa.table(cells) if cells else _no_columns(len(values)), carried=carried)


def released_values(release: TableRelease, values: pa.Table) -> pa.Table:
    """Return the typed columns that are released: a cell that has not changed keeps its very value.

    Raises
    ------
    UsageError
        A masked value does not fit the type of its column.
    """
    taken = values.take(pa.array(release.rows))
    columns, kept = [], []
    for variable in release.variables:
        position = values.column_names.index(variable.column)
        changed = release.changed(variable.name)
        columns.append(replaced(taken.column(position), changed, release.cells[variable.name], variable.column))
        kept.append(values.schema.field(position))
    return pa.Table.from_arrays(columns, schema=pa.schema(kept, values.schema.metadata))


def typed_values(table: Table) -> pa.Table:
    """Return a table in the types that its variables are stored in, text where they have none.

    Raises
    ------
    UsageError
        A value does not fit its type; names the column.
    """
    columns = {}
    for variable in table.variables:
        kind = variable.stored or pa.string()
        try:
            columns[variable.column] = values_of(table.cells[variable.name], kind)
        except UnfitError as problem:
            raise UsageError(f"column {variable.column!r} does not fit the type {kind}: {problem}") from None
    return pa.table(columns) if columns else _no_columns(len(table))


def _no_columns(rows: int) -> pa.Table:
    return pa.table({"x": pa.nulls(rows)}).select([])


def _object_rows(batch: pa.RecordBatch) -> Iterator[LexemeRow]:
    columns = [list(map(_object_text, _objects(column))) for column in batch.columns]
    if not columns:
        return iter([()] * batch.num_rows)
    return zip(*columns, strict=True)


def _objects(column: pa.Array) -> list[object]:
    """Return the values of a column; those of low precision as decimals, as a double would show more digits."""
    if pa.types.is_float16(column.type) or pa.types.is_float32(column.type):
        kind = np.dtype(column.type.to_pandas_dtype()).type
        return [None if v is None or v != v else Decimal(str(kind(v))) for v in column.to_pylist()]  # noqa: PLR0124
    found: list[object] = column.to_pylist()
    return found


def _object_text(value: object) -> str | None:
    """Write one object as text, by rules of its own: what the columns write is compared with this."""
    if value is None or value != value:  # noqa: PLR0124 -- NaN
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float | Decimal):
        number = Decimal(repr(value)) if isinstance(value, float) else value
        whole = number.to_integral_value()
        text = f"{whole:f}" if number == whole else f"{number.normalize():f}"
        return text if len(text) <= _PLAIN_DIGITS else str(number)
    if isinstance(value, datetime.datetime | datetime.time):
        text = value.isoformat()
        head, point, fraction = text.removesuffix("+00:00").partition(".")
        text = f"{head}.{fraction.rstrip('0')}" if point and fraction.rstrip("0") else head
        return f"{text}Z" if isinstance(value, datetime.datetime) and value.tzinfo else text
    return str(value)
