"""Tables of PostgreSQL: read in one snapshot, and written in one transaction, in which they are judged.

One query gives each value twice: as the driver has it, and as the text that the server makes of it.
"""

from __future__ import annotations

import dataclasses
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from masktron.addresses import HIDDEN, Address, AddressPath
from masktron.config import did_you_mean
from masktron.errors import DocumentError, MasktronError, UsageError
from masktron.sources.tables.arrow_files import released_values, table_of, typed_values
from masktron.sources.tables.database_files import quoted
from masktron.sources.tables.table_format import Options, SecondReading, TableFormat, described_by, library
from masktron.sources.tables.table_model import Table, TableRelease

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
"""Types that the driver reads as Arrow has them; ``numeric``, ``bpchar`` and enumerations are read as texts."""
_SNAPSHOT = "TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"
_SETTINGS = (
    *("TIME ZONE 'UTC'", "datestyle = 'ISO'", "extra_float_digits = 1", "standard_conforming_strings = on"),
    # rows come in the order in which they were written
    *("synchronize_seqscans = off", "max_parallel_workers_per_gather = 0"),
    # while engines judge what was written, the connection waits
    "idle_in_transaction_session_timeout = 0",
)
_MOST_DIGITS = 76
_PATIENCE = 10
"""Seconds for which a trial waits for whoever reads the table that is to be replaced."""
_TAKEN = ("42P07", "23505")
_LOGGED = "nothing was written; the log of the server says which value"
_DATA = {
    "22001": "a text is longer than its column takes",
    "22003": "a number is out of the range of its column",
    "23502": "a column that is NOT NULL would have no value",
    "23514": "a check of a domain refuses a value",
    "22P02": "a value is none of the type of its column",
}
"""What the server says of single values, which its own words may quote."""
_RELATIONS = """
    SELECT CASE WHEN pg_table_is_visible(c.oid) THEN c.relname::text
        ELSE n.nspname::text || '.' || c.relname::text END
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'v', 'm', 'p', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
    ORDER BY 1
"""
_COLUMNS = """
    SELECT a.attname::text, format_type(a.atttypid, a.atttypmod), a.attnotnull,
        coalesce(col_description(a.attrelid, a.attnum), ''), a.atthasdef OR a.attidentity <> ''
    FROM pg_attribute a WHERE a.attrelid = {oid} AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_KEY = """
    SELECT a.attname::text FROM pg_index i CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY AS k(attnum, place)
    JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
    WHERE i.indrelid = {oid} AND i.indisprimary ORDER BY k.place
"""
_BESIDE = """
    SELECT (SELECT count(*) FROM pg_index WHERE indrelid = {oid}),
        (SELECT count(*) FROM pg_constraint WHERE conrelid = {oid} AND contype IN ('c', 'f')),
        (SELECT count(*) FROM pg_trigger WHERE tgrelid = {oid} AND NOT tgisinternal),
        coalesce(obj_description({oid}, 'pg_class'), ''),
        pg_postmaster_start_time()::text || ' ' ||
        (SELECT oid::text FROM pg_database WHERE datname = current_database()) || ' {oid}'
"""
_ENUMERATIONS = """
    SELECT t.typname::text, format_type(t.oid, NULL), e.enumlabel::text
    FROM pg_enum e JOIN pg_type t ON t.oid = e.enumtypid ORDER BY t.oid, e.enumsortorder
