"""``masktron convert``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from masktron.cli import options, running


def convert(
    data: options.Data,
    out: Annotated[
        Path,
        typer.Argument(
            metavar="OUT", parser=options.place, help="The file to write, whose name says the format, or the table."
        ),
    ],
    format: options.Format = None,  # noqa: A002 -- the name of the option
    format_option: options.FormatOptions = None,
    record: options.Record = None,
    to: Annotated[
        str | None, typer.Option("--to", metavar="NAME", help="Format of OUT, where its name does not say it.")
    ] = None,
    to_option: Annotated[
        list[str] | None,
        typer.Option("--to-option", metavar="NAME=VALUE", help="How OUT is to be written; repeatable."),
    ] = None,
    replace: options.Replace = False,
    json: options.Json = None,
) -> None:
    """Write the records in another format, read them back, and say what that cannot hold. No value is ever lost.

    --record names the record element, in XML.
    """
    from masktron.config import ReadOptions, parse_format_options

    running.check_outputs({"OUT": out, "--json": json}, {"the data": data})
    reading = ReadOptions(record, format, parse_format_options(format_option or []))
    writing = ReadOptions(record, to, parse_format_options(to_option or [], "--to-option"))
    with running.progress_shown() as progress:
        from masktron.jobs.convert import run_convert

        result = run_convert(data, out, reading=reading, writing=writing, replaces=replace, progress=progress)
    running.report(result, json)
