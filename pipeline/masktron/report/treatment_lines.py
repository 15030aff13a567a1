"""What was done to fields before they were masked, and what became of rules, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def treatment_lines(
    treatments: Sequence[Mapping[str, Any]],
    fates: Sequence[Mapping[str, Any]],
    before: Sequence[Mapping[str, Any]],
    figures: Sequence[Mapping[str, Any]],
) -> Iterator[str]:
    """Say what was done, in order, what each rule became, and what keys told before and tell now.

    Parameters
    ----------
    treatments, fates, before, figures : sequence of mapping
        As ``mask --json`` writes them.
    """
    yield from treatment_names(treatments)
    yield from fate_lines(fates)
    now = {one["figure"]: one["value"] for one in figures}
    told = [
        f"{one['figure']} {_written(one['value'])} before, {_written(now[one['figure']])} now"
        for one in before
        if one["figure"] in now
    ]
    if told:
        yield f"by the treatments, {'; '.join(told)}"


def treatment_names(treatments: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Say what was done, in order."""
    for at, one in enumerate(treatments, start=1):
        yield f"treatment {at}, {one['kind']} of {one['field']}: {one['how']}"


def fate_lines(fates: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Say what each rule became."""
    for rule in fates:
        same = rule["after"] == rule["before"]
        now = "the same text, asked of classes" if same else rule["after"]
        after = f", now: {now}" if rule["after"] else ""
        reason = f" ({rule['reason']})" if rule["reason"] else ""
        yield f"rule {rule['rule']} is {rule['fate']}{reason}; it was: {rule['before']}{after}"


def _written(value: float | None) -> str:
    return "-" if value is None else f"{value:.6g}"
