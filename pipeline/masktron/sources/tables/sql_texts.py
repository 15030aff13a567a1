"""Names and texts as SQL has them."""

from __future__ import annotations


def quoted(name: str) -> str:
    """Return a name in quotes."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Return a text in quotes."""
    return "'" + text.replace("'", "''") + "'"
