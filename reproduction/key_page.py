"""The page docs/keys-compared.md, made of figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reproduction.keys_compared import Compared, Outcome, Risk

HEAD = """\
# Keys treated under rules, beside the usual order

Written by `python -m reproduction.keys_compared` from real runs on the two samples of `make demo`, with the settings
they come with (`sample_xml/household.toml`, `business.toml`), and on a generated survey (`reproduction/key_survey/`).

*masktron* is one run of `mask`. It recodes keys and translates the rules, suppresses cells of keys if the settings
ask for it and the rules allow it, and then masks numbers. A file only appears if at least three records share all
keys and the weight, the global risk is below 1 %, and libxml2 and Saxon confirm every rule.

*The usual order* is that of sdcMicro (Templ, Kowarik and Meindl 2015, Journal of Statistical Software 67(4)). We
wrote it from its description in `reproduction/usual_order.py`; it is not the program itself. It makes the same
recodings, then local suppression key by key, where a missing value matches every value. Finally MDAV masks all
numbers together with the same k, and means are rounded like the file. It checks no rule and keeps the weight.

Risk is measured over the keys without the weight, with missing values matching every value, for both ways and for
the original. The last columns of the first table include the written weight, as the limits of `mask` do. For each
rule, in its form for recoded keys, we count the records of the written file that break it.
"""


def page(found: Sequence[Compared]) -> str:
    """Return the page."""
    parts = [HEAD, "## Risk\n", _table(_RISK, [row for one in found for row in _risks(one)], texts=2)]
    parts += ["## What it costs\n", COSTS, _table(_COST, [row for one in found for row in _costs(one)], texts=2)]
    parts += ["## Rules\n", RULES, _table(_RULES, [row for one in found for row in _rules(one)], texts=2)]
    for one in found:
        parts += [f"## {one.case.name}\n", *_details(one)]
    return "\n".join(parts)


COSTS = """\
Loss of keys is non-uniform entropy (Gionis and Tassa 2009), relative to suppressing all of them. Loss of numbers is
100 SSE/SST, each field standardised. Seconds are those of whole runs on two cores with other work. `mask` also judges
the original and, with two independent engines, the written file.

The losses of numbers are not directly comparable. `mask` groups the fields of each rule separately (`--grouping
rules`), so k records share the values of each block. The usual order groups all numbers at once, so k records share
all of them.
"""
RULES = """\
Translated rules are the same for both ways. *Records that break rules* sums over rules.
"""
_RISK = (
    "file", "", "records", "keys", "k", "alike with fewer than 3", "alone", "global risk, %", "with the weight: k",
    "global risk, %",
)  # fmt: skip
_COST = ("file", "", "cells suppressed", "of all, %", "loss of keys, %", "loss of numbers, %", "seconds")
_RULES = (
    "file",
    "",
    "rules",
    "kept",
    "exact",
    "implied",
    "weakened",
    "vacuous",
    "lost",
    "broken",
    "records that break rules",
)


def _risks(one: Compared) -> Iterable[Sequence[str]]:
    before, now = ({own.name: own.value for own in part} for part in (one.result.before, one.result.figures))
    yield one.case.name, "before", f"{one.records:,}", f"{len(one.keys)}", *_risk(one.before), *_held(before)
    yield "", "masktron", "", "", *_risk(one.ours.risk), *_held(now)
    yield "", "usual order", "", "", *_risk(one.usual.risk), "", ""


def _risk(risk: Risk) -> tuple[str, ...]:
    return f"{risk.k}", f"{risk.below:,}", f"{risk.unique:,}", f"{risk.per_cent:.2f}"


def _held(figures: Mapping[str, float]) -> tuple[str, str]:
    return f"{figures['key_k']:.0f}", f"{figures['global_risk']:.2f}"


def _costs(one: Compared) -> Iterable[Sequence[str]]:
    for name, first, own in ((one.case.name, "masktron", one.ours), ("", "usual order", one.usual)):
        gone = sum(own.suppressed.values())
        share = 100 * gone / (one.records * len(one.keys))
        losses = f"{own.keys_lost:.1f}", f"{own.numbers_lost:.2f}"
        yield name, first, f"{gone:,}", f"{share:.2f}", *losses, f"{own.seconds:.0f}"


def _rules(one: Compared) -> Iterable[Sequence[str]]:
    fates = Counter(rule.fate for rule in one.result.fates)
    rules = len(one.result.rules) + sum(1 for rule in one.result.fates if not rule.after)
    kept = rules - fates.total()
    told = (f"{fates[fate]}" for fate in ("exact", "implied", "weakened", "vacuous", "lost"))
    yield one.case.name, "masktron", f"{rules}", f"{kept}", *told, *_broken(one.ours)
    yield "", "usual order", *[""] * 7, *_broken(one.usual)


def _broken(own: Outcome) -> tuple[str, str]:
    counts = [count for count in own.broken.values() if count]
    return f"{len(counts)}", f"{sum(counts):,}"


def _details(one: Compared) -> Iterable[str]:
    done = [f"- {own.kind} of {own.field}: {own.how}" for own in one.result.treatments]
    yield "\n".join(["What `mask` did, in this order:", "", *done, ""])
    gone = {name: (one.ours.suppressed[name], one.usual.suppressed[name]) for name in one.keys}
    rows = [(name, f"{ours:,}", f"{usual:,}") for name, (ours, usual) in gone.items() if ours or usual]
    if rows:
        yield _table(("suppressed cells of", "masktron", "usual order"), rows, texts=1)
    rows = [
        (f"`{rule}`", f"{one.ours.broken[rule]:,}", f"{count:,}") for rule, count in one.usual.broken.items() if count
    ]
    yield _table(("records that break", "masktron", "usual order"), rows, texts=1)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], *, texts: int) -> str:
    """A Markdown table; all columns but the first `texts` are numbers."""
    rule = ["---"] * texts + ["---:"] * (len(head) - texts)
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, rule, *rows))
