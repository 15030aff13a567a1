"""``masktron keys``."""

from __future__ import annotations

from typing import Annotated

import typer

from masktron.cli import options, running
from masktron.cli.given import inputs_beside, settings_file, settings_from
from masktron.processes import rules_within


def keys(
    data: options.Data,
    rules: options.Rules,
    recode: options.Recode = None,
    key_k: options.KeyK = None,
    allow_lost: options.AllowLost = None,
    config: options.Settings = None,
    role: options.RoleOptions = None,
    missing: options.MissingOptions = None,
    nominal: options.NominalOptions = None,
    ordinal: options.OrdinalOptions = None,
    numeric: options.NumericOptions = None,
    quasi_identifier: options.QuasiIdentifierOptions = None,
    invalid: Annotated[
        str | None,
        typer.Option(
            metavar="stop|exclude",
            help="What mask does with original records that break a rule; here they are left out in either case.",
            show_default="stop",
        ),
    ] = None,
    allow: options.Allow = None,
    allow_unfired: options.AllowUnfired = None,
    document: options.Document = None,
    record: options.Record = None,
    format: options.Format = None,  # noqa: A002 -- the name of the option
    format_option: options.FormatOptions = None,
    table: options.Tables = None,
    metadata: options.Metadata = None,
    phase: options.Phase = None,
    rule_timeout: options.RuleTimeout = None,
    verbose: options.Verbose = False,
    json: options.Json = None,
) -> None:
    """Say what keys tell, and try treatments: what they make of the risk and of the rules. Nothing is written."""
    settings = settings_from(config, locals())
    running.check_outputs(
        {"--json": json},
        {"the data": data, "the rulebook": rules, "the settings": settings_file(config), **inputs_beside(settings)},
    )
    with running.progress_shown() as progress, rules_within(settings.rule_timeout):
        from masktron.jobs.key_treatments import run_keys

        result = run_keys(data, rules, config=settings, progress=progress)
    running.report(result, json, verbose=verbose, found=settings.found)
