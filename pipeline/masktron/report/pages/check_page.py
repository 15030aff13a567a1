"""A check as a page: whether a masked file complies, and what of that was tested."""

from __future__ import annotations

from masktron.counts import counted
from masktron.report.pages.common_parts import (
    TREATED,
    failures_picture,
    file_name,
    level_parts,
    listed,
    statements,
    treatment_parts,
)
from masktron.report.pages.page import Fact, FactRow, Page, Section
from masktron.report.shared_tables import figures_table, rules_table
from masktron.report.text import number
from masktron.results import CheckResult


def check_page(result: CheckResult) -> Page:
    """Make a page of a check."""
    complies, open_questions = result.complies, result.not_checked
    rules, problems = result.rules, result.problems
    word = "Complies" if complies else "Does not comply"
    if complies and open_questions:
        word = "Complies as far as it was checked"
    tested = result.tested
    violations = result.violations
    smallest = result.min_group
    facts = [
        Fact("records", number(result.records)),
        Fact("rules tested", f"{tested.tested} of {tested.rules}"),
        Fact("violations", number(violations), "of hard rules", "bad" if violations else "good"),
        Fact("problems", number(len(problems)), "with the contract", "bad" if problems else "good"),
    ]
    if smallest is not None:
        facts.append(Fact("smallest group", number(smallest), "records that share their values in a block"))
    lead = (
        f"{word}: {counted(result.records, 'record')}, {counted(violations, 'violation')} of hard rules; "
        f"{counted(len(result.checked), 'thing')} checked, {number(len(open_questions))} could not be."
    )
    return Page(
        title=file_name(result.data),
        kind="Check of a masked file",
        edition="internal",
        verdict=statements(result.verdict),
        lead=lead,
        sections=(
            Section(
                "overview",
                "Overview",
                (
                    FactRow(tuple(facts)),
                    *listed("What is wrong", problems),
                    *listed("What was checked", result.checked),
                    *listed("What could not be checked", open_questions),
                ),
            ),
            Section("rules", "Rules", (*failures_picture(rules), rules_table(rules))),
            Section("treatments", TREATED, tuple(treatment_parts(result))),
            Section("figures", "Figures", (figures_table(result.figures),)),
            Section("levels", "Level by level", tuple(level_parts(result.levels))),
            Section("notes", "Notes", tuple(listed("", result.notes))),
        ),
    )
