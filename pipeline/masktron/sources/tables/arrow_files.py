"""Parquet, and Arrow files (Feather), with their types, metadata, row groups and compression."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from masktron.config import Kind
from masktron.errors import DocumentError, UsageError
from masktron.problems.problem import Field, Note, Sentence, fields
from masktron.progress import Told
from masktron.sources.dataset import Dataset
from masktron.sources.tables.arrow_columns import categories_of, replaced, taken, values_of, without_categories
from masktron.sources.tables.arrow_lexemes import lexemes_of, require_sound, value_type, variable_of
from masktron.sources.tables.arrow_values import UnfitError, unfit_field
from masktron.sources.tables.column_names import xml_names
from masktron.sources.tables.column_strings import column_of, one_array
from masktron.sources.tables.pandas_metadata import PANDAS, pandas_metadata, released_metadata
from masktron.sources.tables.release import Release, StreamedRelease
from masktron.sources.tables.spilled import SpilledRows, spilled
from masktron.sources.tables.table_format import Options, TableFormat
from masktron.sources.tables.table_stream import TableStream
from masktron.sources.tables.typed_stream import (
    TypedStream,
    arrow_stream,
    batches_of,
    compression_of,
    opened_arrow,
    parquet_stream,
)
from masktron.sources.variables import NONE, Variable

_ROWS = 1 << 14
"""Rows that are Python objects at once."""
_BLOCK = 1 << 16
"""Rows of a block of a new Arrow file."""
_INDEX = "__index_level_"
_FEATHER_1, _ENCRYPTED = b"FEA1", b"PARE"
_DICTIONARIES = {"PLAIN_DICTIONARY", "RLE_DICTIONARY"}
_OTHER_ENCODINGS = ("BYTE_STREAM_SPLIT", "DELTA_BINARY_PACKED", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY")


@dataclass(frozen=True, slots=True)
class ColumnWriting:
    """How a file was written.

    Attributes
    ----------
    blocks : tuple of int
        Rows of each row group or record batch.
    settings : mapping of str to value
        Those of the writer.
    """

    blocks: tuple[int, ...] = ()
    settings: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ArrowCarried:
    """What a file in Arrow's types holds beside the lexemes.

    Attributes
    ----------
    values : pyarrow.Table
        With the schema of the file, its metadata among them.
    way : ColumnWriting
    """

    values: pa.Table
    way: ColumnWriting


class _ArrowTyped(TableFormat):
    """A format whose columns have Arrow's types."""

    tells_empty: ClassVar[bool] = True
    exact_digits: ClassVar[int | None] = 38

    def read(self, path: Path, options: Options) -> Dataset:
        """Read a file."""
        del options
        where = str(path)
        try:
            self._require_kind(path)
            values, way = self._load(path)
        except (OSError, pa.ArrowException) as error:
            reason = getattr(error, "strerror", None) or str(error).partition("\n")[0]
            raise DocumentError.of("file-damaged", path, format=self.name.capitalize(), detail=reason) from error
        if not values.num_columns:
            raise DocumentError.of("file-damaged", path, format=self.name.capitalize(), detail="it has no columns")
        for name, column in zip(values.column_names, values.columns, strict=True):
            require_sound(column, name, where)
        found = table_of(values, where, ArrowCarried(values, way))
        return replace(found, of_release=(*found.of_release, *_metadata_notes(values.schema)))

    def form(self, table: Dataset) -> Iterator[str]:
        """Say what the file says of itself, which no new file takes over."""
        schema = table.format_state.values.schema
        yield from filter(None, (own_metadata(schema, "the file"), field_metadata(schema, "the file")))

    def write(self, target: Path, release: Release, options: Options = NONE) -> None:
        """Write a file with the schema, the metadata and the compression of the original."""
        del options
        if not release.variables:
            raise UsageError.of("no-column-left")
        like: ArrowCarried | None = release.original.format_state
        values = released_values(release, None if like is None else like.values, self._held)
        try:
            if like is None:
                self._save(target, values, ColumnWriting())
            else:
                self._save(target, values, _way_of_types(like.way, _retyped(like.values.schema, values.schema)))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
            if isinstance(error, OSError) and error.errno:
                raise
            detail = f"this table: {first_line(error)}"
            raise UsageError.of("cannot-hold", format=self.name.capitalize(), detail=detail) from None

    def _held(self, kind: pa.DataType) -> pa.DataType:
        """Return the type of the format that holds the values of a type."""
        return kind

    def _require_kind(self, path: Path) -> None:
        """Refuse, by its name, a file that libraries would only call invalid."""

    @abstractmethod
    def _load(self, path: Path) -> tuple[pa.Table, ColumnWriting]:
        """Return the values, and how they were written."""

    @abstractmethod
    def _save(self, target: Path, values: pa.Table, way: ColumnWriting) -> None:
        """Write values."""


