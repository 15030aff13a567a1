"""An assessment as a page: what a masked file is still good for, and what risk is left."""

from __future__ import annotations

import math

from masktron.counts import counted
from masktron.report.pages.common_parts import (
    TREATED,
    file_name,
    key_parts,
    level_parts,
    listed,
    position_parts,
    said,
    statements,
    treatment_parts,
)
from masktron.report.pages.compared_parts import (
    by_level,
    correlation_parts,
    distribution_parts,
    group_parts,
    knowledge_parts,
    loss_parts,
    moment_parts,
)
from masktron.report.pages.page import Fact, FactRow, Page, Section
from masktron.report.shared_tables import figure, figures_table
from masktron.report.text import number
from masktron.results import AssessResult
from masktron.results.side_by_side import SideBySide

_FIRST = ("linkage", "disclosure_risk", "unchanged", "information_loss", "pil", "correlation_change")
"""Figures that are seen first, where there are these."""


def assess_page(result: AssessResult, *, files: SideBySide | None = None) -> Page:
    """Make a page of an assessment.

    Parameters
    ----------
    result : AssessResult
    files : SideBySide, optional
        Both files; without them there are no pictures of values.
    """
    figures = {one.name: one for one in result.figures}
    records = result.records
    numbers, categories = len(result.numeric), len(result.categorical)
    fields = f"{counted(numbers, 'number')} and {counted(categories, 'field')} of categories"
    earlier = [file_name(one) for one in result.against]
    beside = f"; beside what was released earlier: {', '.join(earlier)}" if earlier else ""
    without = "" if files is not None else (
        "This page was made without the two files, so that it has no pictures of values: masktron assess MASKED "
        "--original FILE --html FILE."
    )  # fmt: skip
    unmasked = math.nan if files is None else files.unmasked_linkage
    facts = [
        Fact(name, figure(figures[name].value, figures[name].unit, 2))
        for name in _FIRST
        if name in figures and not math.isnan(figures[name].value)
    ]
    return Page(
        title=file_name(result.masked),
        kind="Masked file against its original",
        edition="internal",
        verdict=statements(result.verdict),
        lead=f"{counted(records, 'record')}, compared with {file_name(result.original)}: {fields}{beside}."
        f"{f' {result.risks}' if result.risks else ''}",
        sections=(
            Section("overview", "Overview", (FactRow((Fact("records", number(records)), *facts)), *said(without))),
            Section(
                "position",
                "Risk and utility",
                (
                    *position_parts({one.name: one.value for one in result.figures}, unmasked),
                    figures_table(result.figures, result.limits),
                ),
            ),
            Section("levels", "Level by level", tuple(level_parts(result.levels))),
            Section("keys", "What keys tell", tuple(key_parts(result.keys))),
            Section("treatments", TREATED, tuple(treatment_parts(result))),
            Section("distributions", "Before and after", by_level(files, distribution_parts)),
            Section("moments", "Means and variances", by_level(files, moment_parts)),
            Section("correlations", "Correlations", by_level(files, correlation_parts)),
            Section("losses", "Where information is lost", by_level(files, loss_parts)),
            Section(
                "intruders",
                "What intruders find",
                (*(knowledge_parts(files) if files else ()), *(group_parts(files, None) if files else ())),
            ),
            Section("notes", "Notes", tuple(listed("", result.notes))),
        ),
    )
