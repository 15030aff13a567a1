"""A compliance check for the eye."""

from __future__ import annotations

from rich.console import RenderableType

from masktron.counts import counted
from masktron.problems.problem import Note
from masktron.report.sentences import level_lines, treatment_lines
from masktron.report.tables.cells import in_short, noted, rules_shown, soft_warnings, statements
from masktron.report.tables.screenful import Screenful, SummaryLine, brief, treated_in_brief
from masktron.report.text import number, plain
from masktron.results import CheckResult

OTHER_RULEBOOK = (
    "[yellow]another rulebook:[/] the one given is not that of the manifest (its SHA-256 differs), so violations may "
    "be of rules that were not asked, or let go. Give the rulebook that mask read"
)


def tables(result: CheckResult) -> list[RenderableType]:
    """Rules, what was checked, what is wrong, what could not be checked."""
    return [
        *([OTHER_RULEBOOK] if result.other_rulebook else []),
        *rules_shown(result.rules),
        *in_short(result.figures),
        *map(plain, level_lines(result.levels)),
        *noted("within what is allowed", within_bounds(result)),
        *noted("[green]checked[/]", result.checked),
        *noted("[yellow]not checked[/]", result.not_checked),
        *map(plain, treatment_lines(result.treatments, result.fates)),
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


_SHOWN = 8
"""Rules that fail that are shown; more are counted."""


def summary(result: CheckResult) -> list[RenderableType]:
    """Rules that do not pass, problems and what was not checked before all else, and the verdict below."""
    failing = [rule for rule in result.rules if not rule.passes or rule.violations]
    beside = [rule.id for rule in failing[_SHOWN:]]
    parts: list[RenderableType] = [OTHER_RULEBOOK] if result.other_rulebook else []
    if failing:
        parts += rules_shown(failing[:_SHOWN])
    more = [f"{counted(len(beside), 'more rule fails', 'more rules fail')}: {', '.join(beside)}"] if beside else []
    lines = [
        *brief("rules", more),
        *brief("problem", result.problems, "red"),
        *brief("unchecked", (Note("not checked: {one}", one=one) for one in result.not_checked), "yellow"),
        *treated_in_brief(result.treatments, result.fates),
        *[SummaryLine("figures", one) for one in in_short(result.figures)],
        *brief("levels", level_lines(result.levels)),
        *brief("within", (f"within what is allowed: {one}" for one in within_bounds(result))),
        *brief("checked", result.checked, "green"),
        *brief("note", result.notes),
    ]  # fmt: skip
    return [
        *parts,
        Screenful(lines, used=len(failing[:_SHOWN]) + 5),
        check_verdict(result),
        *statements(result.verdict),
    ]
