"""``masktron suggest``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from masktron.cli import options, running
from masktron.cli.given import inputs_beside, settings_file, settings_from


def suggest(
    data: options.Data,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="RULES.sch", help="The rulebook of what is accepted.")
    ] = None,
    accept: Annotated[
        list[str] | None,
        typer.Option(
            metavar="all|1,3,5-8|ID",
            help="Proposals to write, by number or id; all leaves out those that follow from others; repeatable. "
            "Without it nothing is written.",
        ),
    ] = None,
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
    json: options.Json = None,
) -> None:
    """Propose rules that the data suggest, each with what speaks for it; write those that are accepted.

    The output shows values and says that it is confidential.
    """
    running.check_outputs(
        {"--out": out, "--json": json},
        {"the data": data, "the metadata": metadata, "the settings": settings_file(config)},
    )
    settings = settings_from(config, locals())
    running.check_outputs({"--out": out, "--json": json}, inputs_beside(settings))
    accepted = [one.strip() for given in accept or [] for one in given.split(",") if one.strip()]
    with running.progress_shown() as progress:
        from masktron.jobs.suggest import run_suggest

        result = run_suggest(data, out, accept=accepted, config=settings, progress=progress)
    running.report(result, json, found=settings.found)
