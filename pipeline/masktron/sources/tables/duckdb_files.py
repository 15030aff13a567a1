"""DuckDB databases, where columns have types. One table, or what a query returns, is the table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from masktron.errors import DocumentError, UsageError
from masktron.extras import library
from masktron.files import refuse_special
from masktron.problems.problem import Field
from masktron.scratch import private_folder
from masktron.sources.dataset import Dataset
from masktron.sources.tables.arrow_columns import categories_of
from masktron.sources.tables.arrow_files import first_line, released_values, table_of
from masktron.sources.tables.arrow_lexemes import has_nanoseconds, value_type
from masktron.sources.tables.database_files import (
    BY_QUERY,
    OPTIONS,
    chosen,
    literal,
    not_written,
    quoted,
    within_time,
    written_name,
)
from masktron.sources.tables.release import Release
from masktron.sources.tables.table_format import Options, TableFormat
from masktron.sources.variables import NONE

_DUCKDB = "a DuckDB database"
_BEGIN, _MAGIC = 8, b"DUCK"
"""What stands in a database after the first bytes."""
_MOST_DIGITS = 38
"""Of its widest DECIMAL."""
_CLOSED = ("temp_directory = ''", "enable_external_access = false", "lock_configuration = true")
"""A view of a file reads and writes nothing beside it, nor does a query."""
_TABLES = "SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = 'main' ORDER BY 1"
_HERE = "database_name = current_database() AND schema_name = 'main'"
_CONSTRAINTS = f"""
    SELECT constraint_type, count(*) FROM duckdb_constraints() AS found WHERE table_name = $1 AND {_HERE}
    AND NOT (constraint_type = 'NOT NULL' AND EXISTS (
        FROM duckdb_constraints() AS key WHERE key.table_oid = found.table_oid AND key.constraint_type = 'PRIMARY KEY'
        AND list_has_all(key.constraint_column_names, found.constraint_column_names)))
    GROUP BY ALL"""  # noqa: S608 -- no text of a user
"""Constraints of a table, without the NOT NULL that a primary key implies."""
_LOST = {
    **dict.fromkeys(("PRIMARY KEY", "UNIQUE"), "keys and indices"),
    **{"FOREIGN KEY": "foreign keys", "NOT NULL": "NOT NULL", "CHECK": "checks"},
}
_BESIDE = f"""
    SELECT (SELECT count(*) FROM duckdb_indexes() WHERE table_name = $1 AND {_HERE}),
    (SELECT count(column_default) FROM duckdb_columns() WHERE table_name = $1 AND {_HERE}),
    (SELECT count(comment) FROM duckdb_columns() WHERE table_name = $1 AND {_HERE})
    + (SELECT count(comment) FROM duckdb_tables() WHERE table_name = $1 AND {_HERE})"""  # noqa: S608
"""Indices, defaults and comments of a table."""
_REPEATABLE = ("threads = 1", "disabled_compression_methods = 'fsst'")
"""So that a table has the same bytes each time: threads write blocks as they end, and FSST draws a sample of texts.

