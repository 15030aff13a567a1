"""The risk-utility map of a file as a page: each way to mask it, what it costs, and the one that is recommended."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from masktron.counts import counted
from masktron.figures import NAMES, Group, figure_of
from masktron.problems.wording import sentence
from masktron.report.level_figures_table import LEVEL_COLUMNS, level_rows
from masktron.report.pages.common_parts import figure, file_name, listed, said
from masktron.report.pages.page import Fact, FactRow, Mark, Page, PagePart, PagePicture, PageTable, Ranged, Section
from masktron.report.pages.plain_reader import PlainData
from masktron.report.pictures.plane import PlanePoint, RiskUtilityPlane
from masktron.report.text import number
from masktron.results.tune import (
    PROTECTION,
    KeyTreatment,
    candidate_name,
    parameter_text,
    protection_text,
    worst_protection,
)

_STATES = {
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


def tune_page(result: PlainData) -> Page:
    """Make a page of a risk-utility map.

    Parameters
    ----------
    result : PlainData
        As ``tune --json`` writes it.

    Raises
    ------
    UsageError
        The plain data are no map.
    """
    candidates = result.parts("candidates")
    recommended = result.optional_count("recommended")
    if recommended is not None and recommended not in range(len(candidates)):
        raise result.wrong("recommended")
    front = result.positions("front", len(candidates))
    _require_known(result, candidates)
    inside = sum(one.has("within_limits") and one.switch("within_limits") for one in candidates)
    best = None if recommended is None else _name(candidates[recommended])
    measured = [one for one in candidates if one.part("figures").content]
    return Page(
        title=file_name(result.text("data")),
        kind="Risk-utility map",
        edition="internal",
        verdict=(
            Mark(
                f"Recommended: no. {recommended}, {best}" if best else "Nothing is recommended",
                "good" if best else "bad",
            ),
        ),
        lead=f"{result.text('why')} {_risks(candidates, recommended)}".rstrip(),
        sections=(
            Section(
                "map",
                "The map",
                (
                    FactRow(
                        (
                            Fact("candidates", number(len(candidates)), f"{number(len(measured))} measured"),
                            *([Fact("within limits", number(inside))] if result.part("limits").content else []),
                            Fact("on the front", number(len(front)), "no other one is better in both"),
                            Fact("records", number(result.count("records")), _sampled(result)),
                        )
                    ),
                    *_map(result, candidates, front, recommended),
                ),
            ),
            Section(
                "candidates", "Candidates", (_table(result, candidates, front, recommended), *_concerns(candidates))
            ),
            *_drawn(candidates),
            Section("levels", "Level by level", tuple(_levels(candidates))),
            Section("further", "All other figures", tuple(_further(result, candidates))),
            Section("figures", "What the figures mean", tuple(_meanings(candidates))),
            Section("notes", "Notes", tuple(listed("", result.names("notes")))),
        ),
    )


def _risks(candidates: tuple[PlainData, ...], recommended: int | None) -> str:
    """What intruders would re-identify in what is recommended; maps of earlier versions do not say."""
    best = None if recommended is None else candidates[recommended]
    return best.text("risks") if best is not None and best.has("risks") else ""


def _levels(candidates: tuple[PlainData, ...]) -> list[PagePart]:
    """Return what candidates do to each level of a nested file; nothing of other files."""
    ways = (
        (f"{at}: {_name(one)}", {level: own for level, own in one.part("levels").items() if isinstance(own, Mapping)})
        for at, one in enumerate(candidates)
        if one.has("levels")  # maps of earlier versions have none
    )
    if not (rows := tuple(level_rows(ways))):
        return []
    return [
        PageTable("Figures by level", ("candidate", *LEVEL_COLUMNS), rows, frozenset(LEVEL_COLUMNS[1:])),
        *said("Linkage is among records of units that are composed alike; loss is that of the level's own fields."),
    ]


def _require_known(result: PlainData, candidates: tuple[PlainData, ...]) -> None:
    """Refuse names of figures and states that there are not."""
    for axis in ("risk", "utility"):
        if result.text(axis) not in NAMES:
            raise result.wrong(axis)
    for one in candidates:
        if not set(one.part("figures").content) <= set(NAMES):
            raise one.wrong("figures")
        if one.text("state") not in _STATES:
            raise one.wrong("state")


def _name(one: PlainData) -> str:
    by = one.text("aggregator") if one.has("aggregator") else None
    own = dict(one.part("params").items())
    return sentence(
        candidate_name(one.text("method"), one.count("k"), one.text("grouping"), by, own, _treatment(one))
    )


def _treatment(one: PlainData) -> KeyTreatment:
    """Return how keys are treated; maps of earlier versions do not say all of it, as nothing was done.

    Raises
    ------
    UsageError
        That is no treatment.
    """
    try:
        return KeyTreatment.from_dict(one.content)
    except TypeError:
        raise one.wrong("recode") from None


def _short(one: PlainData) -> str:
    whole = ["all"] if one.text("grouping") == "all" else []
    by = [one.text("aggregator")] if one.has("aggregator") else []
    own = [f"{key} = {parameter_text(value)}" for key, value in one.part("params").items()]
    treated = _treatment(one).short_texts
    return ", ".join([f"{one.text('method')} {one.count('k')}", *whole, *by, *own, *treated])


def _sampled(result: PlainData) -> str:
    sample = result.optional_count("sample")
    return "" if sample is None else f"a sample of {number(sample)} to compare candidates"


def _value(one: PlainData, name: str) -> float:
    figures = one.part("figures")
    return figures.number(name) if name in figures.content else math.nan


def _between(one: PlainData, name: str) -> tuple[float, float] | None:
    spread = one.part("spread")
    if name not in spread.content:
        return None
    own = spread.part(name)
    return own.number("least"), own.number("most")


def plane_of(result: PlainData) -> RiskUtilityPlane | None:
    """Return the map alone, without links; None where no candidate has figures.

    Parameters
    ----------
    result : PlainData
        As for `tune_page`.

    Raises
    ------
    UsageError
        The plain data are no map.
    """
    candidates = result.parts("candidates")
    _require_known(result, candidates)
    front = result.positions("front", len(candidates))
    plane = _plane(result, candidates, front, result.optional_count("recommended"))
    return plane and replace(plane, points=tuple(replace(point, address="") for point in plane.points))


def _measured(result: PlainData, candidates: tuple[PlainData, ...]) -> list[tuple[int, PlainData]]:
    """Return the candidates that have a place on the map."""
    axes = result.text("utility"), result.text("risk")
    return [(at, one) for at, one in enumerate(candidates) if not any(math.isnan(_value(one, name)) for name in axes)]


def _plane(
    result: PlainData, candidates: tuple[PlainData, ...], front: tuple[int, ...], recommended: int | None
) -> RiskUtilityPlane | None:
    loss, risk = result.text("utility"), result.text("risk")
    shown = _measured(result, candidates)
    if not shown:
        return None
    points = []
    unmasked = result.part("unmasked")
    if unmasked.has(loss) and unmasked.has(risk):
        points.append(PlanePoint("unmasked", unmasked.number(loss), unmasked.number(risk), "unmasked"))
    limits = result.part("limits")
    for at, one in shown:
        told = ", ".join(mark.text for mark in _marks(one, at, front, recommended, limited=bool(limits.content)))
        points.append(
            PlanePoint(
                _short(one) if at == recommended or at in front else "",
                _value(one, loss),
                _value(one, risk),
                "best" if at == recommended else "other",
                number=str(at),
                outside=_outside(one),
                sampled=one.text("state") == "sampled",
                front=at in front,
                loss_between=_between(one, loss),
                risk_between=_between(one, risk),
                said=f"{at} {_name(one)}: {loss} {_told(loss, _value(one, loss))}, "
                f"{risk} {_told(risk, _value(one, risk))}" + (f"; {told}" if told else ""),
                address=f"#candidate-{at}",
            )
        )
    return RiskUtilityPlane(
        tuple(points),
        _axis(loss),
        _axis(risk),
        named={} if limits.content else {"other": "candidate"},
        loss_limit=limits.number(loss) if limits.has(loss) else None,
        risk_limit=limits.number(risk) if limits.has(risk) else None,
    )


def _map(
    result: PlainData, candidates: tuple[PlainData, ...], front: tuple[int, ...], recommended: int | None
) -> list[PagePart]:
    loss, risk = result.text("utility"), result.text("risk")
    shown, plane = _measured(result, candidates), _plane(result, candidates, front, recommended)
    if plane is None:
        return []
    points = plane.points
    rows = tuple(
        (
            str(at),
            _name(one),
            _told(risk, _value(one, risk)),
            _told(loss, _value(one, loss)),
            "yes" if at in front else "",
        )
        for at, one in shown
    )
    spread = any(
        _between(one, name) is not None and one.count("seeds") > 1 for _, one in shown for name in (loss, risk)
    )
    on_sample = any(point.sampled for point in points)
    return [
        PagePicture(
            "risk-utility-map",
            "Every candidate in risk and loss",
            f"{counted(len(shown), 'candidate')} with figures, {number(len(front))} of them on the front.",
            plane,
            PageTable("Risk and loss of each candidate", ("no.", "candidate", risk, loss, "on the front"), rows,
                      frozenset({"no.", loss, risk})),
            "Lower left is better. Numbers are those of the table"
            + ("" if recommended is None else ". A star is recommended")
            + (", a cross is outside a limit" if any(point.outside for point in points) else "")
            + (", a hollow mark was measured on the sample alone" if on_sample else "")
            + "; rings on the dashed line are the front"
            + ("; lines through a point reach over its seeds" if spread else "")
            + ". Each point leads to its row below.",
        )
    ]  # fmt: skip


def _outside(one: PlainData) -> bool:
    return one.has("within_limits") and not one.switch("within_limits")


def _marks(
    one: PlainData, at: int, front: tuple[int, ...], recommended: int | None, *, limited: bool
) -> tuple[Mark, ...]:
    """Return all that is to be said of a candidate in a word."""
    marks = [Mark("recommended", "good")] if at == recommended else []
    marks += [Mark("front", "noted")] if at in front else []
    if _outside(one):
        marks.append(Mark("outside a limit", "bad"))
    elif one.has("within_limits") and limited:
        marks.append(Mark("within limits", "quiet"))
    if one.text("state") != "measured":
        marks.append(Mark(_STATES[one.text("state")], "quiet"))
    return tuple(marks)


def _axis(name: str) -> str:
    unit = figure_of(name).unit
    return f"{name}, {unit}" if unit else name


def _told(name: str, value: float) -> str:
    return figure(value, figure_of(name).unit, 1)


def _table(
    result: PlainData, candidates: tuple[PlainData, ...], front: tuple[int, ...], recommended: int | None
) -> PageTable:
    """One row for each candidate, in the order of their numbers: what it is, and why it is not recommended."""
    loss, risk = result.text("utility"), result.text("risk")
    seeds = ("seeds",) if any(one.count("seeds") > 1 for one in candidates) else ()
    reasons = ("why not",) if any(one.names("reasons") for one in candidates) else ()
    against = ("concerns",) if any(one.has("concerns") for one in candidates) else ()  # earlier versions have none
    rows = tuple(
        (
            str(at),
            _name(one),
            _marks(one, at, front, recommended, limited=bool(result.part("limits").content)),
            _spread_told(one, risk),
            _spread_told(one, loss),
            *((number(len(one.names("concerns"))) if one.part("figures").content else "",) if against else ()),
            *((number(one.count("seeds")),) if seeds else ()),
            *(("; ".join(one.names("reasons")),) if reasons else ()),
        )
        for at, one in enumerate(candidates)
    )
    columns = ("no.", "candidate", "verdict", risk, loss, *against, *seeds, *reasons)
    anchors = tuple(f"candidate-{at}" for at in range(len(candidates)))
    return PageTable("All candidates", columns, rows, frozenset({"no.", risk, loss, *against, *seeds}), anchors)


def _concerns(candidates: tuple[PlainData, ...]) -> list[PagePart]:
    """One row for each candidate with concerns, which are named."""
    rows = tuple(
        (str(at), _name(one), "; ".join(one.names("concerns")))
        for at, one in enumerate(candidates)
        if one.has("concerns") and one.names("concerns")
    )
    return (
        [PageTable("Concerns", ("no.", "candidate", "what speaks against it"), rows, frozenset({"no."}))]
        if rows
        else []
    )


def _drawn(candidates: tuple[PlainData, ...]) -> list[Section]:
    """One row for each treatment that draws or swaps keys: what that changes, and what others can conclude."""
    rows: dict[str, list[dict[str, float]]] = {}
    for one in candidates:
        if one.has("protection") and one.part("protection").content:
            rows.setdefault(", ".join(_treatment(one).texts), []).append(_protection(one))
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
                PageTable("What draws protect, at worst", ("treatment", *names), cells, frozenset(names)),
                PageTable("What that means", ("name", "what it means"), meanings),
            ),
        )
    ]


def _protection(one: PlainData) -> dict[str, float]:
    """Return what draws of a candidate protect; null stands for what has no bound."""
    part = one.part("protection")
    return {name: part.number(name) if part.has(name) else math.inf for name in part.content}


def _further(result: PlainData, candidates: tuple[PlainData, ...]) -> list[PagePart]:
    """One row for each candidate with figures beyond the two axes; a table for each group of figures."""
    axes = {result.text("utility"), result.text("risk")}
    groups: dict[Group, list[str]] = {}
    for name in _names(candidates):
        if name not in axes:
            groups.setdefault(figure_of(name).group, []).append(name)
    return [
        PageTable(
            _GROUPS[group],
            ("no.", "candidate", *names),
            tuple(
                (str(at), _name(one), *(_spread_told(one, name) for name in names))
                for at, one in enumerate(candidates)
                if one.part("figures").content
            ),
            frozenset({"no.", *names}),
        )
        for group, names in groups.items()
    ]


def _names(candidates: tuple[PlainData, ...]) -> list[str]:
    return [*dict.fromkeys(name for one in candidates for name, _ in one.part("figures").items())]


def _spread_told(one: PlainData, name: str) -> str | Ranged:
    told, between = _told(name, _value(one, name)), _between(one, name)
    if between is None or between[0] == between[1]:
        return told
    return Ranged(told, f"{figure(between[0], digits=1)} to {figure(between[1], digits=1)}")


def _meanings(candidates: tuple[PlainData, ...]) -> list[PagePart]:
    rows = tuple((name, figure_of(name).group, figure_of(name).meaning) for name in _names(candidates))
    return [PageTable("Figures", ("figure", "about", "what it means"), rows)] if rows else []
