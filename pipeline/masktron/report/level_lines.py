"""The levels of a nested file in lines: how many records are alike, and what an intruder and an analyst find."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

_SHORT = {
    "whole_record_k": "alike at least {}",
    "linkage": "linked {} %",
    "unchanged": "unchanged {} %",
    "information_loss": "loss {} %",
    "total_change": "totals changed by {} % at most",
    "global_risk": "found by keys {} %",
}
"""Figures that are told, by name, in this order."""


def level_lines(levels: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say of each level what is known of it, a line each.

    Parameters
    ----------
    levels : sequence of mapping
        Plain data of `masktron.results.MaskedLevel`.
    """
    lines = []
    for level in levels:
        values = {one["figure"]: one["value"] for one in level["figures"]}
        told = [
            words.format(f"{values[name]:.4g}")
            for name, words in _SHORT.items()
            if values.get(name) is not None and not math.isnan(values[name])
        ]
        weight = f", weighted by {level['weight']}" if level["weight"] else ""
        lines.append(f"{level['level']}, {level['records']:,} records{weight}: {'; '.join(told)}")
    return lines
