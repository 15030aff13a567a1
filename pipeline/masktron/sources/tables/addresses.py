"""Tables of databases by their address: copied into a private Arrow file to be read, and written as a new table.

What is written is read back within the transaction, by two readings that share nothing, and compared: a table appears
with every value that was meant, or not at all.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.ipc

from masktron.errors import DocumentError, MasktronError, UsageError
from masktron.sources.tables.arrow_files import table_of
from masktron.sources.tables.database_files import fill_sqlite, new_column, object_text, quoted
from masktron.sources.tables.table_format import library
from masktron.sources.tables.table_model import Table

SCHEMES = ("sqlite", "duckdb", "postgresql", "postgres")
_ADDRESS = re.compile(rf"({'|'.join(SCHEMES)}):", re.IGNORECASE)
_FILES = ("sqlite", "duckdb")
_OWN = ("table", "query")
_NAMES = {
    "int2": pa.int16(),
    "int4": pa.int32(),
    "int8": pa.int64(),
    "float4": pa.float32(),
    "float8": pa.float64(),
    "bool": pa.bool_(),
    "text": pa.string(),
    "varchar": pa.string(),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", tz="UTC"),
}
"""Types of PostgreSQL that are read, as Arrow has them; ``numeric`` and ``bpchar`` stand apart."""
_SETTINGS = (
    *("TIME ZONE 'UTC'", "datestyle = 'ISO'", "extra_float_digits = 1"),
    # rows come in the order in which they were written
    *("synchronize_seqscans = off", "max_parallel_workers_per_gather = 0"),
)
_MOST_DIGITS = 76
_HIDDEN = "***"


@dataclass(frozen=True, slots=True)
class Address:
    """Where a table of a database is.

    Attributes
    ----------
    scheme : str
    connection : str
        A path, or what libpq takes. It may hold a password: never shown.
    table, query : str
        One of the two; a table of PostgreSQL may have a schema before it, with a point.
    shown : str
        The address for messages, results and manifests: without a password.
    """

    scheme: str
    connection: str
    table: str
    query: str
    shown: str

    def __repr__(self) -> str:
        return f"Address({self.shown!r})"

    @property
    def is_file(self) -> bool:
        """Whether the database is a file, which formats of tables read themselves."""
        return self.scheme in _FILES


def is_address(text: str) -> bool:
    """Whether a text begins as the address of a table does."""
    return _ADDRESS.match(text) is not None


def parse_address(text: str) -> Address:
    """Read an address: ``sqlite:FILE?table=NAME``, ``duckdb:FILE?query=SELECT ...``, ``postgresql://USER@HOST/DB?...``.

    Parameters
    ----------
    text : str
        As it was given, before anything made a path of it: a path has no double slashes.

    Raises
    ------
    UsageError
        It is no address, or names neither a table nor a query, or both.
    """
    found = urlsplit(text)
    scheme = found.scheme.lower().replace("postgresql", "postgres").replace("postgres", "postgresql")
    given = parse_qsl(found.query, keep_blank_values=True)
    own = {name: value for name, value in given if name in _OWN}
    others = [(name, value) for name, value in given if name not in _OWN]
    if scheme in _FILES:
        place = unquote(found.path)
        if found.netloc or others or not place:
            raise UsageError(
                f"this is no address of a table: {scheme}:FILE?table=NAME is one, {scheme}:///PATH?table=NAME too"
            )
        connection, shown = place, f"{scheme}:{place}"
    elif scheme == "postgresql":
        user, at, host = found.netloc.rpartition("@")
        rest = f"?{urlencode(others)}" if others else ""
        connection = f"postgresql://{found.netloc}{found.path}{rest}"
        public = [(name, value) for name, value in others if "password" not in name.lower()]
        bare = f"{user.partition(':')[0]}{at}{host}"
        shown = f"postgresql://{bare}{found.path}{'?' if public else ''}{urlencode(public)}"
    else:
        raise UsageError("this is no address of a table", hint=f"it begins with one of {', '.join(SCHEMES)}")
    if len(own) != 1 or not next(iter(own.values())):
        raise UsageError("an address names a table or a query", where=shown, hint="?table=NAME, or ?query=SELECT ...")
    name = next(iter(own))
    shown += f"{'&' if '?' in shown else '?'}{name}={own[name]}"
    return Address(scheme, connection, own.get("table", ""), own.get("query", ""), shown)


def fetch(address: Address) -> pa.Table:
    """Return a table of PostgreSQL with its types. What its columns are not, Arrow has no type for, is refused.

    One query gives each value twice: as ADBC has it, and as the text that the server makes of it. Both are compared.

    Raises
    ------
    DocumentError
        There is no such table, a column has a type that is not read, or the two readings do not agree.
    UsageError
        There is no such server, or the query cannot be run.
    """
    with _connected(address) as cursor:
        source = address.query.strip().rstrip(";") or f"TABLE {_qualified(address.table)}"
        return _read(cursor, source, address)


def publish(address: Address, values: pa.Table, *, replace: bool = False) -> None:
    """Write a new table in one transaction, and read it back before that is committed.

    Parameters
    ----------
    address : Address
        With a table.
    values : pyarrow.Table
    replace : bool
        A table of this name is dropped in the same transaction.

    Raises
    ------
    UsageError
        There is a table of this name, or the database cannot hold a column.
    DocumentError
        What was written is not what is read.
    """
    if address.query:
        raise UsageError("a query is read, and not written", where=address.shown, hint="?table=NAME")
    how = {"sqlite": _publish_sqlite, "duckdb": _publish_duckdb, "postgresql": _publish_postgresql}
    how[address.scheme](address, values, replace)


def _publish_sqlite(address: Address, values: pa.Table, replace: bool) -> None:
    meant = table_of(values, address.shown)
    declared, columns = [], []
    for variable in meant.variables:
        kind, found = new_column(meant.cells[variable.name].to_pylist(), variable)
        declared.append((variable.column, kind))
        columns.append(found)
    table = quoted(address.table)
    try:
        with closing(sqlite3.connect(address.connection, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            if replace:
                connection.execute(f"DROP TABLE IF EXISTS {table}")
            named = connection.execute("SELECT 1 FROM sqlite_schema WHERE lower(name) = lower(?)", (address.table,))
            if named.fetchone() is not None:
                raise _taken(address)
            fill_sqlite(connection, address.table, declared, columns)
            rows = connection.execute(f"SELECT * FROM {table}")  # noqa: S608 -- quoted
            _require_rows(meant, rows, address)
            connection.execute("COMMIT")
    except sqlite3.Error as error:
        raise UsageError(f"SQLite: {error}", where=address.shown, hint="check the address") from error


def _publish_duckdb(address: Address, values: pa.Table, replace: bool) -> None:
    duckdb = library("duckdb", "sql", "a DuckDB database")
    meant = table_of(values, address.shown)
    table = quoted(address.table)
    singles = [pa.types.is_float32(field.type) for field in values.schema]
    try:
        with closing(duckdb.connect(address.connection)) as connection:
            connection.register("masktron_released", values)
            connection.execute("BEGIN")
            if replace:
                connection.execute(f"DROP TABLE IF EXISTS {table}")
            known = connection.execute(
                "SELECT 1 FROM information_schema.tables "
                "WHERE table_schema = 'main' AND lower(table_name) = lower(?)",
                [address.table],
            )
            if known.fetchone() is not None:
                raise _taken(address)
            connection.execute(f"CREATE TABLE {table} AS SELECT * FROM masktron_released")  # noqa: S608 -- quoted
            rows = connection.execute(f"SELECT * FROM {table}").fetchall()  # noqa: S608 -- quoted
            exact = (
                [
                    np.float32(one) if single and one is not None else one
                    for one, single in zip(row, singles, strict=True)
                ]
                for row in rows
            )
            _require_rows(meant, exact, address)
            connection.execute("COMMIT")
    except duckdb.Error as error:
        reason = str(error).partition("\n")[0]
        raise UsageError(f"DuckDB: {reason}", where=address.shown, hint="check the address") from error


def _taken(address: Address) -> UsageError:
    return UsageError("there is such a table", where=address.shown, hint="name another, or say --replace")


def _require_rows(meant: Table, rows: Iterable[Sequence[object]], address: Address) -> None:
    """Refuse rows of Python's objects that are not what was to be written."""
    found = [[object_text(value) for value in row] for row in rows]
    wanted = list(map(list, zip(*(meant.cells[name].to_pylist() for name in meant.cells.column_names), strict=True)))
    if found != wanted:
        raise DocumentError("what was written is not what is read", where=address.shown)


