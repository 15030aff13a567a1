"""Data frames as tables: of pandas, of polars and DuckDB, and of any library that speaks the Arrow C stream.

A frame is read by its library's way into Arrow; `FramePath` stands for it where a path would.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import pandas as pd
import pyarrow as pa

from masktron.config import Kind
from masktron.errors import UsageError, ViolationError
from masktron.sources.dataset import Dataset
from masktron.sources.frame_path import FRAME, FramePath
from masktron.sources.lexical import parse_number
from masktron.sources.tables.arrow_columns import categories_of, without_categories
from masktron.sources.tables.arrow_files import (
    ArrowCarried,
    ColumnWriting,
    category_notes,
    field_metadata,
    index_notes,
    metadata_copied,
    own_metadata,
    released_values,
    table_of,
    typed_column,
)
from masktron.sources.tables.arrow_lexemes import has_text, is_text, lexemes_of, value_type
from masktron.sources.tables.column_strings import column_of
from masktron.sources.tables.database_files import literal, quoted
from masktron.sources.tables.pandas_back import released_frame
from masktron.sources.tables.pandas_lexemes import columns_of, lexemes_of_series, precision_of
from masktron.sources.tables.release import Release
from masktron.sources.tables.table_format import Options, TableFormat
from masktron.sources.variables import NONE, Typed, Variable

_NULLABLE = {pa.string(): pd.StringDtype(), pa.int64(): pd.Int64Dtype(), pa.float64(): pd.Float64Dtype()}


_THE_FRAME = "the data frame"


@runtime_checkable
class ArrowFrame(Protocol):
    """A frame of polars, pyarrow, DuckDB or another library: see the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the records."""


def is_data_frame(given: object) -> bool:
    """Whether something is a data frame of pandas, or can be read as a stream of Arrow's."""
    return isinstance(given, pd.DataFrame) or (isinstance(given, ArrowFrame) and not isinstance(given, type))


def standing_for(frame: Any) -> FramePath:
    """Return what stands for a frame; a stream, which can be read once, is read here.

    Raises
    ------
    UsageError
        It is no table.
    """
    known = isinstance(frame, pd.DataFrame) or _library(frame) in ("polars", "duckdb")
    return FramePath.of(frame if known else _values_in(frame))


def frame_format(path: FramePath) -> FrameFormat:
    """Return the format of the frame for which a path stands."""
    return PandasFormat() if isinstance(path.frame, pd.DataFrame) else ArrowFrameFormat()


class FrameFormat(TableFormat):
    """Data frames; paths of them are those of `FramePath`."""

    name: ClassVar[str] = FRAME
    tells_empty: ClassVar[bool] = True


class PandasFormat(FrameFormat):
    """Data frames of pandas: their index is no column of the table, and is carried with the records."""

    def read(self, path: Path, options: Options) -> Dataset:
        """Read the columns by way of numpy."""
        del options
        frame, where = _frame(path), str(path)
        cells, variables = [], []
        for at, (name, label) in enumerate(columns_of(frame, where).items()):
            column = frame.iloc[:, at]
            cells.append(pa.array(lexemes_of_series(column), pa.string()))
            variables.append(_variable(name, label, column))
        dataset = Dataset.of_columns(path, map(column_of, variables, cells), len(frame))
        return replace(dataset, format_state=frame)

    def write(self, target: Path, release: Release, options: Options = NONE) -> None:
        """Put a data frame with the same types, labels and index in its place; a new one has types of Arrow."""
        del options
        if release.original.format_state is None:
            _place(target).frame = released_values(release, None).to_pandas(
                types_mapper=lambda kind: None if pa.types.is_dictionary(kind) else pd.ArrowDtype(kind)
            )
        else:
            _place(target).frame = released_frame(release.original.format_state, release, _in_new_types(release))

    def form(self, table: Dataset) -> Iterator[str]:
        """Say what a data frame has beside its columns: an index, its name, attributes, and unused categories."""
        frame: pd.DataFrame = table.format_state
        if not frame.index.equals(pd.RangeIndex(len(frame))):
            yield "the index of the data frame"
        elif frame.index.name is not None:
            yield f"the name of the index of the data frame: {frame.index.name}"
        if any(name is not None for name in frame.columns.names):
            yield f"the name of the columns of the data frame: {', '.join(map(str, frame.columns.names))}"
        if frame.attrs:
            yield f"the attributes of the data frame: {', '.join(map(str, frame.attrs))}"
        unused = [
            label
            for at, label in enumerate(columns_of(frame, FRAME).values())
            if isinstance(frame.dtypes.iloc[at], pd.CategoricalDtype)
            and len(frame.dtypes.iloc[at].categories) > frame.iloc[:, at].nunique()
            and not frame.dtypes.iloc[at].ordered
        ]
        if unused:
            yield f"categories that no record has: {', '.join(unused)}"