"""


@dataclass(frozen=True, slots=True)
class PostgresColumn:
    """How a column was declared.

    Attributes
    ----------
    declared : str
        Its type, as SQL has it.
    required : bool
        It is NOT NULL.
    comment : str
    """

    declared: str
    required: bool = False
    comment: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class PostgresCarried:
    """What is kept of a table of PostgreSQL.

    Attributes
    ----------
    values : pyarrow.Table
        In their types.
    texts : mapping of str to list
        What the server says, as lexemes, by column.
    columns : mapping of str to PostgresColumn
    comment : str
        On the table.
    identity : str
        Which table of which server; empty for a query.
    """

    values: pa.Table
    texts: Mapping[str, list[str | None]]
    columns: Mapping[str, PostgresColumn]
    comment: str = ""
    identity: str = ""


@dataclass(frozen=True, slots=True)
class _About:
    """The query that reads a table, and what the catalogue says of it."""

    source: str
    columns: Mapping[str, PostgresColumn] = dataclasses.field(default_factory=dict)
    comment: str = ""
    identity: str = ""
    notes: tuple[str, ...] = ()


class PostgresFormat(TableFormat):
    """PostgreSQL. What is read and written is an `AddressPath`, and no file."""

    name: ClassVar[str] = "postgresql"
    tells_empty: ClassVar[bool] = True

    def read(self, path: Path, options: Options) -> Table:
        """Read a table, or what a query returns, in one snapshot."""
        del options
        place = _address_path(path)
        if isinstance(place.writing, PostgresWriting):
            return place.writing.read()
        return fetch(place.address)

    def read_again(self, path: Path, table: Table) -> SecondReading:
        """Give the rows as the texts that the server made of them in the same snapshot."""
        del path
        carried: PostgresCarried = table.carried
        return SecondReading(tuple(carried.texts), iter(zip(*carried.texts.values(), strict=True)))

    def write(self, target: Path, release: TableRelease) -> None:
        """Write a new table whose columns are declared as those of the original, with their comments."""
        carried: PostgresCarried = release.original.carried
        writing = _writing(target)
        writing.refuse_original(carried.identity)
        values = released_values(release, carried.values)
        columns = {variable.column: carried.columns[variable.column] for variable in release.variables}
        writing.fill(values, columns, carried.comment)

    def create(self, target: Path, table: Table, options: Options) -> None:
        """Write a new table; labels of variables and the title become comments."""
        del options
        values = typed_values(table)
        labels = {variable.column: variable.label for variable in table.variables}
        columns = {one.name: PostgresColumn(_declared(one), comment=labels[one.name]) for one in values.schema}
        _writing(target).fill(values, columns, table.title)

    def losses(self, table: Table) -> Iterator[str]:
        """Name what comments do not hold."""
        bare = tuple(replace(variable, label="") for variable in table.variables)
        yield from described_by(replace(table, title="", variables=bare))


class PostgresWriting:
    """A table that is being written: it has a name of its own until the transaction ends.

    Parameters
    ----------
    cursor : Cursor
        Of a connection in a transaction.
    address : Address
    replaces : bool
        A table of this name is dropped when the new one takes its place.
    """

    def __init__(self, cursor: Any, address: Address, *, replaces: bool) -> None:
        if address.query:
            raise UsageError("a query is read, and not written", where=address.shown, hint="?table=NAME")
        self._cursor, self._address, self._replaces = cursor, address, replaces
        self._schema, _, self._name = address.table.rpartition(".")
        self._staged = f"masktron_{secrets.token_hex(8)}"
        self._found: Table | None = None

    @property
    def _made(self) -> str:
        return _qualified(f"{self._schema}.{self._staged}" if self._schema else self._staged)

    def require_free(self) -> None:
        """Refuse a name that is taken, and a database that takes no new table; nothing is left of the trial.

        Raises
        ------
        DocumentError, UsageError
        """
        if not self._replaces and _oid(self._cursor, self._address.table) is not None:
            raise taken(self._address)
        self._cursor.execute("SAVEPOINT masktron")
        self._cursor.execute(f"SET LOCAL lock_timeout = '{_PATIENCE}s'")
        if self._replaces:
            self._cursor.execute(f"DROP TABLE IF EXISTS {_qualified(self._address.table)}")
        self._cursor.execute(f"CREATE TABLE {self._made} ()")
        self._cursor.execute("ROLLBACK TO SAVEPOINT masktron")

    def refuse_original(self, identity: str) -> None:
        """Refuse to replace the table that is read.

        Raises
        ------
        UsageError
        """
        oid = _oid(self._cursor, self._address.table)
        if oid is not None and identity and _beside(self._cursor, oid)[4] == identity:
            raise UsageError(
                "the output would overwrite the original", where=self._address.shown, hint="name another"
            )

    def fill(self, values: pa.Table, columns: Mapping[str, PostgresColumn], comment: str) -> None:
        """Create the table with these rows, and read it back.

        Raises
        ------
        DocumentError
            The database has something else than was written, or refuses a value.
        """
        listed = ", ".join(
            f"{quoted(name)} {one.declared}{' NOT NULL' if one.required else ''}" for name, one in columns.items()
        )
        self._cursor.execute(f"CREATE TABLE {self._made} ({listed})")
        for name, one in columns.items():
            if one.comment:
                self._cursor.execute(f"COMMENT ON COLUMN {self._made}.{quoted(name)} IS {_literal(one.comment)}")
        if comment:
            self._cursor.execute(f"COMMENT ON TABLE {self._made} IS {_literal(comment)}")
        if values.num_columns and len(values):
            schema = self._schema or None
            self._cursor.adbc_ingest(self._staged, _for_ingest(values), mode="append", db_schema_name=schema)
        oid = _oid(self._cursor, f"{self._schema}.{self._staged}" if self._schema else self._staged)
        self._found = _read(self._cursor, self._address, oid)
        _require_same(values, self._found.carried.values, self._address)

    def read(self) -> Table:
        """Return the table as it was read back."""
        if self._found is None:
            raise DocumentError("nothing was written to this table yet", where=self._address.shown)
        return self._found

    def ready(self) -> None:
        """Do all but the end of the transaction: the table gets its name.

        Raises
        ------
        DocumentError, UsageError
            There is a table of this name by now, or one that cannot be dropped.
        """
        if self._replaces:
            self._cursor.execute(f"DROP TABLE IF EXISTS {_qualified(self._address.table)}")
        elif _oid(self._cursor, self._address.table) is not None:
            raise taken(self._address)
        self._cursor.execute(f"ALTER TABLE {self._made} RENAME TO {quoted(self._name)}")

    def commit(self) -> None:
        """End the transaction: from here on the table is there."""
        self._cursor.connection.commit()


def fetch(address: Address) -> Table:
    """Return a table of PostgreSQL with its types; both readings of each value are compared.

    Raises
    ------
    DocumentError
        There is no such server or table, the query cannot be run, a column has a type that is not read, or the two
        readings do not agree.
    """
    with _connected(address, _SNAPSHOT, *_SETTINGS) as cursor:
        if not address.table:
            return _read(cursor, address, None)
        oid = _oid(cursor, address.table)
        if oid is None:
            raise _no_table(cursor, address)
        return _read(cursor, address, oid)


@contextmanager
def postgres_writing(address: Address, *, replaces: bool) -> Iterator[PostgresWriting]:
    """Give a table that is being written; nothing is there unless it is committed.

    Raises
    ------
    DocumentError, UsageError
        The server cannot be reached, or takes no table of this name.
    """
    with _connected(address, *_SETTINGS) as cursor:
        found = PostgresWriting(cursor, address, replaces=replaces)
        found.require_free()
        yield found


def taken(address: Address) -> UsageError:
    """Return the error of a table whose name is taken."""
    return UsageError(
        "there is a table of this name",
        where=address.shown,
        hint="name another, or let it be replaced: --replace",
    )


def _address_path(path: Path) -> AddressPath:
    if not isinstance(path, AddressPath):
        raise UsageError(
            "a table of PostgreSQL has an address",
            where=str(path),
            hint="postgresql://USER@HOST/DB?table=SCHEMA.NAME",
        )
    return path


def _writing(target: Path) -> PostgresWriting:
    found = _address_path(target).writing
    if not isinstance(found, PostgresWriting):
        raise TypeError(f"{target} was not opened to be written")
    return found


@contextmanager
def _connected(address: Address, *settings: str) -> Iterator[Any]:
    """Give a cursor in a transaction, which is rolled back unless it is committed; errors show no password."""
    dbapi = library("adbc_driver_postgresql.dbapi", "sql", "a table of PostgreSQL")
    try:
        with closing(dbapi.connect(address.connection)) as connection, closing(connection.cursor()) as cursor:
            for setting in settings:
                cursor.execute(f"SET {setting}")
            yield cursor
    except dbapi.Error as error:
        raise _refused(error, address) from None


def _refused(error: Any, address: Address) -> MasktronError:
    """Return what the server says, without passwords and without values of records."""
    state = error.sqlstate or ""
    if state in _TAKEN:
        return taken(address)
    if state[:2] in ("22", "23"):
        what = _DATA.get(state, "a value is not one of its column, or cannot be computed")
        return DocumentError(f"PostgreSQL: {what} (SQLSTATE {state})", where=address.shown, hint=_LOGGED)
    text = str(error).partition("Query was:")[0].partition("LINE 1:")[0]
    found = re.search(r"(?:ERROR|FATAL):\s+([^\n]*)", text)
    text = re.sub(r"^\w+: \[libpq\] ", "", text) if found is None else found[1]
    for secret in sorted(address.secrets, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    hint = "check host, port, database and user; a password is taken from PGPASSWORD or ~/.pgpass, too"
    if state == "42501":
        hint = "ask whoever runs the database for this right, or name another user"
    elif state:
        hint = "check the address"
    return DocumentError(f"PostgreSQL: {' '.join(text.split())}", where=address.shown, hint=hint)


def _no_table(cursor: Any, address: Address) -> DocumentError:
    cursor.execute(_RELATIONS)
    known = [name for (name,) in cursor.fetchall()]
    hint = did_you_mean(address.table, known) or ("check its name and its schema" if known else "it has no tables")
    return DocumentError(f"there is no table {address.table!r} in this database", where=address.shown, hint=hint)


def _qualified(table: str) -> str:
    return ".".join(map(quoted, table.split(".", 1)))


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _oid(cursor: Any, table: str) -> int | None:
    cursor.execute("SELECT to_regclass($1)::oid::bigint", (_qualified(table),))
    found: int | None = cursor.fetchone()[0]
    return found


def _beside(cursor: Any, oid: int) -> tuple[int, int, int, str, str]:
    cursor.execute(_BESIDE.format(oid=oid))
    indices, checks, triggers, comment, identity = cursor.fetchone()
    return indices, checks, triggers, comment, identity


def _read(cursor: Any, address: Address, oid: int | None) -> Table:
    """Return the rows of a table, or of the query of the address; both readings of each value are compared."""
    about = _About(_of_query(address)) if oid is None else _of_table(cursor, oid)
    source = about.source
    cursor.execute(f"SELECT * FROM ({source}\n) AS found LIMIT 0")  # noqa: S608 -- the user's own query
    fields = list(cursor.fetch_arrow_table().schema)
    if not fields:
        raise DocumentError("the table has no columns", where=address.shown)
    names, categories = _enumerations(cursor)
    native, texts = [], []
    for at, one in enumerate(fields):
        kind = _kind(one)
        if kind not in _NAMES and kind not in ("numeric", "bpchar") and kind not in categories:
            raise DocumentError(
                f"column {one.name!r} is of type {kind}, which is not read",
                where=address.shown,
                hint="cast it to text, or leave it out, in a view or in a query: ?query=SELECT ...",
            )
        # a text of fixed length is filled up with blanks, which mean nothing
        native.append(f"{quoted(one.name)}{'' if kind in _NAMES else '::text'} AS n{at}")
        texts.append(f"{quoted(one.name)}::text AS t{at}")
    cursor.execute(f"SELECT {', '.join(native + texts)} FROM ({source}\n) AS found")  # noqa: S608
    found = cursor.fetch_arrow_table()
    typed, server, declared = {}, {}, {}
    for at, one in enumerate(fields):
        kind, values = _kind(one), found.column(f"n{at}")
        if kind == "numeric":
            values = _numeric(values, one, address)
        elif kind in categories:
            values = _categorical(values, categories[kind])
        typed[one.name] = values
        server[one.name] = [_from_server(text, kind) for text in found.column(f"t{at}").to_pylist()]
        declared[one.name] = about.columns.get(one.name) or PostgresColumn(
            names.get(kind) or _type_again(one, values)
        )
    values = pa.table(typed)
    carried = PostgresCarried(values, server, declared, about.comment, about.identity)
    read = table_of(values, address.shown, carried, listing=True)
    _require_agreement(read, server, address)
    variables = tuple(replace(own, label=declared[own.column].comment) for own in read.variables)
    return replace(read, variables=variables, title=about.comment, notes=(*read.notes, *about.notes))


def _of_query(address: Address) -> str:
    query = address.query.strip().rstrip(";")
    if not query.lower().startswith(("select", "with", "values", "table")):
        raise UsageError("a query begins with SELECT, WITH, VALUES or TABLE", where=address.shown)
    return query


def _of_table(cursor: Any, oid: int) -> _About:
    """Return the query that reads a table in the order of its primary key, and what is known of it."""
    cursor.execute(_COLUMNS.format(oid=oid))
    found = cursor.fetchall()
    columns = {name: PostgresColumn(declared, required, comment) for name, declared, required, comment, _ in found}
    cursor.execute(_KEY.format(oid=oid))
    key = [quoted(name) for (name,) in cursor.fetchall()]
    cursor.execute(f"SELECT {oid}::regclass::text")
    source = f"TABLE {cursor.fetchone()[0]}{' ORDER BY ' if key else ''}{', '.join(key)}"
    indices, checks, triggers, comment, identity = _beside(cursor, oid)
    lost = [
        f"{count} {what}"
        for count, what in ((indices, "indices and keys"), (checks, "checks and foreign keys"))
        if count
    ]
    lost += [f"{triggers} triggers"] if triggers else []
    if computed := [name for name, _, _, _, default in found if default]:
        lost.append(f"how values of {', '.join(computed)} come about where none is given")
    note = f"of the table of PostgreSQL are not written again: {'; '.join(lost)}" if lost else ""
    return _About(source, columns, comment, identity, (note,) if note else ())


def _enumerations(cursor: Any) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Return how the types of enumerations are declared, and their values, by their names."""
    cursor.execute(_ENUMERATIONS)
    names: dict[str, str] = {}
    categories: dict[str, list[str]] = {}
    for name, declared, label in cursor.fetchall():
        names[name] = declared
        if label not in categories.setdefault(name, []):
            categories[name].append(label)
    return names, categories


