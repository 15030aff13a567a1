"""``masktron validate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from masktron.cli import options, running
from masktron.cli.given import inputs_beside, settings_file, settings_from
from masktron.processes import rules_within
from masktron.report.formats import FORMATS

KEPT = 1000
"""Findings of each rule that `validate` keeps in memory to count rounding artefacts among, where no report does."""


def validate(
    context: typer.Context,
    data: options.Data,
    rules: options.Rules,
    original: options.Original = None,
    document: options.Document = None,
    record: options.Record = None,
    format: options.Format = None,  # noqa: A002 -- the name of the option
    format_option: options.FormatOptions = None,
    metadata: options.Metadata = None,
    table: options.Tables = None,
    phase: options.Phase = None,
    config: options.Settings = None,
    record_id: Annotated[
        str | None,
        typer.Option(
            metavar="FIELD",
            help="Field that names the record in reports.",
            show_default="the key of its level, the role record-id or identifier, else @id",
        ),
    ] = None,
    max_failures: options.MaxFailures = None,
    allow_unfired: options.AllowUnfired = None,
    allow_empty: options.AllowEmpty = False,
    svrl: Annotated[Path | None, options.report_option("svrl")] = None,
    csv: Annotated[Path | None, options.report_option("csv")] = None,
    verbose: options.Verbose = False,
    json: options.Json = None,
    sarif: Annotated[Path | None, options.report_option("sarif")] = None,
    junit: Annotated[Path | None, options.report_option("junit")] = None,
    html: options.Html = None,
    max_findings: Annotated[
        str | None,
        typer.Option(
            metavar="N|all",
            help="Findings per rule in JSON and SARIF; counts are always exact.",
            show_default="1000",
        ),
    ] = None,
    release_safe: Annotated[
        bool,
        typer.Option("--release-safe", help="Counts only: no value, id or place of a record in any output."),
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option(
            parser=options.integer,
            metavar="N",
            help="Processes that a large flat file is given to in slices; the result is the same for any number.",
            show_default="this process alone",
        ),
    ] = None,
    executor: options.Executor = None,
    scheduler: options.Scheduler = None,
    rule_timeout: options.RuleTimeout = None,
) -> None:
    """Evaluate every rule on every record: is this edited file fit for release?

    Reports show values of single records and say that they are confidential, unless --release-safe leaves them out.
    """
    # libxml2 reads a large file while the rest is loaded
    with running.progress_shown() as progress, running.judging(data) as judge:
        from masktron.executor.which import asked_executor
        from masktron.jobs.validate import run_validate
        from masktron.report.outputs import Outputs
        from masktron.report.rendering import tables_of
        from masktron.thresholds import parse_thresholds, thresholds

        most = _number_or_all(max_findings or f"{KEPT}")
        # the options svrl, csv, json, sarif, junit and html: each format has one of its name
        outputs = Outputs({name: context.params[name] for name in FORMATS}, most)
        inputs = {
            "the data": data,
            "the rulebook": rules,
            "the original": original,
            "the settings": settings_file(config),
            "the metadata": metadata,
        }
        running.check_outputs(outputs.files(), inputs)
        settings = settings_from(config, locals(), other=("max_failures",))
        running.check_outputs(outputs.files(), inputs_beside(settings))
        with rules_within(settings.rule_timeout):
            result = run_validate(
                data,
                rules,
                original=original,
                documents=settings.documents,
                spare_documents=settings.spare_documents,
                reading=settings.reading,
                phase=settings.phase,
                record_id=record_id,
                roles=settings.roles,
                limit=KEPT if outputs.limit is None else min(outputs.limit, KEPT),
                max_failures={**thresholds(settings.max_failures), **parse_thresholds(max_failures or [])},
                allow_unfired=settings.allow_unfired,
                allow_empty=allow_empty,
                release_safe=release_safe,
                outputs=outputs,
                progress=progress,
                judge=judge,
                executor=asked_executor(settings),
                notes=[settings.found] if settings.found else [],
            )
    running.show_found(settings.found, json)
    others = running.without_note(result, settings.found)
    told = outputs.told(release_safe=release_safe)
    if verbose:
        running.show([*tables_of(others), *told], json)
    else:
        running.show_in_short(others, json, told)
    raise typer.Exit(result.exit_code)


def _number_or_all(text: str) -> int | None:
    """Read a number of findings; None for all."""
    from masktron.errors import UsageError

    if text == "all":
        return None
    if not (text.isascii() and text.isdigit()):
        raise UsageError(f"--max-findings must be a number of findings or all, not {text!r}")
    return int(text)
