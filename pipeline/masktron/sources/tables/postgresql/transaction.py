"""New tables of PostgreSQL: written and read back in one transaction, in which they are judged."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from masktron.addresses import Address
from masktron.errors import DocumentError, UsageError
from masktron.problems.problem import Field
from masktron.sources.tables.arrow_files import table_of
from masktron.sources.tables.postgresql.catalogue import identity_of, oid_of, qualified
from masktron.sources.tables.postgresql.connection import SETTINGS, connected, taken
from masktron.sources.tables.postgresql.server_types import PostgresColumn, for_ingest
from masktron.sources.tables.postgresql.snapshot import read_rows
from masktron.sources.tables.postgresql.writing_rows import WritingRows
from masktron.sources.tables.sql_texts import literal, quoted
from masktron.sources.tables.table_model import Table

_PATIENCE = 10
"""Seconds for which a trial waits for whoever reads the table that is to be replaced."""


class PostgresWriting(WritingRows):
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
            raise UsageError.of("query-not-written", address.shown, table="?table=NAME")
        self._cursor, self._address, self._replaces = cursor, address, replaces
        self._schema, _, self._name = address.table.rpartition(".")
        self._staged = f"masktron_{secrets.token_hex(8)}"
        self._found: Table | None = None

    @property
    def _made(self) -> str:
        return qualified(f"{self._schema}.{self._staged}" if self._schema else self._staged)

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

    def refuse_original(self, identity: str) -> None:
        """Refuse to replace the table that is read.

        Raises
        ------
        UsageError
        """
        oid = oid_of(self._cursor, self._address.table)
        if oid is not None and identity and identity_of(self._cursor, oid) == identity:
            raise UsageError.of("would-overwrite", self._address.shown, output="the new table", taken="the data")

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
                self._cursor.execute(f"COMMENT ON COLUMN {self._made}.{quoted(name)} IS {literal(one.comment)}")
        if comment:
            self._cursor.execute(f"COMMENT ON TABLE {self._made} IS {literal(comment)}")
        if values.num_columns and len(values):
            schema = self._schema or None
            self._cursor.adbc_ingest(self._staged, for_ingest(values), mode="append", db_schema_name=schema)
        oid = oid_of(self._cursor, f"{self._schema}.{self._staged}" if self._schema else self._staged)
        self._found = read_rows(self._cursor, self._address, oid)
        _require_same(values, self._found.carried.values, self._address)

    def read(self) -> Table:
        """Return the table as it was read back."""
        if self._found is None:
            raise DocumentError.of("server-error", self._address.shown, reason="the table was not written yet")
        return self._found

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


def _require_same(meant: pa.Table, found: pa.Table, address: Address) -> None:
    """Refuse a table that is not what was to be written, cell by cell and in its order."""
    own, other = table_of(for_ingest(meant), address.shown), table_of(found, address.shown)
    if own.cells.column_names != other.cells.column_names or len(own) != len(other):
        raise DocumentError.of("readings-differ", address.shown, what="the rows or columns that were written")
    for name in own.cells.column_names:
        if own.cells[name].to_pylist() != other.cells[name].to_pylist():
            raise DocumentError.of("readings-differ", address.shown, what=Field(name))