class ParquetFormat(_ArrowTyped):
    """Apache Parquet."""

    name: ClassVar[str] = "parquet"

    def _held(self, kind: pa.DataType) -> pa.DataType:
        if pa.types.is_dictionary(kind) and pa.types.is_string_view(kind.value_type):
            return pa.dictionary(kind.index_type, pa.string(), kind.ordered)
        return kind

    def _require_kind(self, path: Path) -> None:
        with path.open("rb") as stream:
            size = stream.seek(0, 2)
            stream.seek(max(0, size - 4))
            if size >= 8 and stream.read(4) == _ENCRYPTED:
                detail = "an encrypted Parquet file"
                raise DocumentError.of("file-not-supported", path, detail=detail, instead="without encryption")

    def _load(self, path: Path) -> tuple[pa.Table, ColumnWriting]:
        with pq.ParquetFile(path) as file:
            return file.read(), _parquet_way(file)

    def _save(self, target: Path, values: pa.Table, way: ColumnWriting) -> None:
        settings = dict(way.settings or {})
        for name in ("use_dictionary", "write_statistics"):
            if name in settings:
                settings[name] = [column for column in settings[name] if column in values.column_names]
        for name in ("compression", "column_encoding"):
            if name in settings:
                settings[name] = {
                    column: how for column, how in settings[name].items() if column in values.column_names
                }
        with pq.ParquetWriter(target, values.schema, **settings) as writer:
            for block in _blocks(values, way.blocks):
                writer.write_table(block, row_group_size=max(1, len(block)))

    def write_blocks(self, target: Path, stream: TableStream, release: StreamedRelease, told: Told) -> bool:
        """Write a file with the schema, the metadata and the compression of the original, from temporary files."""
        if not isinstance(stream, TypedStream):
            return False
        if not release.variables:
            raise UsageError.of("no-column-left")
        with pq.ParquetFile(stream.path) as file:
            way = _parquet_way(file)
        values = streamed_values(stream, release, [size for _, size in _cuts(len(release.rows), way.blocks)], told)
        stream.require_unchanged()
        self._save(target, values, _way_of_types(way, _retyped(stream.schema, values.schema)))
        return True

    def stream(self, path: Path, options: Options) -> TableStream | None:
        """Open a file whose columns say what they mean without the rest of the file, all but categories."""
        del options
        try:
            self._require_kind(path)
            return parquet_stream(path, tuple(_metadata_notes(pq.read_schema(path))))
        except (OSError, pa.ArrowException):
            return None  # reading it says what is wrong


class ArrowFormat(_ArrowTyped):
    """Arrow's own files: the format with blocks, which is Feather version 2, or the stream."""

    name: ClassVar[str] = "arrow"

    def _require_kind(self, path: Path) -> None:
        with path.open("rb") as stream:
            if stream.read(4) == _FEATHER_1:
                instead = "as version 2, for example with pyarrow.feather.write_feather(table, path)"
                raise DocumentError.of("file-not-supported", path, detail="Feather version 1", instead=instead)

    def _load(self, path: Path) -> tuple[pa.Table, ColumnWriting]:
        codec = compression_of(path)
        with opened_arrow(path) as reader:
            batches = list(batches_of(reader))
            settings = {"stream": isinstance(reader, pa.ipc.RecordBatchStreamReader), "compression": codec}
            values = pa.Table.from_batches(batches, reader.schema)
        return values, ColumnWriting(tuple(batch.num_rows for batch in batches), settings)

    def _save(self, target: Path, values: pa.Table, way: ColumnWriting) -> None:
        settings = way.settings or {}
        opener = pa.ipc.new_stream if settings.get("stream") else pa.ipc.new_file
        options = pa.ipc.IpcWriteOptions(compression=settings.get("compression"))
        with opener(str(target), values.schema, options=options) as writer:
            for block in _blocks(values, way.blocks or (_BLOCK,)):
                for batch in block.combine_chunks().to_batches():
                    writer.write_batch(batch)

    def stream(self, path: Path, options: Options) -> TableStream | None:
        """Open a file whose columns say what they mean without the rest of the file, all but categories."""
        del options
        try:
            self._require_kind(path)
            with opened_arrow(path) as reader:
                notes = tuple(_metadata_notes(reader.schema))
            return arrow_stream(path, notes)
        except (OSError, pa.ArrowException):
            return None  # reading it says what is wrong


