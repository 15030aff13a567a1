"""Scatter plots as SVG: the same figures give the same bytes."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from reproduction.edit_constraints import Curve
from reproduction.measured import Reading

NAMED = (1, 2, 4, 6, 10, 20, 50, 99)
"""Sizes of groups that are written beside their points."""
COLOUR, LINES = "#1f5a8a", "#b0b0b0"


def loss_against_risk(curve: Curve, reading: Reading, path: Path) -> None:
    """Plot PIL against DR for every k, with lines of equal SCORE, and write the plot."""
    with mpl.rc_context({"svg.hashsalt": "masktron", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(5.2, 4.6), layout="constrained")
        axes = figure.add_subplot()
        for score in range(10, 100, 10):
            axes.axline((2 * score, 0), slope=-1, color=LINES, linewidth=0.6, zorder=1)
        losses = [one.pil for one in curve.figures]
        risks = [reading.risk(one) for one in curve.figures]
        axes.scatter(losses, risks, s=12, color=COLOUR, linewidths=0, zorder=2)
        for k in NAMED:
            one = curve.at(k)
            axes.annotate(str(k), (one.pil, reading.risk(one)), (4, 4), textcoords="offset points")
        axes.set(
            xlim=(0, 105), ylim=(0, 105), aspect="equal", xlabel="PIL", ylabel="DR",
            title=f"{curve.scenario.name}, {curve.scenario.said}: k = 1 to 99; grey: equal SCORE",
        )  # fmt: skip
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
