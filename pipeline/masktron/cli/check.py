"""``masktron check``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from masktron.cli import running
from masktron.cli.given import documents_of, settings_from
from masktron.cli.options import (
    AllowEmpty,
    AllowUnfired,
    Document,
    Json,
    Limits,
    Masked,
    MaxFailures,
    Original,
    Phase,
    Record,
    Rules,
    RuleTimeout,
    SameOrder,
    Settings,
)
from masktron.processes import rules_within


def check(
    masked: Masked,
    rules: Rules,
    original: Original = None,
    document: Document = None,
    manifest: Annotated[Path | None, typer.Option(metavar="FILE", help="The manifest that mask wrote.")] = None,
    record: Record = None,
    phase: Phase = None,
    config: Settings = None,
    max_failures: MaxFailures = None,
    allow_unfired: AllowUnfired = None,
    allow_empty: AllowEmpty = False,
    limit: Limits = None,
    same_order: SameOrder = False,
    rule_timeout: RuleTimeout = None,
    json: Json = None,
) -> None:
    """Prove that a masked file complies: edits, group sizes, and with the original records, fields and domains."""
    from masktron.config import parse_limits
    from masktron.thresholds import parse_thresholds, thresholds

    running.check_outputs(
        {"--json": json},
        {"the masked file": masked, "the rulebook": rules, "the original": original, "the manifest": manifest},
    )
    settings = settings_from(
        config,
        limit=limit,
        document=document,
        record=record,
        phase=phase,
        allow_unfired=tuple(allow_unfired or ()) or None,
        rule_timeout=rule_timeout,
    )
    running.check_outputs({"--json": json}, documents_of(settings))
    with running.progress_shown() as progress, rules_within(settings.rule_timeout):
        from masktron.jobs.check import require_inputs, run_check
        from masktron.jobs.pairing import Stated

        require_inputs(parse_limits(limit or []), original, manifest)
        result = run_check(
            masked,
            rules,
            original=original,
            documents=settings.documents,
            spare_documents=settings.spare_documents,
            manifest=manifest,
            record=settings.record,
            phase=settings.phase,
            max_failures={**thresholds(settings.max_failures), **parse_thresholds(max_failures or [])},
            limits=settings.limits,
            allow_unfired=settings.allow_unfired,
            allow_empty=allow_empty,
            config=settings,
            stated=Stated(same_order),
            progress=progress,
        )
    running.report(result, json)
    raise typer.Exit(result.exit_code)
