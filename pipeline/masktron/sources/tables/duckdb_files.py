"""DuckDB databases, where columns have types. One table, or what a query returns, is the table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from masktron.errors import DocumentError, UsageError
from masktron.extras import library
from masktron.files import refuse_special
from masktron.problems.problem import Field
from masktron.scratch import private_folder
from masktron.sources.column_forms import ColumnForm
from masktron.sources.tables.arrow_files import released_values, table_of, typed_values
from masktron.sources.tables.arrow_reshaped import reshaped_values
from masktron.sources.tables.database_files import (
    BY_QUERY,
    OPTIONS,
    DatabaseCarried,
    TimeLimit,
    chosen,
    object_text,
    require_table,
)
from masktron.sources.tables.sql_texts import literal, quoted
from masktron.sources.tables.table_format import LexemeRow, Options, SecondReading, TableFormat
from masktron.sources.tables.table_model import Table, TableRelease
from masktron.sources.variables import Variable

_DUCKDB_DIGITS = 38
"""Of its widest DECIMAL."""
_CLOSED = ("temp_directory = ''", "enable_external_access = false", "lock_configuration = true")
"""A view of a file reads and writes nothing beside it, nor does a query."""
_KNOWN = (
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"),
    *("FLOAT", "DOUBLE", "BOOLEAN", "VARCHAR", "DATE", "TIME", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS"),
)


class DuckdbFormat(TableFormat):
    """DuckDB, where columns have types."""

    name: ClassVar[str] = "duckdb"
    options: ClassVar[Mapping[str, str]] = OPTIONS
    choosing: ClassVar[frozenset[str]] = frozenset(OPTIONS)
    tells_empty: ClassVar[bool] = True
    exact_digits: ClassVar[int | None] = 38
    journals: ClassVar[tuple[str, ...]] = (".wal",)

    def read(self, path: Path, options: Options) -> Table:
        """Read a table as columns of Arrow."""
        where = str(path)
        with _duckdb(path, query=bool(options.get("query"))) as connection:
            kinds = dict(
                connection.execute(
                    "SELECT table_name, table_type FROM information_schema.tables "
                    "WHERE table_schema = 'main' ORDER BY 1"
                ).fetchall()
            )
            table, query = chosen(options, list(kinds), where)
            limit = TimeLimit(path, computed=kinds.get(table) != "BASE TABLE")
            with limit.counted(connection.interrupt):
                types = {row[0]: row[1] for row in connection.execute(f"DESCRIBE {query}").fetchall()}
                for column, kind in types.items():
                    _require_known(column, kind, where)
                values = connection.sql(query).to_arrow_table()
        read = table_of(values, where)
        return Table(read.variables, read.cells, carried=DatabaseCarried(table, query, limit, types, values=values))

    def read_again(self, path: Path, table: Table) -> SecondReading:
        """Read the rows as objects of Python."""
        carried: DatabaseCarried = table.carried

        def rows() -> Iterator[LexemeRow]:
            singles = [kind == "FLOAT" for kind in carried.types.values()]
            with _duckdb(path, query=not carried.table) as connection:
                for batch in carried.limit.rows(partial(connection.execute, carried.query), connection.interrupt):
                    for row in batch:
                        yield [
                            object_text(np.float32(value) if single and value is not None else value)
                            for value, single in zip(row, singles, strict=True)
                        ]

        return SecondReading(tuple(carried.types), rows())

    def reshaped(self, table: Table, forms: Mapping[str, ColumnForm]) -> Table:
        """Return a table with other types of some columns."""
        carried: DatabaseCarried = table.carried
        before: pa.Table = carried.values
        values = reshaped_values(before, [variable.name for variable in table.variables], forms)
        texts = {
            now.name: "VARCHAR"
            for now, was in zip(values.schema, before.schema, strict=True)
            if not now.type.equals(was.type) and not pa.types.is_dictionary(now.type)
        }
        return replace(table, carried=replace(carried, values=values, types={**carried.types, **texts}))

    def write(self, target: Path, release: TableRelease) -> None:
        """Write a database with this table alone, with the types of its columns."""
        require_table(release)
        carried: DatabaseCarried = release.original.carried
        values = released_values(release, carried.values)
        declared = [
            (variable.column, _declared_again(carried.types[variable.column], values[variable.column]))
            for variable in release.variables
        ]
        _write_duckdb(target, carried.table, declared, values)

    def create(self, target: Path, table: Table, options: Options) -> None:
        """Write a new database with one table."""
        values = typed_values(replace(table, variables=tuple(map(_for_duckdb, table.variables))))
        _write_duckdb(target, options.get("table", "data"), None, values)


def _for_duckdb(variable: Variable) -> Variable:
    """Return a variable with a type that DuckDB holds and that is read again: text where there is no other."""
    kind = variable.stored
    if kind is None or not (
        pa.types.is_null(kind)
        or pa.types.is_float16(kind)
        or (pa.types.is_timestamp(kind) and (kind.tz is not None or kind.unit == "ns"))
        or (pa.types.is_decimal(kind) and kind.precision > _DUCKDB_DIGITS)
    ):
        return variable
    return replace(variable, stored=pa.string())


def _declared_again(kind: str, values: pa.ChunkedArray) -> str:
    """Return the type of a column in the released table: an ENUM has the categories that are released."""
    if not kind.startswith("ENUM("):
        return kind
    texts = dict.fromkeys(text for chunk in values.chunks for text in chunk.dictionary.to_pylist())
    return f"ENUM({', '.join(literal(text) for text in texts)})" if texts else "VARCHAR"


def duckdb_connection(path: Path, *, read_only: bool) -> Any:
    """Open a database, which may be new; nothing is loaded from anywhere else.

    Raises
    ------
    UsageError
        The library is not installed.
    """
    duckdb = library("duckdb", "a DuckDB database")
    closed = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    return duckdb.connect(str(path), read_only=read_only, config=closed)


@contextmanager
def _duckdb(path: Path, *, query: bool) -> Iterator[Any]:
    duckdb = library("duckdb", "a DuckDB database")
    refuse_special(path, DocumentError)
    try:
        connection = duckdb_connection(path, read_only=True)
    except duckdb.Error as error:
        reason = str(error).partition("\n")[0]
        raise DocumentError.of("file-damaged", path, format="a DuckDB database", detail=reason) from error
    with closing(connection):
        for setting in _CLOSED:
            connection.execute(f"SET {setting}")
        with _duckdb_errors(str(path), query):
            yield connection


@contextmanager
def _duckdb_errors(where: str, query: bool) -> Iterator[None]:
    duckdb = library("duckdb", "a DuckDB database")
    try:
        yield
    except duckdb.Error as error:
        reason = str(error).partition("\n")[0]
        if query:
            raise UsageError.of("database-error", where, database="DuckDB", reason=reason) from error
        raise DocumentError.of("database-error", where, database="DuckDB", reason=reason) from error


def _require_known(column: str, kind: str, where: str) -> None:
    if kind not in _KNOWN and not kind.startswith(("DECIMAL(", "ENUM(")):
        field, detail = Field(column), f"values of type {kind.partition('(')[0]}"
        raise DocumentError.of("column-not-readable", where, field=field, detail=detail, how=BY_QUERY)


def _write_duckdb(target: Path, table: str, declared: Sequence[tuple[str, str]] | None, values: pa.Table) -> None:
    duckdb = library("duckdb", "a DuckDB database")
    with private_folder() as folder:
        made = folder / "made.duckdb"
        with closing(duckdb.connect(str(made))) as connection:
            connection.register("released", values)
            try:
                connection.execute("BEGIN")
                if declared is None:
                    connection.execute(f"CREATE TABLE {quoted(table)} AS SELECT * FROM released")  # noqa: S608
                else:
                    listed = ", ".join(f"{quoted(name)} {kind}" for name, kind in declared)
                    connection.execute(f"CREATE TABLE {quoted(table)} ({listed})")
                    connection.execute(f"INSERT INTO {quoted(table)} SELECT * FROM released")  # noqa: S608
                connection.execute("COMMIT")
            except duckdb.Error as error:
                detail = f"this table: {str(error).partition(chr(10))[0]}"
                raise UsageError.of("cannot-hold", format="DuckDB", detail=detail) from error
        target.write_bytes(made.read_bytes())