class ArrowFrameFormat(FrameFormat):
    """Frames of other libraries: those of polars and DuckDB come back as they were, others as a `pyarrow.Table`."""

    def read(self, path: Path, options: Options) -> Dataset:
        """Read the stream of the library."""
        del options
        values = _values_in(_frame(path))
        found = table_of(values, str(path), ArrowCarried(values, ColumnWriting()))
        return replace(found, of_release=(*found.of_release, *index_notes(values.schema)))

    def write(self, target: Path, release: Release, options: Options = NONE) -> None:
        """Put a frame of the same library in its place; a new one is a `pyarrow.Table`.

        Raises
        ------
        ViolationError
            The library does not hold what it was given.
        """
        del options
        like: ArrowCarried | None = release.original.format_state
        if not release.variables:
            raise UsageError.of("no-column-left")
        place, values = _place(target), released_values(release, None if like is None else like.values)
        place.frame = values if like is None else _of_library(values, place.frame)

    def form(self, table: Dataset) -> Iterator[str]:
        """Say what the frame says of itself and of its fields."""
        schema = _own_schema(table)
        yield from filter(None, (own_metadata(schema, _THE_FRAME), field_metadata(schema, _THE_FRAME)))


def metadata_kept(table: Dataset) -> Iterator[str]:
    """Say what metadata of a data frame a masked one has."""
    if isinstance(table.format_state, ArrowCarried):
        yield from metadata_copied(_own_schema(table), _THE_FRAME)
    elif table.format_state.attrs:
        names = ", ".join(map(str, table.format_state.attrs))
        yield f"the attributes of the data frame are copied as they are: {names}"


def _own_schema(table: Dataset) -> pa.Schema:
    """Return the schema of a frame without what polars says there of its own types."""
    schema = table.format_state.values.schema
    polars = [any(key.startswith(b"_PL_") for key in field.metadata or ()) for field in schema]
    own = [field.remove_metadata() if its else field for field, its in zip(schema, polars, strict=True)]
    return pa.schema(own, schema.metadata)


def renamed(table: Dataset) -> Iterator[str]:
    """Say which columns have other names in rules and settings."""
    other = [f"{one.column!r} is {one.name}" for one in table.variables if one.column != one.name]
    if other:
        yield f"columns whose names are no XML names have others in rules and settings: {', '.join(other)}"


def categories_kept(table: Dataset) -> Iterator[str]:
    """Say of which columns of a pandas data frame the categories are kept that no record has."""
    if isinstance(table.format_state, pd.DataFrame):
        yield from category_notes(
            [v.column for v in table.variables if v.kind is not None and v.stored != pa.bool_()]
        )


def _frame(path: Path) -> Any:
    return _place(path).frame


def _place(path: Path) -> FramePath:
    if not isinstance(path, FramePath):
        raise TypeError("a data frame is in no file")
    return path


def _library(frame: object) -> str:
    return type(frame).__module__.partition(".")[0].lstrip("_")


def _values_in(frame: Any) -> pa.Table:
    try:
        return pa.table(frame)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise UsageError.of(
            "frame-not-read", FRAME, kind=type(frame).__name__, reason=str(error).partition("\n")[0]
        ) from None


def _variable(name: str, label: str, column: pd.Series[Any]) -> Variable:
    """Return what the type of a column of pandas says of it."""
    if isinstance(column.dtype, pd.SparseDtype):
        column = pd.Series(np.asarray(column), name=column.name)
    kind: Any = column.dtype
    stored = _stored(column)
    if column.isna().all():
        return Variable(name, label, stored=stored)
    if isinstance(kind, pd.CategoricalDtype):
        lexemes = [str(text) for text in lexemes_of_series(pd.Series(kind.categories, name=column.name))]
        numbers = bool(lexemes) and not any(parse_number(text) != parse_number(text) for text in lexemes)
        typed = Typed(text=not (numbers or set(lexemes) <= {"true", "false"}))
        nominal = not (kind.ordered and lexemes)
        order = () if nominal else tuple(lexemes)
        level = Kind.NOMINAL if nominal else Kind.ORDINAL
        return Variable(name, label, kind=level, order=order, typed=typed, stored=stored, listed=not nominal)
    if pd.api.types.is_bool_dtype(kind):
        return Variable(name, label, kind=Kind.NOMINAL, stored=stored)
    if pd.api.types.is_float_dtype(kind):
        return Variable(name, label, typed=Typed(bits=np.finfo(precision_of(kind)).nmant + 1), stored=stored)
    if pd.api.types.is_integer_dtype(kind):
        signed = not pd.api.types.is_unsigned_integer_dtype(kind)
        return Variable(name, label, typed=Typed.integer(8 * kind.itemsize, signed=signed), stored=stored)
    return Variable(name, label, typed=Typed(text=_is_text(column)), stored=stored)


