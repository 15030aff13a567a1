"""What databases that are a file have in common: which table is read, and for how long a view may compute."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from masktron.errors import ResourceError, UsageError
from masktron.problems.problem import Known, Setting
from masktron.sources.tables.release import Release
from masktron.sources.tables.table_format import Options


def quoted(name: str) -> str:
    """Return a name in quotes."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a text in quotes."""
    return "'" + text.replace("'", "''") + "'"


OPTIONS: Mapping[str, str] = {
    "table": "name of the table; may be left out where there is only one",
    "query": "a query whose rows are read, in the place of a table",
}
BY_QUERY = Setting("--format-option", ("query=SELECT ...",))
"""How columns are left out, or become texts."""
SECONDS, BYTES_A_SECOND = 60.0, 1 << 20
"""How long a view or a query may compute: so long in any case, and more for a large file."""


@contextmanager
def within_time(path: Path, interrupt: Callable[[], None], *, computed: bool) -> Iterator[None]:
    """Interrupt a database that computes the rows of a view or a query, as these may have no end.

    Parameters
    ----------
    path : Path
        The database.
    interrupt : callable
        Ends what the database computes with an error.
    computed : bool
        Whether rows are computed; the rows of a table have an end, and no limit.

    Raises
    ------
    ResourceError
    """
    seconds = SECONDS + path.stat().st_size / BYTES_A_SECOND
    ended, late = threading.Event(), threading.Event()

    def watch() -> None:
        # interrupted again and again: a statement that begins just now has not noticed
        while not ended.wait(0.1 if late.is_set() else seconds):
            late.set()
            interrupt()

    watcher = threading.Thread(target=watch, daemon=True)
    if computed:
        watcher.start()
    try:
        yield
    except Exception as error:
        if not late.is_set():
            raise
        raise ResourceError.of("database-too-slow", str(path), seconds=seconds) from error
    finally:
        ended.set()
        if computed:
            watcher.join()  # so that nothing is interrupted that is closed


def chosen(options: Options, tables: Sequence[str], where: str) -> tuple[str, str]:
    """Return the name of a table, which is empty for a query, and the query that reads it.

    Raises
    ------
    UsageError
        There is no such table, or it is not said which.
    """
    if query := options.get("query", "").strip().rstrip(";"):
        require_query(query, ("SELECT", "WITH", "VALUES"), where)
        return "", query
    table = options.get("table", "")
    if not table and len(tables) != 1:
        raise UsageError.of("table-not-chosen", where, tables=tuple(tables))
    table = table or tables[0]
    if table not in tables:
        known = Known(table, tuple(tables))
        raise UsageError.of("unknown-name", where, kind="table", name=table, known=known)
    return table, f"SELECT * FROM {quoted(table)}"  # noqa: S608 -- quoted


def not_written(kind: str, lost: Mapping[str, int], others: int) -> Iterator[str]:
    """Say what a released table does not have of the one that is read, and a new file of its database.

    Parameters
    ----------
    kind : str
        Of the database.
    lost : mapping of str to int
        How many there are of what is not written again.
    others : int
        Tables and views beside it.
    """
    if found := [f"{what} ({count})" for what, count in lost.items() if count]:
        yield f"of the table of {kind} are not written again: {', '.join(found)}"
    if others:
        yield f"a new file has this table alone, without other tables and views of the database ({others})"


def require_query(query: str, first: Sequence[str], where: str) -> None:
    """Refuse a statement that begins with another word than those of a query.

    Raises
    ------
    UsageError
    """
    if not query.upper().startswith(tuple(first)):
        wanted = f"a statement that begins with {', '.join(first[:-1])} or {first[-1]}"
        raise UsageError.of("bad-value", where, name="the query", expected=wanted, given=query.partition(" ")[0])


def written_name(release: Release) -> str:
    """Return the name of the table that is written: that of the original.

    Raises
    ------
    UsageError
        The original is what a query returned.
    """
    table: str = release.original.format_state.table
    if not table:
        raise UsageError.of("query-not-written", table=Setting("--format-option", ("table=NAME",)))
    return table
