"""A validation for the eye."""

from __future__ import annotations

from rich.console import RenderableType

from masktron.counts import counted
from masktron.report.tables.cells import noted, rules_table, soft_warnings, tested_line
from masktron.report.text import plain
from masktron.results import ValidateResult


def tables(result: ValidateResult) -> list[RenderableType]:
    """One row per rule, the verdict below."""
    return [
        rules_table(result.rules),
        *map(plain, labels_told(result)),
        *noted("note", result.notes),
        *tested_line(result.tested if result.records else None),
        validity(result),
    ]


def validity(result: ValidateResult) -> str:
    """Say whether the file is valid, and by which engine."""
    if not result.valid:
        verdict = f"[red]{_wrong(result)}[/]"
    elif result.violations:
        verdict = f"[green]valid[/]: {counted(result.violations, 'violation')}, all within what is allowed"
    else:
        fired = any(rule.reached for rule in result.rules)
        verdict = "[green]valid[/]" if fired else "[yellow]valid, but no rule fired[/]"
    # behind a list of rules a comma would make one more of it
    soft = f"{';' if ';' in verdict else ','} {soft_warnings(result.warnings)}" if result.warnings else ""
    records = counted(result.records, "record")
    return f"{plain(result.data)}: {records}, {verdict}{soft}  ({plain(result.engine)})"


def labels_told(result: ValidateResult) -> list[str]:
    """Say what the labels of the fields are, and what codes for missing values they have."""
    lines = []
    for field in result.fields:
        codes = ", ".join(f"{code}: {label}" if label else code for code, label in field.missing.items())
        said = "; ".join(filter(None, (field.label, f"missing {codes}" if codes else "")))
        lines += [f"field: {field.name}: {said}"] if said else []
    return lines


def _wrong(result: ValidateResult) -> str:
    """Return the violations, which rules have more than they may, where any may have some, and which test nothing.

    What a rule finds that reads a field that the file never has is no violation of the data.
    """
    idle = [rule.id for rule in result.rules if rule.idle]
    violations = sum(rule.violations for rule in result.rules if not rule.soft and not rule.idle)
    over = [rule.id for rule in result.rules if not rule.passes and not rule.idle]
    bounded = over and any(rule.allowed is not None for rule in result.rules)
    said = [
        *([counted(violations, "violation")] if violations or not idle else []),
        *([f"too many of {plain(', '.join(over))}"] if bounded else []),
        *([f"not tested: {plain(', '.join(idle))}"] if idle else []),
    ]
    return "; ".join(said)
