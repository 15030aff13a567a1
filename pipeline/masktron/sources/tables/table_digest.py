"""The digest of the records of a table, for what is no file."""

from __future__ import annotations

import hashlib
import json

from masktron.sources.tables.table_model import Table

_ROWS = 1 << 14
"""Records that are Python objects at once."""


def record_digest(table: Table) -> str:
    """Return the SHA-256 of the records of a table, which says what its file or its server is no part of.

    It is that of UTF-8 text: the names of the columns, and then the lexemes of each record in the order of the table,
    each on a line as a JSON array without blanks, in ASCII, with ``null`` for what is missing; every line ends with a
    line feed.

    Parameters
    ----------
    table : Table

    Returns
    -------
    str
        In hexadecimal.
    """
    found = hashlib.sha256()
    write = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode
    found.update(f"{write([variable.column for variable in table.variables])}\n".encode())
    for batch in table.cells.to_batches(_ROWS):
        rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
        found.update("".join(f"{write(row)}\n" for row in rows).encode())
    return found.hexdigest()
