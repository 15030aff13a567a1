"""Databases that are a file: SQLite and DuckDB. One table, or what a query returns, is the table."""

from __future__ import annotations

import datetime
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from masktron.errors import DocumentError, UsageError
from masktron.files import refuse_special
from masktron.scratch import private_folder
from masktron.sources.lexical import parse_number
from masktron.sources.records import UNTYPED, Typed
from masktron.sources.tables.arrow_files import released_values, table_of, typed_values
from masktron.sources.tables.arrow_lexemes import is_text, plain
from masktron.sources.tables.column_names import xml_names
from masktron.sources.tables.sql_texts import literal, quoted
from masktron.sources.tables.table_format import LexemeRow, Options, SecondReading, TableFormat, library
from masktron.sources.tables.table_model import Table, TableRelease
from masktron.sources.variables import Variable

OPTIONS: Mapping[str, str] = {
    "table": "name of the table; may be left out where there is only one",
    "query": "a query whose rows are read, in the place of a table",
}
_ROWS = 1 << 14
_LARGE = 1 << 63


@dataclass(frozen=True, slots=True, eq=False)
class DatabaseCarried:
    """What is kept of a table of a database.

    Attributes
    ----------
    table : str
        Its name, that of the released table too; empty for a query.
    query : str
        What was read.
    types : mapping of str to str
        The type that each column was declared with.
    values : pyarrow.Table or None
        In their types, where the database has types for columns.
    kinds : mapping of str to ndarray
        The type of each cell, where it has types for cells.
    """

    table: str
    query: str
    types: Mapping[str, str]
    values: pa.Table | None = None
    kinds: Mapping[str, NDArray[np.str_]] | None = None


def chosen(options: Options, tables: Sequence[str], where: str) -> tuple[str, str]:
    """Return the name of a table, and the query that reads it.

    Raises
    ------
    UsageError
        There is no such table, or it is not said which.
    """
    table, query = options.get("table", ""), options.get("query", "").strip().rstrip(";")
    if query and not query.lower().startswith(("select", "with", "values")):
        raise UsageError("a query begins with SELECT, WITH or VALUES", where=where)
    if query:
        return "", query
    known = f"it has {', '.join(tables)}" if tables else "it has none"
    if not table:
        if len(tables) != 1:
            raise UsageError(f"which table? {known}", where=where, hint="--format-option table=NAME")
        table = tables[0]
    if table not in tables:
        raise UsageError(f"there is no table {table!r}", where=where, hint=known)
    return table, f"SELECT * FROM {quoted(table)}"  # noqa: S608 -- quoted


