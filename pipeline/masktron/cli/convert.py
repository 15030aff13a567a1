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
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            parser=options.place,
            help="The file, whose name says the format, or table.",
        ),
    ],
    format: options.Format = None,  # noqa: A002 -- the name of the option
    format_option: options.FormatOptions = None,
    metadata: options.Metadata = None,
    record: options.Record = None,
    rename: Annotated[
        list[str] | None,
        typer.Option(
            "--rename",
            metavar="OLD=NEW",
            help="Give a column another name, where the format of --out does not allow this one; repeatable.",
        ),
    ] = None,
    to: Annotated[
        str | None, typer.Option("--to", metavar="NAME", help="Format of --out, where its name does not say it.")
    ] = None,
    to_option: Annotated[
        list[str] | None,
        typer.Option("--to-option", metavar="NAME=VALUE", help="How --out is to be written; repeatable."),
    ] = None,
    replace: options.Replace = False,
    json: options.Json = None,
) -> None:
    """Write the records in another format, read them back, and say what that cannot hold. No value is ever lost.

    --record names the record element, in XML. --metadata says what variables mean; --out has of it what it can hold.
    """
    from masktron.config import ReadOptions, parse_format_options, parse_renames

    running.check_outputs({"--out": out, "--json": json}, {"the data": data, "the metadata": metadata})
    reading = ReadOptions(record, format, parse_format_options(format_option or []), metadata)
    names = parse_renames(rename or [])
    writing = ReadOptions(record, to, parse_format_options(to_option or [], "--to-option"))
    with running.progress_shown() as progress:
        from masktron.jobs.convert import run_convert

        result = run_convert(
            data, out, reading=reading, writing=writing, rename=names, replaces=replace, progress=progress
        )
    running.report(result, json)
