"""A validation as a page: which rules fail, where in the file, in which records."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from masktron.counts import counted
from masktron.report.pages.common_parts import (
    SHOWN_RULES,
    classes_picture,
    failures_picture,
    file_name,
    listed,
    per_cent,
)
from masktron.report.pages.page import Fact, FactRow, Page, PagePart, PagePicture, Section
from masktron.report.pictures.bars import Bar, Bars
from masktron.report.pictures.canvas import WARN
from masktron.report.pictures.compared import ColumnsInOrder
from masktron.report.result_table import NOTHING, Mark, ResultTable
from masktron.report.shared_tables import rules_table, verdict_of
from masktron.report.text import number
from masktron.results import RecordFinding, RuleResult, ValidateResult

_EXAMPLES = 3
"""Findings of each rule that a page shows."""
_WORST = 20
"""Records that a page shows as the worst."""


@dataclass(frozen=True, slots=True)
class FindingExample:
    """One finding in the words of a page; record and line from 1, the record empty outside all records."""

    rule: str
    severity: str
    record: str
    record_id: str
    line: str
    values: str
    message: str
    member: str = ""


@dataclass(frozen=True, slots=True)
class WorstRecord:
    """A record that breaks several rules."""

    record: int
    record_id: str
    rules: tuple[str, ...]


@dataclass(slots=True)
class FindingsSummary:
    """Findings taken one by one, and what they tell together.

    Attributes
    ----------
    fields : Counter of str
        Findings by field that their rule reads.
    records : mapping of str to array
        Positions (from 0) of the failing records, by rule.
    examples : list of FindingExample
        The first ones of each rule.
    truncated : bool
        Whether some findings were not listed, so that only the first ones of each rule count.
    """

    fields: Counter[str] = field(default_factory=Counter)
    records: dict[str, array[int]] = field(default_factory=dict)
    examples: list[FindingExample] = field(default_factory=list)
    record_ids: dict[int, str] = field(default_factory=dict)
    truncated: bool = False
    _seen: Counter[str] = field(default_factory=Counter)

    def add(self, example: FindingExample, names: Iterable[str]) -> None:
        """Take a finding, and the names of the fields that its rule reads."""
        self.fields.update(names)
        self._seen[example.rule] += 1
        if self._seen[example.rule] <= _EXAMPLES:
            self.examples.append(example)
        if example.record:
            position = int(example.record) - 1
            self.records.setdefault(example.rule, array("q")).append(position)
            if example.record_id:
                self.record_ids[position] = example.record_id

    @classmethod
    def of(cls, findings: Iterable[RecordFinding], counts: dict[str, int]) -> FindingsSummary:
        """Take the findings of a result as ``--json`` lists them, and how many there are of each rule."""
        found = cls()
        for one in findings:
            example = FindingExample(
                one.rule,
                one.severity,
                "" if one.record is None else str(one.record),
                one.record_id or "",
                str(one.line),
                values_told(one.values, one.more),
                one.message,
                one.member or "",
            )
            found.add(example, tuple(one.values))
        found.truncated = any(found._seen[rule] < count for rule, count in counts.items())
        return found

    @property
    def failing(self) -> NDArray[np.int64]:
        """Positions of the records that break a rule, each once."""
        return np.unique(self._all) if self.records else np.empty(0, np.int64)

    def by_region(self, records: int, regions: int) -> NDArray[np.int64]:
        """Count failing records by part of the file, shape (regions,); parts are as equal as they can be."""
        edges = np.linspace(0, records, regions + 1)
        counts: NDArray[np.int64] = np.histogram(self.failing, edges)[0]
        return counts

    @property
    def worst(self) -> tuple[WorstRecord, ...]:
        """The records that break the most rules, at least two; in the order of the file where they are as bad."""
        if not self.records:
            return ()
        places, times = np.unique(
            np.concatenate([np.unique(np.frombuffer(own, np.int64)) for own in self.records.values()]),
            return_counts=True,
        )
        order = np.lexsort((places, -times))[:_WORST]
        wanted = [int(places[at]) for at in order if times[at] > 1]
        rules: dict[int, list[str]] = {position: [] for position in wanted}
        for rule, own in self.records.items():
            here = np.frombuffer(own, np.int64)
            for position in np.intersect1d(here, wanted).tolist():
                rules[position].append(rule)
        return tuple(WorstRecord(at + 1, self.record_ids.get(at, ""), tuple(rules[at])) for at in wanted)

    @property
    def _all(self) -> NDArray[np.int64]:
        return np.concatenate([np.frombuffer(own, np.int64) for own in self.records.values()])


def values_told(values: Mapping[str, str | tuple[str, ...] | None], more: Mapping[str, int]) -> str:
    """Return the values of a finding on one line: ``V1 = 5, V7 absent, Age = 40 | 38 (3 more)``."""
    return ", ".join(
        f"{name} absent"
        if value is None
        else f"{name} = {' | '.join(value) if isinstance(value, tuple) else value}"
        + (f" ({more[name]} more)" if name in more else "")
        for name, value in values.items()
    )


_REGIONS = 40
_SHOWN_FIRST = 10
"""Rules that the overview shows."""
_QUARTERS = ("first", "second", "third", "last")
_EVEN = 0.35
"""Share of the failing records in a quarter of the file up to which they count as spread."""
_FEWEST_FOR_REGIONS = 10
"""Failing records from which on it says something where in the file they stand."""


def validate_page(result: ValidateResult, *, summary: FindingsSummary | None = None) -> Page:
    """Make a page of a validation.

    Parameters
    ----------
    result : ValidateResult
    summary : FindingsSummary, optional
        Of all findings; that of the listed ones when not given.
    """
    rules = result.rules
    confidential = not result.release_safe
    if summary is None and confidential:
        counts = {rule.id: rule.violations for rule in rules}
        summary = FindingsSummary.of(result.findings, counts)
    return Page(
        title=file_name(result.data),
        kind="Validation against edit rules",
        edition="internal" if confidential else "plain",
        verdict=(Mark("Valid", "good") if result.valid else Mark("Not valid", "bad"),),
        lead=_lead(result),
        sections=(
            Section("overview", "Overview", (*_facts(result, summary), *_failing(rules))),
            Section(
                "rules",
                "Rules",
                (*failures_picture(rules), *classes_picture(rules), rules_table(rules)),
            ),
            Section("fields", "Fields", (*_fields(summary), *_meanings(result))),
            Section("regions", "Regions of the file", tuple(_regions(summary, result.records))),
            Section("records", "Records", tuple(_records(summary))),
            Section("notes", "Notes", tuple(listed("", result.notes))),
        ),
        ends=(f"Decided by {result.engine}.",),
    )


def _lead(result: ValidateResult) -> str:
    violations, warnings = result.violations, result.warnings
    several = f"{counted(violations, 'violation')} of hard rules" if violations else "no hard rule is violated"
    soft = f", {counted(warnings, 'warning')} of soft rules" if warnings else ""
    untested = result.tested.untested
    left = f" Not tested: {', '.join(untested)}." if untested else ""
    within = " All of them are within what is allowed." if violations and result.valid else ""
    return f"{counted(result.records, 'record')}: {several}{soft}.{within}{left}"


def _facts(result: ValidateResult, summary: FindingsSummary | None) -> list[PagePart]:
    records, violations, tested = result.records, result.violations, result.tested
    facts = [
        Fact("records", number(records)),
        Fact("rules tested", f"{tested.tested} of {tested.rules}"),
        Fact("violations", number(violations), "of hard rules", "bad" if violations else "good"),
        Fact("warnings", number(result.warnings), "of soft rules, which never decide"),
    ]
    if summary is not None and records:
        failing = len(summary.failing)
        least = "at least " if summary.truncated else ""
        facts.append(
            Fact("records with findings", f"{least}{number(failing)}", f"{per_cent(failing, records)} of all records")
        )
    return [FactRow(tuple(facts))]


def _failing(rules: Sequence[RuleResult]) -> list[PagePart]:
    """The rules that fail most, since a rulebook may have hundreds."""
    failing = [rule for rule in rules if verdict_of(rule).text != "holds"]
    most = sorted(failing, key=lambda rule: -rule.violations)[:_SHOWN_FIRST]
    if not failing:
        return []
    title = "Rules that do not hold"
    return [rules_table(most, title if len(most) == len(failing) else f"{title}: {len(most)} of {len(failing)}")]


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
            ResultTable(
                "Findings by field",
                ("field", "findings"),
                tuple((name, number(many)) for name, many in fields),
                frozenset({"findings"}),
            ),
        )
    ]


def _partial(summary: FindingsSummary) -> str:
    return " Only the first findings of each rule are counted here." if summary.truncated else ""


def _meanings(result: ValidateResult) -> list[PagePart]:
    rows = tuple(
        (
            one.name,
            one.label,
            ", ".join(f"{value} = {text}" for value, text in one.labels.items()),
            ", ".join(f"{value} = {text}" if text else value for value, text in one.missing.items()),
        )
        for one in result.fields
    )
    columns = ("field", "label", "values", "codes for missing values")
    return [ResultTable("What the file says of its fields", columns, rows)]


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
            ResultTable(
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
        ResultTable(
            "Records that break the most rules", ("record", "id", "rules", "which"), worst, frozenset({"rules"})
        ),
        ResultTable("The first findings of each rule", columns, examples, frozenset({"record", "line"})),
    ]  # fmt: skip
