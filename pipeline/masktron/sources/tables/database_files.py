"""What databases that are a file have in common: which table is read, and values as texts."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from masktron.errors import ResourceError, UsageError
from masktron.sources.tables.arrow_objects import decimal_text
from masktron.sources.tables.sql_texts import quoted
from masktron.sources.tables.table_format import Options
from masktron.sources.tables.table_model import Table, TableRelease
from masktron.sources.variables import Variable

OPTIONS: Mapping[str, str] = {
    "table": "name of the table; may be left out where there is only one",
    "query": "a query whose rows are read, in the place of a table",
}


SECONDS, BYTES_A_SECOND = 60.0, 1 << 20
"""How long a database may read: so long in any case, and more for a large file."""


@contextmanager
def ended_in_time(path: Path, interrupt: Callable[[], None]) -> Iterator[None]:
    """Interrupt what a database does if it takes too long: a view of a file may compute without end.

    Raises
    ------
    ResourceError
    """
    seconds = SECONDS + (path.stat().st_size / BYTES_A_SECOND if path.is_file() else 0.0)
    late = threading.Event()

    def end() -> None:
        late.set()
        interrupt()

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    except Exception as error:
        if not late.is_set():
            raise
        raise ResourceError(
            f"the database has not read this in {seconds:,.0f} s",
            where=str(path),
            hint="its view or query may have no end; else have the database write what it returns to a table",
        ) from error
    finally:
        timer.cancel()
        timer.join()  # so that nothing is interrupted that is closed


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


def require_table(release: TableRelease) -> None:
    """Refuse to write what a query returned.

    Raises
    ------
    UsageError
    """
    carried: DatabaseCarried = release.original.carried
    if not carried.table:
        raise UsageError(
            "what a query returns is read, and not written again",
            hint="create a view in the database, and name it: --format-option table=NAME",
        )


def become_text(table: Table, is_text: Callable[[Variable], bool]) -> Iterator[str]:
    """Say which columns have a type, and are texts in a database for want of it."""
    if texts := [one.column for one in table.variables if one.stored is not None and is_text(one)]:
        yield f"types of columns, which become text: {', '.join(texts)}"


def object_text(value: Any) -> str | None:
    """Write one object as text, by rules of its own."""
    if value is None or value != value:  # noqa: PLR0124 -- NaN
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        raise TypeError("bytes are refused by the first reading")
    if isinstance(value, float | np.floating | Decimal):
        return decimal_text(value if isinstance(value, Decimal) else Decimal(str(value)))
    if isinstance(value, datetime.datetime | datetime.time):
        head, point, fraction = value.isoformat().partition(".")
        return f"{head}.{fraction.rstrip('0')}" if point else head
    return str(value)
