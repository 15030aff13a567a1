"""Tables of PostgreSQL as they are in one snapshot: how the catalogue declares them, and the values of the driver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from masktron.addresses import Address
from masktron.errors import DocumentError
from masktron.problems.problem import Field, Known, Sentence
from masktron.sources.dataset import Dataset
from masktron.sources.tables.arrow_columns import values_of
from masktron.sources.tables.arrow_files import table_of
from masktron.sources.tables.database_files import quoted, require_query
from masktron.sources.tables.postgresql.connection import SETTINGS, SNAPSHOT, connected

_RELATIONS = """
    SELECT CASE WHEN pg_table_is_visible(c.oid) THEN c.relname::text
        ELSE n.nspname::text || '.' || c.relname::text END
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'v', 'm', 'p', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
    ORDER BY 1
"""
_COLUMNS = """
    SELECT a.attname::text, format_type(a.atttypid, a.atttypmod), a.attnotnull,
        coalesce(col_description(a.attrelid, a.attnum), ''), a.atthasdef OR a.attidentity <> '',
        array_position(i.indkey::int2[], a.attnum)
    FROM pg_attribute a LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary
    WHERE a.attrelid = {oid} AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_BESIDE = """
    SELECT (SELECT count(*) FROM pg_index WHERE indrelid = {oid}),
        (SELECT count(*) FROM pg_constraint WHERE conrelid = {oid} AND contype IN ('c', 'f')),
        (SELECT count(*) FROM pg_trigger WHERE tgrelid = {oid} AND NOT tgisinternal),
        {oid}::regclass::text, coalesce(obj_description({oid}, 'pg_class'), ''),
        pg_postmaster_start_time()::text || ' ' ||
        (SELECT oid::text FROM pg_database WHERE datname = current_database()) || ' {oid}'
"""
_ENUMERATIONS = """
    SELECT t.typname::text, format_type(t.oid, NULL), array_agg(e.enumlabel::text ORDER BY e.enumsortorder)
    FROM pg_enum e JOIN pg_type t ON t.oid = e.enumtypid GROUP BY t.oid
"""
_TYPED = (
    *("int2", "int4", "int8", "float4", "float8", "bool", "text", "varchar"),
    *("date", "time", "timestamp", "timestamptz"),
)
"""Types that the driver reads as Arrow has them; ``numeric``, ``bpchar`` and enumerations are texts for it."""
_MOST_DIGITS = 76


@dataclass(frozen=True, slots=True)
class PostgresColumn:
    """How a column was declared.

    Attributes
    ----------
    declared : str
        Its type, as SQL has it; empty where that is what the driver makes of its values.
    required : bool
        It is NOT NULL.
    comment : str
    """

    declared: str = ""
    required: bool = False
    comment: str = ""