def _parquet_way(file: pq.ParquetFile) -> ColumnWriting:
    meta = file.metadata
    groups = [meta.row_group(at) for at in range(meta.num_row_groups)]
    settings: dict[str, Any] = {
        "version": meta.format_version if meta.format_version in {"1.0", "2.4", "2.6"} else "2.6",
        "store_schema": b"ARROW:schema" in (meta.metadata or {}),
    }
    if groups:
        # of the largest group: an empty one tells nothing
        first = max(groups, key=lambda group: group.num_rows)
        columns = [first.column(at) for at in range(first.num_columns)]
        settings["compression"] = {one.path_in_schema: _codec(one.compression) for one in columns}
        settings["use_dictionary"] = [
            one.path_in_schema for one in columns if _DICTIONARIES.intersection(one.encodings)
        ]
        settings["write_statistics"] = [one.path_in_schema for one in columns if one.is_stats_set]
        settings["column_encoding"] = {
            one.path_in_schema: how
            for one in columns
            if one.path_in_schema not in settings["use_dictionary"]
            for how in _OTHER_ENCODINGS
            if how in one.encodings
        }
        if any(one.physical_type == "INT96" for one in columns):
            settings["use_deprecated_int96_timestamps"] = True
    return ColumnWriting(tuple(group.num_rows for group in groups), settings)


def _retyped(before: pa.Schema, after: pa.Schema) -> frozenset[str]:
    """Return the columns that have another type."""
    return frozenset(now.name for now in after if not now.type.equals(before.field(now.name).type))


def _way_of_types(way: ColumnWriting, retyped: Collection[str]) -> ColumnWriting:
    """Return how a file is written in which some columns have other types: encodings are those of their types."""
    settings = dict(way.settings or {})
    if "column_encoding" in settings:
        own: dict[str, str] = settings["column_encoding"]
        settings["column_encoding"] = {column: how for column, how in own.items() if column not in retyped}
    return replace(way, settings=settings) if retyped else way


def _codec(name: str) -> str:
    return "none" if name == "UNCOMPRESSED" else name.removesuffix("_RAW").lower()


def _blocks(values: pa.Table, sizes: tuple[int, ...]) -> Iterator[pa.Table]:
    """Cut a table into blocks of these sizes, the last size again and again if there are more rows."""
    for start, size in _cuts(len(values), sizes):
        yield values.slice(start, size)


