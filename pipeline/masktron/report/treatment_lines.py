"""What was done to fields before they were masked, and what became of rules, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from masktron.counts import counted


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
    yield from treated_lines(treatments, fates)
    now = {one["figure"]: one["value"] for one in figures}
    told = [
        f"{one['figure']} {_written(one['value'])} before, {_written(now[one['figure']])} now"
        for one in before
        if one["figure"] in now
    ]
    if told:
        yield f"by the treatments, {'; '.join(told)}"


def treated_lines(treatments: Sequence[Mapping[str, Any]], fates: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Say what was done, in order, and what each rule became.

    Parameters
    ----------
    treatments, fates : sequence of mapping
        As ``check --json`` and ``assess --json`` write them.
    """
    yield from treatment_names(treatments)
    yield from fate_lines(fates)


def treatment_names(treatments: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Say what was done, in order."""
    for at, one in enumerate(treatments, start=1):
        yield f"treatment {at}, {one['kind']} of {one['field']}: {one['how']}"


def fate_lines(fates: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Say what each rule became, and then which of them ask nothing any more."""
    for rule in fates:
        same = rule["after"] == rule["before"]
        now = "the same text, asked of classes" if same else rule["after"]
        after = f", now: {now}" if rule["after"] else ""
        reason = f" ({rule['reason']})" if rule["reason"] else ""
        yield f"rule {rule['rule']} is {rule['fate']}{reason}; it was: {rule['before']}{after}"
    if idle := asking_nothing(fates):
        yield idle


def asking_nothing(fates: Sequence[Mapping[str, Any]]) -> str:
    """Count the rules that ask nothing any more; empty where there are none.

    Parameters
    ----------
    fates : sequence of mapping
        As ``mask --json`` writes them.
    """
    idle = [one["rule"] for one in fates if one["fate"] == "vacuous"]
    if not idle:
        return ""
    ask, find = ("asks", "it finds") if len(idle) == 1 else ("ask", "they find")
    return (
        f"{counted(len(idle), 'rule')} {ask} nothing any more of any class, so that {find} no error there: "
        f"{', '.join(idle)}"
    )


def _written(value: float | None) -> str:
    return "-" if value is None else f"{value:.6g}"
