"""What intruders would re-identify, in sentences: the same ones for every command, page and file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from masktron.counts import counted
from masktron.problems.problem import Field
from masktron.problems.wording import spelled

if TYPE_CHECKING:
    from masktron.results import AssessResult, MaskResult

_NAMED = 6
"""Fields that are named; more are counted."""
_SAME = 1e-9
"""Relative difference below which two shares are the same."""


def risks_of(result: MaskResult | AssessResult) -> str:
    """Say what intruders would re-identify in the file of a result: see `risk_sentences`."""
    values = {figure.name: figure.value for figure in result.figures}
    interval = next((one.interval for one in result.figures if one.name == "strongest_linkage"), None)
    return risk_sentences(values, () if result.keys is None else result.keys.fields, interval)


def risk_sentences(
    figures: Mapping[str, float], keys: Sequence[str] = (), interval: Sequence[float] | None = None
) -> str:
    """Say what three intruders would re-identify, from the one who knows least to the one who knows most.

    The first knows the quasi-identifiers, the second also who took part, and the third also the original numbers and
    all unmasked fields. Without weights the file stands for the population, so the first two find the same.

    Parameters
    ----------
    figures : mapping of str to float
        The figures ``global_risk``, ``prosecutor_risk`` and ``strongest_linkage`` by name; what is absent or NaN has
        no sentence.
    keys : sequence of str
        Names of the quasi-identifiers, where they are at hand.
    interval : sequence of float, optional
        Interval of 95 per cent of ``strongest_linkage``, where it is estimated from a sample.

    Returns
    -------
    str
        Up to three sentences; empty where nothing is known.
    """
    by_keys, by_members, by_values = (
        figures.get(name, math.nan) for name in ("global_risk", "prosecutor_risk", "strongest_linkage")
    )
    intruders: list[tuple[str, float, str]] = []
    if not math.isnan(by_members):
        if by_keys < by_members * (1 - _SAME):
            intruders.append((f"knows {known_fields(keys)} is expected to", by_keys, ""))
            intruders.append(("also knows who took part would", by_members, ""))
        else:
            intruders.append((f"knows {known_fields(keys, 'who took part')} would", by_members, ""))
    if not math.isnan(by_values):
        estimated = ""
        if interval is not None:
            low, high = interval
            estimated = (
                f" (estimated from a sample of records; 95 % interval {low:.1f} to {high:.1f} %;"
                " linking the whole file at once may find more)"
            )
        also = "also " if intruders else ""
        intruders.append((f"{also}knows the true values would", by_values, estimated))
    return " ".join(
        f"{'One' if at else 'An intruder'} who {knows} re-identify {percent_text(share)}"
        f"{'' if at else ' of the records'}{estimated}."
        for at, (knows, share, estimated) in enumerate(intruders)
    )


def percent_text(value: float) -> str:
    """Write a share with one decimal; neither all nor nothing unless it is so."""
    if 0 < value < 0.1:
        return "less than 0.1 %"
    if value in (0, 100):
        return f"{value:.0f} %"
    return f"{min(value, 99.9):.1f} %"


def known_fields(keys: Sequence[str], *besides: str) -> str:
    """List the quasi-identifiers, and what else an intruder knows, as a sentence does."""
    more = [counted(len(keys) - _NAMED, "more field")] if len(keys) > _NAMED else []
    known = [spelled("{field}", field=Field(name)) for name in keys[:_NAMED]]
    names = [*(known or ["the quasi-identifiers"]), *more, *besides]
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
