"""The risk-utility map of a file as a page: each way to mask it, what it costs, and the one that is recommended."""

from __future__ import annotations

import math
from dataclasses import replace

from masktron.figures import NAMES, figure_of
from masktron.report.pages.common_parts import counted, figure, file_name, listed
from masktron.report.pages.page import Fact, FactRow, Mark, Page, PagePart, PagePicture, PageTable, Section
from masktron.report.pages.plain_reader import PlainData
from masktron.report.pictures.plane import PlanePoint, RiskUtilityPlane
from masktron.report.text import number
from masktron.results.tune import candidate_name, parameter_text

_STATES = {
    "measured": "on all records",
    "sampled": "on the sample",
    "refused": "refused",
    "same": "same as another",
    "unreached": "not reached",
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
        verdict=Mark(f"Recommended: {best}" if best else "No candidate is recommended", "good" if best else "bad"),
        lead=result.text("why"),
        sections=(
            Section(
                "map",
                "The map",
                (
                    FactRow(
                        (
                            Fact("candidates", number(len(candidates)), f"{number(len(measured))} measured"),
                            Fact("within limits", number(inside)),
                            Fact("on the front", number(len(front)), "no other one is better in both"),
                            Fact("records", number(result.count("records")), _sampled(result)),
                        )
                    ),
                    *_map(result, candidates, front, recommended),
                ),
            ),
            Section("candidates", "Candidates", (_table(result, candidates, front, recommended),)),
            Section("figures", "What the figures mean", tuple(_meanings(candidates))),
            Section("notes", "Notes", tuple(listed("", result.names("notes")))),
        ),
    )


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
    return candidate_name(
        one.text("method"), one.count("k"), one.text("grouping"), by, dict(one.part("params").items())
    )


def _short(one: PlainData) -> str:
    whole = ["all"] if one.text("grouping") == "all" else []
    by = [one.text("aggregator")] if one.has("aggregator") else []
    own = [f"{key} = {parameter_text(value)}" for key, value in one.part("params").items()]
    return ", ".join([f"{one.text('method')} {one.count('k')}", *whole, *by, *own])


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
    for at, one in shown:
        outside = one.has("within_limits") and not one.switch("within_limits")
        sampled = one.text("state") == "sampled"
        kind = "best" if at == recommended else "sampled" if sampled else "outside" if outside else "other"
        named = at == recommended or at in front
        said = (
            f"{_name(one)}: {loss} {_told(loss, _value(one, loss))}, {risk} {_told(risk, _value(one, risk))}"
            + (", recommended" if at == recommended else ", outside a limit" if outside else "")
            + (", on the sample" if sampled else "")
        )
        points.append(
            PlanePoint(
                _short(one) if named else "",
                _value(one, loss),
                _value(one, risk),
                kind,
                _between(one, loss),
                _between(one, risk),
                said,
                f"#candidate-{at}",
            )
        )
    line = tuple((_value(candidates[at], loss), _value(candidates[at], risk)) for at in front)
    return RiskUtilityPlane(tuple(points), _axis(loss), _axis(risk), line)


def _map(
    result: PlainData, candidates: tuple[PlainData, ...], front: tuple[int, ...], recommended: int | None
) -> list[PagePart]:
    loss, risk = result.text("utility"), result.text("risk")
    shown, plane = _measured(result, candidates), _plane(result, candidates, front, recommended)
    if plane is None:
        return []
    rows = tuple(
        (
            _name(one),
            _told(loss, _value(one, loss)),
            _told(risk, _value(one, risk)),
            "yes" if at in front else "",
        )
        for at, one in shown
    )
    spread = any(
        _between(one, name) is not None and one.count("seeds") > 1 for _, one in shown for name in (loss, risk)
    )
    return [
        PagePicture(
            "risk-utility-map",
            "Every candidate in risk and loss",
            f"{counted(len(shown), 'candidate')} with figures, {number(len(front))} of them on the front.",
            plane,
            PageTable("Risk and loss of each candidate", ("candidate", loss, risk, "on the front"), rows,
                      frozenset({loss, risk})),
            "Lower left is better. A star is recommended, a cross is outside a limit, the dashed line is the front"
            + ("; lines through a point reach over its seeds" if spread else "")
            + ". Each point leads to its row below.",
        )
    ]  # fmt: skip


def _axis(name: str) -> str:
    unit = figure_of(name).unit
    return f"{name}, {unit}" if unit else name


def _told(name: str, value: float) -> str:
    return figure(value, figure_of(name).unit, 1)


def _table(
    result: PlainData, candidates: tuple[PlainData, ...], front: tuple[int, ...], recommended: int | None
) -> PageTable:
    loss, risk = result.text("utility"), result.text("risk")
    names = dict.fromkeys((loss, risk, *(name for one in candidates for name, _ in one.part("figures").items())))
    # on which records a candidate was measured says something where there is a sample alone
    measured = ("measured",) if any(one.text("state") == "sampled" for one in candidates) else ()
    columns = ("candidate", "verdict", *names, *measured, "seeds", "why not")
    rows: list[tuple[str | Mark, ...]] = []
    for at, one in enumerate(candidates):
        if at == recommended:
            verdict = Mark("recommended", "good")
        elif one.has("within_limits"):
            inside = one.switch("within_limits")
            words = "on the front" if at in front and inside else "within limits" if inside else "outside a limit"
            verdict = Mark(words, "quiet" if inside else "bad")
        else:
            verdict = Mark(_STATES[one.text("state")], "quiet")
        rows.append(
            (
                _name(one),
                verdict,
                *(_spread_told(one, name) for name in names),
                *((_STATES[one.text("state")],) if measured else ()),
                number(one.count("seeds")),
                "; ".join(one.names("reasons")),
            )
        )
    anchors = tuple(f"candidate-{at}" for at in range(len(candidates)))
    return PageTable("All candidates", columns, tuple(rows), frozenset({*names, "seeds"}), anchors)


def _spread_told(one: PlainData, name: str) -> str:
    told, between = _told(name, _value(one, name)), _between(one, name)
    if between is None or between[0] == between[1]:
        return told
    return f"{told} ({figure(between[0], digits=1)} to {figure(between[1], digits=1)})"


def _meanings(candidates: tuple[PlainData, ...]) -> list[PagePart]:
    names = dict.fromkeys(name for one in candidates for name, _ in one.part("figures").items())
    rows = tuple((name, figure_of(name).group, figure_of(name).meaning) for name in names)
    return [PageTable("Figures", ("figure", "about", "what it means"), rows)] if rows else []
