"""A compliance check on one screen: rules that fail, what is wrong, what was checked and what could not be."""

from __future__ import annotations

from rich.console import RenderableType

from masktron.counts import counted
from masktron.problems.problem import Note
from masktron.report.level_lines import level_lines
from masktron.report.summaries.screenful import Screenful, SummaryLine, brief
from masktron.report.summaries.treated_in_brief import treated_in_brief
from masktron.report.tables.cells import in_short, rules_table, statements
from masktron.report.tables.check import OTHER_RULEBOOK, check_verdict, within_bounds
from masktron.results import CheckResult
from masktron.serialised import plain_data

_SHOWN = 8
"""Rules that fail that are shown; more are counted."""


def summary(result: CheckResult) -> list[RenderableType]:
    """Rules that do not pass, problems and what was not checked before all else, and the verdict below."""
    failing = [rule for rule in result.rules if not rule.passes or rule.violations]
    beside = [rule.id for rule in failing[_SHOWN:]]
    parts: list[RenderableType] = [OTHER_RULEBOOK] if result.other_rulebook else []
    if failing:
        parts.append(rules_table(failing[:_SHOWN]))
    more = [f"{counted(len(beside), 'more rule fails', 'more rules fail')}: {', '.join(beside)}"] if beside else []
    lines = [
        *brief("rules", more),
        *brief("problem", result.problems, "red"),
        *brief("unchecked", (Note("not checked: {one}", one=one) for one in result.not_checked), "yellow"),
        *treated_in_brief(result.treatments, result.fates),
        *[SummaryLine("figures", one) for one in in_short(result.figures)],
        *brief("levels", level_lines(plain_data(result.levels))),
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
