"""Tables of PostgreSQL as they are in one snapshot, in which each value is read twice.

One query gives it as the driver has it, and as the text that the server makes of it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from masktron.addresses import Address
from masktron.errors import DocumentError, UsageError
from masktron.problems.problem import Field, Place
from masktron.sources.tables.arrow_files import table_of
from masktron.sources.tables.postgresql.catalogue import (
    QueriedTable,
    enumerations,
    no_table,
    oid_of,
    table_in_catalogue,
)
from masktron.sources.tables.postgresql.connection import SETTINGS, SNAPSHOT, connected
from masktron.sources.tables.postgresql.server_types import (
    DRIVER_TYPES,
    PostgresColumn,
    categorical,
    exact_numbers,
    server_type,
    text_of_server,
    type_again,
    unread_column,
)
from masktron.sources.tables.sql_texts import quoted
from masktron.sources.tables.table_model import Table


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


def fetch(address: Address) -> Table:
    """Return a table of PostgreSQL with its types; both readings of each value are compared.

    Raises
    ------
    DocumentError
        There is no such server or table, the query cannot be run, a column has a type that is not read, or the two
        readings do not agree.
    """
    with connected(address, SNAPSHOT, *SETTINGS) as cursor:
        if not address.table:
            return read_rows(cursor, address, None)
        oid = oid_of(cursor, address.table)
        if oid is None:
            raise no_table(cursor, address)
        return read_rows(cursor, address, oid)


def read_rows(cursor: Any, address: Address, oid: int | None) -> Table:
    """Return the rows of a table, or of the query of the address; both readings of each value are compared.

    Parameters
    ----------
    cursor : Cursor
        Of a connection in a transaction.
    address : Address
    oid : int or None
        The number of the table in the catalogue; None for the query.

    Raises
    ------
    DocumentError, UsageError
        As `fetch`.
    """
    about = QueriedTable(_of_query(address)) if oid is None else table_in_catalogue(cursor, oid)
    source = about.source
    cursor.execute(f"SELECT * FROM ({source}\n) AS found LIMIT 0")  # noqa: S608 -- the user's own query
    fields = list(cursor.fetch_arrow_table().schema)
    if not fields:
        raise DocumentError.of("file-damaged", address.shown, format="a table", detail="it has no columns")
    names, categories = enumerations(cursor)
    cursor.execute(f"SELECT {_twice(fields, categories, address)} FROM ({source}\n) AS found")  # noqa: S608
    found = cursor.fetch_arrow_table()
    typed, server, declared = {}, {}, {}
    for at, one in enumerate(fields):
        kind, values = server_type(one), found.column(f"n{at}")
        if kind == "numeric":
            values = exact_numbers(values, one, address)
        elif kind in categories:
            values = categorical(values, categories[kind])
        typed[one.name] = values
        server[one.name] = [text_of_server(text, kind) for text in found.column(f"t{at}").to_pylist()]
        declared[one.name] = about.columns.get(one.name) or PostgresColumn(names.get(kind) or type_again(one, values))
    values = pa.table(typed)
    carried = PostgresCarried(values, server, declared, about.comment, about.identity)
    read = table_of(values, address.shown, carried, listing=True)
    _require_agreement(read, server, address)
    variables = tuple(replace(own, label=declared[own.column].comment) for own in read.variables)
    return replace(read, variables=variables, title=about.comment, notes=(*read.notes, *about.notes))


def _twice(fields: Sequence[pa.Field], enumerated: Collection[str], address: Address) -> str:
    """Return what is selected: n0, n1, ... as the driver reads columns, and t0, t1, ... as the server writes them."""
    native, texts = [], []
    for at, one in enumerate(fields):
        kind = server_type(one)
        if kind not in DRIVER_TYPES and kind not in ("numeric", "bpchar") and kind not in enumerated:
            raise unread_column(one, f"values of type {kind}", address)
        # a text of fixed length is filled up with blanks, which mean nothing
        native.append(f"{quoted(one.name)}{'' if kind in DRIVER_TYPES else '::text'} AS n{at}")
        texts.append(f"{quoted(one.name)}::text AS t{at}")
    return ", ".join(native + texts)


def _of_query(address: Address) -> str:
    query = address.query.strip().rstrip(";")
    if not query.lower().startswith(("select", "with", "values", "table")):
        first, wanted = query.split()[:1], "a statement that begins with SELECT, WITH, VALUES or TABLE"
        raise UsageError.of("bad-value", address.shown, name="the query", expected=wanted, given=first)
    return query


def _require_agreement(read: Table, server: Mapping[str, list[str | None]], address: Address) -> None:
    """Refuse a table of which the driver and the server do not say the same."""
    for variable in read.variables:
        own, other = read.cells[variable.name].to_pylist(), server[variable.column]
        if own != other:
            row = next(place for place, pair in enumerate(zip(own, other, strict=True)) if pair[0] != pair[1])
            place = Place(address.shown, record=row + 1)
            raise DocumentError.of("readings-differ", place, what=Field(variable.column))
