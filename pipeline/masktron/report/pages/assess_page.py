"""An assessment as a page: what a masked file is still good for, and what risk is left."""

from __future__ import annotations

import math

from masktron.counts import counted
from masktron.report.pages.common_parts import (
    TREATED,
    figure,
    figure_values,
    figures_table,
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
from masktron.report.pages.plain_reader import PlainData
from masktron.report.text import number
from masktron.report.verdict import read_verdict
from masktron.results.side_by_side import SideBySide

_FIRST = ("linkage", "disclosure_risk", "unchanged", "information_loss", "pil", "correlation_change")
"""Figures that are seen first, where there are these."""


def assess_page(result: PlainData, *, files: SideBySide | None = None) -> Page:
    """Make a page of an assessment.

    Parameters
    ----------
    result : PlainData
        As ``assess --json`` writes it.
    files : SideBySide, optional
        Both files; without them there are no pictures of values.

    Raises
    ------
    UsageError
        The plain data are no assessment.
    """
    figures = {one.text("figure"): one for one in result.parts("figures")}
    records = result.count("records")
    numbers, categories = (len(result.names(key)) for key in ("numeric", "categorical"))
    fields = f"{counted(numbers, 'number')} and {counted(categories, 'field')} of categories"
    earlier = [file_name(one) for one in result.names("against")] if result.has("against") else []
    beside = f"; beside what was released earlier: {', '.join(earlier)}" if earlier else ""
    without = "" if files is not None else (
        "This page was made without the two files, so that it has no pictures of values: masktron assess MASKED "
        "--original FILE --html FILE."
    )  # fmt: skip
    unmasked = math.nan if files is None else files.unmasked_linkage
    facts = [
        Fact(name, figure(figures[name].number("value"), figures[name].text("unit"), 2))
        for name in _FIRST
        if name in figures and not math.isnan(figures[name].number("value"))
    ]
    return Page(
        title=file_name(result.text("masked")),
        kind="Masked file against its original",
        edition="internal",
        verdict=statements(read_verdict(result)),
        lead=f"{counted(records, 'record')}, compared with {file_name(result.text('original'))}: {fields}{beside}."
        f"{f' {result.text("risks")}' if result.has('risks') else ''}",
        sections=(
            Section("overview", "Overview", (FactRow((Fact("records", number(records)), *facts)), *said(without))),
            Section(
                "position",
                "Risk and utility",
                (
                    *position_parts(figure_values(result), unmasked),
                    *figures_table(result.parts("figures"), result.part("limits")),
                ),
            ),
            Section("levels", "Level by level", tuple(level_parts(result))),
            Section("keys", "What keys tell", tuple(key_parts(result))),
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
            Section("notes", "Notes", tuple(listed("", result.names("notes")))),
        ),
    )
