"""``masktron formats``."""

from __future__ import annotations

from typing import Annotated

import typer

from masktron.cli import running
from masktron.cli.options import Json


def formats(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Explain this one.", show_default="all")
    ] = None,
    json: Json = None,
) -> None:
    """List the formats of microdata, or explain one: ends of names, and what may be said of a file."""
    from masktron.report.tables.formats import formats_dict, formats_tables
    from masktron.sources.known_formats import known_formats

    running.check_outputs({"--json": json}, {})
    wanted = known_formats(name)
    running.show(formats_tables(wanted, alone=name is not None), json)
    running.write(formats_dict(wanted), json)
