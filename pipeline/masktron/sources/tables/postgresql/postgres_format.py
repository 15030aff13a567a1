"""PostgreSQL as a format of tables, which have addresses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from masktron.addresses import AddressPath
from masktron.errors import UsageError
from masktron.sources.dataset import Dataset
from masktron.sources.tables.arrow_files import released_values
from masktron.sources.tables.arrow_lexemes import has_nanoseconds, is_text, value_type
from masktron.sources.tables.postgresql.snapshot import (
    PostgresCarried,
    PostgresColumn,
    PostgresTable,
    declared_type,
    fetch,
)
from masktron.sources.tables.postgresql.transaction import PostgresWriting
from masktron.sources.tables.release import Release
from masktron.sources.tables.table_format import Options, TableFormat
from masktron.sources.variables import NONE

_NUMBERS = ("smallint", "integer", "bigint", "numeric", "real", "double precision")


class PostgresFormat(TableFormat):
    """PostgreSQL. What is read and written is an `AddressPath`, and no file."""

    name: ClassVar[str] = "postgresql"
    tells_empty: ClassVar[bool] = True
    compared: ClassVar[bool] = True

    def read(self, path: Path, options: Options) -> Dataset:
        """Read a table, or what a query returns, in one snapshot."""
        del options
        place = _address_path(path)
        return fetch(place.address) if place.writing is None else _writing(place).read()

    def write(self, target: Path, release: Release, options: Options = NONE) -> None:
        """Write a new table: columns are declared as those of the original, and what is said of them is a comment."""
        del options
        like: PostgresCarried | None = release.original.format_state
        values = released_values(release, None if like is None else like.values, _held)
        known = {} if like is None else like.about.columns
        types = {} if like is None else dict(zip(like.values.column_names, like.values.schema.types, strict=True))
        columns = {}
        for variable in release.variables:
            name, kind = variable.column, values.schema.field(variable.column).type
            if (own := known.get(name)) is None:
                columns[name] = PostgresColumn(declared_type(kind), comment=variable.label)
                continue
            if variable.recoded and not _holds(own, kind, types[name]):
                own = replace(own, declared=declared_type(kind))
            # a treatment may leave out what was always there
            columns[name] = replace(own, required=own.required and not release.cells(variable.name).null_count)
        about = PostgresTable(comment=release.original.title) if like is None else like.about
        _writing(target).fill(values, replace(about, columns=columns, notes=()))


def _address_path(path: Path) -> AddressPath:
    if not isinstance(path, AddressPath):
        wanted = "an address: postgresql://USER@HOST/DB?table=SCHEMA.NAME"
        raise UsageError.of("bad-value", name="a table of PostgreSQL", expected=wanted, given=str(path))
    return path


def _writing(target: Path) -> PostgresWriting:
    found = _address_path(target).writing
    if not isinstance(found, PostgresWriting):
        raise TypeError(f"{target} was not opened to be written")
    return found


def _holds(column: PostgresColumn, kind: pa.DataType, before: pa.DataType) -> bool:
    """Whether a column holds any value of a type as it is declared: a domain and the length of a text may not."""
    if is_text(kind):
        return column.declared in ("", "text")
    return kind.equals(before) and (not column.declared or column.declared.startswith(_NUMBERS))


def _held(kind: pa.DataType) -> pa.DataType:
    """Return the type that holds values of a type and is read back as it is: text where PostgreSQL has none."""
    kind = value_type(kind)
    return pa.string() if has_nanoseconds(kind) or kind in (pa.uint64(), pa.date64(), pa.string_view()) else kind
