"""``masktron describe``."""

from __future__ import annotations

from typing import Annotated

import typer

from masktron.cli import options, running
from masktron.cli.given import inputs_beside, settings_file, settings_from


def describe(
    data: options.Data,
    rows: Annotated[
        int | None,
        typer.Option(parser=options.integer, metavar="N", help="Records to show.", show_default="20"),
    ] = None,
    start: Annotated[
        int | None,
        typer.Option(
            "--from", parser=options.integer, metavar="N", help="Number of the first of them.", show_default="1"
        ),
    ] = None,
    release_safe: Annotated[
        bool, typer.Option("--release-safe", help="Counts only: no record and no value in any output.")
    ] = False,
    config: options.Settings = None,
    role: options.RoleOptions = None,
    missing: options.MissingOptions = None,
    nominal: options.NominalOptions = None,
    ordinal: options.OrdinalOptions = None,
    numeric: options.NumericOptions = None,
    record: options.Record = None,
    format: options.Format = None,  # noqa: A002 -- the name of the option
    format_option: options.FormatOptions = None,
    metadata: options.Metadata = None,
    table: options.Tables = None,
    json: options.Json = None,
) -> None:
    """Say what a file holds: its fields, what mask would take them for and why, the first records, and problems.

    The output shows values of single records and says that it is confidential, unless --release-safe leaves them out.
    """
    running.check_outputs(
        {"--json": json}, {"the data": data, "the metadata": metadata, "the settings": settings_file(config)}
    )
    settings = settings_from(config, locals())
    running.check_outputs({"--json": json}, inputs_beside(settings))
    with running.progress_shown() as progress:
        from masktron.jobs.describe import ROWS, RowRange, run_describe

        shown = RowRange(ROWS if rows is None else rows, 1 if start is None else start)
        result = run_describe(data, config=settings, rows=shown, release_safe=release_safe, progress=progress)
    running.report(result, json, found=settings.found)
