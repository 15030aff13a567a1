"""New tables of PostgreSQL: written and read back in one transaction, in which they are judged."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from masktron.addresses import Address
from masktron.errors import DocumentError, UsageError
from masktron.sources.dataset import Dataset
from masktron.sources.tables.database_files import literal, quoted
from masktron.sources.tables.postgresql.connection import SETTINGS, connected, taken
from masktron.sources.tables.postgresql.snapshot import (
    PostgresTable,
    oid_of,
    qualified,
    read_rows,
    table_in_catalogue,
)

_PATIENCE = 10
"""Seconds for which a trial waits for whoever reads the table that is to be replaced."""


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
        self._address = address
        self._found: Dataset | None = None
        self._cursor, self._replaces = cursor, replaces
        self._schema, _, self._name = address.table.rpartition(".")
        self._staged = f"masktron_{secrets.token_hex(8)}"
        self._path = f"{self._schema}.{self._staged}" if self._schema else self._staged
        self._made = qualified(self._path)

    def require_free(self) -> None:
        """Refuse a name that is taken, and a database that takes no new table; nothing is left of the trial.

        Raises
        ------
        DocumentError, UsageError
        """
        if not self._replaces and oid_of(self._cursor, self._address.table) is not None:
            raise taken(self._address)
        self._cursor.execute("SAVEPOINT masktron")
        self._cursor.execute(f"SET LOCAL lock_timeout = '{_PATIENCE}s'")
        if self._replaces:
            self._cursor.execute(f"DROP TABLE IF EXISTS {qualified(self._address.table)}")
        self._cursor.execute(f"CREATE TABLE {self._made} ()")
        self._cursor.execute("ROLLBACK TO SAVEPOINT masktron")

    def read(self) -> Dataset:
        """Return the rows as they are read again."""
        if self._found is None:
            raise DocumentError.of("server-error", self._address.shown, reason="the table was not written yet")
        return self._found

    def fill(self, values: pa.Table, about: PostgresTable) -> None:
        """Create the table with these rows, and read it back; `about` may be the table that is read.

        Raises
        ------
        DocumentError
            The database refuses a value.
        UsageError
            The table that is read would be replaced.
        """
        if oid_of(self._cursor, self._address.table) is not None:
            replaced = table_in_catalogue(self._cursor, self._address.table, self._address)
            if replaced.identity == about.identity:
                raise UsageError.of("would-overwrite", self._address.shown, output="the new table", taken="the data")
        self._ingest(values.slice(0, 0), "create")
        named = [(quoted(name), one) for name, one in about.columns.items()]
        changes = [f"ALTER {name} TYPE {one.declared} USING NULL" for name, one in named if one.declared]
        if changes := [*changes, *(f"ALTER {name} SET NOT NULL" for name, one in named if one.required)]:
            self._cursor.execute(f"ALTER TABLE {self._made} {', '.join(changes)}")
        for name, one in named:
            if one.comment:
                self._cursor.execute(f"COMMENT ON COLUMN {self._made}.{name} IS {literal(one.comment)}")
        if about.comment:
            self._cursor.execute(f"COMMENT ON TABLE {self._made} IS {literal(about.comment)}")
        self._ingest(values, "append")
        found = table_in_catalogue(self._cursor, self._path, self._address)
        self._found = read_rows(self._cursor, self._address, found)

    def _ingest(self, values: pa.Table, mode: str) -> None:
        self._cursor.adbc_ingest(self._staged, values, mode=mode, db_schema_name=self._schema or None)

    def ready(self) -> None:
        """Do all but the end of the transaction: the table gets its name.

        Raises
        ------
        DocumentError, UsageError
            There is a table of this name by now, or one that cannot be dropped.
        """
        if self._replaces:
            self._cursor.execute(f"DROP TABLE IF EXISTS {qualified(self._address.table)}")
        elif oid_of(self._cursor, self._address.table) is not None:
            raise taken(self._address)
        self._cursor.execute(f"ALTER TABLE {self._made} RENAME TO {quoted(self._name)}")

    def commit(self) -> None:
        """End the transaction: from here on the table is there."""
        self._cursor.connection.commit()


@contextmanager
def postgres_writing(address: Address, *, replaces: bool) -> Iterator[PostgresWriting]:
    """Give a table that is being written; nothing is there unless it is committed.

    Raises
    ------
    DocumentError, UsageError
        The server cannot be reached, or takes no table of this name.
    """
    with connected(address, *SETTINGS) as cursor:
        found = PostgresWriting(cursor, address, replaces=replaces)
        found.require_free()
        yield found
