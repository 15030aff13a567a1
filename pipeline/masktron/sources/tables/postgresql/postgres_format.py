"""PostgreSQL as a format of tables, which have addresses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from masktron.addresses import AddressPath
from masktron.errors import UsageError
from masktron.sources.column_forms import ColumnForm
from masktron.sources.tables.arrow_files import released_values, typed_values
from masktron.sources.tables.class_values import holds
from masktron.sources.tables.postgresql.server_types import PostgresColumn, declared_type
from masktron.sources.tables.postgresql.snapshot import PostgresCarried, fetch
from masktron.sources.tables.postgresql.writing_rows import WritingRows
from masktron.sources.tables.table_format import Options, SecondReading, TableFormat
from masktron.sources.tables.table_model import Table, TableRelease

_NUMBERS = ("smallint", "integer", "bigint", "numeric", "real", "double precision")


class PostgresFormat(TableFormat):
    """PostgreSQL. What is read and written is an `AddressPath`, and no file."""

    name: ClassVar[str] = "postgresql"
    tells_empty: ClassVar[bool] = True

    def read(self, path: Path, options: Options) -> Table:
        """Read a table, or what a query returns, in one snapshot."""
        del options
        place = _address_path(path)
        if isinstance(place.writing, WritingRows):
            return place.writing.read()
        return fetch(place.address)

    def read_again(self, path: Path, table: Table) -> SecondReading:
        """Give the rows as the texts that the server made of them in the same snapshot."""
        del path
        carried: PostgresCarried = table.carried
        return SecondReading(tuple(carried.texts), iter(zip(*carried.texts.values(), strict=True)))

    def reshaped(self, table: Table, forms: Mapping[str, ColumnForm]) -> Table:
        """Return a table with other types of some columns; enumerations become texts."""
        carried: PostgresCarried = table.carried
        values, columns = carried.values, dict(carried.columns)
        for at, variable in enumerate(table.variables):
            form, own = forms.get(variable.name), columns[variable.column]
            if form is None or not form.values or _holds(own, values.schema.field(at).type, form):
                continue
            nothing = pa.chunked_array([pa.nulls(len(table), pa.string())], type=pa.string())
            values = values.set_column(at, variable.column, nothing)
            columns[variable.column] = replace(own, declared="text")
        return replace(table, carried=replace(carried, values=values, columns=columns))

    def write(self, target: Path, release: TableRelease) -> None:
        """Write a new table whose columns are declared as those of the original, with their comments."""
        carried: PostgresCarried = release.original.carried
        writing = _writing(target)
        writing.refuse_original(carried.identity)
        values = released_values(release, carried.values)
        columns = {
            variable.column: _of_cells(carried.columns[variable.column], release.cells[variable.name])
            for variable in release.variables
        }
        writing.fill(values, columns, carried.comment)

    def create(self, target: Path, table: Table, options: Options) -> None:
        """Write a new table; labels of variables and the title become comments."""
        del options
        values = typed_values(table)
        labels = {variable.column: variable.label for variable in table.variables}
        columns = {one.name: PostgresColumn(declared_type(one), comment=labels[one.name]) for one in values.schema}
        _writing(target).fill(values, columns, table.title)


def _address_path(path: Path) -> AddressPath:
    if not isinstance(path, AddressPath):
        wanted = "an address: postgresql://USER@HOST/DB?table=SCHEMA.NAME"
        raise UsageError.of("bad-value", name="a table of PostgreSQL", expected=wanted, given=str(path))
    return path


def _holds(column: PostgresColumn, kind: pa.DataType, form: ColumnForm) -> bool:
    """Whether a column holds what a recoding writes: a domain and the length of a text may not."""
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    if not number or not column.declared.startswith(_NUMBERS):
        return column.declared == "text"
    return holds(kind, form.values)


def _of_cells(column: PostgresColumn, cells: pa.ChunkedArray) -> PostgresColumn:
    """Return a column as it is declared for some cells: a treatment may leave out what was always there."""
    return replace(column, required=column.required and not cells.null_count)


def _writing(target: Path) -> WritingRows:
    found = _address_path(target).writing
    if not isinstance(found, WritingRows):
        raise TypeError(f"{target} was not opened to be written")
    return found
