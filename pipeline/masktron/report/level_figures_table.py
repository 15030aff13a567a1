"""Figures of the levels of a nested file for several ways to mask it, in rows: households, and persons."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

from masktron.figures import figure_of
from masktron.report.text import number

LEVEL_COLUMNS = ("level", "alike at least", "linkage (%)", "unchanged (%)", "information loss (%)")
_NAMES = ("whole_record_k", "linkage", "unchanged", "information_loss")


def level_rows(
    ways: Iterable[tuple[str, Mapping[str, Mapping[str, float | None]]]],
) -> Iterator[tuple[str, ...]]:
    """Yield a row for each way and each level: what the way is called, and what `LEVEL_COLUMNS` names.

    Parameters
    ----------
    ways : iterable of (str, mapping)
        What a way is called, and its figures by level; those that are missing have a dash.
    """
    for name, levels in ways:
        for level, figures in levels.items():
            yield name, level, *(short_figure(figures.get(one)) for one in _NAMES)


def titled(name: str) -> str:
    """Return the name of a figure with its unit."""
    unit = figure_of(name).unit
    return f"{name} ({unit})" if unit else name


def short_figure(value: float | None) -> str:
    """Return a figure for a narrow column; a dash for one that is missing."""
    if value is None or math.isnan(value):
        return "-"
    return number(value, ".3g" if abs(value) < 1 else ".1f")
