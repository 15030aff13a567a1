"""``masktron assess``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from masktron.cli import options, running
from masktron.cli.given import given_tables, inputs_beside, named_tables, settings_file, settings_from


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
        list[Path] | None,
        typer.Option(
            metavar="EARLIER.xml",
            parser=options.place,
            help="An earlier release of the same respondents: how many values it and this one give away; repeatable.",
        ),
    ] = None,
    against_original: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DATA.xml",
            parser=options.place,
            help="What the earlier release was made of; one for each, in the same order.",
            show_default="the same original",
        ),
    ] = None,
    against_manifest: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="The manifest of the earlier release; one for each, in the same order.",
            show_default="the one beside it",
        ),
    ] = None,
    config: options.Settings = None,
    role: options.RoleOptions = None,
    missing: options.MissingOptions = None,
    nominal: options.NominalOptions = None,
    ordinal: options.OrdinalOptions = None,
    numeric: options.NumericOptions = None,
    quasi_identifier: options.QuasiIdentifierOptions = None,
    workers: Annotated[
        int | None,
        typer.Option(
            parser=options.integer, metavar="N", help="Threads; no figure depends on them.", show_default="cores"
        ),
    ] = None,
    memory: options.Memory = None,
    record: options.Record = None,
    format: options.Format = None,  # noqa: A002 -- the name of the option
    format_option: options.FormatOptions = None,
    table: options.MaskedTables = None,
    original_table: options.OriginalTables = None,
    metadata: options.Metadata = None,
    verbose: options.Verbose = False,
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
            **_named("the earlier release", against),
            **_named("the original of the earlier release", against_original),
            **_named("the manifest of the earlier release", against_manifest),
        },
    )
    from masktron.report.text import plain

    settings = settings_from(config, locals(), other=("table",))
    tables = given_tables(table, original_table)
    running.check_outputs({"--json": json, "--html": html}, {**inputs_beside(settings), **named_tables(tables)})
    with running.progress_shown() as progress:
        from masktron.jobs.assess import run_assess
        from masktron.jobs.pairing import Stated
        from masktron.jobs.twice import earlier_releases

        earlier = earlier_releases(against or [], against_original or [], against_manifest or [])
        result = run_assess(
            masked,
            original,
            manifest=manifest,
            config=settings,
            measures=None if measures is None else [name.strip() for name in measures.split(",")],
            class_field=class_field,
            stated=Stated(same_order),
            tables=tables,
            against=earlier,
            html=html,
            progress=progress,
        )
    running.report(result, json, verbose=verbose, found=settings.found)
    if html is not None:
        running.show([f"written, CONFIDENTIAL: {plain(html.as_posix())}"], json)


def _named(what: str, given: list[Path] | None) -> dict[str, Path | None]:
    """Inputs by what messages call them; of several, with a number."""
    if not given or len(given) == 1:
        return {what: given[0] if given else None}
    return {f"{what}, number {number}": path for number, path in enumerate(given, start=1)}
