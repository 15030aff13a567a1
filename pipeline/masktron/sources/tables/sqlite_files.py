"""SQLite databases, where each cell has a type of its own. One table, or what a query returns, is the table."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from masktron.errors import DocumentError, UsageError
from masktron.extras import library
from masktron.files import refuse_special
from masktron.problems.problem import Field, Place
from masktron.sources.column_forms import ColumnForm
from masktron.sources.lexical import parse_number
from masktron.sources.records import UNTYPED, Typed
from masktron.sources.tables.arrow_lexemes import is_text, plain
from masktron.sources.tables.arrow_values import no_room
from masktron.sources.tables.class_values import holds
from masktron.sources.tables.column_names import xml_names
from masktron.sources.tables.database_files import (
    BY_QUERY,
    OPTIONS,
    DatabaseCarried,
    TimeLimit,
    chosen,
    object_text,
    require_table,
)
from masktron.sources.tables.sql_texts import quoted
from masktron.sources.tables.table_format import LexemeRow, Options, SecondReading, TableFormat
from masktron.sources.tables.table_model import Table, TableRelease
from masktron.sources.variables import Variable

_LARGE = 1 << 63
_SQLITE = "an SQLite database"
_UNTRUSTED = "PRAGMA trusted_schema = OFF"
"""Views and triggers of a file call no function that does more than compute."""


class SqliteFormat(TableFormat):
    """SQLite, where each cell has a type of its own."""

    name: ClassVar[str] = "sqlite"
    options: ClassVar[Mapping[str, str]] = OPTIONS
    choosing: ClassVar[frozenset[str]] = frozenset(OPTIONS)
    tells_empty: ClassVar[bool] = True
    exact_digits: ClassVar[int | None] = 0
    journals: ClassVar[tuple[str, ...]] = ("-wal", "-journal")

    def read(self, path: Path, options: Options) -> Table:
        """Read a table with ADBC, each cell as text beside its type."""
        adbc = library("adbc_driver_sqlite.dbapi", "an SQLite database")
        where = str(path)
        with _sqlite(path) as plain_reader:
            kinds_of = dict(
                plain_reader.execute(
                    "SELECT name, type FROM sqlite_schema WHERE type IN ('table', 'view') "
                    "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
                )
            )
            table, query = chosen(options, list(kinds_of), where)
            computed = kinds_of.get(table) != "table"
            limit = TimeLimit(path, computed=computed)
            columns = _columns(plain_reader, query, limit)
            types = {}
            if computed:
                # ADBC cannot be interrupted: so this is tried here first
                for _ in limit.rows(partial(plain_reader.execute, query), plain_reader.interrupt):
                    pass
            if not options.get("query"):
                types = {row[1]: row[2] for row in plain_reader.execute(f"PRAGMA table_info({quoted(table)})")}
        names = xml_names(columns, where)
        listed = ", ".join(
            f"typeof({one}), CASE typeof({one}) WHEN 'real' THEN quote({one}) ELSE CAST({one} AS TEXT) END"
            for one in map(quoted, columns)
        )
        try:
            with closing(adbc.connect(_uri(path))) as connection, closing(connection.cursor()) as cursor:
                cursor.execute(_UNTRUSTED)
                cursor.execute(f"SELECT {listed} FROM ({query})")  # noqa: S608 -- quoted
                found = cursor.fetch_arrow_table()
        except adbc.Error as error:
            detail = "PRAGMA integrity_check says where it is damaged"
            raise DocumentError.of("file-damaged", where, format=_SQLITE, detail=detail) from error
        variables, cells, kinds = [], {}, {}
        for at, (name, column) in enumerate(zip(names, columns, strict=True)):
            these = np.array(found.column(2 * at).to_pylist(), dtype="U7")
            if (these == "blob").any():
                place = Place(f"{where}, table {table!r}", record=int(np.argmax(these == "blob")) + 1)
                raise _unread(place, column, "bytes, which have no text form")
            texts = _texts(found.column(2 * at + 1), column, where)
            lexemes = [
                _of_double(str(text), column, where) if kind == "real" else text
                for text, kind in zip(texts, these.tolist(), strict=True)
            ]
            cells[name], kinds[name] = pa.array(lexemes, type=pa.string()), these
            variables.append(Variable(name, column, typed=_typed(these), stored=_stored(these)))
        return Table(
            tuple(variables), pa.table(cells), carried=DatabaseCarried(table, query, limit, types, kinds=kinds)
        )

    def read_again(self, path: Path, table: Table) -> SecondReading:
        """Read the rows with the library of Python."""
        carried: DatabaseCarried = table.carried
        with _sqlite(path) as connection:
            columns = _columns(connection, carried.query, carried.limit)

        def rows() -> Iterator[LexemeRow]:
            with _sqlite(path) as again:
                for batch in carried.limit.rows(partial(again.execute, carried.query), again.interrupt):
                    for row in batch:
                        yield [object_text(value) for value in row]

        return SecondReading(columns, rows())

    def reshaped(self, table: Table, forms: Mapping[str, ColumnForm]) -> Table:
        """Return a table in which some columns are declared as texts, and have texts in all cells."""
        carried: DatabaseCarried = table.carried
        types, kinds = dict(carried.types), dict(carried.kinds or {})
        for variable in table.variables:
            form = forms.get(variable.name)
            if form is None or not form.values or _holds(variable, form):
                continue
            types[variable.column] = "TEXT"
            kinds[variable.name] = np.full(len(table), "text", dtype="U7")
        return replace(table, carried=replace(carried, types=types, kinds=kinds))

    def write(self, target: Path, release: TableRelease) -> None:
        """Write a database with this table alone; cells that have not changed have the type that they had."""
        require_table(release)
        carried: DatabaseCarried = release.original.carried
        columns = []
        for variable in release.variables:
            before = (carried.kinds or {})[variable.name]
            there = set(before.tolist()) - {"null"}
            kinds, changed = before[release.rows], release.changed(variable.name)
            texts = release.cells[variable.name].to_pylist()
            columns.append(
                [
                    _masked(text, there, variable.column) if other else _value(text, kind)
                    for text, kind, other in zip(texts, kinds.tolist(), changed.tolist(), strict=True)
                ]
            )
        declared = [(variable.column, carried.types.get(variable.column, "")) for variable in release.variables]
        _write_sqlite(target, carried.table, declared, columns)

    def create(self, target: Path, table: Table, options: Options) -> None:
        """Write a new database with one table."""
        columns, declared = [], []
        for variable in table.variables:
            texts = table.cells[variable.name].to_pylist()
            kind, values = _new_column(texts, variable)
            columns.append(values)
            declared.append((variable.column, kind))
        _write_sqlite(target, options.get("table", "data"), declared, columns)


def _holds(variable: Variable, form: ColumnForm) -> bool:
    """Whether cells of the types that a column has hold what is to be written."""
    kind = variable.stored
    return kind is not None and (is_text(kind) or holds(kind, form.values))


def _uri(path: Path) -> str:
    return f"file:{quote(str(path.resolve()))}?mode=ro"


def _columns(connection: sqlite3.Connection, query: str, limit: TimeLimit) -> tuple[str, ...]:
    with limit.counted(connection.interrupt):
        return tuple(one[0] for one in connection.execute(f"SELECT * FROM ({query}) LIMIT 0").description)  # noqa: S608


@contextmanager
def _sqlite(path: Path) -> Iterator[sqlite3.Connection]:
    refuse_special(path, DocumentError)
    try:
        with closing(sqlite3.connect(_uri(path), uri=True)) as connection:
            connection.execute(_UNTRUSTED)
            yield connection
    except sqlite3.Error as error:
        if path.is_file() and not isinstance(error, sqlite3.DatabaseError):
            raise
        detail = "a text is not UTF-8" if "decode" in str(error) else str(error)  # that would quote the value
        raise DocumentError.of("file-damaged", path, format=_SQLITE, detail=detail) from error


def _unread(place: Place, column: str, detail: str) -> DocumentError:
    return DocumentError.of("column-not-readable", place, field=Field(column), detail=detail, how=BY_QUERY)


def _texts(column: pa.ChunkedArray, name: str, where: str) -> list[str | None]:
    """Return the texts of a column, which a database holds in any encoding."""
    try:
        texts: list[str | None] = column.to_pylist()
    except UnicodeDecodeError:
        row = next(at for at, text in enumerate(column) if not _is_utf8(text.as_buffer()))
        raise _unread(Place(where, record=row + 1), name, "a text that is not UTF-8") from None
    return texts


def _is_utf8(text: pa.Buffer | None) -> bool:
    try:
        str(text or b"", "utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _of_double(text: str, column: str, where: str) -> str:
    number = float(text)
    if not np.isfinite(number):
        raise DocumentError.of("value-not-readable", where, field=Field(column), detail="an infinite number")
    return plain(Decimal(repr(number))) if number or text[0] != "-" else "-0"


def _typed(kinds: NDArray[np.str_]) -> Typed:
    there = set(kinds.tolist()) - {"null"}
    if there == {"text"}:
        return Typed(text=True)
    return Typed(bits=53) if there and there <= {"real", "integer"} and "real" in there else UNTYPED


def _stored(kinds: NDArray[np.str_]) -> pa.DataType | None:
    there = set(kinds.tolist()) - {"null"}
    known = {("integer",): pa.int64(), ("real",): pa.float64(), ("text",): pa.string()}
    return known.get(tuple(sorted(there)))


def _value(text: str | None, kind: str) -> object:
    if text is None:
        return None
    return int(text) if kind == "integer" else float(text) if kind == "real" else text


def _masked(text: str | None, there: set[str], column: str) -> object:
    """Return a masked value in a type that its column has."""
    if text is None:
        return None
    number = parse_number(text.strip())
    if there <= {"integer", "real"} and np.isfinite(number):
        exact = Decimal(text.strip())
        if "integer" in there and exact == exact.to_integral_value() and abs(exact) < _LARGE:
            return int(exact)
        if ("real" in there or not there) and Decimal(repr(float(number))) == exact:
            return float(number)
    if "text" in there or not there:
        return text
    raise no_room(column, f"it has {' and '.join(sorted(there))} values only")


def _new_column(texts: list[str | None], variable: Variable) -> tuple[str, list[object]]:
    """Return the declared type and the values of a new column: numbers where they come back the same, else text."""
    stored = variable.stored
    there = [text for text in texts if text is not None]
    if stored is not None and pa.types.is_integer(stored) and all(abs(int(text)) < _LARGE for text in there):
        return "INTEGER", [None if text is None else int(text) for text in texts]
    if stored is not None and pa.types.is_floating(stored):
        same = all(_of_double(repr(float(text)), "", "") == text for text in there)
        # a whole number that is a double would come back as one, and so is written as it is
        if same:
            return "REAL", [None if text is None else float(text) for text in texts]
    return "TEXT", list(texts)


def _write_sqlite(
    target: Path, table: str, declared: Sequence[tuple[str, str]], columns: Sequence[list[object]]
) -> None:
    """Write in one transaction; what is there is an empty file."""
    with closing(sqlite3.connect(target)) as connection:
        connection.execute("PRAGMA journal_mode = MEMORY")
        with connection:
            connection.execute("BEGIN")
            _fill(connection, table, declared, columns)


def _fill(
    connection: sqlite3.Connection, table: str, declared: Sequence[tuple[str, str]], columns: Sequence[list[object]]
) -> None:
    """Create a table with these rows, in the transaction that is open.

    Raises
    ------
    UsageError
        SQLite cannot hold it.
    """
    listed = ", ".join(f"{quoted(name)} {_declared(kind)}".strip() for name, kind in declared)
    try:
        connection.execute(f"CREATE TABLE {quoted(table)} ({listed})")
        marks = ", ".join("?" * len(declared))
        connection.executemany(
            f"INSERT INTO {quoted(table)} VALUES ({marks})",  # noqa: S608 -- quoted
            zip(*columns, strict=True),
        )
    except sqlite3.OperationalError as error:
        raise UsageError.of("cannot-hold", format="SQLite", detail=f"this table: {error}") from error


def _declared(kind: str) -> str:
    """Return a declared type without anything that would be SQL of its own."""
    return kind if all(letter.isalnum() or letter in " _(),." for letter in kind) else ""
