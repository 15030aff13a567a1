"""What was done to keys before the numbers were masked, what they told then and tell now, and what rules became."""

from __future__ import annotations

import math

from masktron.report.pages.common_parts import NOTHING, figure, said
from masktron.report.pages.mathematics import mathematical
from masktron.report.pages.page import PagePart, PagePicture, PageTable
from masktron.report.pages.plain_reader import PlainData
from masktron.report.pictures.bars import Bar, Bars
from masktron.report.pictures.palette import AFTER, BEFORE
from masktron.report.text import number
from masktron.report.treatment_lines import asking_nothing

TREATED = "What was done before"
"""The heading of these parts on the pages of a masked file."""
_WORDS = {
    "key_k": "records that share all keys, at least",
    "key_uniques": "records like no other one",
    "global_risk": "records that are found, as expected, %",
}


def treatment_parts(result: PlainData) -> list[PagePart]:
    """Tables of treatments, of risk before and after with a picture, and of rules; nothing without treatments.

    Parameters
    ----------
    result : PlainData
        As ``mask --json``, ``check --json`` or ``assess --json`` writes it; that of an earlier version has no
        treatments, and that of `check` and `assess` no risk before them.
    """
    if not result.has("treatments") or not result.parts("treatments"):
        return []
    return [
        PageTable(
            "Treatments, in their order",
            ("field", "treatment", "how"),
            tuple((one.text("field"), one.text("kind"), one.text("how")) for one in result.parts("treatments")),
        ),
        *(_risk(result) if result.has("before") else ()),
        *fates_table(result.parts("fates")),
    ]


def fates_table(fates: tuple[PlainData, ...]) -> list[PagePart]:
    """Say what became of each rule that reads a recoded field."""
    if not fates:
        return []
    rows = tuple(
        (
            one.text("rule"),
            one.text("fate"),
            mathematical(one.text("before")),
            mathematical(one.text("after")) or one.text("reason") or NOTHING,
        )
        for one in fates
    )
    table = PageTable("Rules that read recoded or removed fields", ("rule", "became", "it was", "it is"), rows)
    idle = asking_nothing([one.content for one in fates])
    return [table, *said(f"{idle}." if idle else "")]


def _risk(result: PlainData) -> list[PagePart]:
    before = _values(result.parts("before"))
    now = _values(result.parts("figures"))
    both = [name for name in _WORDS if name in before and name in now]
    if not both:
        return []
    rows = tuple((_WORDS[name], _told(before[name]), _told(now[name])) for name in both)
    table = PageTable("What keys told and tell", ("figure", "before", "after"), rows, frozenset({"before", "after"}))
    records = result.count("records_out")
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


def _values(figures: tuple[PlainData, ...]) -> dict[str, float]:
    found = {one.text("figure"): one.number("value") for one in figures if one.text("figure") in _WORDS}
    return {name: value for name, value in found.items() if not math.isnan(value)}


def _told(value: float) -> str:
    return number(value, ".0f" if value == round(value) else ".3g")
