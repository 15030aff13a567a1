"""What the catalogue of PostgreSQL says: of a table, of its columns, and of enumerations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from masktron.addresses import Address
from masktron.errors import DocumentError
from masktron.problems.problem import Known, Sentence
from masktron.sources.tables.postgresql.server_types import PostgresColumn
from masktron.sources.tables.sql_texts import quoted

_RELATIONS = """
    SELECT CASE WHEN pg_table_is_visible(c.oid) THEN c.relname::text
        ELSE n.nspname::text || '.' || c.relname::text END
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'v', 'm', 'p', 'f') AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
    ORDER BY 1
"""
_COLUMNS = """
    SELECT a.attname::text, format_type(a.atttypid, a.atttypmod), a.attnotnull,
        coalesce(col_description(a.attrelid, a.attnum), ''), a.atthasdef OR a.attidentity <> ''
    FROM pg_attribute a WHERE a.attrelid = {oid} AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_KEY = """
    SELECT a.attname::text FROM pg_index i CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY AS k(attnum, place)
    JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
    WHERE i.indrelid = {oid} AND i.indisprimary ORDER BY k.place
"""
_BESIDE = """
    SELECT (SELECT count(*) FROM pg_index WHERE indrelid = {oid}),
        (SELECT count(*) FROM pg_constraint WHERE conrelid = {oid} AND contype IN ('c', 'f')),
        (SELECT count(*) FROM pg_trigger WHERE tgrelid = {oid} AND NOT tgisinternal),
        coalesce(obj_description({oid}, 'pg_class'), ''),
        pg_postmaster_start_time()::text || ' ' ||
        (SELECT oid::text FROM pg_database WHERE datname = current_database()) || ' {oid}'
"""
_ENUMERATIONS = """
    SELECT t.typname::text, format_type(t.oid, NULL), e.enumlabel::text
    FROM pg_enum e JOIN pg_type t ON t.oid = e.enumtypid ORDER BY t.oid, e.enumsortorder
"""


@dataclass(frozen=True, slots=True)
class QueriedTable:
    """The query that reads a table, and what the catalogue says of it.

    Attributes
    ----------
    source : str
        The query.
    columns : mapping of str to PostgresColumn
        Nothing where the query is the user's own.
    comment, identity : str
        As a `PostgresCarried` has them.
    notes : tuple of str
        What of the table is not written again.
    """

    source: str
    columns: Mapping[str, PostgresColumn] = field(default_factory=dict)
    comment: str = ""
    identity: str = ""
    notes: tuple[Sentence, ...] = ()


def table_in_catalogue(cursor: Any, oid: int) -> QueriedTable:
    """Return the query that reads a table in the order of its primary key, and what is known of it."""
    cursor.execute(_COLUMNS.format(oid=oid))
    found = cursor.fetchall()
    columns = {name: PostgresColumn(declared, required, comment) for name, declared, required, comment, _ in found}
    cursor.execute(_KEY.format(oid=oid))
    key = [quoted(name) for (name,) in cursor.fetchall()]
    cursor.execute(f"SELECT {oid}::regclass::text")
    source = f"TABLE {cursor.fetchone()[0]}{' ORDER BY ' if key else ''}{', '.join(key)}"
    indices, checks, triggers, comment, identity = _beside(cursor, oid)
    lost = [
        f"{count} {what}"
        for count, what in ((indices, "indices and keys"), (checks, "checks and foreign keys"))
        if count
    ]
    lost += [f"{triggers} triggers"] if triggers else []
    if computed := [name for name, _, _, _, default in found if default]:
        lost.append(f"how values of {', '.join(computed)} come about where none is given")
    note = f"of the table of PostgreSQL are not written again: {'; '.join(lost)}" if lost else ""
    return QueriedTable(source, columns, comment, identity, (note,) if note else ())


def oid_of(cursor: Any, table: str) -> int | None:
    """Return the number of a table in the catalogue; None where there is none of this name."""
    cursor.execute("SELECT to_regclass($1)::oid::bigint", (qualified(table),))
    found: int | None = cursor.fetchone()[0]
    return found


def qualified(table: str) -> str:
    """Return the name of a table as SQL has it, with its schema where one is said."""
    return ".".join(map(quoted, table.split(".", 1)))


def identity_of(cursor: Any, oid: int) -> str:
    """Return what tells a table of a server from every other one."""
    return _beside(cursor, oid)[4]


def _beside(cursor: Any, oid: int) -> tuple[int, int, int, str, str]:
    cursor.execute(_BESIDE.format(oid=oid))
    indices, checks, triggers, comment, identity = cursor.fetchone()
    return indices, checks, triggers, comment, identity


def enumerations(cursor: Any) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Return how the types of enumerations are declared, and their values, by their names."""
    cursor.execute(_ENUMERATIONS)
    names: dict[str, str] = {}
    categories: dict[str, list[str]] = {}
    for name, declared, label in cursor.fetchall():
        names[name] = declared
        if label not in categories.setdefault(name, []):
            categories[name].append(label)
    return names, categories


def no_table(cursor: Any, address: Address) -> DocumentError:
    """Return the error of a table that is not there."""
    cursor.execute(_RELATIONS)
    known = [name for (name,) in cursor.fetchall()]
    found = Known(address.table, tuple(known))
    return DocumentError.of("unknown-name", address.shown, kind="table", name=address.table, known=found)