Versions of the storage after 1.2 give each file a number of its own.
"""
_KNOWN = (
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"),
    *("FLOAT", "DOUBLE", "BOOLEAN", "VARCHAR", "DATE", "TIME", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS"),
)
"""Types that DuckDB gives to a table that it makes of what it read."""


@dataclass(frozen=True, slots=True, eq=False)
class DuckdbCarried:
    """What is kept of a table.

    Attributes
    ----------
    table : str
        Its name, that of the released table too; empty for a query.
    values : pyarrow.Table
    """

    table: str
    values: pa.Table


class DuckdbFormat(TableFormat):
    """DuckDB, where columns have types."""

    name: ClassVar[str] = "duckdb"
    options: ClassVar[Mapping[str, str]] = OPTIONS
    choosing: ClassVar[frozenset[str]] = frozenset(OPTIONS)
    tells_empty: ClassVar[bool] = True
    exact_digits: ClassVar[int | None] = _MOST_DIGITS
    compared: ClassVar[bool] = True
    journals: ClassVar[tuple[str, ...]] = (".wal",)

    def read(self, path: Path, options: Options) -> Dataset:
        """Read a table as columns of Arrow."""
        where = str(path)
        with _duckdb(path, query=bool(options.get("query"))) as connection:
            found = dict(connection.execute(_TABLES).fetchall())
            table, query = chosen(options, list(found), where)
            with within_time(path, connection.interrupt, computed=found.get(table) != "BASE TABLE"):
                for column, kind, *_ in connection.execute(f"DESCRIBE {query}").fetchall():
                    _require_known(column, kind, where)
                values = connection.sql(query).to_arrow_table()
            notes = tuple(_not_written(connection, table, len(found) - 1)) if table else ()
        return replace(table_of(values, where, DuckdbCarried(table, values)), notes=notes)

    def write(self, target: Path, release: Release, options: Options = NONE) -> None:
        """Write a database with this table alone, with the types of its columns."""
        like: DuckdbCarried | None = release.original.format_state
        if like is None:
            _write(target, options.get("table", "data"), released_values(release, None, _held))
        else:
            _write(target, written_name(release), released_values(release, like.values))


def _not_written(connection: Any, table: str, others: int) -> Iterator[str]:
    """Say what of a table, or a view, is not written again."""
    lost = dict.fromkeys(("keys and indices", "foreign keys", "NOT NULL", "checks"), 0)
    for kind, count in connection.execute(_CONSTRAINTS, [table]).fetchall():
        lost[_LOST[kind]] += count
    (indices, defaults, comments) = connection.execute(_BESIDE, [table]).fetchone()
    lost["keys and indices"] += indices
    lost |= {"defaults and how columns are computed": defaults, "comments": comments}
    yield from not_written("DuckDB", lost, others)


def _held(kind: pa.DataType) -> pa.DataType:
    """Return the type that holds values of a type and is read back as it is: text where DuckDB has none."""
    kind = value_type(kind)
    unheld = (
        pa.types.is_null(kind)
        or pa.types.is_float16(kind)
        or has_nanoseconds(kind)
        or (pa.types.is_timestamp(kind) and kind.tz is not None)
        or (pa.types.is_decimal(kind) and kind.precision > _MOST_DIGITS)
    )
    return pa.string() if unheld else kind


def duckdb_connection(path: Path | None = None, *, read_only: bool = False) -> Any:
    """Open a database, which may be new, or one in memory; nothing is loaded from anywhere else.

    DuckDB loads an extension for a name that begins as `md:`, and for a file of another database, so it gets neither.

    Raises
    ------
    DocumentError
        The file is no DuckDB database.
    UsageError
        The library is not installed.
    """
    if path is not None:
        with suppress(OSError), path.open("rb") as file:  # what is not there or cannot be opened, DuckDB says
            if file.read(_BEGIN + len(_MAGIC))[_BEGIN:] != _MAGIC:
                raise DocumentError.of("file-damaged", path, format=_DUCKDB, detail="it does not begin as one does")
    place = ":memory:" if path is None else str(path.absolute())
    closed = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    return library("duckdb", _DUCKDB).connect(place, read_only=read_only, config=closed)


@contextmanager
def _duckdb(path: Path, *, query: bool) -> Iterator[Any]:
    refuse_special(path, DocumentError)
    try:
        connection = duckdb_connection(path, read_only=True)
    except library("duckdb", _DUCKDB).Error as error:
        raise DocumentError.of("file-damaged", path, format=_DUCKDB, detail=first_line(error)) from error
    with closing(connection), _duckdb_errors(str(path), query):
        for setting in _CLOSED:
            connection.execute(f"SET {setting}")
        yield connection


@contextmanager
def _duckdb_errors(where: str, query: bool) -> Iterator[None]:
    try:
        yield
    except library("duckdb", _DUCKDB).Error as error:
        kind = UsageError if query else DocumentError
        raise kind.of("database-error", where, database="DuckDB", reason=first_line(error)) from error


def _require_known(column: str, kind: str, where: str) -> None:
    if kind not in _KNOWN and not kind.startswith(("DECIMAL(", "ENUM(")):
        field, detail = Field(column), f"values of type {kind.partition('(')[0]}"
        raise DocumentError.of("column-not-readable", where, field=field, detail=detail, how=BY_QUERY)


def _write(target: Path, table: str, values: pa.Table) -> None:
    """Write a database with this table alone; what is there is an empty file, which DuckDB does not take for one."""
    # DuckDB makes texts of categories, unless it is told which there are
    listed = ", ".join(
        f"{quoted(name)}{_enumeration(values[name])} AS {quoted(name)}" for name in values.column_names
    )
    with private_folder() as folder:
        made = folder / "made.duckdb"
        with closing(duckdb_connection()) as connection:
            for setting in _REPEATABLE:
                connection.execute(f"SET {setting}")
            connection.execute(f"ATTACH {literal(str(made))} AS made (STORAGE_VERSION 'v1.2.0')")
            connection.register("released", values)
            try:
                connection.execute(f"CREATE TABLE made.{quoted(table)} AS SELECT {listed} FROM released")  # noqa: S608
            except library("duckdb", _DUCKDB).Error as error:
                detail = f"this table: {first_line(error)}"
                raise UsageError.of("cannot-hold", format="DuckDB", detail=detail) from error
        target.write_bytes(made.read_bytes())


def _enumeration(column: pa.ChunkedArray) -> str:
    """Return the cast to an ENUM of categories; nothing for other columns, and where there is no category."""
    texts = categories_of(column) if pa.types.is_dictionary(column.type) else ()
    return f"::ENUM({', '.join(map(literal, texts))})" if texts else ""