class SqliteFormat(TableFormat):
    """SQLite, where each cell has a type of its own."""

    name: ClassVar[str] = "sqlite"
    options: ClassVar[Mapping[str, str]] = OPTIONS
    tells_empty: ClassVar[bool] = True
    exact_digits: ClassVar[int | None] = 0

    def read(self, path: Path, options: Options) -> Table:
        """Read a table with ADBC, each cell as text beside its type."""
        adbc = library("adbc_driver_sqlite.dbapi", "sql", "an SQLite database")
        where = str(path)
        with _sqlite(path) as plain_reader:
            tables = [
                name
                for (name,) in plain_reader.execute(
                    "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' "
                    "ESCAPE '\\' ORDER BY name"
                )
            ]
            table, query = chosen(options, tables, where)
            columns = [one[0] for one in plain_reader.execute(f"SELECT * FROM ({query}) LIMIT 0").description]  # noqa: S608
            types = {}
            if not options.get("query"):
                types = {row[1]: row[2] for row in plain_reader.execute(f"PRAGMA table_info({quoted(table)})")}
        names = xml_names(columns, where)
        listed = ", ".join(
            f"typeof({one}), CASE typeof({one}) WHEN 'real' THEN quote({one}) ELSE CAST({one} AS TEXT) END"
            for one in map(quoted, columns)
        )
        with closing(adbc.connect(_uri(path))) as connection, closing(connection.cursor()) as cursor:
            cursor.execute(f"SELECT {listed} FROM ({query})")  # noqa: S608 -- quoted
            found = cursor.fetch_arrow_table()
        variables, cells, kinds = [], {}, {}
        for at, (name, column) in enumerate(zip(names, columns, strict=True)):
            these = np.array(found.column(2 * at).to_pylist(), dtype="U7")
            if (these == "blob").any():
                raise DocumentError(
                    f"column {column!r} of row {int(np.argmax(these == 'blob')) + 1} holds bytes, which are no value",
                    where=f"{where}, table {table!r}",
                    hint="leave it out, with --format-option query='SELECT ...'",
                )
            texts = found.column(2 * at + 1).to_pylist()
            lexemes = [
                _of_double(text, column, where) if kind == "real" else text
                for text, kind in zip(texts, these.tolist(), strict=True)
            ]
            cells[name], kinds[name] = pa.array(lexemes, type=pa.string()), these
            variables.append(Variable(name, column, typed=_typed(these), stored=_stored(these)))
        return Table(tuple(variables), pa.table(cells), carried=DatabaseCarried(table, query, types, kinds=kinds))

    def read_again(self, path: Path, table: Table) -> SecondReading:
        """Read the rows with the library of Python."""
        carried: DatabaseCarried = table.carried
        with _sqlite(path) as connection:
            cursor = connection.execute(carried.query)
            columns = tuple(one[0] for one in cursor.description)

        def rows() -> Iterator[LexemeRow]:
            with _sqlite(path) as again:
                for row in again.execute(carried.query):
                    yield [object_text(value) for value in row]

        return SecondReading(columns, rows())

    def write(self, target: Path, release: TableRelease) -> None:
        """Write a database with this table alone; cells that have not changed have the type that they had."""
        _require_table(release)
        carried: DatabaseCarried = release.original.carried
        columns = []
        for variable in release.variables:
            before = (carried.kinds or {})[variable.name]
            there = set(before.tolist()) - {"null"}
            kinds, changed = before[release.rows], release.changed(variable.name)
            texts = release.cells[variable.name].to_pylist()
            columns.append(
                [
                    _masked(text, there, variable.column) if other else _value(text, kind)
                    for text, kind, other in zip(texts, kinds.tolist(), changed.tolist(), strict=True)
                ]
            )
        declared = [(variable.column, carried.types.get(variable.column, "")) for variable in release.variables]
        _write_sqlite(target, carried.table, declared, columns)

    def create(self, target: Path, table: Table, options: Options) -> None:
        """Write a new database with one table."""
        columns, declared = [], []
        for variable in table.variables:
            texts = table.cells[variable.name].to_pylist()
            kind, values = new_column(texts, variable)
            columns.append(values)
            declared.append((variable.column, kind))
        _write_sqlite(target, options.get("table", "data"), declared, columns)

    def losses(self, table: Table) -> Iterator[str]:
        """Say what of a table a database does not hold: SQLite has integers, doubles and texts."""
        yield from super().losses(table)
        texts = [
            one.column
            for one in table.variables
            if one.stored is not None
            and not is_text(one.stored)
            and new_column(table.cells[one.name].to_pylist(), one)[0] == "TEXT"
        ]
        if texts:
            yield f"types of columns, which become text: {', '.join(texts)}"

    def line_of(self, table: Table, record: int) -> int:
        """Return the number of a row."""
        del table
        return record + 1


