"""``masktron methods``."""

from __future__ import annotations

from typing import Annotated

import typer

from masktron.cli import running
from masktron.cli.options import Json


def methods(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Explain this one.", show_default="all")
    ] = None,
    json: Json = None,
) -> None:
    """List the masking methods, or explain one: what it does, when to choose it, its parameters and promises."""
    from masktron.methods import ALL, method_named
    from masktron.report.tables.methods import explained, methods_dict, methods_tables

    running.check_outputs({"--json": json}, {})
    wanted = ALL if name is None else (method_named(name),)
    tables = methods_tables(ALL) if name is None else explained(wanted[0])
    running.show(tables, json)
    running.write(methods_dict(wanted, ALL[0]), json)
