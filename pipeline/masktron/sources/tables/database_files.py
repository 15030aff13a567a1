"""What databases that are a file have in common: which table is read, and values as texts."""

from __future__ import annotations

import datetime
import math
import threading
import time
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
from masktron.problems.problem import Known, Setting
from masktron.sources.tables.arrow_objects import decimal_text
from masktron.sources.tables.sql_texts import quoted
from masktron.sources.tables.table_format import Options
from masktron.sources.tables.table_model import TableRelease

OPTIONS: Mapping[str, str] = {
    "table": "name of the table; may be left out where there is only one",
    "query": "a query whose rows are read, in the place of a table",
}


BY_QUERY = Setting("--format-option", ("query=SELECT ...",))
"""How columns are left out, or become texts."""
SECONDS, BYTES_A_SECOND = 60.0, 1 << 20
"""How long a view or a query may compute: so long in any case, and more for a large file."""
_ROWS = 1 << 14


class TimeLimit:
    """The time that a database may take to compute rows, in both readings together.

    A view or a query may compute without end, so it has a limit. A table has none.
    """

    def __init__(self, path: Path, *, computed: bool) -> None:
        self._where = str(path)
        self._seconds = SECONDS + path.stat().st_size / BYTES_A_SECOND if computed else math.inf
        self._used = 0.0

    @contextmanager
    def counted(self, interrupt: Callable[[], None]) -> Iterator[None]:
        """Count the time that this takes, and interrupt the database once the limit is reached.

        Raises
        ------
        ResourceError
        """
        if math.isinf(self._seconds):
            yield
            return
        begun = time.monotonic()
        ended, late = threading.Event(), threading.Event()

        def watch() -> None:
            wait = max(self._seconds - self._used, 0.0)
            while not ended.wait(wait):
                late.set()
                interrupt()
                wait = 0.1  # a statement that begins just now has not noticed

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield
        except Exception as error:
            if not late.is_set():
                raise
            raise ResourceError.of("database-too-slow", self._where, seconds=self._seconds) from error
        finally:
            ended.set()
            watcher.join()  # so that nothing is interrupted that is closed
            self._used += time.monotonic() - begun

    def rows(self, run: Callable[[], Any], interrupt: Callable[[], None]) -> Iterator[Sequence[Sequence[Any]]]:
        """Run a query and yield its rows in batches. The time that the caller takes for a batch does not count."""
        with self.counted(interrupt):
            cursor = run()
            batch = cursor.fetchmany(_ROWS)
        while batch:
            yield batch
            with self.counted(interrupt):
                batch = cursor.fetchmany(_ROWS)


@dataclass(frozen=True, slots=True, eq=False)
class DatabaseCarried:
    """What is kept of a table of a database.

    Attributes
    ----------
    table : str
        Its name, that of the released table too; empty for a query.
    query : str
        What was read.
    limit : TimeLimit
    types : mapping of str to str
        The type that each column was declared with.
    values : pyarrow.Table or None
        In their types, where the database has types for columns.
    kinds : mapping of str to ndarray
        The type of each cell, where it has types for cells.
    """

    table: str
    query: str
    limit: TimeLimit
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
        first, wanted = query.split()[0], "a statement that begins with SELECT, WITH or VALUES"
        raise UsageError.of("bad-value", where, name="the query", expected=wanted, given=first)
    if query:
        return "", query
    if not table:
        if len(tables) != 1:
            raise UsageError.of("table-not-chosen", where, tables=tuple(tables))
        table = tables[0]
    if table not in tables:
        known = Known(table, tuple(tables))
        raise UsageError.of("unknown-name", where, kind="table", name=table, known=known)
    return table, f"SELECT * FROM {quoted(table)}"  # noqa: S608 -- quoted


def require_table(release: TableRelease) -> None:
    """Refuse to write what a query returned.

    Raises
    ------
    UsageError
    """
    carried: DatabaseCarried = release.original.carried
    if not carried.table:
        raise UsageError.of("query-not-written", table=Setting("--format-option", ("table=NAME",)))


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
