"""A compliance check for the eye."""

from __future__ import annotations

from rich.console import RenderableType

from masktron.counts import counted
from masktron.report.level_lines import level_lines
from masktron.report.tables.cells import in_short, noted, rules_table, soft_warnings, statements
from masktron.report.text import number, plain
from masktron.report.treatment_lines import treated_lines
from masktron.results import CheckResult
from masktron.serialised import plain_data

OTHER_RULEBOOK = (
    "[yellow]another rulebook:[/] the one given is not that of the manifest (its SHA-256 differs), so violations may "
    "be of rules that were not asked, or let go. Give the rulebook that mask read"
)


def tables(result: CheckResult) -> list[RenderableType]:
    """Rules, what was checked, what is wrong, what could not be checked."""
    return [
        *([OTHER_RULEBOOK] if result.other_rulebook else []),
        rules_table(result.rules),
        *in_short(result.figures),
        *map(plain, level_lines(plain_data(result.levels))),
        *noted("within what is allowed", within_bounds(result)),
        *noted("[green]checked[/]", result.checked),
        *noted("[yellow]not checked[/]", result.not_checked),
        *map(plain, treated_lines(plain_data(result.treatments), plain_data(result.fates))),
        *noted("note", result.notes),
        *noted("[red]problem[/]", result.problems),
        check_verdict(result),
        *statements(result.verdict),
    ]


def within_bounds(result: CheckResult) -> tuple[str, ...]:
    """Say which rules fail, and no more often than they may."""
    return tuple(
        f"{rule.id}: {counted(rule.violations, 'violation')}, {rule.allowed} allowed"
        for rule in result.rules
        if rule.violations and rule.allowed is not None and rule.passes
    )


def check_verdict(result: CheckResult) -> str:
    """Say whether the file complies, as far as that was checked."""
    verdict = "[green]complies[/]" if result.complies else "[red]does not comply[/]"
    if result.complies and result.not_checked:
        verdict = "[green]complies[/] as far as it was checked"
    soft = f", {soft_warnings(result.warnings)}" if result.warnings else ""
    return (
        f"{plain(result.data)}: {counted(result.records, 'record')}, "
        f"{counted(result.violations, 'violation')}{soft}; {verdict}"
        + ("" if result.min_group is None else f"; smallest group {number(result.min_group)}")
    )
