"""The risk-utility map for the eye."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rich.console import RenderableType

from masktron.counts import counted
from masktron.figures import figure_of
from masktron.problems.wording import sentence
from masktron.report.level_figures_table import LEVEL_COLUMNS, level_rows, short_figure, titled
from masktron.report.tables.cells import headed, noted
from masktron.report.text import number, plain
from masktron.results import TuneCandidate, TuneResult
from masktron.results.tune import PROTECTION, protection_text, worst_protection


def tables(result: TuneResult) -> list[RenderableType]:
    """One row per candidate with figures, those with the least loss first; what has none; what is recommended."""
    shown = [at for at, one in enumerate(result.candidates) if one.figures]
    seeds = any(result.candidates[at].seeds > 1 for at in shown)
    several = len({result.candidates[at].records for at in shown}) > 1
    table = headed(
        "no.",
        "candidate",
        *(["records"] if several else []),
        titled(result.risk),
        titled(result.utility),
        *(["limits"] if result.limits else []),
        "concerns",
        "",
    )
    for at in sorted(shown, key=lambda at: (_loss(result, at), at)):
        one = result.candidates[at]
        table.add_row(
            str(at),
            plain(one.name),
            *([number(one.records)] if several else []),
            _figure(one, result.risk),
            _figure(one, result.utility),
            *([_kept(one)] if result.limits else []),
            number(len(one.concerns)),
            _mark(result, at),
        )
    parts: list[RenderableType] = []
    if shown:
        parts += [table, *_levels(result, shown), *_reading(result, seeds=seeds), *_protection(result)]
    parts += noted("not tried", list(_untried(result)))
    best = None if result.recommended is None else result.candidates[result.recommended]
    parts += [] if best is None else noted("look at", best.concerns)
    parts += noted("note", result.notes)
    parts.append(
        f"{plain(result.data)}: {counted(result.records, 'record')}, {counted(len(shown), 'candidate')} with figures"
    )
    verdict = "[red]nothing is recommended[/]" if best is None else "[bold]recommended[/]"
    parts.append(f"{verdict}: {plain(result.why)}")
    if best is not None and best.risks:
        parts.append(best.risks)
    if best is not None and best.draws:
        parts.append(
            f"{best.method} draws a value of its own for each record, and does not promise that k records are alike: "
            f"masktron methods {best.method}"
        )
    return parts


def _levels(result: TuneResult, shown: list[int]) -> Iterator[RenderableType]:
    """Yield what candidates do to each level of a nested file; nothing of other files."""
    rows = list(level_rows((str(at), result.candidates[at].levels) for at in shown))
    if rows:
        table = headed("no.", *LEVEL_COLUMNS)
        for row in rows:
            table.add_row(*map(plain, row))
        yield table


def _loss(result: TuneResult, at: int) -> float:
    value = result.candidates[at].figures.get(result.utility, math.nan)
    value = value if figure_of(result.utility).better == "lower" else -value
    return math.inf if math.isnan(value) else value


def _figure(one: TuneCandidate, name: str) -> str:
    """Mean, and the range over the seeds where it differs."""
    value = one.figures.get(name, math.nan)
    if math.isnan(value):
        return "-"
    spread = one.spread[name]
    own, low, high = map(short_figure, (value, spread.least, spread.most))
    return own if low == high else f"{own}  ({low} to {high})"


def _kept(one: TuneCandidate) -> str:
    return "within" if one.within_limits else "outside"


def _mark(result: TuneResult, at: int) -> str:
    marks = ["[bold]recommended[/]"] if at == result.recommended else []
    return ", ".join([*marks, *(["front"] if at in result.front else [])])


def _reading(result: TuneResult, *, seeds: bool) -> Iterator[str]:
    """Say how to read the table."""
    risk, utility = figure_of(result.risk), figure_of(result.utility)
    yield f"risk: {result.risk}. {risk.meaning}"
    yield f"loss: {result.utility}. {utility.meaning}"
    if seeds:
        yield "in brackets: from the least to the most over the seeds of methods that draw"
    original = [f"{name} {number(value, '.1f')}" for name, value in result.unmasked.items()]
    if original:
        yield f"the original as it is: {', '.join(original)}"
    yield "front: no other candidate has less risk and less loss"
    yield "concerns: what speaks against a candidate beside risk and loss; the JSON and the page name them"


def _protection(result: TuneResult) -> Iterator[RenderableType]:
    """One row for each treatment that draws or swaps keys: what that changes, and what others can conclude."""
    rows: dict[str, list[TuneCandidate]] = {}
    for one in result.candidates:
        if one.protection:
            rows.setdefault(", ".join(one.treatment.texts), []).append(one)
    names = [name for name in PROTECTION if any(name in one.protection for own in rows.values() for one in own)]
    if not rows:
        return
    table = headed("keys drawn or swapped", *names)
    for treatment, own in rows.items():
        found = worst_protection(one.protection for one in own)
        table.add_row(plain(treatment), *(protection_text(name, found.get(name)) for name in names))
    yield table
    for name in names:
        yield f"{name}: {PROTECTION[name]}"


def _untried(result: TuneResult) -> Iterator[str]:
    """Name what has no figures, with its reason; those with one reason together."""
    told: dict[str, list[str]] = {}
    for at, one in enumerate(result.candidates):
        if not one.figures:
            told.setdefault("; ".join(map(sentence, one.reasons)), []).append(f"{at} {one.name}")
    for reason, names in told.items():
        yield f"{'; '.join(names)}: {reason}"
