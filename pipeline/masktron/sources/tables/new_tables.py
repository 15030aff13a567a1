"""New tables in databases: judged where nobody sees them, and there at once or not at all.

A server has the new table in a transaction, where it is read back and judged. SQLite and DuckDB have it in a file of
its own first, since no second reader sees what their transactions have not ended: when that is judged, it is copied
to its database in one transaction, and compared there before that ends. Where it replaces a table, no row of that
stays in the file: SQLite overwrites them, and a database of DuckDB is written anew without them.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import Any, ClassVar

from masktron.addresses import Address, AddressPath
from masktron.errors import DocumentError, UsageError
from masktron.extras import library
from masktron.files import refuse_special, same_file
from masktron.scratch import locked_file, private_folder, remove_abandoned
from masktron.sources.tables.arrow_files import table_of
from masktron.sources.tables.database_files import literal, quoted
from masktron.sources.tables.duckdb_files import duckdb_connection
from masktron.sources.tables.postgresql.connection import taken
from masktron.sources.tables.postgresql.transaction import postgres_writing
from masktron.sources.tables.two_readings import differences

_STAGED, _COPIED, _ANEW = "masktron_staged", "masktron_copied", "masktron_anew"
_PATIENCE = 60.0
"""Seconds to wait for another process that writes to the same database."""


class FileWriting(ABC):
    """A table of a database that is a file.

    Parameters
    ----------
    address : Address
    staged : Path
        The database of its own, in which it is judged.
    replaces : bool
        A table of this name is dropped in the same transaction.
    """

    beside: ClassVar[tuple[str, ...]] = ()

    def __init__(self, address: Address, staged: Path, *, replaces: bool) -> None:
        self.staged, self.address, self.replaces = staged, address, replaces
        self.path = Path(address.connection)
        self._new = not self.path.exists()
        self._connection: Any = None

    def require_free(self) -> None:
        """Refuse a name that is taken, and what is no database.

        Raises
        ------
        DocumentError, UsageError
        """
        refuse_special(self.path, DocumentError)
        if not self.path.parent.is_dir():
            raise UsageError.of("no-folder-for-output", self.address.shown, output="the database")
        if not self._new:
            with self._errors(), closing(self._connect()) as connection:
                self._require_free(connection)

    def is_view(self) -> bool:
        """Whether the table of the address is what a query shows of others."""
        if self._new:
            return False
        with self._errors(), closing(self._connect()) as connection:
            return connection.execute(self._view, [self.address.table]).fetchone() is not None

    def ready(self) -> None:
        """Copy the table in a transaction, and compare it with the one that was judged.

        Raises
        ------
        DocumentError, UsageError
            The name is taken by now, the database cannot be written to, or has something else than was written.
        """
        with self._errors():
            self._new = not self.path.exists()  # by now
            self._connection = connection = self._connect()
            self._forget_dropped(connection)
            connection.execute(f"ATTACH {literal(str(self.staged))} AS {_STAGED}")
            connection.execute(self._begin)
            if self.replaces:
                connection.execute(f"DROP TABLE IF EXISTS {quoted(self.address.table)}")
            self._require_free(connection)
            if not self._copied(connection):
                raise DocumentError.of("readings-differ", self.address.shown, what="the table that was written")

    def commit(self) -> None:
        """End the transaction: from here on the table is there."""
        with self._errors():
            self._connection.execute("COMMIT")
        self._new = False

    def close(self) -> None:
        """Leave the database; a transaction that has not ended is rolled back, and a file made for it removed."""
        if self._connection is None:
            return
        self._connection.close()
        if self._new and self._is_empty():
            for end in ("", *self.beside):
                self.path.with_name(f"{self.path.name}{end}").unlink(missing_ok=True)

    def _is_empty(self) -> bool:
        """Whether the database that was made for the table has none: another process may have written one by now."""
        with self._errors(), closing(self._connect()) as connection:
            return connection.execute(self._any_table).fetchone() is None

    def _require_free(self, connection: Any) -> None:
        if self._exists(connection) and (self._connection is not None or not self.replaces):
            raise taken(self.address)

    _begin: ClassVar[str] = "BEGIN"
    _view: ClassVar[str]
    """Finds a view by its name."""
    _any_table: ClassVar[str]
    """Finds a table or a view."""

    @abstractmethod
    def _connect(self) -> Any: ...

    @abstractmethod
    def _forget_dropped(self, connection: Any) -> None:
        """See to it that no row of a table that is replaced stays in the file."""

    @abstractmethod
    def _errors(self) -> Any: ...

    @abstractmethod
    def _exists(self, connection: Any) -> bool: ...

    @abstractmethod
    def _copied(self, connection: Any) -> bool:
        """Copy the table, and return whether it reads as the one that was judged."""


class _SqliteWriting(FileWriting):
    beside = ("-journal", "-wal", "-shm")
    _begin = "BEGIN IMMEDIATE"
    _view = "SELECT 1 FROM main.sqlite_schema WHERE type = 'view' AND lower(name) = lower(?)"
    _any_table = "SELECT 1 FROM main.sqlite_schema"

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            reason = str(error)
            raise DocumentError.of("database-error", self.address.shown, database="SQLite", reason=reason) from error

    def _forget_dropped(self, connection: Any) -> None:
        connection.execute("PRAGMA secure_delete = ON")

    def _exists(self, connection: Any) -> bool:
        question = "SELECT 1 FROM main.sqlite_schema WHERE lower(name) = lower(?)"
        return connection.execute(question, (self.address.table,)).fetchone() is not None

    def _copied(self, connection: Any) -> bool:
        ((name,),) = connection.execute(f"SELECT name FROM {_STAGED}.sqlite_schema WHERE type = 'table'")  # noqa: S608
        declared = connection.execute(f"PRAGMA {_STAGED}.table_info({quoted(name)})").fetchall()
        listed = ", ".join(f"{quoted(column)} {kind}".strip() for _, column, kind, *_ in declared)
        here, there = f"main.{quoted(self.address.table)}", f"{_STAGED}.{quoted(name)}"
        connection.execute(f"CREATE TABLE {here} ({listed})")
        connection.execute(f"INSERT INTO {here} SELECT * FROM {there}")  # noqa: S608 -- quoted
        cells = ", ".join(f"typeof({column}), {column}" for column in (quoted(one[1]) for one in declared))
        rows = (connection.execute(f"SELECT {cells} FROM {table}") for table in (here, there))  # noqa: S608
        return all(own == other for own, other in zip_longest(*rows))


class _DuckdbWriting(FileWriting):
    beside = (".wal",)
    _view = "SELECT 1 FROM duckdb_views() WHERE lower(view_name) = lower(?)"
    _any_table = "SELECT 1 FROM information_schema.tables WHERE table_catalog = current_database()"
    _anew: Path | None = None
    """A database without the table that is replaced, which takes the place of the file."""
    _beside: Path | None = None
    """The same in the folder of the file."""

    def _connect(self) -> Any:
        return duckdb_connection(self.path)

    def _forget_dropped(self, connection: Any) -> None:
        # DuckDB leaves the rows of a dropped, replaced or truncated table in free blocks, also where it is copied and
        # dropped there; a checkpoint changes nothing
        if not (self.replaces and self._exists(connection)):
            return
        connection.execute("CHECKPOINT")  # so that nothing stands beside the file that takes its place
        question = (
            "SELECT database_name, tags['storage_version'] FROM duckdb_databases() "
            "WHERE database_name = current_database()"
        )
        ((own, version),) = connection.execute(question).fetchall()
        self._anew = self.staged.with_name("anew.duckdb")
        for name, place in ((_COPIED, self.staged.with_name("copied.duckdb")), (_ANEW, self._anew)):
            kept = f"(STORAGE_VERSION {literal(version.rstrip('+'))})"
            connection.execute(f"ATTACH {literal(str(place))} AS {name} {kept}")
        connection.execute(f"COPY FROM DATABASE {quoted(own)} TO {_COPIED}")
        connection.execute(f"DROP TABLE {_COPIED}.main.{quoted(self.address.table)}")
        connection.execute(f"COPY FROM DATABASE {_COPIED} TO {_ANEW}")
        connection.execute(f"USE {_ANEW}")

    def ready(self) -> None:
        """Copy the table, and write the database that takes the place of the file beside it, where there is one.

        Raises
        ------
        DocumentError, UsageError
        """
        super().ready()
        if self._anew is None:
            return
        with self._errors():
            for statement in ("COMMIT", f"USE {_STAGED}", f"DETACH {_ANEW}"):
                self._connection.execute(statement)
            remove_abandoned(self._file.parent)
            self._beside, self._descriptor = locked_file(self._file)
            with self._anew.open("rb") as made, self._beside.open("wb") as file:
                shutil.copyfileobj(made, file)
                file.flush()
                os.fsync(file.fileno())
            shutil.copymode(self._file, self._beside)

    def commit(self) -> None:
        """End the transaction, or give the new database its name: from here on the table is there."""
        if self._beside is None:
            super().commit()
            return
        with self._errors():
            # where no open file is replaced; elsewhere nobody else writes to it until then
            if sys.platform == "win32":
                self._connection.close()
            self._beside.replace(self._file)

    def close(self) -> None:
        """Leave the database, and remove what did not take the place of its file."""
        super().close()
        if self._beside is not None:
            self._beside.unlink(missing_ok=True)
            if self._descriptor is not None:
                os.close(self._descriptor)

    @property
    def _file(self) -> Path:
        return Path(os.path.realpath(self.path))

    @contextmanager
    def _errors(self) -> Iterator[None]:
        duckdb = library("duckdb", "a DuckDB database")
        try:
            yield
        except (duckdb.DataError, duckdb.IntegrityError) as error:  # their texts may quote a value
            reason = f"a value does not fit ({type(error).__name__})"
            raise DocumentError.of("database-error", self.address.shown, database="DuckDB", reason=reason) from None
        except (duckdb.Error, OSError) as error:
            reason = str(error).partition("\n")[0]
            raise DocumentError.of("database-error", self.address.shown, database="DuckDB", reason=reason) from error

    def _exists(self, connection: Any) -> bool:
        question = (
            "SELECT 1 FROM information_schema.tables WHERE table_catalog = current_database() "
            "AND table_schema = 'main' AND lower(table_name) = lower(?)"
        )
        return connection.execute(question, [self.address.table]).fetchone() is not None

    def _copied(self, connection: Any) -> bool:
        question = "SELECT table_name FROM information_schema.tables WHERE table_catalog = ?"
        ((name,),) = connection.execute(question, [_STAGED]).fetchall()
        here, there = quoted(self.address.table), f"{_STAGED}.main.{quoted(name)}"
        connection.execute(f"CREATE TABLE {here} AS SELECT * FROM {there}")  # noqa: S608 -- quoted
        own, other = (
            connection.sql(f"SELECT * FROM {table}").to_arrow_table()  # noqa: S608 -- quoted
            for table in (here, there)
        )
        shown = self.address.shown
        return bool(
            own.schema.equals(other.schema) and not any(differences(table_of(own, shown), table_of(other, shown)))
        )


_IN_FILES: dict[str, type[FileWriting]] = {"sqlite": _SqliteWriting, "duckdb": _DuckdbWriting}


@contextmanager
def new_table(out: AddressPath, *, replaces: bool) -> Iterator[AddressPath]:
    """Give an address to write a table to, which is there when the context ends, and nowhere if it ends by an error.

    Parameters
    ----------
    out : AddressPath
    replaces : bool
        A table of this name makes room for it in the same transaction; it is refused otherwise.

    Raises
    ------
    DocumentError, UsageError
        The database cannot be reached or written to, or has a table of this name.
    """
    address = out.address
    if address.query:
        raise UsageError.of("query-not-written", address.shown, table="?table=NAME")
    if not address.is_file:
        with postgres_writing(address, replaces=replaces) as session:
            yield from _written(AddressPath(address, session))
        return
    with private_folder() as folder:
        writing = _IN_FILES[address.scheme](address, folder / f"staged.{address.scheme}", replaces=replaces)
        try:
            writing.require_free()
            yield from _written(AddressPath(address, writing))
        finally:
            writing.close()


def _written(target: AddressPath) -> Iterator[AddressPath]:
    yield target
    make_ready(target)
    target.writing.commit()


def make_ready(target: AddressPath) -> None:
    """Do all that may fail in the writing of a table but the end of its transaction; once.

    Raises
    ------
    DocumentError, UsageError
    """
    if not target.ready:
        target.writing.ready()
        target.ready = True


def require_new_table(out: AddressPath, inputs: Collection[Path], *, replaces: bool) -> None:
    """Refuse, before anything is computed, a table that cannot be written or would take the place of the data.

    Parameters
    ----------
    out : AddressPath
    inputs : collection of Path
        What is read.
    replaces : bool

    Raises
    ------
    DocumentError, UsageError
    """
    address = out.address
    own = Path(address.connection) if address.is_file else None
    for path in inputs:
        same = _same_table(out, path) if isinstance(path, AddressPath) else own is not None and same_file(own, path)
        if same and isinstance(path, AddressPath):
            raise UsageError.of("would-overwrite", address.shown, output="the new table", taken="the data")
        if same:
            detail = "the new table would change the file, whose SHA-256 the manifest has"
            own_address = f"{address.scheme}:{path}?table=NAME"
            raise UsageError.of("database-file-in-use", address.shown, detail=detail, address=own_address)
        if replaces and isinstance(path, AddressPath) and _may_read(path, out):
            taken_by = "a table that the query or the view of the data may read"
            raise UsageError.of("would-overwrite", address.shown, output="the new table", taken=taken_by)
    if address.query:
        raise UsageError.of("query-not-written", address.shown, table="?table=NAME")
    if address.is_file:
        _IN_FILES[address.scheme](address, Path(), replaces=replaces).require_free()
    else:
        with postgres_writing(address, replaces=replaces):
            pass


def _may_read(data: AddressPath, out: AddressPath) -> bool:
    """Whether a query or a view may read another table of its database; a server keeps what its views read."""
    if data.address.scheme != out.address.scheme:
        return False
    if not data.address.is_file:
        return bool(data.address.query)
    if not same_file(Path(data.address.connection), Path(out.address.connection)):
        return False
    return bool(data.address.query) or _IN_FILES[data.address.scheme](data.address, Path(), replaces=False).is_view()


def _same_table(one: AddressPath, other: AddressPath) -> bool:
    if one.address.is_file and other.address.is_file:
        files = (Path(path.address.connection) for path in (one, other))
        return same_file(*files) and one.address.table.lower() == other.address.table.lower()
    return one == other