class DuckdbFormat(TableFormat):
    """DuckDB, where columns have types."""

    name: ClassVar[str] = "duckdb"
    options: ClassVar[Mapping[str, str]] = OPTIONS
    tells_empty: ClassVar[bool] = True
    exact_digits: ClassVar[int | None] = 38

    def read(self, path: Path, options: Options) -> Table:
        """Read a table as columns of Arrow."""
        where = str(path)
        with _duckdb(path) as connection:
            tables = [
                name
                for (name,) in connection.execute(
                    "SELECT table_name FROM information_schema.tables WHERE table_schema = 'main' ORDER BY 1"
                ).fetchall()
            ]
            table, query = chosen(options, tables, where)
            with _duckdb_errors(where):
                types = {row[0]: row[1] for row in connection.execute(f"DESCRIBE {query}").fetchall()}
                for column, kind in types.items():
                    _require_known(column, kind, where)
                values = connection.sql(query).to_arrow_table()
        read = table_of(values, where)
        return Table(read.variables, read.cells, carried=DatabaseCarried(table, query, types, values=values))

    def read_again(self, path: Path, table: Table) -> SecondReading:
        """Read the rows as objects of Python."""
        carried: DatabaseCarried = table.carried

        def rows() -> Iterator[LexemeRow]:
            singles = [kind == "FLOAT" for kind in carried.types.values()]
            with _duckdb(path) as connection:
                found = connection.execute(carried.query)
                while batch := found.fetchmany(_ROWS):
                    for row in batch:
                        yield [
                            object_text(np.float32(value) if single and value is not None else value)
                            for value, single in zip(row, singles, strict=True)
                        ]

        return SecondReading(tuple(carried.types), rows())

    def write(self, target: Path, release: TableRelease) -> None:
        """Write a database with this table alone, with the types of its columns."""
        _require_table(release)
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

    def losses(self, table: Table) -> Iterator[str]:
        """Say what of a table a database does not hold."""
        yield from super().losses(table)
        texts = [
            one.column
            for one in table.variables
            if one.stored is not None and not pa.types.is_null(one.stored) and _for_duckdb(one) is not one
        ]
        if texts:
            yield f"types of columns, which become text: {', '.join(texts)}"


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


def _uri(path: Path) -> str:
    return f"file:{quote(str(path.resolve()))}?mode=ro"


@contextmanager
def _sqlite(path: Path) -> Iterator[sqlite3.Connection]:
    refuse_special(path, DocumentError)
    try:
        with closing(sqlite3.connect(_uri(path), uri=True)) as connection:
            yield connection
    except sqlite3.Error as error:
        if path.is_file() and not isinstance(error, sqlite3.DatabaseError):
            raise
        raise DocumentError(f"cannot read this as an SQLite database: {error}", where=str(path)) from error


@contextmanager
def _duckdb(path: Path) -> Iterator[Any]:
    duckdb = library("duckdb", "sql", "a DuckDB database")
    refuse_special(path, DocumentError)
    closed = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    try:
        connection = duckdb.connect(str(path), read_only=True, config=closed)
    except duckdb.Error as error:
        reason = str(error).partition("\n")[0]
        raise DocumentError(f"cannot read this as a DuckDB database: {reason}", where=str(path)) from error
    with closing(connection):
        connection.execute("SET enable_external_access = false")
        yield connection


@contextmanager
def _duckdb_errors(where: str) -> Iterator[None]:
    duckdb = library("duckdb", "sql", "a DuckDB database")
    try:
        yield
    except duckdb.Error as error:
        raise UsageError(f"the query cannot be run: {str(error).partition(chr(10))[0]}", where=where) from error


