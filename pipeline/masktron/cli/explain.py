"""``masktron explain``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from masktron.cli import options, running
from masktron.cli.given import inputs_beside, settings_file, settings_from
from masktron.errors import UsageError
from masktron.processes import rules_within


def explain(
    given: Annotated[
        Path,
        typer.Argument(
            metavar="RULES.sch", parser=options.place, help="Schematron rulebook; with --rules, the data."
        ),
    ],
    book: Annotated[
        Path | None,
        typer.Option("--rules", "-r", metavar="RULES.sch", help="Schematron rulebook, as other commands take it."),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(metavar="DATA.xml", parser=options.place, help="Also count, and plan the masking."),
    ] = None,
    original: options.Original = None,
    document: options.Document = None,
    config: options.Settings = None,
    role: options.RoleOptions = None,
    missing: options.MissingOptions = None,
    nominal: options.NominalOptions = None,
    ordinal: options.OrdinalOptions = None,
    numeric: options.NumericOptions = None,
    quasi_identifier: options.QuasiIdentifierOptions = None,
    allow: options.Allow = None,
    allow_unfired: options.AllowUnfired = None,
    k: options.K = None,
    method: options.MethodOption = None,
    param: options.Params = None,
    aggregator: options.AggregatorOption = None,
    grouping: options.Grouping = None,
    group_size_vars: options.GroupSizeVars = None,
    record: options.Record = None,
    format: options.Format = None,  # noqa: A002 -- the name of the option
    format_option: options.FormatOptions = None,
    metadata: options.Metadata = None,
    table: options.Tables = None,
    phase: options.Phase = None,
    rule_timeout: options.RuleTimeout = None,
    json: options.Json = None,
    html: options.Html = None,
) -> None:
    """Say of each rule its class and what it means in plain mathematics; with data, how it would be kept."""
    from masktron.config import parse_params

    if book is not None and data is not None:
        raise UsageError(
            "the rulebook is given twice", hint="explain RULES.sch --data DATA, or explain DATA --rules RULES.sch"
        )
    rules, data = (given, data) if book is None else (book, given)
    running.check_outputs(
        {"--json": json, "--html": html},
        {"the rulebook": rules, "the data": data, "the original": original, "the settings": settings_file(config)},
    )
    settings = settings_from(config, locals(), other=("method",)).choosing(method, parse_params(param or []))
    running.check_outputs({"--json": json, "--html": html}, inputs_beside(settings))
    with running.progress_shown() as progress, rules_within(settings.rule_timeout):
        from masktron.jobs.explain import run_explain

        result = run_explain(rules, data, config=settings, original=original, progress=progress)
    running.report(result, json, html, found=settings.found)