def _publish_postgresql(address: Address, values: pa.Table, replace: bool) -> None:
    listed = ", ".join(f"{quoted(one.name)} {_declared(one)}" for one in values.schema)
    table = _qualified(address.table)
    schema, _, name = address.table.rpartition(".")
    with _connected(address) as cursor:
        if replace:
            cursor.execute(f"DROP TABLE IF EXISTS {table}")
        cursor.execute("SELECT to_regclass($1)::text", (table,))
        if cursor.fetchone()[0] is not None:
            raise _taken(address)
        cursor.execute(f"CREATE TABLE {table} ({listed})")
        if values.num_columns and len(values):
            cursor.adbc_ingest(name, _for_ingest(values), mode="append", db_schema_name=schema or None)
        _require_same(values, _read(cursor, f"TABLE {table}", address), address)
        cursor.connection.commit()


@contextmanager
def _connected(address: Address) -> Iterator[Any]:
    """Give a cursor in a transaction, which is rolled back unless it is committed; errors show no password."""
    if address.scheme != "postgresql":
        raise UsageError("a database that is a file is read as one", where=address.shown)
    dbapi = library("adbc_driver_postgresql.dbapi", "sql", "a table of PostgreSQL")
    try:
        with closing(dbapi.connect(address.connection)) as connection, closing(connection.cursor()) as cursor:
            for setting in _SETTINGS:
                cursor.execute(f"SET {setting}")
            yield cursor
    except MasktronError:
        raise
    except dbapi.Error as error:
        text = _without_secrets(str(error), address)
        raise UsageError(f"PostgreSQL: {text}", where=address.shown, hint="check the address") from None