@dataclass(frozen=True, slots=True)
class PostgresTable:
    """A table, or what a query returns.

    Attributes
    ----------
    source : str
        The query that reads it.
    columns : mapping of str to PostgresColumn
        Nothing of the columns of a query.
    comment : str
    identity : str
        Which table of which server; empty for a query.
    notes : tuple of str
        What of the table is not written again.
    """

    source: str = ""
    columns: Mapping[str, PostgresColumn] = field(default_factory=dict)
    comment: str = ""
    identity: str = ""
    notes: tuple[Sentence, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class PostgresCarried:
    """What is kept of a table.

    Attributes
    ----------
    values : pyarrow.Table
        In their types.
    about : PostgresTable
        With all columns.
    """

    values: pa.Table
    about: PostgresTable


def fetch(address: Address) -> Dataset:
    """Return a table of PostgreSQL with its types.

    Raises
    ------
    DocumentError
        There is no such server or table, the query cannot be run, or a column has a type that is not read.
    UsageError
        The query is none.
    """
    with connected(address, SNAPSHOT, *SETTINGS) as cursor:
        if not address.table:
            query = address.query.strip().rstrip(";")
            require_query(query, ("SELECT", "WITH", "VALUES", "TABLE"), address.shown)
            return read_rows(cursor, address, PostgresTable(query))
        return read_rows(cursor, address, table_in_catalogue(cursor, address.table, address))


def read_rows(cursor: Any, address: Address, about: PostgresTable) -> Dataset:
    """Return the rows of a table, or of a query, by the cursor of a connection in a transaction.

    Raises
    ------
    DocumentError
        As `fetch`.
    """
    listed = enumerations(cursor)
    query = f"SELECT * FROM ({about.source}\n) AS found"  # noqa: S608 -- the user's own
    schema = cursor.adbc_execute_schema(query)
    for one in schema:
        if (kind := _server_type(one)) not in _TYPED and kind not in ("numeric", "bpchar") and kind not in listed:
            raise _unread(one, f"values of type {kind}", address)
    if not schema.names:
        raise DocumentError.of("file-damaged", address.shown, format="a table", detail="it has no columns")
    cursor.execute(query)
    found = cursor.fetch_arrow_table()
    values, columns = [], {}
    for one, column in zip(found.schema, found.columns, strict=True):
        declared, labels = listed.get(_server_type(one), ("", None))
        if labels is not None:
            column = values_of(_texts(column), pa.dictionary(pa.int32(), pa.string()), labels)  # noqa: PLW2901
        elif _server_type(one) == "numeric":
            column = _exact_numbers(_texts(column), one, address)  # noqa: PLW2901
            declared = "numeric" if _modifier(one) < 0 else declared_type(column.type)
        elif _server_type(one) == "bpchar":
            column = pc.utf8_rtrim(column, " ")  # noqa: PLW2901 -- blanks that fill a text up mean nothing
        values.append(column)
        columns[one.name] = about.columns.get(one.name, PostgresColumn(declared))
    return as_table(pa.table(values, found.column_names), replace(about, columns=columns), address)


def as_table(values: pa.Table, about: PostgresTable, address: Address) -> Dataset:
    """Return typed columns as a table; comments on columns are their labels."""
    read = table_of(values, address.shown, PostgresCarried(values, about), listing=True)
    said = (replace(own, label=about.columns[own.column].comment) for own in read.variables)
    return replace(read.with_variables(said), title=about.comment, notes=about.notes)


def table_in_catalogue(cursor: Any, table: str, address: Address) -> PostgresTable:
    """Return a table that is read in the order of its primary key.

    Raises
    ------
    DocumentError
        There is none of this name.
    """
    oid = oid_of(cursor, table)
    if oid is None:
        cursor.execute(_RELATIONS)
        known = Known(table, tuple(name for (name,) in cursor.fetchall()))
        raise DocumentError.of("unknown-name", address.shown, kind="table", name=table, known=known)
    cursor.execute(_COLUMNS.format(oid=oid))
    found = cursor.fetchall()
    columns = {name: PostgresColumn(*declared) for name, *declared, _, _ in found}
    key = [quoted(name) for _, name in sorted((one[5], one[0]) for one in found if one[5] is not None)]
    cursor.execute(_BESIDE.format(oid=oid))
    *counts, name, comment, identity = cursor.fetchone()
    source = f"TABLE {name}{' ORDER BY ' if key else ''}{', '.join(key)}"
    kinds = ("indices and keys", "checks and foreign keys", "triggers")
    lost = [f"{count} {what}" for count, what in zip(counts, kinds, strict=True) if count]
    if computed := [one[0] for one in found if one[4]]:
        lost.append(f"how values of {', '.join(computed)} come about where none is given")
    note = f"of the table of PostgreSQL are not written again: {'; '.join(lost)}"
    return PostgresTable(source, columns, comment, identity, (note,) if lost else ())


def oid_of(cursor: Any, table: str) -> int | None:
    """Return the number of a table in the catalogue; None where there is none of this name."""
    cursor.execute("SELECT to_regclass($1)::oid::bigint", (qualified(table),))
    found: int | None = cursor.fetchone()[0]
    return found


def qualified(table: str) -> str:
    """Return the name of a table as SQL has it, with its schema where one is said."""
    return ".".join(map(quoted, table.split(".", 1)))


def enumerations(cursor: Any) -> dict[str, tuple[str, list[str]]]:
    """Return how each enumeration is declared, and its values in their order, by its name."""
    cursor.execute(_ENUMERATIONS)
    return {name: (declared, labels) for name, declared, labels in cursor.fetchall()}


def declared_type(kind: pa.DataType) -> str:
    """Return how a column is declared that holds values of a type; empty where the driver chooses it right."""
    return f"numeric({kind.precision}, {kind.scale})" if pa.types.is_decimal(kind) else ""


def _server_type(field: pa.Field) -> str:
    """Return the type that a column has on the server, as the driver says it; ``?`` where it does not."""
    return str((field.metadata or {}).get(b"POSTGRESQL:type", b"?").decode())


def _modifier(field: pa.Field) -> int:
    """Return precision and scale of exact numbers in the bits of one number; less than 0 where there are none."""
    return int((field.metadata or {}).get(b"POSTGRESQL:typmod", b"-1")) - 4


def _texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return texts of a type for which Arrow has no name."""
    kind = column.type.storage_type if isinstance(column.type, pa.BaseExtensionType) else column.type
    return column.cast(kind).cast(pa.string())


def _exact_numbers(texts: pa.ChunkedArray, field: pa.Field, address: Address) -> pa.ChunkedArray:
    """Return exact numbers, in the precision of the column.

    Without one, the column holds as many digits as the type of Arrow does that holds its values: the digits of its
    largest value must not bound what is drawn for it, as draws that are moved to such a bound would show them.

    Raises
    ------
    DocumentError
        One is not finite, or has more digits than any type of Arrow, or all of them are far behind the point.
    """
    numbers = [None if text is None else Decimal(text) for text in texts.to_pylist()]
    there = [number for number in numbers if number is not None]
    if not all(number.is_finite() for number in there):
        raise _unread(field, "NaN or an infinite number", address)
    if (modifier := _modifier(field)) >= 0:
        precision, scale = modifier >> 16, (modifier & 0x7FF ^ 0x400) - 0x400
    else:
        scale = max((-int(number.as_tuple().exponent) for number in there), default=0)
        needed = scale + max((max(0, number.adjusted() + 1) for number in there), default=1)
        precision = needed if needed > _MOST_DIGITS else 38 if needed <= 38 else _MOST_DIGITS
    if scale > precision:
        raise _unread(field, "numbers with more digits after the point than in all", address)
    if precision > _MOST_DIGITS:
        raise _unread(field, f"numbers of more than {_MOST_DIGITS} digits", address)
    kind = (pa.decimal128 if precision <= 38 else pa.decimal256)(max(1, precision), scale)
    return pa.chunked_array([pa.array(numbers, type=kind)])


def _unread(field: pa.Field, detail: str, address: Address) -> DocumentError:
    """Return the error of a column that is not read, for what it holds."""
    return DocumentError.of(
        "column-not-readable", address.shown, field=Field(field.name), detail=detail, how="?query=SELECT ..."
    )
