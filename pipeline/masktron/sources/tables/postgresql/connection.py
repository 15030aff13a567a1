"""Connections to PostgreSQL, and what the server says of errors, without passwords and values."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from masktron.addresses import HIDDEN, Address
from masktron.errors import DocumentError, MasktronError, UsageError
from masktron.extras import library

SNAPSHOT = "TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"
SETTINGS = (
    *("TIME ZONE 'UTC'", "datestyle = 'ISO'", "extra_float_digits = 1", "standard_conforming_strings = on"),
    # rows come in the order in which they were written
    *("synchronize_seqscans = off", "max_parallel_workers_per_gather = 0"),
    # while engines judge what was written, the connection waits
    "idle_in_transaction_session_timeout = 0",
)
_TAKEN = ("42P07", "23505")
_DATA = {
    "22001": "a text is longer than its column takes",
    "22003": "a number is out of the range of its column",
    "23502": "a column that is NOT NULL would have no value",
    "23514": "a check of a domain refuses a value",
    "22P02": "a value is none of the type of its column",
}
"""What the server says of single values, which its own words may quote."""


@contextmanager
def connected(address: Address, *settings: str) -> Iterator[Any]:
    """Give a cursor in a transaction, which is rolled back unless it is committed; errors show no password."""
    dbapi = library("adbc_driver_postgresql.dbapi", "a table of PostgreSQL")
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
        return DocumentError.of("server-error", address.shown, reason=f"{what} (SQLSTATE {state})")
    text = str(error).partition("Query was:")[0].partition("LINE 1:")[0]
    found = re.search(r"(?:ERROR|FATAL):\s+([^\n]*)", text)
    text = re.sub(r"^\w+: \[libpq\] ", "", text) if found is None else found[1]
    for secret in sorted(address.secrets, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return DocumentError.of("server-error", address.shown, reason=" ".join(text.split()))


def taken(address: Address) -> UsageError:
    """Return the error of a table whose name is taken."""
    return UsageError.of("table-exists", address.shown, table=address.table)