def _without_secrets(text: str, address: Address) -> str:
    parts = urlsplit(address.connection)
    secrets = {address.connection, parts.password or "", unquote(parts.password or "")}
    secrets |= {value for name, value in parse_qsl(parts.query) if "password" in name.lower()}
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, _HIDDEN)
    return " ".join(text.split())


def _qualified(table: str) -> str:
    return ".".join(map(quoted, table.split(".", 1)))


def _read(cursor: Any, source: str, address: Address) -> pa.Table:
    """Return the rows of a query; both readings of it are compared."""
    cursor.execute(f"SELECT * FROM ({source}) AS found LIMIT 0")  # noqa: S608 -- the user's own query
    fields = list(cursor.fetch_arrow_table().schema)
    native, texts = [], []
    for at, field in enumerate(fields):
        kind = _kind(field)
        if kind not in _NAMES and kind not in {"numeric", "bpchar"}:
            raise DocumentError(
                f"column {field.name!r} is of type {kind}, which is not read",
                where=address.shown,
                hint="cast it to text in a query: ?query=SELECT ...",
            )
        # a text of fixed length is filled up with blanks, which mean nothing
        native.append(f"{quoted(field.name)}{'::text' if kind in {'numeric', 'bpchar'} else ''} AS n{at}")
        texts.append(f"{quoted(field.name)}::text AS t{at}")
    if not fields:
        raise DocumentError("the table has no columns", where=address.shown)
    cursor.execute(f"SELECT {', '.join(native + texts)} FROM ({source}) AS found")  # noqa: S608
    found = cursor.fetch_arrow_table()
    columns = {}
    for at, field in enumerate(fields):
        values = found.column(f"n{at}")
        columns[field.name] = _numeric(values, field, address) if _kind(field) == "numeric" else values
    typed = pa.Table.from_arrays(list(columns.values()), names=list(columns))
    again = table_of(typed, address.shown)
    for at, (variable, field) in enumerate(zip(again.variables, fields, strict=True)):
        own = again.cells[variable.name].to_pylist()
        other = [_from_server(text, _kind(field)) for text in found.column(f"t{at}").to_pylist()]
        if own != other:
            row = next(place for place, pair in enumerate(zip(own, other, strict=True)) if pair[0] != pair[1])
            raise DocumentError(
                f"two readings do not agree on column {field.name!r} of row {row + 1}", where=address.shown
            )
    return typed


def _kind(field: pa.Field) -> str:
    return str((field.metadata or {}).get(b"POSTGRESQL:type", b"?").decode())


