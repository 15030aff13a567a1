"""The plane of risk and utility: what each way to mask loses, and what risk it leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from masktron.report.pictures.canvas import Sketch, label
from masktron.report.pictures.palette import AFTER, BEFORE, INK, MUTED, PAPER, WARN

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True)
class PlanePoint:
    """One way to mask, or none, on the plane.

    Attributes
    ----------
    name : str
        Written beside the point where there is room; empty for none.
    loss, risk : float
    kind : {"unmasked", "this", "other", "outside", "sampled", "best"}
        The file as it was; the one that the page is about; another one; one outside its limits; one
        of which only a sample was measured; the recommended one.
    loss_between, risk_between : (float, float) or None
        Least and most over several seeds.
    said : str
        What the point is called for those who do not see it, where it leads somewhere.
    address : str
        Of the row of a table that the point leads to; empty for none.
    """

    name: str
    loss: float
    risk: float
    kind: str = "other"
    loss_between: tuple[float, float] | None = None
    risk_between: tuple[float, float] | None = None
    said: str = ""
    address: str = ""


_LOOKS: Mapping[str, tuple[str, str, int]] = {
    "unmasked": ("s", BEFORE, 60),
    "this": ("o", AFTER, 90),
    "other": ("o", AFTER, 46),
    "outside": ("X", WARN, 58),
    "sampled": ("^", MUTED, 46),
    "best": ("*", AFTER, 240),
}
_TOLD = {
    "unmasked": "unmasked original",
    "this": "this file",
    "other": "within limits",
    "outside": "outside a limit",
    "sampled": "on the sample alone",
    "best": "recommended",
}


@dataclass(frozen=True, slots=True)
class RiskUtilityPlane(Sketch):
    """Loss to the right, risk upwards: the lower left is better.

    Attributes
    ----------
    points : tuple of PlanePoint
    loss, risk : str
        What the axes say.
    front : tuple of (float, float)
        Loss and risk of the points that no other one beats, from the least risk to the most.
    named : mapping of str to str
        Other words for the kinds of points in the legend.
    least_loss, least_risk : float
        What the axes reach at least, so that little does not look like much.
    """

    points: tuple[PlanePoint, ...]
    loss: str
    risk: str
    front: tuple[tuple[float, float], ...] = ()
    named: Mapping[str, str] | None = None
    least_loss: float = 0.0
    least_risk: float = 0.0

    @property
    def size(self) -> tuple[int, int]:
        """One size for any number of points."""
        return 640, 390

    @property
    def margins(self) -> tuple[float, float, float, float]:
        """Room for the axes and the legend."""
        return 56, 10, 28, 42

    @property
    def links(self) -> Mapping[str, str]:
        """What the points are called, by the address of their row."""
        return {point.address: point.said for point in self.points if point.address}

    def draw(self, ax: Axes) -> None:
        """Draw on an Axes."""
        if len(self.front) > 1:
            ax.plot(*zip(*self.front, strict=True), color=MUTED, linewidth=1.2, linestyle=(0, (4, 3)), zorder=1)
        told = _TOLD | dict(self.named or {})
        for point in self.points:
            marker, colour, size = _LOOKS[point.kind]
            _spread(ax, point, colour)
            at = ax.scatter(
                [point.loss],
                [point.risk],
                s=size,
                marker=marker,
                color=colour,
                edgecolor=PAPER,
                linewidth=1,
                zorder=3,
            )
            at.set_urls([point.address or None])
        for kind, (marker, colour, size) in _LOOKS.items():
            if any(point.kind == kind for point in self.points):
                ax.scatter([], [], s=min(size, 90), marker=marker, color=colour, label=told[kind])
        self._limits(ax)
        _names(ax, self.points)
        ax.set_xlabel(f"{self.loss}  →  more is lost")
        ax.set_ylabel(f"{self.risk}  →  more risk")
        ax.grid()
        ax.tick_params(labelcolor=MUTED)
        ax.spines[["left", "bottom"]].set_visible(False)
        ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=5, borderaxespad=0.2, handletextpad=0.2)

    def _limits(self, ax: Axes) -> None:
        for setting, values, least in (
            (ax.set_xlim, [point.loss for point in self.points], self.least_loss),
            (ax.set_ylim, [point.risk for point in self.points], self.least_risk),
        ):
            low, high = min([0.0, *values]), max([*values, least, 1e-9])
            space = (high - low) * 0.06
            setting(low - space, high + 1.4 * space)


def _spread(ax: Axes, point: PlanePoint, colour: str) -> None:
    for between, along in ((point.loss_between, "x"), (point.risk_between, "y")):
        if between is not None and between[0] < between[1]:
            xs, ys = (between, (point.risk,) * 2) if along == "x" else ((point.loss,) * 2, between)
            ax.plot(xs, ys, color=colour, linewidth=1.4, solid_capstyle="butt", zorder=2)


def _names(ax: Axes, points: Sequence[PlanePoint]) -> None:
    """Write names beside points, but none where it would cover that of another."""
    width, height = 0.24, 0.045
    (x0, x1), (y0, y1) = ax.get_xlim(), ax.get_ylim()
    taken: list[tuple[float, float]] = []
    order = {"best": 0, "this": 1, "unmasked": 2, "other": 3, "outside": 4, "sampled": 4}
    for point in sorted(points, key=lambda one: order[one.kind]):
        if not point.name:
            continue
        place = ((point.loss - x0) / (x1 - x0), (point.risk - y0) / (y1 - y0))
        if any(abs(place[0] - x) < width and abs(place[1] - y) < height for x, y in taken):
            continue
        taken.append(place)
        right = place[0] > 0.68
        ax.annotate(
            label(point.name), (point.loss, point.risk), xytext=(-9 if right else 9, 0), textcoords="offset points",
            ha="right" if right else "left", va="center", color=INK, fontsize=10,
        )  # fmt: skip
