"""What each part of masktron is worth: the same pairs without it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pairs.outcome import Outcome
from pairs.switches import Part

ROWS: tuple[tuple[Part, ...], ...] = (
    (),
    ("strata",),
    ("derive",),
    ("settle",),
    ("settle", "rounding"),
    ("strata", "settle"),
)
"""Without settle nothing is derived either, so that without strata and settle everything is off."""

FIRED = "fired alike"
"""What the judge says of engines that disagree about how often a rule was evaluated; no violation of a rule."""


@dataclass(frozen=True, slots=True)
class Worth:
    """What came of a set of pairs without some parts.

    Attributes
    ----------
    refused, crashed : int
        Pairs for which nothing was written.
    files : int
        Written files that break a rule.
    broken : int
        Records that break a rule, each counted for each of its rules.
    observed : float
        Share of the groups that publish the values of a record (exit medoid).
    searched : float
        Share of the groups whose rounded aggregate would not do.
    """

    pairs: int
    refused: int
    crashed: int
    files: int
    broken: int
    observed: float
    searched: float


def worth(outcomes: Sequence[Outcome]) -> Worth:
    """Count what a run over pairs ended in."""
    counts = [sum(number for rule, number in one.violations.items() if rule != FIRED) for one in outcomes]
    exits = sum((one.exits for one in outcomes), Counter())
    groups = exits.total() or 1
    aggregated = exits["rounded"] + exits["mode"] + exits["median"]
    return Worth(
        pairs=len(outcomes),
        refused=sum(one.code > 0 for one in outcomes),
        crashed=sum(one.crashed for one in outcomes),
        files=sum(count > 0 for count in counts),
        broken=sum(counts),
        observed=exits["medoid"] / groups,
        searched=(groups - aggregated) / groups if exits else 0.0,
    )


def worth_table(rows: Mapping[tuple[Part, ...], Worth]) -> str:
    """Write the figures of several runs over the same pairs as a table in Markdown."""
    lines = [
        "| without | refused | files that break a rule | broken rules, by record | medoid groups | searched groups |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for parts, one in rows.items():
        naive = {"settle", "derive"}.intersection(parts)  # whose groups all leave by the same way
        settled = ("", "") if naive else (f"{one.observed:.1%}", f"{one.searched:.1%}")
        cells = (
            ", ".join(parts) or "nothing",
            f"{one.refused}" + (f" and {one.crashed} crashed" if one.crashed else ""),
            f"{one.files} of {one.pairs}",
            f"{one.broken:,}",
            *settled,
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
