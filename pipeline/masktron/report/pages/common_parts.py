"""Parts that pages of several results have: rules, engines, figures, notes, files."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from masktron.counts import counted
from masktron.report.engine_opinion import engine_opinion
from masktron.report.pages.page import Listing, Mark, PagePart, PagePicture, PageTable, Sentences, Tone
from masktron.report.pages.plain_reader import PlainData
from masktron.report.pictures.bars import Bar, Bars
from masktron.report.pictures.palette import SOFT, WARN
from masktron.report.text import number
from masktron.results.verdict import ReleaseVerdict, StatementLevel

NOTHING = "\N{EN DASH}"
SHOWN_RULES = 30
"""Rules, or fields, that a picture shows; the table behind it has all."""


def per_cent(share: float, of: float) -> str:
    """Return a share as per cent with the digits that count."""
    if not of:
        return NOTHING
    value = 100 * share / of
    if value in (0, 100):
        return f"{value:.0f} %"
    return f"{value:.2g} %" if value < 1 else f"{min(value, 99.9):.1f} %"


def figure(value: float, unit: str = "", digits: int = 3) -> str:
    """Write a figure with its unit; a dash where there is none."""
    if math.isnan(value):
        return NOTHING
    if unit == "records":
        return counted(round(value), "record")
    text = number(value, ".2g") if 0 < abs(value) < 10**-digits else number(value, f".{digits}f")
    return f"{text} {unit}".rstrip()


def bare(origin: str) -> str:
    """Return the place of a rule without folders: no page shows where files lie on a machine."""
    return re.sub(r"[^\s()]*[/\\]", "", origin)


def file_name(path: str) -> str:
    """Return the name of a file without its folders; the address of a table as it is."""
    return path if "://" in path else re.split(r"[/\\]", path)[-1]


def statements(verdict: ReleaseVerdict) -> tuple[Mark, ...]:
    """Draw the two statements of a verdict; each says its level in a word, too."""
    tones: dict[StatementLevel, Tone] = {"green": "good", "amber": "fair", "red": "bad"}
    return tuple(Mark(f"{name}: {one.level}. {one.reason}", tones[one.level]) for name, one in verdict.named)


def verdict_of(rule: PlainData) -> Mark:
    """Say in a word what became of a rule."""
    failed = failures_of(rule)
    if rule.has("untested"):
        allowed = rule.part("untested").switch("allowed")
        return Mark("not tested", "quiet" if allowed or rule.switch("soft") else "bad")
    if not failed:
        return Mark("holds", "good")
    if rule.switch("soft"):
        return Mark("warns", "quiet")
    return Mark("allowed", "quiet") if "passes" in rule.content and rule.switch("passes") else Mark("fails", "bad")


def rules_table(rules: Sequence[PlainData], title: str = "All rules") -> PageTable:
    """One row for each rule, in the order of the rulebook."""
    texts = any("text" in rule.content and rule.text("text") for rule in rules)
    columns = (
        "rule",
        "class",
        "verdict",
        "fired",
        "failed",
        "errors",
        "place",
        *(("what it says",) if texts else ()),
    )
    rows = tuple(
        (
            rule.text("id") + (" (soft)" if rule.switch("soft") else ""),
            rule.text("class"),
            verdict_of(rule),
            number(rule.count("fired")),
            number(rule.count("failed")) if rule.has("failed") else NOTHING,
            number(rule.count("errors")),
            bare(rule.text("origin")),
            *((rule.text("text"),) if texts else ()),
        )
        for rule in rules
    )
    return PageTable(title, columns, rows, frozenset({"fired", "failed", "errors"}))


def failures_picture(rules: Sequence[PlainData], name: str = "failures-by-rule") -> list[PagePart]:
    """Draw which rules fail most; nothing where none does."""
    failing = sorted(
        (rule for rule in rules if failures_of(rule)), key=lambda rule: (-failures_of(rule), rules.index(rule))
    )
    if not failing:
        return []
    most, many = failing[0], sum(map(failures_of, failing))
    bars = tuple(
        Bar(rule.text("id"), failures_of(rule), number(failures_of(rule)), SOFT if rule.switch("soft") else WARN)
        for rule in failing[:SHOWN_RULES]
    )
    soft = any(rule.switch("soft") for rule in failing)
    return [
        PagePicture(
            name,
            "Which rules fail",
            f"{counted(len(failing), 'rule')} of {number(len(rules))} {'fails' if len(failing) == 1 else 'fail'}; "
            f"{most.text('id')} most often, {per_cent(failures_of(most), many)} of all failures.",
            Bars(bars, "records, or other nodes, that fail"),
            PageTable(
                "Failures by rule",
                ("rule", "severity", "fired", "failures", "of those fired"),
                tuple(
                    (
                        rule.text("id"),
                        "warning" if rule.switch("soft") else "error",
                        number(rule.count("fired")),
                        number(failures_of(rule)),
                        per_cent(failures_of(rule), max(rule.count("fired"), failures_of(rule))),
                    )
                    for rule in failing
                ),
                frozenset({"fired", "failures", "of those fired"}),
            ),
            "Orange: errors of hard rules; yellow: warnings of soft rules." if soft else "",
        )
    ]


def classes_picture(rules: Sequence[PlainData]) -> list[PagePart]:
    """Draw which classes of rules fail; nothing where there are not two."""
    classes: dict[str, list[PlainData]] = {}
    for rule in rules:
        classes.setdefault(rule.text("class"), []).append(rule)
    counts = {name: sum(map(failures_of, own)) for name, own in classes.items()}
    failing = sorted((name for name in counts if counts[name]), key=lambda name: -counts[name])
    if len(failing) < 2:
        return []
    rows = tuple(
        (
            name,
            number(len(classes[name])),
            number(sum(bool(failures_of(rule)) for rule in classes[name])),
            number(sum(failures_of(rule) for rule in classes[name] if not rule.switch("soft"))),
            number(sum(failures_of(rule) for rule in classes[name] if rule.switch("soft"))),
        )
        for name in sorted(counts, key=lambda name: -counts[name])
    )
    return [
        PagePicture(
            "failures-by-class",
            "Which classes of rules fail",
            f"Rules of the class {failing[0]} fail most: {per_cent(counts[failing[0]], sum(counts.values()))} of all "
            "failures.",
            Bars(tuple(Bar(name, counts[name], number(counts[name]), WARN) for name in failing), "failures"),
            PageTable(
                "Failures by class",
                ("class", "rules", "that fail", "errors", "warnings"),
                rows,
                frozenset({"rules", "that fail", "errors", "warnings"}),
            ),
        )
    ]


def failures_of(rule: PlainData) -> int:
    """Count the failures and errors of a rule; of one that the file does not test there are none."""
    return (rule.optional_count("failed") or 0) + rule.count("errors")


def figures_table(figures: Sequence[PlainData], limits: PlainData | None = None) -> list[PagePart]:
    """One row for each figure, with what it means and its limit where it has one."""
    if not figures:
        return []
    bounds = {} if limits is None else dict(limits.items())
    columns = ("figure", "about", "value", *(("limit",) if bounds else ()), "what it means")
    rows = tuple(
        (
            one.text("figure"),
            one.text("group"),
            figure(one.number("value"), one.text("unit")),
            *((f"{bounds[one.text('figure')]:g}" if one.text("figure") in bounds else "",) if bounds else ()),
            one.text("meaning") + _place(one),
        )
        for one in figures
    )
    return [PageTable("Figures", columns, rows, frozenset({"value", "limit"}) & frozenset(columns))]


def _place(one: PlainData) -> str:
    between = (
        " The 95 % interval is {:.1f} to {:.1f} %.".format(*one.numbers("interval")) if one.has("interval") else ""
    )
    if not one.has("field"):
        return between
    return f" Here {'most' if one.text('better') == 'lower' else 'least'} in {one.text('field')}.{between}"


def engines_table(engines: Sequence[PlainData]) -> list[PagePart]:
    """What each engine says of the written file."""
    if not engines:
        return []
    rows = tuple(
        (
            one.text("engine"),
            f"{number(one.count('rules'))} of {number(engines[0].count('rules'))}",
            number(one.count("records")),
            number(one.count("violations")),
            Mark(engine_opinion(one.content), _looks(one)),
        )
        for one in engines
    )
    columns = ("engine", "rules", "records", "violations", "opinion")
    return [PageTable("Re-validated by", columns, rows, frozenset({"rules", "records", "violations"}))]


def _looks(engine: PlainData) -> Tone:
    return "bad" if not engine.switch("agrees") else "noted" if engine.count("violations") else "good"


def listed(title: str, items: Iterable[str]) -> list[PagePart]:
    """Return sentences under a title; nothing where there is none."""
    found = tuple(items)
    return [Listing(found, title)] if found else []


def said(*sentences: str) -> list[PagePart]:
    """Return paragraphs, without the empty ones."""
    return [Sentences(text) for text in sentences if text]
