"""``masktron assess``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from masktron.cli import options, running
from masktron.cli.given import settings_file, settings_from
from masktron.errors import UsageError


def assess(
    masked: options.Masked,
    original: Annotated[
        Path, typer.Option(metavar="DATA.xml", parser=options.place, help="The file that was masked, or table.")
    ],
    manifest: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The manifest that mask wrote: what was masked how, and in which order."),
    ] = None,
    measures: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Figures to compute, with commas between.", show_default="all"),
    ] = None,
    class_field: Annotated[
        str | None,
        typer.Option("--class", metavar="FIELD", help="Field that sorts records into classes, for their figures."),
    ] = None,
    same_order: options.SameOrder = False,
    against: Annotated[
        Path | None,
        typer.Option(
            metavar="EARLIER.xml",
            parser=options.place,
            help="An earlier release of the same respondents: how many values both give away together.",
        ),
    ] = None,
    against_original: Annotated[
        Path | None,
        typer.Option(
            metavar="DATA.xml",
            parser=options.place,
            help="What the earlier release was made of.",
            show_default="the same original",
        ),
    ] = None,
    against_manifest: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The manifest of the earlier release.", show_default="the one beside it"),
    ] = None,
    config: options.Settings = None,
    role: options.RoleOptions = None,
    missing: options.MissingOptions = None,
    nominal: options.NominalOptions = None,
    ordinal: options.OrdinalOptions = None,
    numeric: options.NumericOptions = None,
    workers: Annotated[
        int | None,
        typer.Option(
            parser=options.integer, metavar="N", help="Threads; no figure depends on them.", show_default="cores"
        ),
    ] = None,
    record: options.Record = None,
    format: options.Format = None,  # noqa: A002 -- the name of the option
    format_option: options.FormatOptions = None,
    metadata: options.Metadata = None,
    json: options.Json = None,
    html: options.Html = None,
) -> None:
    """Compare a masked file with its original: what risk is left, what the data are still good for, in plain words.

    Roles, kinds and missing codes count where there is no manifest.
    """
    running.check_outputs(
        {"--json": json, "--html": html},
        {
            "the masked file": masked,
            "the original": original,
            "the manifest": manifest,
            "the settings": settings_file(config),
            "the earlier release": against,
            "the original of the earlier release": against_original,
            "the manifest of the earlier release": against_manifest,
        },
    )
    from masktron.report.text import plain

    if against is None and (against_original is not None or against_manifest is not None):
        raise UsageError(
            "an original or a manifest of an earlier release was given, and no release",
            hint="give it with --against FILE",
        )
    settings = settings_from(
        config,
        role,
        missing,
        nominal,
        ordinal,
        numeric=numeric,
        workers=workers,
        record=record,
        format=format,
        format_option=format_option,
        metadata=metadata,
    )
    with running.progress_shown() as progress:
        from masktron.jobs.assess import run_assess
        from masktron.jobs.pairing import Stated
        from masktron.jobs.twice import Against

        result = run_assess(
            masked,
            original,
            manifest=manifest,
            config=settings,
            measures=None if measures is None else [name.strip() for name in measures.split(",")],
            class_field=class_field,
            stated=Stated(same_order),
            against=None if against is None else Against(against, against_original, against_manifest),
            html=html,
            progress=progress,
        )
    running.report(result, json)
    if html is not None:
        running.show([f"written, CONFIDENTIAL: {plain(html.as_posix())}"], json)
