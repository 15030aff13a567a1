"""Treatments of keys and fates of rules, a line or two each."""

from __future__ import annotations

from collections.abc import Sequence

from masktron.report.summaries.screenful import SummaryLine, brief
from masktron.results import RuleFate, TreatmentResult


def treated_in_brief(treatments: Sequence[TreatmentResult], fates: Sequence[RuleFate]) -> list[SummaryLine]:
    """Say which fields were treated how, and how many rules became what; those that ask nothing more by name."""
    kinds = dict.fromkeys(one.kind for one in treatments)
    own = {kind: [one for one in treatments if one.kind == kind] for kind in kinds}
    lines = []
    if kinds:
        named = (f"{kind} of {', '.join(one.field for one in own[kind])}" for kind in kinds)
        lines.append(SummaryLine("treated", "; ".join(named)))
    for kind in [kind for kind in kinds if kind != "recoding"]:
        lines += brief("treated", ["; ".join(f"{one.field}: {one.how}" for one in own[kind])])
    if fates:
        fated = dict.fromkeys(one.fate for one in fates)
        told = ", ".join(f"{sum(one.fate == fate for one in fates)} {fate}" for fate in fated)
        less = [one.rule for one in fates if one.fate in ("lost", "weakened", "removed")]
        told += f"; less or nothing is asked by {', '.join(less)}" if less else ""
        lines.append(SummaryLine("rules now", told))
        idle = [one.rule for one in fates if one.fate == "vacuous"]
        if idle:
            lines.append(SummaryLine("look at", f"nothing is asked any more by {', '.join(idle)}", style="yellow"))
    return lines
