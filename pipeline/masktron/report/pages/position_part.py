"""Where a masked file stands between one that says everything and one that says nothing, in the axes of `tune`."""

from __future__ import annotations

import math
from collections.abc import Mapping

from masktron.report.pages.common_parts import figure
from masktron.report.pages.page import PagePart, PagePicture, PageTable
from masktron.report.pages.plain_reader import PlainData
from masktron.report.pictures.plane import PlanePoint, RiskUtilityPlane

LEAST_LOSS = 10.0
"""What the axis of loss reaches at least: losses below that are small."""
_AXES = (("disclosure_risk", "pil"), ("linkage", "information_loss"))
"""Risk and loss as `tune` has them, which say something of every kind of method; else those of any number of records.

Information loss compares record by record, and of values that were drawn it says little."""
_WORDS = {
    ("disclosure_risk", "pil"): (
        "Disclosure risk {risk:.1f} %, of {unmasked:.1f} % unmasked, for a probabilistic information loss (pil) of "
        "{loss:.2f} %.",
        "Lower left is better. Loss 0 and all risk is the original; at loss 100 it is certain that published results "
        "differ by more than the luck of drawing a sample.",
    ),
    ("linkage", "information_loss"): (
        "{risk:.1f} % of the records link to their original, of {unmasked:.1f} % unmasked, for a loss of "
        "{loss:.2f} %.",
        "Lower left is better. Loss 0 and all risk is the original; loss 100 is as if everybody had the average.",
    ),
}


def figure_values(result: PlainData) -> dict[str, float]:
    """Return the figures of a result by their names."""
    return {one.text("figure"): one.number("value") for one in result.parts("figures")}


def position_parts(
    figures: Mapping[str, float],
    unmasked_linkage: float,
    name: str = "this file",
) -> list[PagePart]:
    """Draw a file on the first axes of which it has both figures; nothing where it has none.

    Parameters
    ----------
    figures : mapping of str to float
        Of the file, by name.
    unmasked_linkage : float
        Linkage of the original with itself; NaN for 100.
    name : str
        Of the file, in the table.
    """
    axes = next((pair for pair in _AXES if not any(math.isnan(figures.get(one, math.nan)) for one in pair)), None)
    if axes is None:
        return []
    risk, loss = figures[axes[0]], figures[axes[1]]
    unmasked = 100.0 if math.isnan(unmasked_linkage) else unmasked_linkage
    if axes[0] == "disclosure_risk":
        # the mean of linkage and of intervals, in which every value is near to itself
        unmasked = (unmasked + 100) / 2
    points = (PlanePoint("unmasked", 0.0, unmasked, "unmasked"), PlanePoint("this file", loss, risk, "this"))
    rows = tuple(
        (name if point.kind == "this" else point.name, figure(point.loss, "%"), figure(point.risk, "%", 1))
        for point in points
    )
    words, legend = _WORDS[axes]
    columns = ("file", axes[1], axes[0])
    return [
        PagePicture(
            "risk-and-utility",
            "Where this file stands",
            words.format(risk=risk, unmasked=unmasked, loss=loss),
            RiskUtilityPlane(
                points,
                f"{axes[1]}, %",
                f"{axes[0]}, %",
                least_loss=LEAST_LOSS,
                least_risk=100.0,
            ),
            PageTable("Risk and loss", columns, rows, frozenset(columns[1:])),
            legend,
        )
    ]
