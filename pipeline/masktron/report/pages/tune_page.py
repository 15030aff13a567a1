"""The risk-utility map of a file as a page: each way to mask it, what it costs, and the one that is recommended."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from masktron.counts import counted
from masktron.figures import Group, figure_of
from masktron.problems.wording import sentence
from masktron.report.level_figures_table import LEVEL_COLUMNS, level_rows
from masktron.report.pages.common_parts import file_name, listed, said
from masktron.report.pages.page import Fact, FactRow, Page, PagePart, PagePicture, Section
from masktron.report.pictures.plane import PlanePoint, RiskUtilityPlane
from masktron.report.result_table import Mark, Ranged, ResultTable
from masktron.report.shared_tables import figure
from masktron.report.text import number
from masktron.results.tune import (
    PROTECTION,
    TuneCandidate,
    TuneResult,
    TuneState,
    parameter_text,
    protection_text,
    worst_protection,
)

_STATES: Mapping[TuneState, str] = {
    "measured": "on all records",
    "sampled": "on the sample",
    "refused": "refused",
    "ended": "ended for want of time or memory",
    "same": "same as another",
    "unreached": "not reached",
}

_GROUPS: Mapping[Group, str] = {
    "contract": "What masking promised",
    "risk": "What an intruder may learn",
    "utility": "What the data are still good for",
}


def tune_page(result: TuneResult) -> Page:
    """Make a page of a risk-utility map."""
    candidates = result.candidates
    inside = sum(one.within_limits is True for one in candidates)
    best = None if result.recommended is None else candidates[result.recommended]
    measured = [one for one in candidates if one.figures]
    return Page(
        title=file_name(result.data),
        kind="Risk-utility map",
        edition="internal",
        verdict=(
            Mark(
                f"Recommended: no. {result.recommended}, {best.name}" if best else "Nothing is recommended",
                "good" if best else "bad",
            ),
        ),
        lead=f"{sentence(result.why)} {best.risks if best else ''}".rstrip(),
        sections=(
            Section(
                "map",
                "The map",
                (
                    FactRow(
                        (
                            Fact("candidates", number(len(candidates)), f"{number(len(measured))} measured"),
                            *([Fact("within limits", number(inside))] if result.limits else []),
                            Fact("on the front", number(len(result.front)), "no other one is better in both"),
                            Fact("records", number(result.records), _sampled(result)),
                        )
                    ),
                    *_map(result),
                ),
            ),
            Section("candidates", "Candidates", (_table(result), *_concerns(candidates))),
            *_drawn(candidates),
            Section("levels", "Level by level", tuple(_levels(candidates))),
            Section("further", "All other figures", tuple(_further(result))),
            Section("figures", "What the figures mean", tuple(_meanings(candidates))),
            Section("notes", "Notes", tuple(listed("", result.notes))),
        ),
    )


def _levels(candidates: Sequence[TuneCandidate]) -> list[PagePart]:
    """Return what candidates do to each level of a nested file; nothing of other files."""
    ways = ((f"{at}: {one.name}", one.levels) for at, one in enumerate(candidates))
    if not (rows := tuple(level_rows(ways))):
        return []
    return [
        ResultTable("Figures by level", ("candidate", *LEVEL_COLUMNS), rows, frozenset(LEVEL_COLUMNS[1:])),
        *said("Linkage is among records of units that are composed alike; loss is that of the level's own fields."),
    ]


def _short(one: TuneCandidate) -> str:
    whole = ["all"] if one.grouping == "all" else []
    by = [] if one.aggregator is None else [one.aggregator]
    own = [f"{key} = {parameter_text(value)}" for key, value in one.params.items()]
    treated = one.treatment.short_texts
    return ", ".join([f"{one.method} {one.k}", *whole, *by, *own, *treated])


def _sampled(result: TuneResult) -> str:
    sample = result.sample
    return "" if sample is None else f"a sample of {number(sample)} to compare candidates"


def _value(one: TuneCandidate, name: str) -> float:
    return one.figures.get(name, math.nan)


def _between(one: TuneCandidate, name: str) -> tuple[float, float] | None:
    own = one.spread.get(name)
    return None if own is None else (own.least, own.most)


def plane_of(result: TuneResult) -> RiskUtilityPlane | None:
    """Return the map alone, without links; None where no candidate has figures."""
    plane = _plane(result)
    return plane and replace(plane, points=tuple(replace(point, address="") for point in plane.points))


def _measured(result: TuneResult) -> list[tuple[int, TuneCandidate]]:
    """Return the candidates that have a place on the map."""
    axes = result.utility, result.risk
    return [
        (at, one)
        for at, one in enumerate(result.candidates)
        if not any(math.isnan(_value(one, name)) for name in axes)
    ]


def _plane(result: TuneResult) -> RiskUtilityPlane | None:
    loss, risk = result.utility, result.risk
    shown = _measured(result)
    if not shown:
        return None
    points = []
    loss_before, risk_before = (result.unmasked.get(name, math.nan) for name in (loss, risk))
    if not math.isnan(loss_before + risk_before):
        points.append(PlanePoint("unmasked", loss_before, risk_before, "unmasked"))
    for at, one in shown:
        told = ", ".join(mark.text for mark in _marks(result, at))
        points.append(
            PlanePoint(
                _short(one) if at == result.recommended or at in result.front else "",
                _value(one, loss),
                _value(one, risk),
                "best" if at == result.recommended else "other",
                number=str(at),
                outside=one.within_limits is False,
                sampled=one.state == "sampled",
                front=at in result.front,
                loss_between=_between(one, loss),
                risk_between=_between(one, risk),
                said=f"{at} {one.name}: {loss} {_told(loss, _value(one, loss))}, "
                f"{risk} {_told(risk, _value(one, risk))}" + (f"; {told}" if told else ""),
                address=f"#candidate-{at}",
            )
        )
    return RiskUtilityPlane(
        tuple(points),
        _axis(loss),
        _axis(risk),
        named={} if result.limits else {"other": "candidate"},
        loss_limit=result.limits.get(loss),
        risk_limit=result.limits.get(risk),
    )


def _map(result: TuneResult) -> list[PagePart]:
    loss, risk = result.utility, result.risk
    shown, plane = _measured(result), _plane(result)
    if plane is None:
        return []
    points = plane.points
    rows = tuple(
        (
            str(at),
            one.name,
            _told(risk, _value(one, risk)),
            _told(loss, _value(one, loss)),
            "yes" if at in result.front else "",
        )
        for at, one in shown
    )
    spread = any(_between(one, name) is not None and one.seeds > 1 for _, one in shown for name in (loss, risk))
    on_sample = any(point.sampled for point in points)
    return [
        PagePicture(
            "risk-utility-map",
            "Every candidate in risk and loss",
            f"{counted(len(shown), 'candidate')} with figures, {number(len(result.front))} of them on the front.",
            plane,
            ResultTable("Risk and loss of each candidate", ("no.", "candidate", risk, loss, "on the front"), rows,
                      frozenset({"no.", loss, risk})),
            "Lower left is better. Numbers are those of the table"
            + ("" if result.recommended is None else ". A star is recommended")
            + (", a cross is outside a limit" if any(point.outside for point in points) else "")
            + (", a hollow mark was measured on the sample alone" if on_sample else "")
            + "; rings on the dashed line are the front"
            + ("; lines through a point reach over its seeds" if spread else "")
            + ". Each point leads to its row below.",
        )
    ]  # fmt: skip


def _marks(result: TuneResult, at: int) -> tuple[Mark, ...]:
    """Return all that is to be said of a candidate in a word."""
    one = result.candidates[at]
    marks = [Mark("recommended", "good")] if at == result.recommended else []
    marks += [Mark("front", "noted")] if at in result.front else []
    if one.within_limits is False:
        marks.append(Mark("outside a limit", "bad"))
    elif one.within_limits and result.limits:
        marks.append(Mark("within limits", "quiet"))
    if one.state != "measured":
        marks.append(Mark(_STATES[one.state], "quiet"))
    return tuple(marks)


def _axis(name: str) -> str:
    unit = figure_of(name).unit
    return f"{name}, {unit}" if unit else name


def _told(name: str, value: float) -> str:
    return figure(value, figure_of(name).unit, 1)


def _table(result: TuneResult) -> ResultTable:
    """One row for each candidate, in the order of their numbers: what it is, and why it is not recommended."""
    loss, risk, candidates = result.utility, result.risk, result.candidates
    seeds = ("seeds",) if any(one.seeds > 1 for one in candidates) else ()
    reasons = ("why not",) if any(one.reasons for one in candidates) else ()
    against = ("concerns",) if any(one.concerns for one in candidates) else ()
    rows = tuple(
        (
            str(at),
            one.name,
            _marks(result, at),
            _spread_told(one, risk),
            _spread_told(one, loss),
            *((number(len(one.concerns)) if one.figures else "",) if against else ()),
            *((number(one.seeds),) if seeds else ()),
            *(("; ".join(map(sentence, one.reasons)),) if reasons else ()),
        )
        for at, one in enumerate(candidates)
    )
    columns = ("no.", "candidate", "verdict", risk, loss, *against, *seeds, *reasons)
    anchors = tuple(f"candidate-{at}" for at in range(len(candidates)))
    return ResultTable("All candidates", columns, rows, frozenset({"no.", risk, loss, *against, *seeds}), anchors)


def _concerns(candidates: Sequence[TuneCandidate]) -> list[PagePart]:
    """One row for each candidate with concerns, which are named."""
    rows = tuple(
        (str(at), one.name, "; ".join(map(sentence, one.concerns)))
        for at, one in enumerate(candidates)
        if one.concerns
    )
    return [ResultTable("Concerns", ("no.", "candidate", "what speaks against it"), rows, frozenset({"no."}))]


def _drawn(candidates: Sequence[TuneCandidate]) -> list[Section]:
    """One row for each treatment that draws or swaps keys: what that changes, and what others can conclude."""
    rows: dict[str, list[dict[str, float]]] = {}
    for one in candidates:
        if one.protection:
            rows.setdefault(", ".join(one.treatment.texts), []).append(_unbounded(one.protection))
    if not rows:
        return []
    names = [name for name in PROTECTION if any(name in one for own in rows.values() for one in own)]
    worst = {treatment: worst_protection(own) for treatment, own in rows.items()}
    cells = tuple(
        (treatment, *(protection_text(name, own.get(name)) for name in names)) for treatment, own in worst.items()
    )
    meanings = tuple((name, PROTECTION[name]) for name in names)
    return [
        Section(
            "drawn",
            "Keys drawn anew or swapped",
            (
                ResultTable("What draws protect, at worst", ("treatment", *names), cells, frozenset(names)),
                ResultTable("What that means", ("name", "what it means"), meanings),
            ),
        )
    ]


def _unbounded(protection: Mapping[str, float]) -> dict[str, float]:
    """Return what draws protect; no number, as JSON has it, stands for what has no bound."""
    return {name: math.inf if math.isnan(value) else value for name, value in protection.items()}


def _further(result: TuneResult) -> list[PagePart]:
    """One row for each candidate with figures beyond the two axes; a table for each group of figures."""
    axes, candidates = {result.utility, result.risk}, result.candidates
    groups: dict[Group, list[str]] = {}
    for name in _names(candidates):
        if name not in axes:
            groups.setdefault(figure_of(name).group, []).append(name)
    return [
        ResultTable(
            _GROUPS[group],
            ("no.", "candidate", *names),
            tuple(
                (str(at), one.name, *(_spread_told(one, name) for name in names))
                for at, one in enumerate(candidates)
                if one.figures
            ),
            frozenset({"no.", *names}),
        )
        for group, names in groups.items()
    ]


def _names(candidates: Sequence[TuneCandidate]) -> list[str]:
    return [*dict.fromkeys(name for one in candidates for name in one.figures)]


def _spread_told(one: TuneCandidate, name: str) -> str | Ranged:
    told, between = _told(name, _value(one, name)), _between(one, name)
    if between is None or between[0] == between[1]:
        return told
    return Ranged(told, f"{figure(between[0], digits=1)} to {figure(between[1], digits=1)}")


def _meanings(candidates: Sequence[TuneCandidate]) -> list[PagePart]:
    rows = tuple((name, figure_of(name).group, figure_of(name).meaning) for name in _names(candidates))
    return [ResultTable("Figures", ("figure", "about", "what it means"), rows)]
