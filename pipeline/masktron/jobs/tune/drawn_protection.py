"""What values that are drawn anew, and records that are swapped, protect: the worst of what treatments tell."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from masktron.results.tune import worst_protection
from masktron.write.treatments import Postrandomised, Swapped, Treatment


def protection_of(treatments: Iterable[Treatment]) -> dict[str, float]:
    """Return what is said of draws and swaps in a run, by the names of `masktron.results.tune.PROTECTION`.

    Parameters
    ----------
    treatments : iterable of Treatment
        As they were carried out.
    """
    done = tuple(treatments)
    drawn = [_of_draws(one.figures) for one in done if isinstance(one, Postrandomised)]
    swapped = [_of_swaps(one) for one in done if isinstance(one, Swapped)]
    return {**worst_protection(drawn), **worst_protection(swapped)}


def _of_draws(told: Mapping[str, float | None]) -> dict[str, float]:
    """Return what PRAM of a field says of itself, of the records or households that have a value."""
    units = max(1.0, told["records"] or 0)
    odds = told["odds"]
    return {
        "pram_changed": 100 * (told["changed"] or 0) / units,
        "pram_confidence": 100 * (told["confidence"] or 0),
        "pram_odds": math.inf if odds is None else odds,
        "pram_stays": 100 * ((told["given"] or 0) + (told["alone"] or 0)) / units,
    }


def _of_swaps(done: Swapped) -> dict[str, float]:
    """Return what swapping says of itself, of levels with several regions: all know who lives in a single one."""
    told: Mapping[str, Any] = done.figures
    shares = [
        100 * level["rare_at_home"] / level["rare"]
        for level in told["levels"]
        if level["rare"] and level["regions"] > 1
    ]
    moved = {"swap_moved": 100 * 2 * done.pairs / max(1, told["units"])}
    return {**moved, **({"swap_at_home": max(shares)} if shares else {})}