_DUCKDB_DIGITS = 38
"""Of its widest DECIMAL."""
_KNOWN = (
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"),
    *("FLOAT", "DOUBLE", "BOOLEAN", "VARCHAR", "DATE", "TIME", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS"),
)


def _require_table(release: TableRelease) -> None:
    carried: DatabaseCarried = release.original.carried
    if not carried.table:
        raise UsageError(
            "what a query returns is read, and not written again",
            hint="create a view in the database, and name it: --format-option table=NAME",
        )


def _require_known(column: str, kind: str, where: str) -> None:
    if kind not in _KNOWN and not kind.startswith(("DECIMAL(", "ENUM(")):
        raise DocumentError(
            f"column {column!r} is of type {kind.partition('(')[0]}, which is not read",
            where=where,
            hint="cast it to text in a query, with --format-option query='SELECT ...'",
        )


def _of_double(text: str, column: str, where: str) -> str:
    number = float(text)
    if not np.isfinite(number):
        raise DocumentError(f"column {column!r} holds an infinite number", where=where)
    return plain(Decimal(repr(number))) if number or text[0] != "-" else "-0"


def object_text(value: Any) -> str | None:
    """Write one object as text, by rules of its own."""
    if value is None or value != value:  # noqa: PLR0124 -- NaN
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        raise TypeError("bytes are refused by the first reading")
    if isinstance(value, float | np.floating | Decimal):
        exact = value if isinstance(value, Decimal) else Decimal(str(value))
        text = f"{exact:f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
        return text if len(text) <= 40 else str(exact)
    if isinstance(value, datetime.datetime | datetime.time):
        head, point, fraction = value.isoformat().partition(".")
        return f"{head}.{fraction.rstrip('0')}" if point else head
    return str(value)


def _typed(kinds: NDArray[np.str_]) -> Typed:
    there = set(kinds.tolist()) - {"null"}
    if there == {"text"}:
        return Typed(text=True)
    return Typed(bits=53) if there and there <= {"real", "integer"} and "real" in there else UNTYPED


def _stored(kinds: NDArray[np.str_]) -> pa.DataType | None:
    there = set(kinds.tolist()) - {"null"}
    known = {("integer",): pa.int64(), ("real",): pa.float64(), ("text",): pa.string()}
    return known.get(tuple(sorted(there)))


def _value(text: str | None, kind: str) -> object:
    if text is None:
        return None
    return int(text) if kind == "integer" else float(text) if kind == "real" else text


def _masked(text: str | None, there: set[str], column: str) -> object:
    """Return a masked value in a type that its column has."""
    if text is None:
        return None
    number = parse_number(text.strip())
    if there <= {"integer", "real"} and np.isfinite(number):
        exact = Decimal(text.strip())
        if "integer" in there and exact == exact.to_integral_value() and abs(exact) < _LARGE:
            return int(exact)
        if ("real" in there or not there) and Decimal(repr(float(number))) == exact:
            return float(number)
    if "text" in there or not there:
        return text
    raise UsageError(
        f"column {column!r} cannot hold a masked value: it has {' and '.join(sorted(there))} values alone",
        hint="give the column a wider type before it is masked",
    )


def new_column(texts: list[str | None], variable: Variable) -> tuple[str, list[object]]:
    """Return the declared type and the values of a new column: numbers where they come back the same, else text."""
    stored = variable.stored
    there = [text for text in texts if text is not None]
    if stored is not None and pa.types.is_integer(stored) and all(abs(int(text)) < _LARGE for text in there):
        return "INTEGER", [None if text is None else int(text) for text in texts]
    if stored is not None and pa.types.is_floating(stored):
        same = all(_of_double(repr(float(text)), "", "") == text for text in there)
        # a whole number that is a double would come back as one, and so is written as it is
        if same:
            return "REAL", [None if text is None else float(text) for text in texts]
    return "TEXT", list(texts)


def _write_sqlite(
    target: Path, table: str, declared: Sequence[tuple[str, str]], columns: Sequence[list[object]]
) -> None:
    """Write in one transaction; what is there is an empty file."""
    with closing(sqlite3.connect(target)) as connection:
        connection.execute("PRAGMA journal_mode = MEMORY")
        with connection:
            connection.execute("BEGIN")
            fill_sqlite(connection, table, declared, columns)


def fill_sqlite(
    connection: sqlite3.Connection, table: str, declared: Sequence[tuple[str, str]], columns: Sequence[list[object]]
) -> None:
    """Create a table with these rows, in the transaction that is open.

    Raises
    ------
    UsageError
        SQLite cannot hold it.
    """
    listed = ", ".join(f"{quoted(name)} {_declared(kind)}".strip() for name, kind in declared)
    try:
        connection.execute(f"CREATE TABLE {quoted(table)} ({listed})")
        marks = ", ".join("?" * len(declared))
        connection.executemany(
            f"INSERT INTO {quoted(table)} VALUES ({marks})",  # noqa: S608 -- quoted
            zip(*columns, strict=True),
        )
    except sqlite3.OperationalError as error:
        raise UsageError(f"SQLite cannot hold this table: {error}", hint="choose another format") from error


def _declared(kind: str) -> str:
    """Return a declared type without anything that would be SQL of its own."""
    return kind if all(letter.isalnum() or letter in " _(),." for letter in kind) else ""


def _write_duckdb(target: Path, table: str, declared: Sequence[tuple[str, str]] | None, values: pa.Table) -> None:
    duckdb = library("duckdb", "sql", "a DuckDB database")
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
                raise UsageError(
                    f"DuckDB cannot hold this table: {str(error).partition(chr(10))[0]}", hint="choose another format"
                ) from error
        target.write_bytes(made.read_bytes())
