"""SQLite databases, where each cell has a type of its own. One table, or what a query returns, is the table.

The library of Python reads and writes them. It gives each cell in its type and can be interrupted; ADBC and DuckDB
have one type for a column, and change or refuse cells of others.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from masktron.errors import DocumentError, UsageError
from masktron.files import refuse_special
from masktron.problems.problem import Field, Place
from masktron.sources.dataset import Dataset
from masktron.sources.lexical import parse_number
from masktron.sources.tables.arrow_files import typed_column
from masktron.sources.tables.arrow_lexemes import lexemes_of
from masktron.sources.tables.arrow_values import no_room
from masktron.sources.tables.column_names import xml_names
from masktron.sources.tables.column_strings import column_of
from masktron.sources.tables.database_files import (
    BY_QUERY,
    OPTIONS,
    chosen,
    not_written,
    quoted,
    within_time,
    written_name,
)
from masktron.sources.tables.release import Release
from masktron.sources.tables.table_format import Options, TableFormat
from masktron.sources.variables import NONE, UNTYPED, Typed, Variable

_LARGE = 1 << 63
_ROWS = 1 << 14
"""Rows that are Python objects at once."""
_SQLITE = "an SQLite database"
_TABLES = (
    "SELECT name, type FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT GLOB 'sqlite_*' ORDER BY 1"
)
_CELLS: tuple[type[Any], ...] = (type(None), int, float, str)
"""Types of cells as Python has them; bytes are refused."""
_ARROW = (pa.null(), pa.int64(), pa.float64(), pa.string())
_NAMES = ("null", "integer", "real", "text")
_DECLARED = {pa.int64(): "INTEGER", pa.float64(): "REAL", pa.string(): "TEXT"}
_PLACES = {kind: place for place, kind in enumerate(_CELLS)}
_CONSTRAINT = "AS|CHECK|COLLATE|CONSTRAINT|DEFAULT|GENERATED|NOT|NULL|PRIMARY|REFERENCES|UNIQUE"
_PLAIN_TYPE = re.compile(rf"(?!.*\b({_CONSTRAINT})\b)[^\W\d]\w*( \w+)*( ?\(\d+(, ?\d+)?\))?", re.IGNORECASE)
"""A declared type that is a name and nothing more; SQLite lets any text be one, which may be SQL of its own."""
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`|\[[^]]*\]|--[^\n]*|/\*.*?(?:\*/|$)", re.DOTALL)
"""What is no word of SQL: texts, names in quotation marks, comments."""
_COMPUTED = (2, 3)
"""What `pragma_table_xinfo` says of generated columns."""
_TEXT_TYPE = re.compile("CHAR|CLOB|TEXT", re.IGNORECASE)
_MADE_NUMBERS = r"^\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*$"
"""Texts of which SQLite makes numbers, unless a column is declared as one of texts."""


@dataclass(frozen=True, slots=True, eq=False)
class SqliteCarried:
    """What is kept of a table.

    Attributes
    ----------
    table : str
        Its name, that of the released table too; empty for a query.
    declared : mapping of str to str
        The type that each column was declared with, where it is plain and its cells are what it makes of them.
    kinds : mapping of str to ndarray of int8
        The type of each cell, as its place in `_CELLS`, by the name of the field.
    """

    table: str
    declared: Mapping[str, str]
    kinds: Mapping[str, NDArray[np.int8]]


class SqliteFormat(TableFormat):
    """SQLite, where each cell has a type of its own."""

    name: ClassVar[str] = "sqlite"
    options: ClassVar[Mapping[str, str]] = OPTIONS
    choosing: ClassVar[frozenset[str]] = frozenset(OPTIONS)
    tells_empty: ClassVar[bool] = True
    exact_digits: ClassVar[int | None] = 0
    compared: ClassVar[bool] = True
    journals: ClassVar[tuple[str, ...]] = ("-wal", "-journal")

    def read(self, path: Path, options: Options) -> Dataset:
        """Read a table, each cell with its type."""
        where = str(path)
        with _sqlite(path) as connection:
            found = dict(connection.execute(_TABLES))
            table, query = chosen(options, list(found), where)
            notes = tuple(_not_written(connection, table, len(found) - 1)) if table else ()
            types = {row[1]: row[2] for row in connection.execute(f"PRAGMA table_info({quoted(table)})")}
            with within_time(path, connection.interrupt, computed=found.get(table) != "table"):
                connection.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
                cursor = connection.execute(query)
                columns = [one[0] for one in cursor.description]
                blocks: list[list[tuple[pa.Array, NDArray[np.int8]]]] = [[] for _ in columns]
                for number, rows in enumerate(iter(partial(cursor.fetchmany, _ROWS), [])):
                    for column, cells, block in zip(columns, zip(*rows, strict=True), blocks, strict=True):
                        block.append(_read_cells(cells, column, where, number * _ROWS))
        variables, lexemes, kinds, declared = [], {}, {}, {}
        for name, column, block in zip(xml_names(columns, where), columns, blocks, strict=True):
            lexemes[name] = pa.chunked_array([texts for texts, _ in block], pa.string())
            kinds[name] = np.concatenate([np.zeros(0, np.int8), *(kinds for _, kinds in block)])
            typed, stored = _types(_names(kinds[name]))
            variables.append(Variable(name, column, typed=typed, stored=stored))
            if _keeps(types.get(column, ""), lexemes[name], kinds[name]):
                declared[column] = types[column]
        size = max(map(len, kinds.values()), default=0)
        dataset = Dataset.of_columns(path, map(column_of, variables, lexemes.values()), size)
        return replace(dataset, format_state=SqliteCarried(table, declared, kinds), notes=notes)

    def form(self, table: Dataset) -> Iterator[str]:
        """Say which declared types no new file takes over."""
        plain = {"", *_DECLARED.values()}
        if own := {name: kind for name, kind in table.format_state.declared.items() if kind.upper() not in plain}:
            yield f"declared types: {', '.join(f'{name} ({kind})' for name, kind in own.items())}"

    def write(self, target: Path, release: Release, options: Options = NONE) -> None:
        """Write a database with this table alone; cells that have not changed have the type that they had."""
        like: SqliteCarried | None = release.original.format_state
        columns = []
        for variable in release.variables:
            before = None if like is None else like.kinds[variable.name]
            if like is None or before is None or (variable.recoded and _types(_names(before))[1] != variable.stored):
                column = typed_column(variable, release.cells(variable.name), _held)
                columns.append((variable.column, _DECLARED[column.type], column.to_pylist()))
            else:
                declared = like.declared.get(variable.column, "")
                columns.append((variable.column, declared, _kept(release, variable, before)))
        _write(target, options.get("table", "data") if like is None else written_name(release), columns)


def _not_written(connection: sqlite3.Connection, table: str, others: int) -> Iterator[str]:
    """Say what of a table, or a view, is not written again."""
    columns = connection.execute('SELECT pk, "notnull", dflt_value, hidden FROM pragma_table_xinfo(?)', [table])
    key, required, default, hidden = (np.array(list(columns), dtype=object).reshape(-1, 4)).T
    origins = [origin for (origin,) in connection.execute("SELECT origin FROM pragma_index_list(?)", [table])]
    (foreign,) = connection.execute("SELECT count(DISTINCT id) FROM pragma_foreign_key_list(?)", [table]).fetchone()
    said = "SELECT type, sql FROM sqlite_schema WHERE tbl_name = ? COLLATE NOCASE AND type IN ('table', 'trigger')"
    made = connection.execute(said, [table]).fetchall()
    words = _QUOTED.sub("", "".join(sql for kind, sql in made if kind == "table")).upper()
    lost = {
        # an INTEGER PRIMARY KEY has no index
        "keys and indices": len(origins) + (bool(key.any()) and "pk" not in origins),
        "foreign keys": foreign,
        "NOT NULL": int(np.count_nonzero(required)),
        "checks": len(re.findall(r"\bCHECK\s*\(", words)),
        "defaults": sum(value is not None for value in default),
        "collations": len(re.findall(r"\bCOLLATE\b", words)),
        "how columns are computed": sum(value in _COMPUTED for value in hidden),
        "triggers": sum(kind == "trigger" for kind, _ in made),
    }
    yield from not_written("SQLite", lost, others)


def _kept(release: Release, variable: Variable, before: NDArray[np.int8]) -> list[object]:
    """Return the cells of a column, new ones in types that it has."""
    there, changed = _names(before), release.changed(variable.name)
    texts = release.cells(variable.name).to_pylist()
    return [
        None if text is None else _masked(text, there, variable.column) if new else _CELLS[kind](text)
        for text, kind, new in zip(texts, before[release.rows].tolist(), changed.tolist(), strict=True)
    ]


@contextmanager
def _sqlite(path: Path) -> Iterator[sqlite3.Connection]:
    refuse_special(path, DocumentError)
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro", uri=True)) as connection:
            # views and triggers of a file call no function that does more than compute
            connection.execute("PRAGMA trusted_schema = OFF")
            yield connection
    except sqlite3.Error as error:
        if path.is_file() and not isinstance(error, sqlite3.DatabaseError):
            raise
        raise DocumentError.of("file-damaged", path, format=_SQLITE, detail=str(error)) from error


def _read_cells(values: Sequence[object], column: str, where: str, before: int) -> tuple[pa.Array, NDArray[np.int8]]:
    """Return the lexemes and the types of some cells of a column, before which others stand.

    Raises
    ------
    DocumentError
        A cell has no text form.
    """
    kinds = np.array([_PLACES.get(type(value), -1) for value in values], np.int8)
    if -1 in kinds:
        raise _unread(column, where, before + int(np.argmin(kinds)), "bytes, which have no text form")
    found = pa.nulls(len(values), pa.string())
    for place in np.unique(kinds[kinds > 0]):
        own = [value if kind == place else None for value, kind in zip(values, kinds, strict=True)]
        try:
            typed = pa.chunked_array([pa.array(own, _ARROW[place])])
        except UnicodeEncodeError:
            row = next(at for at, text in enumerate(own) if re.search("[\udc80-\udcff]", str(text)))
            raise _unread(column, where, before + row, "a text that is not UTF-8") from None
        found = pc.coalesce(found, lexemes_of(typed, column, where, before).combine_chunks())
    return found, kinds


def _unread(column: str, where: str, row: int, detail: str) -> DocumentError:
    place = Place(where, record=row + 1)
    return DocumentError.of("column-not-readable", place, field=Field(column), detail=detail, how=BY_QUERY)


def _keeps(declared: str, lexemes: pa.ChunkedArray, kinds: NDArray[np.int8]) -> bool:
    """Whether a declared type is plain, and makes neither numbers of texts nor texts of numbers.

    Cells of a table are what its types have made of them. Those of a view may be others than its types say, and a
    STRICT table has types that mean something else in any other.
    """
    if not _PLAIN_TYPE.fullmatch(declared):
        return False
    if _TEXT_TYPE.search(declared) and "INT" not in declared.upper():
        return _names(kinds) <= {"text"}
    texts = lexemes.filter(pa.array(kinds == _PLACES[str]))
    return not pc.any(pc.match_substring_regex(texts, _MADE_NUMBERS)).as_py()


def _names(kinds: NDArray[np.int8]) -> set[str]:
    return {_NAMES[kind] for kind in np.unique(kinds)} - {"null"}


def _types(there: set[str]) -> tuple[Typed, pa.DataType | None]:
    """Return what types of cells say of the values of a column, and the type that holds them elsewhere."""
    stored = _ARROW[_NAMES.index(next(iter(there)))] if len(there) == 1 else None
    if there == {"text"}:
        return Typed(text=True), stored
    return Typed(bits=53) if "real" in there and "text" not in there else UNTYPED, stored


def _masked(text: str, there: set[str], column: str) -> object:
    """Return a masked value in a type that its column has."""
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


def _held(kind: pa.DataType) -> pa.DataType:
    """Return the type of cells that holds the values of a type: text where there is no other."""
    if pa.types.is_integer(kind) and kind != pa.uint64():
        return pa.int64()
    return pa.float64() if pa.types.is_floating(kind) else pa.string()


def _write(target: Path, table: str, columns: Sequence[tuple[str, str, list[object]]]) -> None:
    """Write columns, each with its name and its declared type, in one transaction; what is there is an empty file.

    Raises
    ------
    UsageError
        SQLite cannot hold them.
    """
    listed = ", ".join(f"{quoted(name)} {kind}".strip() for name, kind, _ in columns)
    into = f"INSERT INTO {quoted(table)} VALUES ({', '.join('?' * len(columns))})"  # noqa: S608 -- quoted
    with closing(sqlite3.connect(target)) as connection:
        connection.execute("PRAGMA journal_mode = MEMORY")
        try:
            with connection:
                connection.execute("BEGIN")
                connection.execute(f"CREATE TABLE {quoted(table)} ({listed})")
                connection.executemany(into, zip(*(values for *_, values in columns), strict=True))
        except (sqlite3.OperationalError, sqlite3.IntegrityError) as error:
            raise UsageError.of("cannot-hold", format="SQLite", detail=f"this table: {error}") from error