def _is_text(column: pd.Series[Any]) -> bool:
    """Whether a column holds texts, or periods: that of a year looks like a number."""
    if pd.api.types.is_object_dtype(column.dtype):
        return any(isinstance(value, str) for value in column.tolist())
    return isinstance(column.dtype, pd.PeriodDtype) or pd.api.types.is_string_dtype(column.dtype)


def _stored(column: pd.Series[Any]) -> pa.DataType | None:
    """Return the type that holds the values of a column in another format; None where Arrow has none."""
    try:
        kind = pa.array(column, from_pandas=True).type
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None
    return kind if has_text(kind) else None


def _of_library(values: pa.Table, like: Any) -> Any:
    """Return the records of a table as a frame of the kind that another one is.

    Raises
    ------
    ViolationError
        The library does not hold what the table says.
    """
    library = _library(like)
    if library not in ("polars", "duckdb"):
        return values
    made: Any = type(like)(values) if library == "polars" else _relation(values, like)
    _require_same(values, pa.table(made), type(like).__name__)
    return made


def _relation(masked_records: pa.Table, like: Any) -> Any:
    """Return a relation; DuckDB finds the records by the name of the variable, and keeps them."""
    known = dict(zip(like.columns, like.types, strict=True))
    before = _values_in(like)
    columns = [
        f"CAST({own} AS {_type_in(masked_records[name], before[name], str(known[name]))}) AS {own}"
        for name in masked_records.column_names
        for own in [quoted(name)]
    ]
    return like.query("masked_records_view", f"SELECT {', '.join(columns)} FROM masked_records")  # noqa: S608


def _type_in(column: pa.ChunkedArray, before: pa.ChunkedArray, known: str) -> str:
    """Return the type of a column of a relation: that which it had, unless the column was recoded to others."""
    if not pa.types.is_dictionary(column.type):
        return known if column.type.equals(before.type) else "VARCHAR"
    categories = categories_of(column)
    if set(categories) <= set(categories_of(before)):
        return known
    return f"ENUM({', '.join(literal(text) for text in categories)})"


def _require_same(values: pa.Table, made: pa.Table, kind: str) -> None:
    alike = made.column_names == values.column_names and len(made) == len(values)
    for name in values.column_names if alike else ():
        one, other = values[name], made[name]
        alike = alike and has_text(other.type)
        alike = alike and lexemes_of(one, name, "").to_pylist() == lexemes_of(other, name, "").to_pylist()
    if not alike:
        raise ViolationError.of("not-as-verified", what=kind)


def _in_new_types(release: Release) -> dict[str, pd.Series[Any]]:
    """Return the recoded columns of a data frame that are released in another type, or other categories."""
    frame, found = release.original.format_state, {}
    for at, name in enumerate(release.original.columns):
        variable = release.dataset.columns[name].variable if name in release.dataset.columns else None
        if variable is None or not variable.recoded:
            continue
        stored = _stored(frame.iloc[:, at])
        if stored != variable.stored or stored is None or pa.types.is_dictionary(stored):
            found[variable.name] = _new(variable, release.cells(variable.name), frame.dtypes.iloc[at])
    return found


def _new(variable: Variable, cells: pa.ChunkedArray, before: Any) -> pd.Series[Any]:
    """Return a column in the type of its variable: categories, a nullable type, or one of Arrow, as it was before."""
    values = typed_column(variable, cells)
    if isinstance(before, pd.CategoricalDtype) and not pa.types.is_dictionary(values.type):
        values = values.dictionary_encode()  # the categories had no one type of Arrow
    if pa.types.is_dictionary(values.type):
        values = without_categories(values, set(categories_of(values)).difference(cells.unique().to_pylist()))
    if isinstance(before, pd.ArrowDtype):
        return pd.Series(pd.array(values, dtype=pd.ArrowDtype(values.type)))
    moments = isinstance(before, pd.DatetimeTZDtype | pd.PeriodDtype)
    nullable = pd.api.types.is_extension_array_dtype(before) and not moments
    made: Any = values.to_pandas(types_mapper=_NULLABLE.get if nullable else None)
    numbers = pa.types.is_dictionary(values.type) and not is_text(value_type(values.type))
    if numbers and isinstance(before, pd.CategoricalDtype):
        made = made.cat.rename_categories(made.cat.categories.astype(before.categories.dtype))
    return pd.Series(made, copy=False)
