"""Rows that are written as a table of PostgreSQL is, and read again: on the server, or held in this process."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa

from masktron.addresses import Address
from masktron.errors import DocumentError
from masktron.sources.tables.arrow_files import table_of
from masktron.sources.tables.arrow_objects import object_columns
from masktron.sources.tables.postgresql.server_types import PostgresColumn
from masktron.sources.tables.postgresql.snapshot import PostgresCarried
from masktron.sources.tables.table_model import Table


class WritingRows(ABC):
    """Takes rows with the types of their columns, and gives them back as a table."""

    @abstractmethod
    def refuse_original(self, identity: str) -> None:
        """Refuse to replace the table that is read.

        Raises
        ------
        UsageError
        """

    @abstractmethod
    def fill(self, values: pa.Table, columns: Mapping[str, PostgresColumn], comment: str) -> None:
        """Take the rows.

        Raises
        ------
        DocumentError
        """

    @abstractmethod
    def read(self) -> Table:
        """Return the rows as they are read again."""


class HeldRows(WritingRows):
    """Rows between two steps of a run, which no server sees: nobody who may read a database gets to see them.

    Both readings are of the same typed values, by the two ways in which Arrow files are read.

    Parameters
    ----------
    address : Address
        Of the table that they were made of, for messages.
    """

    def __init__(self, address: Address) -> None:
        self._address, self._identity = address, ""
        self._found: Table | None = None

    def refuse_original(self, identity: str) -> None:
        """Remember the table that is read, which whoever writes these rows to a server must not replace."""
        self._identity = identity

    def fill(self, values: pa.Table, columns: Mapping[str, PostgresColumn], comment: str) -> None:
        """Hold the rows."""
        texts = {name: list[str | None]() for name in values.column_names}
        for batch in values.to_batches():
            for name, column in zip(values.column_names, object_columns(batch, compiled=False), strict=True):
                texts[name] += column.to_pylist()
        carried = PostgresCarried(values, texts, dict(columns), comment, self._identity)
        read = table_of(values, self._address.shown, carried, listing=True)
        labelled = tuple(replace(one, label=columns[one.column].comment) for one in read.variables)
        self._found = Table(labelled, read.cells, title=comment, carried=carried, of_release=read.of_release)

    def read(self) -> Table:
        """Return the rows."""
        if self._found is None:
            raise DocumentError.of("server-error", self._address.shown, reason="the table was not written yet")
        return self._found
