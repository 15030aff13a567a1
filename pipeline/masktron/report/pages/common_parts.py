"""Parts that pages of several results have: rules, engines, figures, notes, files."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence

from masktron.counts import counted
from masktron.problems.problem import Sentence
from masktron.problems.wording import sentence
from masktron.report.pages.page import Listing, PagePart, PagePicture, Sentences
from masktron.report.pictures.bars import Bar, Bars
from masktron.report.pictures.canvas import AFTER, BEFORE, SOFT, WARN
from masktron.report.pictures.plane import PlanePoint, RiskUtilityPlane
from masktron.report.result_table import NOTHING, Mark, ResultTable, Tone
from masktron.report.sentences import asking_nothing, key_lines
from masktron.report.shared_tables import figure, figures_table
from masktron.report.text import number
from masktron.results import (
    AssessResult,
    CheckResult,
    FigureResult,
    KeyRisk,
    MaskedLevel,
    MaskResult,
    RuleFate,
    RuleResult,
)
from masktron.results.verdict import ReleaseVerdict, StatementLevel

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


def file_name(path: str) -> str:
    """Return the name of a file without its folders; the address of a table as it is."""
    return path if "://" in path else re.split(r"[/\\]", path)[-1]


def statements(verdict: ReleaseVerdict) -> tuple[Mark, ...]:
    """Draw the two statements of a verdict; each says its level in a word, too."""
    tones: dict[StatementLevel, Tone] = {"green": "good", "amber": "fair", "red": "bad"}
    return tuple(Mark(f"{name}: {one.level}. {one.reason}", tones[one.level]) for name, one in verdict.named)


def failures_picture(rules: Sequence[RuleResult], name: str = "failures-by-rule") -> list[PagePart]:
    """Draw which rules fail most; nothing where none does."""
    failing = sorted(
        (rule for rule in rules if rule.violations), key=lambda rule: (-rule.violations, rules.index(rule))
    )
    if not failing:
        return []
    most, many = failing[0], sum(rule.violations for rule in failing)
    bars = tuple(
        Bar(rule.id, rule.violations, number(rule.violations), SOFT if rule.soft else WARN)
        for rule in failing[:SHOWN_RULES]
    )
    soft = any(rule.soft for rule in failing)
    return [
        PagePicture(
            name,
            "Which rules fail",
            f"{counted(len(failing), 'rule')} of {number(len(rules))} {'fails' if len(failing) == 1 else 'fail'}; "
            f"{most.id} most often, {per_cent(most.violations, many)} of all failures.",
            Bars(bars, "records, or other nodes, that fail"),
            ResultTable(
                "Failures by rule",
                ("rule", "severity", "fired", "failures", "of those fired"),
                tuple(
                    (
                        rule.id,
                        "warning" if rule.soft else "error",
                        number(rule.fired),
                        number(rule.violations),
                        per_cent(rule.violations, max(rule.fired, rule.violations)),
                    )
                    for rule in failing
                ),
                frozenset({"fired", "failures", "of those fired"}),
            ),
            "Orange: errors of hard rules; yellow: warnings of soft rules." if soft else "",
        )
    ]


def classes_picture(rules: Sequence[RuleResult]) -> list[PagePart]:
    """Draw which classes of rules fail; nothing where there are not two."""
    classes: dict[str, list[RuleResult]] = {}
    for rule in rules:
        classes.setdefault(rule.kind, []).append(rule)
    counts = {name: sum(rule.violations for rule in own) for name, own in classes.items()}
    failing = sorted((name for name in counts if counts[name]), key=lambda name: -counts[name])
    if len(failing) < 2:
        return []
    rows = tuple(
        (
            name,
            number(len(classes[name])),
            number(sum(bool(rule.violations) for rule in classes[name])),
            number(sum(rule.violations for rule in classes[name] if not rule.soft)),
            number(sum(rule.violations for rule in classes[name] if rule.soft)),
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
            ResultTable(
                "Failures by class",
                ("class", "rules", "that fail", "errors", "warnings"),
                rows,
                frozenset({"rules", "that fail", "errors", "warnings"}),
            ),
        )
    ]


def listed(title: str, items: Iterable[Sentence]) -> list[PagePart]:
    """Return sentences under a title; nothing where there is none."""
    found = tuple(map(sentence, items))
    return [Listing(found, title)] if found else []


def said(*sentences: str) -> list[PagePart]:
    """Return paragraphs, without the empty ones."""
    return [Sentences(text) for text in sentences if text]


_QUOTED = re.compile(r"('[^']*'|\"[^\"]*\")")
_SIGNS = ((" <= ", " ≤ "), (" >= ", " ≥ "), (" != ", " ≠ "), (" * ", " · "), (" - ", " \N{MINUS SIGN} "))


def mathematical(form: str) -> str:
    """Return a form of `masktron explain` as a page can show it: ``A <= B`` as ``A ≤ B``, but for texts in quotes."""
    parts = _QUOTED.split(form)
    return "".join(part if at % 2 else _signs(part) for at, part in enumerate(parts))


def _signs(part: str) -> str:
    for plain, sign in _SIGNS:
        part = part.replace(plain, sign)
    return part


def key_parts(keys: KeyRisk | None) -> list[PagePart]:
    """Sentences, records by how many share their keys, and what each field contributes; nothing without keys."""
    if keys is None:
        return []
    others = keys.below_without_weight
    columns = ("like fewer than", "records", "of all", *(("without the weight",) if others else ()))
    rows = tuple(
        (k, number(below), per_cent(below, keys.records), *((number(others[k]),) if others else ()))
        for k, below in keys.below.items()
    )
    parts: list[PagePart] = [
        *listed("", [f"{one[:1].upper()}{one[1:]}." for one in key_lines(keys)]),
        ResultTable("Records that few are like, by their keys", columns, rows, frozenset(columns)),
    ]
    if keys.contributions is not None and any(keys.minimal_uniques or ()):
        shares = sorted(keys.contributions.items(), key=lambda one: -one[1])
        parts.append(
            ResultTable(
                "What makes records special: part of the scores of minimal sample uniques (SUDA)",
                ("field", "contribution"),
                tuple((name, figure(share, "%", 1)) for name, share in shares),
                frozenset({"contribution"}),
            )
        )
    return parts


def level_parts(levels: Sequence[MaskedLevel]) -> list[PagePart]:
    """Return what is known of each level of a nested file; nothing of other files."""
    parts: list[PagePart] = []
    for level in levels:
        weighted = f", weighted by {level.weight}" if level.weight else ""
        parts += said(f"{level.level}: {counted(level.records, 'record')}{weighted}.")
        parts.append(figures_table(level.figures))
    return parts


LEAST_LOSS = 10.0
"""What the axis of loss reaches at least: losses below that are small."""
_AXES = (("disclosure_risk", "pil"), ("linkage", "information_loss"))
"""Risk and loss as `tune` has them, which say something of every kind of method; else those of any number of records.