def _numeric(texts: pa.ChunkedArray, field: pa.Field, address: Address) -> pa.ChunkedArray:
    """Return exact numbers, in the precision of the column, or in the one that its values need."""
    modifier = int((field.metadata or {}).get(b"POSTGRESQL:typmod", b"-1"))
    numbers = []
    for text in texts.to_pylist():
        number = None if text is None else Decimal(text)
        if number is not None and not number.is_finite():
            raise DocumentError(f"column {field.name!r} holds NaN or an infinite number", where=address.shown)
        numbers.append(number)
    there = [number for number in numbers if number is not None]
    if modifier >= 4:
        precision, scale = (modifier - 4) >> 16, (modifier - 4) & 0xFFFF
    else:
        scale = max((-int(number.as_tuple().exponent) for number in there), default=0)
        precision = scale + max((number.adjusted() + 1 for number in there), default=1)
    if not 0 <= scale <= precision <= _MOST_DIGITS:
        raise DocumentError(
            f"column {field.name!r} has numbers of more than {_MOST_DIGITS} digits",
            where=address.shown,
            hint="cast it to text in a query: ?query=SELECT ...",
        )
    kind = (pa.decimal128 if precision <= 38 else pa.decimal256)(max(1, precision), scale)
    return pa.chunked_array([pa.array(numbers, type=kind)])


def _from_server(text: str | None, kind: str) -> str | None:
    """Write what the server says by rules of its own: what the columns are is compared with this."""
    if text is None or (kind in {"float4", "float8"} and text == "NaN"):
        return None
    if kind == "bool":
        return {"t": "true", "f": "false"}.get(text, text)
    if kind in {"numeric", "float4", "float8"}:
        try:
            number = Decimal(text)
        except InvalidOperation:
            return text
        shown = f"{number:f}"
        shown = shown.rstrip("0").rstrip(".") if "." in shown else shown
        return shown if len(shown) <= 40 else str(number)
    if kind in {"timestamp", "timestamptz", "time"}:
        return text.replace(" ", "T", 1).replace("+00", "Z", 1)
    return text


def _declared(field: pa.Field) -> str:
    """Return the type of PostgreSQL that holds a column.

    Raises
    ------
    UsageError
        There is none.
    """
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    if pa.types.is_decimal(kind):
        return f"numeric({kind.precision}, {kind.scale})"
    names: Mapping[pa.DataType, str] = {
        pa.int8(): "smallint",
        pa.uint8(): "smallint",
        pa.int16(): "smallint",
        pa.uint16(): "integer",
        pa.int32(): "integer",
        pa.uint32(): "bigint",
        pa.int64(): "bigint",
        pa.float32(): "real",
        pa.float64(): "double precision",
        pa.bool_(): "boolean",
        pa.date32(): "date",
        pa.string(): "text",
        pa.large_string(): "text",
    }
    if pa.types.is_timestamp(kind) and kind.unit != "ns":
        return "timestamptz" if kind.tz else "timestamp"
    if pa.types.is_time(kind) and kind.unit != "ns":
        return "time"
    if kind not in names:
        raise UsageError(f"PostgreSQL has no type for column {field.name!r} of type {kind}", hint="convert it first")
    return names[kind]


def _for_ingest(values: pa.Table) -> pa.Table:
    """Return columns in the types that the driver copies into those of `_declared`."""
    columns = []
    for field, column in zip(values.schema, values.columns, strict=True):
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if pa.types.is_unsigned_integer(kind) or kind == pa.int8():
            kind = {8: pa.int16(), 16: pa.int32(), 32: pa.int64()}[kind.bit_width]
        elif pa.types.is_timestamp(kind):
            kind = pa.timestamp("us", tz="UTC" if kind.tz else None)
        elif pa.types.is_time(kind):
            kind = pa.time64("us")
        columns.append(column.cast(kind))
    return pa.Table.from_arrays(columns, names=values.column_names)


def _require_same(meant: pa.Table, found: pa.Table, address: Address) -> None:
    """Refuse a table that is not what was to be written, cell by cell and in its order."""
    own, other = table_of(_for_ingest(meant), address.shown), table_of(found, address.shown)
    if own.cells.column_names != other.cells.column_names or len(own) != len(other):
        raise DocumentError("what was written has other rows or columns", where=address.shown)
    for name in own.cells.column_names:
        if own.cells[name].to_pylist() != other.cells[name].to_pylist():
            raise DocumentError(f"what was written is not what is read, in column {name!r}", where=address.shown)


def local(address: Address, folder: Path) -> tuple[Path, str, dict[str, str]]:
    """Return a file with the table, its format, and the options with which that is read.

    Parameters
    ----------
    address : Address
    folder : Path
        A private one, in which a table of a server is written as an Arrow file.
    """
    if address.is_file:
        options = {"table": address.table} if address.table else {"query": address.query}
        return Path(address.connection), address.scheme, options
    path = folder / "table.arrow"
    values = fetch(address)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, values.schema) as writer:
        writer.write_table(values)
    return path, "arrow", {}
