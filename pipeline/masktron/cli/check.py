"""``masktron check``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from masktron.cli import options, running
from masktron.cli.given import given_tables, inputs_beside, named_tables, settings_from
from masktron.processes import rules_within

if TYPE_CHECKING:
    from masktron.config import ReadOptions


def check(
    masked: options.Masked,
    rules: options.Rules,
    original: options.Original = None,
    document: options.Document = None,
    manifest: Annotated[Path | None, typer.Option(metavar="FILE", help="The manifest that mask wrote.")] = None,
    record: options.Record = None,
    format: options.Format = None,  # noqa: A002 -- the name of the option
    format_option: options.FormatOptions = None,
    table: options.MaskedTables = None,
    original_table: options.OriginalTables = None,
    metadata: options.Metadata = None,
    phase: options.Phase = None,
    config: options.Settings = None,
    max_failures: options.MaxFailures = None,
    allow_unfired: options.AllowUnfired = None,
    allow_empty: options.AllowEmpty = False,
    limit: options.Limits = None,
    quasi_identifier: options.QuasiIdentifierOptions = None,
    same_order: options.SameOrder = False,
    memory: options.Memory = None,
    workers: options.CheckWorkers = None,
    executor: options.Executor = None,
    scheduler: options.Scheduler = None,
    rule_timeout: options.RuleTimeout = None,
    verbose: options.Verbose = False,
    json: options.Json = None,
    html: options.Html = None,
) -> None:
    """Prove that a masked file complies: edits, group sizes, and with the original records, fields and domains."""
    from masktron.config import parse_limits
    from masktron.thresholds import parse_thresholds, thresholds

    running.check_outputs(
        {"--json": json, "--html": html},
        {"the masked file": masked, "the rulebook": rules, "the original": original, "the manifest": manifest},
    )
    settings = settings_from(config, locals(), other=("table", "max_failures"), judging=True)
    tables = given_tables(table, original_table)
    running.check_outputs({"--json": json, "--html": html}, {**inputs_beside(settings), **named_tables(tables)})
    with running.progress_shown() as progress, rules_within(settings.rule_timeout):
        from masktron.jobs.check import require_inputs, run_check
        from masktron.jobs.pairing import Stated

        require_inputs(parse_limits(limit or []), original, manifest)
        said = format is not None or bool(format_option)
        reading = settings.reading if said else _as_named(masked, original, settings.reading)
        result = run_check(
            masked,
            rules,
            original=original,
            documents=settings.documents,
            spare_documents=settings.spare_documents,
            manifest=manifest,
            reading=reading,
            original_reading=settings.reading,
            phase=settings.phase,
            max_failures={**thresholds(settings.max_failures), **parse_thresholds(max_failures or [])},
            limits=settings.limits,
            allow_unfired=settings.allow_unfired,
            allow_empty=allow_empty,
            config=settings,
            stated=Stated(same_order),
            tables=tables,
            progress=progress,
        )
    running.report(result, json, html, verbose=verbose, found=settings.found)
    raise typer.Exit(result.exit_code)


def _as_named(masked: Path, original: Path | None, reading: ReadOptions) -> ReadOptions:
    """Return how a masked file is read that was converted: settings say how files of the original's format are."""
    from masktron.sources.known_formats import format_of_name

    if original is None or format_of_name(masked) == format_of_name(original):
        return reading
    return replace(reading, format=None, options={})