Information loss compares record by record, and of values that were drawn it says little."""
_POSITIONS = {
    ("disclosure_risk", "pil"): (
        "Disclosure risk {risk:.1f} %, of {unmasked:.1f} % unmasked, for a probabilistic information loss (pil) of "
        "{loss:.2f} %.",
        "Lower left is better. Loss 0 and all risk is the original; at loss 100 it is certain that published results "
        "differ by more than the luck of drawing a sample.",
    ),
    ("linkage", "information_loss"): (
        "{risk:.1f} % of the records link to their original, of {unmasked:.1f} % unmasked, for a loss of "
        "{loss:.2f} %.",
        "Lower left is better. Loss 0 and all risk is the original; loss 100 is as if everybody had the average.",
    ),
}


def position_parts(
    figures: Mapping[str, float],
    unmasked_linkage: float,
    name: str = "this file",
) -> list[PagePart]:
    """Draw a file on the first axes of which it has both figures; nothing where it has none.

    Parameters
    ----------
    figures : mapping of str to float
        Of the file, by name.
    unmasked_linkage : float
        Linkage of the original with itself; NaN for 100.
    name : str
        Of the file, in the table.
    """
    axes = next((pair for pair in _AXES if not any(math.isnan(figures.get(one, math.nan)) for one in pair)), None)
    if axes is None:
        return []
    risk, loss = figures[axes[0]], figures[axes[1]]
    unmasked = 100.0 if math.isnan(unmasked_linkage) else unmasked_linkage
    if axes[0] == "disclosure_risk":
        # the mean of linkage and of intervals, in which every value is near to itself
        unmasked = (unmasked + 100) / 2
    points = (PlanePoint("unmasked", 0.0, unmasked, "unmasked"), PlanePoint("this file", loss, risk, "this"))
    rows = tuple(
        (name if point.kind == "this" else point.name, figure(point.loss, "%"), figure(point.risk, "%", 1))
        for point in points
    )
    words, legend = _POSITIONS[axes]
    columns = ("file", axes[1], axes[0])
    return [
        PagePicture(
            "risk-and-utility",
            "Where this file stands",
            words.format(risk=risk, unmasked=unmasked, loss=loss),
            RiskUtilityPlane(
                points,
                f"{axes[1]}, %",
                f"{axes[0]}, %",
                least_loss=LEAST_LOSS,
                least_risk=100.0,
            ),
            ResultTable("Risk and loss", columns, rows, frozenset(columns[1:])),
            legend,
        )
    ]


TREATED = "What was done before"
"""The heading of these parts on the pages of a masked file."""
_KEY_FIGURES = {
    "key_k": "records that share all keys, at least",
    "key_uniques": "records like no other one",
    "global_risk": "records that are found, as expected, %",
}


def treatment_parts(result: MaskResult | CheckResult | AssessResult) -> list[PagePart]:
    """Tables of treatments, of risk before and after with a picture, and of rules; nothing without treatments."""
    if not result.treatments:
        return []
    return [
        ResultTable(
            "Treatments, in their order",
            ("field", "treatment", "how"),
            tuple((one.field, one.kind, one.how) for one in result.treatments),
        ),
        *(_risk(result) if isinstance(result, MaskResult) else ()),
        *fates_table(result.fates),
    ]


def fates_table(fates: Sequence[RuleFate]) -> list[PagePart]:
    """Say what became of each rule that reads a recoded field."""
    if not fates:
        return []
    rows = tuple(
        (
            one.rule,
            one.fate,
            mathematical(one.before),
            mathematical(one.after) or one.reason or NOTHING,
        )
        for one in fates
    )
    table = ResultTable("Rules that read recoded or removed fields", ("rule", "became", "it was", "it is"), rows)
    idle = asking_nothing(fates)
    return [table, *said(f"{idle}." if idle else "")]


def _risk(result: MaskResult) -> list[PagePart]:
    before = _values(result.before)
    now = _values(result.figures)
    both = [name for name in _KEY_FIGURES if name in before and name in now]
    if not both:
        return []
    rows = tuple((_KEY_FIGURES[name], _told(before[name]), _told(now[name])) for name in both)
    table = ResultTable(
        "What keys told and tell", ("figure", "before", "after"), rows, frozenset({"before", "after"})
    )
    records = result.records_out
    if "key_uniques" not in both or "global_risk" not in both or not records:
        return [table]
    shares = [
        ("like no other one", 100 * before["key_uniques"] / records, 100 * now["key_uniques"] / records),
        ("found, as expected", before["global_risk"], now["global_risk"]),
    ]
    bars = [
        Bar(f"{name}, {when}", share, figure(share, "%", 1), colour)
        for name, *pair in shares
        for when, share, colour in zip(("before", "after"), pair, (BEFORE, AFTER), strict=True)
    ]
    return [
        PagePicture(
            "keys-before-after",
            "What the treatments of keys have changed",
            f"Of 100 records, {figure(shares[1][1], '', 1)} would have been found by their keys, and "
            f"{figure(shares[1][2], '', 1)} are now.",
            Bars(tuple(bars), "records, %"),
            table,
        )
    ]


def _values(figures: Sequence[FigureResult]) -> dict[str, float]:
    found = {one.name: one.value for one in figures if one.name in _KEY_FIGURES}
    return {name: value for name, value in found.items() if not math.isnan(value)}


def _told(value: float) -> str:
    return number(value, ".0f" if value == round(value) else ".3g")
