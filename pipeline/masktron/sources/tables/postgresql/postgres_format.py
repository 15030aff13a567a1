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
from masktron.sources.tables.arrow_lexemes import has_nanoseconds, is_text, value_type
from masktron.sources.tables.arrow_reshaped import reshaped_variables
from masktron.sources.tables.class_values import holds
from masktron.sources.tables.postgresql.snapshot import (
    PostgresCarried,
    PostgresColumn,
    PostgresTable,
    declared_type,
    fetch,
)
from masktron.sources.tables.postgresql.transaction import WrittenRows
from masktron.sources.tables.table_format import Options, TableFormat
from masktron.sources.tables.table_model import Table, TableRelease
from masktron.sources.variables import NONE

_NUMBERS = ("smallint", "integer", "bigint", "numeric", "real", "double precision")


class PostgresFormat(TableFormat):
    """PostgreSQL. What is read and written is an `AddressPath`, and no file."""

    name: ClassVar[str] = "postgresql"
    tells_empty: ClassVar[bool] = True
    compared: ClassVar[bool] = True

    def read(self, path: Path, options: Options) -> Table:
        """Read a table, or what a query returns, in one snapshot."""
        del options
        place = _address_path(path)
        return fetch(place.address) if place.writing is None else _writing(place).read()

    def reshaped(self, table: Table, forms: Mapping[str, ColumnForm]) -> Table:
        """Return a table with other types of some columns; enumerations become texts."""
        carried: PostgresCarried = table.carried
        values, columns = carried.values, dict(carried.about.columns)
        for at, variable in enumerate(table.variables):
            form, own = forms.get(variable.name), columns[variable.column]
            if form is None or not form.values or _holds(own, values.schema.field(at).type, form):
                continue
            nothing = pa.chunked_array([pa.nulls(len(table), pa.string())], type=pa.string())
            values = values.set_column(at, variable.column, nothing)
            columns[variable.column] = replace(own, declared="text")
        variables = reshaped_variables(table.variables, values.schema, forms)
        about = replace(carried.about, columns=columns)
        return replace(table, variables=variables, carried=PostgresCarried(values, about))

    def write(self, target: Path, release: TableRelease, options: Options = NONE) -> None:
        """Write a new table whose columns are declared as those of the original, with their comments."""
        del options
        carried: PostgresCarried = release.original.carried
        columns = {}
        for variable in release.variables:
            own = carried.about.columns[variable.column]
            # a treatment may leave out what was always there
            required = own.required and not release.cells[variable.name].null_count
            columns[variable.column] = replace(own, required=required)
        _writing(target).fill(
            released_values(release, carried.values), replace(carried.about, columns=columns, notes=())
        )

    def create(self, target: Path, table: Table, options: Options) -> None:
        """Write a new table; labels of variables and the title become comments."""
        del options
        values = typed_values(table, _held)
        columns = {
            one.column: PostgresColumn(declared_type(kind), comment=one.label)
            for one, kind in zip(table.variables, values.schema.types, strict=True)
        }
        _writing(target).fill(values, PostgresTable(columns=columns, comment=table.title))


def _address_path(path: Path) -> AddressPath:
    if not isinstance(path, AddressPath):
        wanted = "an address: postgresql://USER@HOST/DB?table=SCHEMA.NAME"
        raise UsageError.of("bad-value", name="a table of PostgreSQL", expected=wanted, given=str(path))
    return path


def _writing(target: Path) -> WrittenRows:
    found = _address_path(target).writing
    if not isinstance(found, WrittenRows):
        raise TypeError(f"{target} was not opened to be written")
    return found


def _holds(column: PostgresColumn, kind: pa.DataType, form: ColumnForm) -> bool:
    """Whether a column holds what a recoding writes: a domain and the length of a text may not."""
    if is_text(kind):
        return column.declared in ("", "text")
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    known = not column.declared or column.declared.startswith(_NUMBERS)
    return number and known and holds(kind, form.values)


def _held(kind: pa.DataType) -> pa.DataType:
    """Return the type that holds values of a type and is read back as it is: text where PostgreSQL has none."""
    kind = value_type(kind)
    return pa.string() if has_nanoseconds(kind) or kind in (pa.uint64(), pa.date64(), pa.string_view()) else kind
