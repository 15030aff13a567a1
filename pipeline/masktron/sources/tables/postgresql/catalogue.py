"""What the catalogue of PostgreSQL says: of a table, of its columns, and of enumerations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from masktron.addresses import Address
from masktron.errors import DocumentError
from masktron.problems.problem import Known, Sentence
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
        coalesce(col_description(a.attrelid, a.attnum), ''), a.atthasdef OR a.attidentity <> '',
        array_position(i.indkey::int2[], a.attnum)
    FROM pg_attribute a LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary
    WHERE a.attrelid = {oid} AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_BESIDE = """
    SELECT (SELECT count(*) FROM pg_index WHERE indrelid = {oid}),
        (SELECT count(*) FROM pg_constraint WHERE conrelid = {oid} AND contype IN ('c', 'f')),
        (SELECT count(*) FROM pg_trigger WHERE tgrelid = {oid} AND NOT tgisinternal),
        {oid}::regclass::text, coalesce(obj_description({oid}, 'pg_class'), ''),
        pg_postmaster_start_time()::text || ' ' ||
        (SELECT oid::text FROM pg_database WHERE datname = current_database()) || ' {oid}'
"""
_ENUMERATIONS = """
    SELECT t.typname::text, format_type(t.oid, NULL), array_agg(e.enumlabel::text ORDER BY e.enumsortorder)
    FROM pg_enum e JOIN pg_type t ON t.oid = e.enumtypid GROUP BY t.oid
"""


@dataclass(frozen=True, slots=True)
class PostgresColumn:
    """How a column was declared.

    Attributes
    ----------
    declared : str
        Its type, as SQL has it; empty where that is what the driver makes of its values.
    required : bool
        It is NOT NULL.
    comment : str
    """

    declared: str = ""
    required: bool = False
    comment: str = ""


@dataclass(frozen=True, slots=True)
class PostgresTable:
    """A table, or what a query returns.

    Attributes
    ----------
    source : str
        The query that reads it.
    columns : mapping of str to PostgresColumn
        Nothing of the columns of a query.
    comment : str
    identity : str
        Which table of which server; empty for a query.
    notes : tuple of str
        What of the table is not written again.
    """

    source: str = ""
    columns: Mapping[str, PostgresColumn] = field(default_factory=dict)
    comment: str = ""
    identity: str = ""
    notes: tuple[Sentence, ...] = ()


def table_in_catalogue(cursor: Any, table: str, address: Address) -> PostgresTable:
    """Return a table that is read in the order of its primary key.

    Raises
    ------
    DocumentError
        There is none of this name.
    """
    oid = oid_of(cursor, table)
    if oid is None:
        cursor.execute(_RELATIONS)
        known = Known(table, tuple(name for (name,) in cursor.fetchall()))
        raise DocumentError.of("unknown-name", address.shown, kind="table", name=table, known=known)
    cursor.execute(_COLUMNS.format(oid=oid))
    found = cursor.fetchall()
    columns = {name: PostgresColumn(*declared) for name, *declared, _, _ in found}
    key = [quoted(name) for _, name in sorted((one[5], one[0]) for one in found if one[5] is not None)]
    cursor.execute(_BESIDE.format(oid=oid))
    *counts, name, comment, identity = cursor.fetchone()
    source = f"TABLE {name}{' ORDER BY ' if key else ''}{', '.join(key)}"
    kinds = ("indices and keys", "checks and foreign keys", "triggers")
    lost = [f"{count} {what}" for count, what in zip(counts, kinds, strict=True) if count]
    if computed := [one[0] for one in found if one[4]]:
        lost.append(f"how values of {', '.join(computed)} come about where none is given")
    note = f"of the table of PostgreSQL are not written again: {'; '.join(lost)}"
    return PostgresTable(source, columns, comment, identity, (note,) if lost else ())


def oid_of(cursor: Any, table: str) -> int | None:
    """Return the number of a table in the catalogue; None where there is none of this name."""
    cursor.execute("SELECT to_regclass($1)::oid::bigint", (qualified(table),))
    found: int | None = cursor.fetchone()[0]
    return found


def qualified(table: str) -> str:
    """Return the name of a table as SQL has it, with its schema where one is said."""
    return ".".join(map(quoted, table.split(".", 1)))


def enumerations(cursor: Any) -> dict[str, tuple[str, list[str]]]:
    """Return how each enumeration is declared, and its values in their order, by its name."""
    cursor.execute(_ENUMERATIONS)
    return {name: (declared, labels) for name, declared, labels in cursor.fetchall()}
