"""Tables of PostgreSQL as they are in one snapshot, with the values that the driver has."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from masktron.addresses import Address
from masktron.errors import DocumentError
from masktron.problems.problem import Field
from masktron.sources.tables.arrow_columns import values_of
from masktron.sources.tables.arrow_files import table_of
from masktron.sources.tables.database_files import require_query
from masktron.sources.tables.postgresql.catalogue import (
    PostgresColumn,
    PostgresTable,
    enumerations,
    table_in_catalogue,
)
from masktron.sources.tables.postgresql.connection import SETTINGS, SNAPSHOT, connected
from masktron.sources.tables.table_model import Table

_TYPED = frozenset(
    (
        "int2",
        "int4",
        "int8",
        "float4",
        "float8",
        "bool",
        "text",
        "varchar",
        "date",
        "time",
        "timestamp",
        "timestamptz",
    )
)
"""Types that the driver reads as Arrow has them; ``numeric``, ``bpchar`` and enumerations are texts for it."""
_MOST_DIGITS = 76


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


def fetch(address: Address) -> Table:
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


def read_rows(cursor: Any, address: Address, about: PostgresTable) -> Table:
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


def as_table(values: pa.Table, about: PostgresTable, address: Address) -> Table:
    """Return typed columns as a table; comments on columns are their labels."""
    read = table_of(values, address.shown, PostgresCarried(values, about), listing=True)
    variables = tuple(replace(own, label=about.columns[own.column].comment) for own in read.variables)
    return replace(read, variables=variables, title=about.comment, notes=about.notes)


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
        One is not finite, or has more digits than any type of Arrow.
    """
    numbers = [None if text is None else Decimal(text) for text in texts.to_pylist()]
    there = [number for number in numbers if number is not None]
    if not all(number.is_finite() for number in there):
        raise _unread(field, "NaN or an infinite number", address)
    if (modifier := _modifier(field)) >= 0:
        precision, scale = modifier >> 16, modifier & 0x7FF
    else:
        scale = max((-int(number.as_tuple().exponent) for number in there), default=0)
        needed = scale + max((max(0, number.adjusted() + 1) for number in there), default=1)
        precision = needed if needed > _MOST_DIGITS else 38 if needed <= 38 else _MOST_DIGITS
    if not 0 <= scale <= precision <= _MOST_DIGITS:
        detail = f"numbers of more than {_MOST_DIGITS} digits, or with more digits after the point than in all"
        raise _unread(field, detail, address)
    kind = (pa.decimal128 if precision <= 38 else pa.decimal256)(max(1, precision), scale)
    return pa.chunked_array([pa.array(numbers, type=kind)])


def _unread(field: pa.Field, detail: str, address: Address) -> DocumentError:
    """Return the error of a column that is not read, for what it holds."""
    return DocumentError.of(
        "column-not-readable", address.shown, field=Field(field.name), detail=detail, how="?query=SELECT ..."
    )
