"""``masktron hierarchy``."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from masktron.cli import options, running
from masktron.cli.given import settings_file, settings_from


def _width(text: str) -> Fraction:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise typer.BadParameter(f"it must be a number, not {text!r}") from None


def hierarchy(
    data: options.Data,
    field: Annotated[str, typer.Option("--field", metavar="FIELD", help="The field whose values get labels.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The hierarchy, as CSV.")],
    width: Annotated[
        Fraction | None,
        typer.Option(parser=_width, metavar="W", help="Numbers in intervals of this width, which doubles by level."),
    ] = None,
    levels: Annotated[
        int | None,
        typer.Option(
            parser=options.integer,
            metavar="N",
            help="With --width: levels above the values, the last of them *.",
            show_default="4",
        ),
    ] = None,
    digits: Annotated[
        str | None,
        typer.Option(
            metavar="N,N", help="Codes by their beginnings: letters and digits that they keep, level by level."
        ),
    ] = None,
    config: options.Settings = None,
    missing: options.MissingOptions = None,
    record: options.Record = None,
    format: options.Format = None,  # noqa: A002 -- the name of the option
    format_option: options.FormatOptions = None,
    metadata: options.Metadata = None,
    json: options.Json = None,
) -> None:
    """Make a hierarchy of the values of a field, for masktron recode: look through it, and edit it."""
    running.check_outputs(
        {"--out": out, "--json": json},
        {"the data": data, "the metadata": metadata, "the settings": settings_file(config)},
    )
    settings = settings_from(config, locals(), other=("levels",))
    kept = None if digits is None else tuple(_whole(part) for part in digits.split(","))
    with running.progress_shown() as progress:
        from masktron.jobs.hierarchy import run_hierarchy

        result = run_hierarchy(
            data, out, field, width=width, levels=levels, digits=kept, config=settings, progress=progress
        )
    running.report(result, json, found=settings.found)


def _whole(text: str) -> int:
    from masktron.errors import UsageError

    try:
        return int(text)
    except ValueError:
        raise UsageError(f"--digits has {text.strip()!r}, which is no number", hint="such as --digits 3,2") from None