def _cuts(rows: int, sizes: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """Yield where each block begins, and its rows."""
    start, at = 0, 0
    while start < rows:
        size = sizes[min(at, len(sizes) - 1)] if sizes else rows
        if size == 0 and at >= len(sizes):
            size = max(sizes) or rows
        size = min(size, rows - start)
        yield start, size
        start, at = start + size, at + 1
    if not at:
        yield 0, 0


def table_of(values: pa.Table, where: str, carried: object = None, *, listing: bool = False) -> Dataset:
    """Return typed columns as a table.

    Columns of truths and of categories are nominal, those of ordered categories ordinal in that order.

    Parameters
    ----------
    values : pyarrow.Table
    where : str
        The file, for messages.
    carried : object
        What the format needs to write the table again.
    listing : bool
        Whether categories are an enumeration that somebody has declared, and no way to store texts.

    Raises
    ------
    DocumentError
        Two columns have one name, or a type has no text form.
    """
    names = xml_names(values.column_names, where)
    cells, variables, coded = [], [], []
    for name, label, column in zip(names, values.column_names, values.columns, strict=True):
        cells.append(lexemes_of(column, label, where))
        variable = variable_of(name, label, column.type)
        if pa.types.is_dictionary(column.type):
            order = categories_of(column) if column.type.ordered else ()
            kind = Kind.ORDINAL if column.type.ordered else Kind.NOMINAL
            listed = listing or column.type.ordered
            variable = replace(variable, kind=kind, order=order, observed=frozenset(order), listed=listed)
            coded.append(label)
        variables.append(variable)
    dataset = Dataset.of_columns(Path(where), map(column_of, variables, cells), values.num_rows)
    return replace(dataset, format_state=carried, of_release=tuple(category_notes(coded)))


def category_notes(columns: list[str]) -> Iterator[str]:
    """Say of which columns the type holds categories, which may be more than records have."""
    if columns:
        yield (
            f"categories are part of the type of {', '.join(columns)}: a column that is released as it is keeps "
            "those that no record has; one that is masked, or of which records are left out, only those that "
            "released records have"
        )


def _metadata_notes(schema: pa.Schema) -> Iterator[Sentence]:
    """Say what of the metadata of a file tells more than its columns do."""
    yield from index_notes(schema)
    yield from metadata_copied(schema, "the file")


def index_notes(schema: pa.Schema) -> Iterator[Sentence]:
    """Say which columns were the index of a data frame of pandas."""
    if indexes := [name for name in schema.names if name in _pandas_indexes(schema)]:
        yield Note(
            "{indexes} is the index of a data frame, stored as a column: untouched it leads every record back to its "
            "original; leave it out with [[--role {first}=identifier]], unless it says nothing",
            indexes=fields(indexes),
            first=Field(indexes[0]),
        )


def metadata_copied(schema: pa.Schema, what: str) -> Iterator[str]:
    """Say what metadata of a file, or of a data frame, a release like it has."""
    if said := own_metadata(schema, what):
        yield f"{said} is copied as it is"
    if said := field_metadata(schema, what):
        yield (
            f"{said} is copied as it is for each field that is released unchanged and with all records, and left out "
            "for the others"
        )


def own_metadata(schema: pa.Schema, what: str) -> str:
    """Name the keys under which a file says something of itself, but for what pandas says of its columns."""
    described = pandas_metadata(schema.metadata)
    others = sorted(key.decode(errors="replace") for key in schema.metadata or {} if key != PANDAS or not described)
    others += ["pandas (attributes)"] if described.get("attributes") else []
    return f"what {what} says of itself under {', '.join(others)}" if others else ""


def field_metadata(schema: pa.Schema, what: str) -> str:
    """Name the keys under which a file says something of its fields."""
    others = sorted({key.decode(errors="replace") for field in schema for key in field.metadata or {}})
    return f"what {what} says of its fields under {', '.join(others)}" if others else ""


def _pandas_indexes(schema: pa.Schema) -> set[str]:
    described = pandas_metadata(schema.metadata)
    stored = {name for name in described.get("index_columns", ()) if isinstance(name, str)}
    return stored | {name for name in schema.names if name.startswith(_INDEX)}


def released_values(
    release: Release, values: pa.Table | None, held: Callable[[pa.DataType], pa.DataType] = lambda kind: kind
) -> pa.Table:
    """Return the typed columns that are released: a cell that has not changed keeps its very value.

    Parameters
    ----------
    release : Release
    values : pyarrow.Table or None
        Those of the original; columns that have none, or were recoded, have the types of their variables.
    held : callable, optional
        Returns the type of a format that holds the values of a type.

    Raises
    ------
    UsageError
        A value does not fit the type of its column.
    """
    columns = {}
    for variable in release.variables:
        if values is None or variable.recoded:
            column = typed_column(variable, release.cells(variable.name), held)
        else:
            column = _kept(release, variable, values[variable.column])
        if values is not None and pa.types.is_dictionary(column.type):
            column = without_categories(column, _unused(release, variable.name, column))
        columns[variable.column] = column
    if values is None:
        return pa.table(columns)
    schema = values.schema
    fields_ = [
        _released_field(
            schema.field(one.column), columns[one.column].type, not one.recoded and release.as_it_was(one.name)
        )
        for one in release.variables
    ]
    metadata = released_metadata(schema, columns, len(release.rows))
    return pa.Table.from_arrays(list(columns.values()), schema=pa.schema(fields_, metadata))


def _released_field(field: pa.Field, kind: pa.DataType, as_it_was: bool) -> pa.Field:
    """Return a field in its released type, without metadata unless all of its cells are as they were.

    Metadata may list values that are not released: polars keeps the categories of an Enum there.
    """
    return field if as_it_was else field.with_type(kind).remove_metadata()


def _kept(release: Release, variable: Variable, values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the cells of a column in the type that it has, those that have not changed as they are."""
    try:
        own = taken(values, pa.array(release.rows))
    except UnfitError as problem:
        raise unfit_field("Arrow", variable.column, f"{problem}, and its type is {values.type}") from None
    return replaced(own, release.changed(variable.name), release.cells(variable.name), variable.column)


def streamed_values(stream: TypedStream, release: StreamedRelease, blocks: Sequence[int], told: Told) -> pa.Table:
    """Return the typed columns that are released, mapped to files: as `released_values`, some rows at a time.

    Parameters
    ----------
    stream : TypedStream
        The original.
    release : StreamedRelease
    blocks : sequence of int
        Rows of each block that is going to be written. No chunk of a column belongs to two of them.
    told : callable

    Raises
    ------
    UsageError
        A masked value does not fit the type of its column.
    DocumentError
        There is no room for temporary files.
    """
    of_name = dict(zip(stream.names, stream.schema, strict=True))
    whole, fields = len(release.rows) == stream.count, {}
    for one in release.variables:
        field = of_name[one.name]
        as_it_was = whole and not one.recoded and one.name not in release.masked
        fields[one.name] = _released_field(field, one.stored if one.recoded else field.type, as_it_was)
    kept = [field.name for name, field in fields.items() if name not in release.masked]
    own = SpilledRows(_columns_of(stream, kept, release.folder))
    masked: dict[str, tuple[SpilledRows, NDArray[np.int32]]] = {}
    for name in [name for name in fields if name in release.masked]:
        coded, one = release.masked[name], pa.schema([fields[name]])
        # a text is made a value once, however many records have it
        masked[name] = SpilledRows(spilled(_typed(coded.lexicon.objects(), one), one, release.folder)), coded.codes
    empty = {field.name: pa.chunked_array([], type=field.type) for field in fields.values()}
    schema = pa.schema(fields.values(), released_metadata(stream.schema, empty, len(release.rows)))

    def batches() -> Iterator[pa.RecordBatch]:
        done = 0
        for rows in _some_rows(release.rows, blocks):
            there, columns = own.some(rows), []
            for name, field in fields.items():
                if name not in masked:
                    columns.append(one_array(there[field.name]))
                    continue
                values, codes = masked[name]
                columns.append(one_array(values.some(codes[rows].astype(np.intp))[field.name]))
            yield pa.RecordBatch.from_arrays(columns, schema=schema)
            done += len(rows)
            told(done, len(release.rows))

    return spilled(batches(), schema, release.folder)


def _typed(texts: NDArray[np.object_], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield new texts of a column as values of its type."""
    field = schema.field(0)
    for start in range(0, len(texts), _BLOCK):
        lexemes = pa.chunked_array([pa.array(texts[start : start + _BLOCK].tolist(), type=pa.string())])
        nothing = pa.chunked_array([pa.nulls(len(lexemes), field.type)])
        values = replaced(nothing, np.ones(len(lexemes), dtype=np.bool_), lexemes, field.name)
        yield pa.RecordBatch.from_arrays([one_array(values)], schema=schema)


def _columns_of(stream: TypedStream, names: Sequence[str], folder: Path) -> pa.Table:
    """Put some typed columns of a file into another one, that is mapped to memory."""
    schema = pa.schema([stream.schema.field(name) for name in names])
    with closing(stream.typed_batches()) as batches:
        return spilled((batch.select(names) for batch in batches) if names else (), schema, folder)


def _some_rows(rows: NDArray[np.intp], blocks: Sequence[int]) -> Iterator[NDArray[np.intp]]:
    """Yield the rows of each block in parts, of a size in which writers look at them anyway."""
    first = 0
    for size in blocks:
        for start in range(0, size, _BLOCK):
            yield rows[first + start : first + min(start + _BLOCK, size)]
        first += size


def _unused(release: Release, name: str, column: pa.ChunkedArray) -> set[str]:
    """Return the categories that no released record has, unless the column is released as it was.

    So what is kept depends on released cells alone, and tells nothing of those that the original had.
    """
    if release.as_it_was(name):
        return set()
    return set(categories_of(column)).difference(pc.unique(release.cells(name)).to_pylist())


def typed_column(
    variable: Variable, cells: pa.ChunkedArray, held: Callable[[pa.DataType], pa.DataType] = lambda kind: kind
) -> pa.ChunkedArray:
    """Return lexemes in the type that their variable is stored in, as a format holds it; text where it has none.

    Raises
    ------
    UsageError
        A value does not fit its type; names the column.
    """
    kind = held(variable.stored or pa.string())
    categories = pa.types.is_dictionary(kind) and not pa.types.is_null(value_type(kind))
    try:
        return values_of(cells, kind, (variable.order or variable.recoded or ()) if categories else ())
    except UnfitError as problem:
        raise unfit_field(f"type {kind}", variable.column, problem) from None


def first_line(error: Exception) -> str:
    """Return what an error says first."""
    return str(error).partition("\n")[0]