def _kind(field: pa.Field) -> str:
    return str((field.metadata or {}).get(b"POSTGRESQL:type", b"?").decode())


def _categorical(texts: pa.ChunkedArray, labels: Sequence[str]) -> pa.ChunkedArray:
    places = {label: place for place, label in enumerate(labels)}
    codes = pa.array([None if text is None else places[text] for text in texts.to_pylist()], pa.int32())
    return pa.chunked_array([pa.DictionaryArray.from_arrays(codes, pa.array(labels, pa.string()))])


def _type_again(field: pa.Field, values: pa.ChunkedArray) -> str:
    """Return the type of a column of a query in the table that is made of it."""
    modifier = int((field.metadata or {}).get(b"POSTGRESQL:typmod", b"-1"))
    if _kind(field) == "numeric" and modifier < 4:
        return "numeric"
    return _declared(pa.field(field.name, values.type))


def _numeric(texts: pa.ChunkedArray, field: pa.Field, address: Address) -> pa.ChunkedArray:
    """Return exact numbers, in the precision of the column.

    Without one, the column holds as many digits as the type of Arrow does that holds its values: the digits of its
    largest value must not bound what is drawn for it, as draws that are moved to such a bound would show them.
    """
    modifier = int((field.metadata or {}).get(b"POSTGRESQL:typmod", b"-1"))
    numbers = []
    for text in texts.to_pylist():
        number = None if text is None else Decimal(text)
        if number is not None and not number.is_finite():
            raise DocumentError(f"column {field.name!r} holds NaN or an infinite number", where=address.shown)
        numbers.append(number)
    there = [number for number in numbers if number is not None]
    if modifier >= 4:
        precision, scale = (modifier - 4) >> 16, (modifier - 4) & 0x7FF
    else:
        scale = max((-int(number.as_tuple().exponent) for number in there), default=0)
        needed = scale + max((number.adjusted() + 1 for number in there), default=1)
        precision = needed if needed > _MOST_DIGITS else 38 if needed <= 38 else _MOST_DIGITS
    if not 0 <= scale <= precision <= _MOST_DIGITS:
        raise DocumentError(
            f"column {field.name!r} has numbers of more than {_MOST_DIGITS} digits, or more digits after the point "
            "than in all",
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


def _require_agreement(read: Table, server: Mapping[str, list[str | None]], address: Address) -> None:
    """Refuse a table of which the driver and the server do not say the same."""
    for variable in read.variables:
        own, other = read.cells[variable.name].to_pylist(), server[variable.column]
        if own != other:
            row = next(place for place, pair in enumerate(zip(own, other, strict=True)) if pair[0] != pair[1])
            raise DocumentError(
                f"two readings do not agree on column {variable.column!r} of row {row + 1}", where=address.shown
            )


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
