"""Means with their intervals, before and after masking, on one scale for all fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from masktron.report.pictures.canvas import Sketch, label, room
from masktron.report.pictures.palette import AFTER, BEFORE, LINE

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True)
class MeanAndInterval:
    """A mean before and after masking, less that before, in standard deviations of the original.

    Attributes
    ----------
    name : str
    half_before : float
        Half the width of the interval before masking, which has its middle at 0.
    mean, half : float
        The mean after masking, and half the width of its interval.
    """

    name: str
    half_before: float
    mean: float
    half: float


@dataclass(frozen=True, slots=True)
class MeansWithIntervals(Sketch):
    """One line for each field: the interval before as a band, mean and interval after as a point with a line."""

    means: tuple[MeanAndInterval, ...]

    @property
    def size(self) -> tuple[int, int]:
        """As high as there are fields."""
        return 640, 68 + 24 * len(self.means)

    @property
    def margins(self) -> tuple[float, float, float, float]:
        """Room for the names and the legend."""
        return room(label(one.name) for one in self.means) + 10, 10, 26, 40

    def draw(self, ax: Axes) -> None:
        """Draw on an Axes."""
        places = range(len(self.means))
        ax.barh(
            places, [2 * one.half_before for one in self.means], 0.6, left=[-one.half_before for one in self.means],
            color=BEFORE, alpha=0.45, linewidth=0, label="interval in the original",
        )  # fmt: skip
        ax.errorbar(
            [one.mean for one in self.means], places, xerr=[one.half for one in self.means], fmt="o", color=AFTER,
            markersize=5, elinewidth=1.6, label="mean and interval in the masked file",
        )  # fmt: skip
        ax.axvline(0, color=LINE, linewidth=1, zorder=0)
        ax.set_yticks(places, [label(one.name) for one in self.means])
        ax.set_ylim(len(self.means) - 0.4, -0.6)
        ax.set_xlabel("difference to the mean of the original, in its standard deviations")
        ax.grid(axis="x")
        ax.spines["bottom"].set_visible(False)
        ax.tick_params(axis="x", length=0)
        ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, borderaxespad=0)
