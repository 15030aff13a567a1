"""The formats of microdata for the eye, and as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import RenderableType

from masktron.problems.wording import spelled
from masktron.report.tables.cells import table_of
from masktron.report.text import plain
from masktron.results import SCHEMA_VERSION
from masktron.sources.known_formats import XML, Format


def formats_tables(wanted: Sequence[Format], *, alone: bool) -> list[RenderableType]:
    """One row per format, or the options of one."""
    table = table_of()
    if not alone:
        for head in ("format", "what it is", "ends of names", "options"):
            table.add_column(head)
        for one in wanted:
            table.add_row(one.name, plain(one.what), " ".join(one.suffixes), plain(", ".join(_options(one))))
        return [
            table,
            "masktron formats NAME explains the options of one",
            "a table of a database has an address: postgresql://USER@HOST/DB?table=NAME, sqlite:FILE?table=NAME",
        ]
    (one,) = wanted
    for head in ("option", "what it says"):
        table.add_column(head)
    for name, what in _options(one).items():
        table.add_row(name, plain(what))
    said = f"{one.name}: {plain(one.what)}, {' '.join(one.suffixes)}"
    if not table.row_count:
        return [said, "it has no options"]
    return [said, table, spelled("each is given by [[--format-option NAME=VALUE]], or in settings as format_options")]


def formats_dict(wanted: Sequence[Format]) -> dict[str, Any]:
    """Return the formats as plain data."""
    return {
        "schema_version": SCHEMA_VERSION,
        "job": "formats",
        "formats": [
            {"name": one.name, "what": one.what, "suffixes": list(one.suffixes), "options": _options(one)}
            for one in wanted
        ],
    }


def _options(one: Format) -> dict[str, str]:
    return {} if one.name == XML else dict(one.load().options)
