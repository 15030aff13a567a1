"""Which treatments of keys are tried: all ways of all axes, crossed."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from masktron.config import Config
from masktron.errors import UsageError
from masktron.jobs.tune.asked import TuneSettings
from masktron.jobs.tune.axes import unlike_pram
from masktron.recoding_settings import resolved
from masktron.results.tried_treatment import KeyTreatment


def treatments_tried(config: Config, asked: TuneSettings) -> list[KeyTreatment]:
    """Return the treatments of keys: those of the settings first.

    What is an axis is tried as the settings have it, not at all, and as it was asked for; all else is always done as
    the settings have it.

    Raises
    ------
    UsageError
        Rates are asked for, and no regions are named.
    """
    own = {name: resolved(how, Path()) for name, how in config.recode.items()}
    recode = {
        name: list(dict.fromkeys((own.get(name), *((None, *asked.recode[name]) if name in asked.recode else ()))))
        for name in dict.fromkeys((*own, *asked.recode))
    }
    pram = {
        name: unlike_pram((config.pram.get(name), *((None, *asked.pram[name]) if name in asked.pram else ())))
        for name in dict.fromkeys((*config.pram, *asked.pram))
    }
    sizes = list(dict.fromkeys((config.key_k, *((None, *asked.key_k) if asked.key_k else ()))))
    found = in_turn(in_turn(in_turn(_crossed(recode), _crossed(pram)), _swaps(config, asked)), sizes)
    return [KeyTreatment(recoded, drawn, swapped, key_k) for ((recoded, drawn), swapped), key_k in found]


def _crossed(axes: Mapping[str, Sequence[str | None]]) -> list[dict[str, str]]:
    """Return all combinations of ways, by field; None leaves a field as it is."""
    found: list[dict[str, str]] = [{}]
    for name, hows in axes.items():
        found = [one if how is None else {**one, name: how} for one, how in in_turn(found, hows)]
    return found


def _swaps(config: Config, asked: TuneSettings) -> list[dict[str, Any]]:
    """Return how records are swapped: as the settings say, and with other rates."""
    own = dict(config.swap)
    if not asked.swap_rate:
        return [own]
    if not own:
        raise UsageError(
            "swap_rate: nothing says which regions are swapped",
            hint='name them in the settings: regions = ["COUNTY", "TOWN"] under [swap]',
        )
    rates = [rate for rate in asked.swap_rate if rate != own.get("rate", 0.0)]
    return [own, {}, *({**own, "rate": rate} for rate in rates)]


def in_turn[One, Other](first: Sequence[One], second: Sequence[Other]) -> list[tuple[One, Other]]:
    """Return all pairs, those first whose members stand first in both."""
    places = sorted(itertools.product(range(len(first)), range(len(second))), key=lambda at: (sum(at), at[1]))
    return [(first[one], second[other]) for one, other in places]
