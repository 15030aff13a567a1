"""``masktron explain``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from masktron.cli import running
from masktron.cli.given import documents_of, settings_file, settings_from
from masktron.cli.options import (
    AggregatorOption,
    Allow,
    AllowUnfired,
    Document,
    Grouping,
    GroupSizeVars,
    Json,
    K,
    MethodOption,
    MissingOptions,
    NominalOptions,
    NumericOptions,
    OrdinalOptions,
    Original,
    Params,
    Phase,
    Record,
    RoleOptions,
    RuleTimeout,
    Settings,
)
from masktron.processes import rules_within


def explain(
    rules: Annotated[Path, typer.Argument(metavar="RULES.sch", help="Schematron rulebook.")],
    data: Annotated[Path | None, typer.Option(metavar="DATA.xml", help="Also count, and plan the masking.")] = None,
    original: Original = None,
    document: Document = None,
    config: Settings = None,
    role: RoleOptions = None,
    missing: MissingOptions = None,
    nominal: NominalOptions = None,
    ordinal: OrdinalOptions = None,
    numeric: NumericOptions = None,
    allow: Allow = None,
    allow_unfired: AllowUnfired = None,
    k: K = None,
    method: MethodOption = None,
    param: Params = None,
    aggregator: AggregatorOption = None,
    grouping: Grouping = None,
    group_size_vars: GroupSizeVars = None,
    record: Record = None,
    phase: Phase = None,
    rule_timeout: RuleTimeout = None,
    json: Json = None,
) -> None:
    """Say of each rule its class and what it means in plain mathematics; with data, how it would be kept."""
    from masktron.config import parse_params

    running.check_outputs(
        {"--json": json},
        {"the rulebook": rules, "the data": data, "the original": original, "the settings": settings_file(config)},
    )
    settings = settings_from(
        config,
        role,
        missing,
        nominal,
        ordinal,
        numeric=numeric,
        k=k,
        grouping=grouping,
        group_size_vars=group_size_vars,
        allow=tuple(allow or ()) or None,
        allow_unfired=tuple(allow_unfired or ()) or None,
        aggregator=aggregator,
        document=document,
        record=record,
        phase=phase,
        rule_timeout=rule_timeout,
    ).choosing(method, parse_params(param or []))
    running.check_outputs({"--json": json}, documents_of(settings))
    with running.progress_shown() as progress, rules_within(settings.rule_timeout):
        from masktron.jobs.explain import run_explain

        result = run_explain(rules, data, config=settings, original=original, progress=progress)
    running.report(result, json)
