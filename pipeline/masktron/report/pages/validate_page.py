"""A validation as a page: which rules fail, where in the file, in which records."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from masktron.counts import counted
from masktron.report.pages.common_parts import (
    NOTHING,
    SHOWN_RULES,
    classes_picture,
    failures_of,
    failures_picture,
    file_name,
    listed,
    per_cent,
    rules_table,
    said,
    verdict_of,
)
from masktron.report.pages.findings_summary import FindingsSummary
from masktron.report.pages.page import Fact, FactRow, Mark, Page, PagePart, PagePicture, PageTable, Section
from masktron.report.pages.plain_reader import PlainData
from masktron.report.pictures.bars import Bar, Bars
from masktron.report.pictures.ordered_columns import ColumnsInOrder
from masktron.report.pictures.palette import WARN
from masktron.report.pictures.trend import CourseOfCounts, Trend
from masktron.report.text import number

_REGIONS = 40
_SHOWN_FIRST = 10
"""Rules that the overview shows."""
_QUARTERS = ("first", "second", "third", "last")
_EVEN = 0.35
"""Share of the failing records in a quarter of the file up to which they count as spread."""
_FEWEST_FOR_REGIONS = 10
"""Failing records from which on it says something where in the file they stand."""


def validate_page(
    result: PlainData, *, summary: FindingsSummary | None = None, earlier: Sequence[tuple[str, PlainData]] = ()
) -> Page:
    """Make a page of a validation.

    Parameters
    ----------
    result : PlainData
        As ``validate --json`` writes it.
    summary : FindingsSummary, optional
        Of all findings; that of the listed ones when not given.
    earlier : sequence of (str, PlainData)
        Validations of before, with their names, the oldest first.

    Raises
    ------
    UsageError
        The plain data are no validation.
    """
    rules = result.parts("rules")
    confidential = result.has("confidential")
    if summary is None and confidential:
        counts = {rule.text("id"): failures_of(rule) for rule in rules}
        summary = FindingsSummary.of(result.parts("findings"), counts)
    valid, records = result.switch("valid"), result.count("records")
    tested = result.part("tested")
    return Page(
        title=file_name(result.text("data")),
        kind="Validation against edit rules",
        edition="internal" if confidential else "plain",
        verdict=(Mark("Valid", "good") if valid else Mark("Not valid", "bad"),),
        lead=_lead(result, valid=valid),
        sections=(
            Section("overview", "Overview", (*_facts(result, tested, summary), *_failing(rules))),
            Section(
                "rules",
                "Rules",
                (*failures_picture(rules), *classes_picture(rules), rules_table(rules)),
            ),
            Section("trend", "Against earlier runs", tuple(_trend(result, earlier))),
            Section("fields", "Fields", (*_fields(summary), *_meanings(result))),
            Section("regions", "Regions of the file", tuple(_regions(summary, records))),
            Section("records", "Records", tuple(_records(summary))),
            Section("notes", "Notes", tuple(listed("", result.names("notes")))),
        ),
        ends=(f"Decided by {result.text('engine')}.",),
    )


def _lead(result: PlainData, *, valid: bool) -> str:
    violations, warnings = result.count("violations"), result.count("warnings")
    several = f"{counted(violations, 'violation')} of hard rules" if violations else "no hard rule is violated"
    soft = f", {counted(warnings, 'warning')} of soft rules" if warnings else ""
    untested = result.part("tested").names("untested")
    left = f" Not tested: {', '.join(untested)}." if untested else ""
    within = " All of them are within what is allowed." if violations and valid else ""
    return f"{counted(result.count('records'), 'record')}: {several}{soft}.{within}{left}"


def _facts(result: PlainData, tested: PlainData, summary: FindingsSummary | None) -> list[PagePart]:
    records, violations = result.count("records"), result.count("violations")
    facts = [
        Fact("records", number(records)),
        Fact("rules tested", f"{tested.count('tested')} of {tested.count('rules')}"),
        Fact("violations", number(violations), "of hard rules", "bad" if violations else "good"),
        Fact("warnings", number(result.count("warnings")), "of soft rules, which never decide"),
    ]
    if summary is not None and records:
        failing = len(summary.failing)
        least = "at least " if summary.truncated else ""
        facts.append(
            Fact("records with findings", f"{least}{number(failing)}", f"{per_cent(failing, records)} of all records")
        )
    return [FactRow(tuple(facts))]


def _failing(rules: Sequence[PlainData]) -> list[PagePart]:
    """The rules that fail most, since a rulebook may have hundreds."""
    failing = [rule for rule in rules if verdict_of(rule).text != "holds"]
    most = sorted(failing, key=lambda rule: -failures_of(rule))[:_SHOWN_FIRST]
    if not failing:
        return []
    title = "Rules that do not hold"
    return [rules_table(most, title if len(most) == len(failing) else f"{title}: {len(most)} of {len(failing)}")]


def _trend(result: PlainData, earlier: Sequence[tuple[str, PlainData]]) -> list[PagePart]:
    if not earlier:
        return []
    runs = [*earlier, ("this run", result)]
    names = tuple(name for name, _ in runs)
    hard, soft = (tuple(float(run.count(key)) for _, run in runs) for key in ("violations", "warnings"))
    courses = [CourseOfCounts("violations", hard)]
    if any(soft):
        courses.append(CourseOfCounts("warnings", soft))
    rows = tuple(
        (name, number(run.count("records")), number(run.count("violations")), number(run.count("warnings")))
        for name, run in runs
    )
    change = int(hard[-1] - hard[-2])
    course = "as many as" if not change else f"{number(abs(change))} {'more' if change > 0 else 'fewer'} than"
    return [
        PagePicture(
            "trend-of-violations",
            "Violations from run to run",
            f"{counted(int(hard[-1]), 'violation')} now, {course} in {names[-2]}.",
            Trend(names, tuple(courses), "count"),
            PageTable(
                "Violations by run",
                ("run", "records", "violations", "warnings"),
                rows,
                frozenset({"records", "violations", "warnings"}),
            ),
        ),
        *_changed(result, earlier[-1]),
    ]


def _changed(result: PlainData, last: tuple[str, PlainData]) -> list[PagePart]:
    """Rules whose failures changed since the last run, and those that one of the runs does not have."""
    then = {rule.text("id"): rule for rule in last[1].parts("rules")}
    now = {rule.text("id"): rule for rule in result.parts("rules")}
    rows = []
    for name in dict.fromkeys((*now, *then)):
        counts = [failures_of(run[name]) if name in run else None for run in (then, now)]
        if counts[0] != counts[1]:
            before, after = ("no such rule" if count is None else number(count) for count in counts)
            worse = (counts[1] or 0) > (counts[0] or 0)
            rows.append((name, before, after, Mark("more", "bad") if worse else Mark("fewer", "good")))
    if not rows:
        return said(f"No rule fails more or less often than in {last[0]}.")
    return [
        PageTable(
            f"Rules that changed since {last[0]}",
            ("rule", "failures then", "now", "change"),
            tuple(rows),
            frozenset({"failures then", "now"}),
        )
    ]


def _fields(summary: FindingsSummary | None) -> list[PagePart]:
    if summary is None or not summary.fields:
        return []
    fields = sorted(summary.fields.items(), key=lambda one: -one[1])
    first, most = fields[0]
    return [
        PagePicture(
            "failures-by-field",
            "Which fields are in rules that fail",
            f"{first} is read by the rules of {counted(most, 'finding')}; a finding counts for every field that its "
            f"rule reads.{_partial(summary)}",
            Bars(tuple(Bar(name, many, number(many), WARN) for name, many in fields[:SHOWN_RULES]), "findings"),
            PageTable(
                "Findings by field",
                ("field", "findings"),
                tuple((name, number(many)) for name, many in fields),
                frozenset({"findings"}),
            ),
        )
    ]


def _partial(summary: FindingsSummary) -> str:
    return " Only the first findings of each rule are counted here." if summary.truncated else ""


def _meanings(result: PlainData) -> list[PagePart]:
    rows = tuple(
        (
            one.text("name"),
            one.text("label"),
            ", ".join(f"{value} = {text}" for value, text in one.part("labels").items()),
            ", ".join(f"{value} = {text}" if text else value for value, text in one.part("missing").items()),
        )
        for one in result.parts("fields")
    )
    columns = ("field", "label", "values", "codes for missing values")
    return [PageTable("What the file says of its fields", columns, rows)] if rows else []


def _regions(summary: FindingsSummary | None, records: int) -> list[PagePart]:
    if summary is None or len(summary.failing) < _FEWEST_FOR_REGIONS or records < 2 * _REGIONS:
        return []
    counts = summary.by_region(records, _REGIONS)
    edges = np.linspace(0, records, _REGIONS + 1)
    starts = [int(np.ceil(edge)) + 1 for edge in edges]
    places = [f"{number(low)} to {number(high - 1)}" for low, high in pairwise(starts)]
    places[-1] = f"{number(starts[-2])} to {number(records)}"
    quarters = counts.reshape(4, -1).sum(axis=1) / counts.sum()
    worst = int(np.argmax(quarters))
    spread = (
        "Failing records are spread over the whole file."
        if quarters.max() < _EVEN
        else f"The {_QUARTERS[worst]} quarter of the file has {per_cent(quarters[worst], 1)} of the failing records."
    )
    return [
        PagePicture(
            "failures-by-region",
            "Where in the file records fail",
            spread + _partial(summary),
            ColumnsInOrder(
                tuple(number(low) for low in starts[:-1]),
                tuple(float(count) for count in counts),
                "records of the file, in forty parts",
                "failing records",
                WARN,
            ),
            PageTable(
                "Failing records by part of the file",
                ("records", "failing"),
                tuple((place, number(int(count))) for place, count in zip(places, counts, strict=True)),
                frozenset({"failing"}),
            ),
        )
    ]


def _records(summary: FindingsSummary | None) -> list[PagePart]:
    if summary is None:
        return []
    worst = tuple(
        (number(one.record), one.record_id or NOTHING, number(len(one.rules)), ", ".join(one.rules))
        for one in summary.worst
    )
    members = any(one.member for one in summary.examples)
    examples = tuple(
        (
            one.rule,
            one.severity,
            number(int(one.record)) if one.record else NOTHING,
            one.record_id or NOTHING,
            *((one.member or NOTHING,) if members else ()),
            one.line,
            one.values,
            one.message,
        )
        for one in summary.examples
    )
    columns = ("rule", "severity", "record", "id", *(("member",) if members else ()), "line", "values", "message")
    return [
        *(
            [PageTable("Records that break the most rules", ("record", "id", "rules", "which"), worst,
                       frozenset({"rules"}))]
            if worst
            else []
        ),
        *(
            [PageTable("The first findings of each rule", columns, examples, frozenset({"record", "line"}))]
            if examples
            else []
        ),
    ]  # fmt: skip
