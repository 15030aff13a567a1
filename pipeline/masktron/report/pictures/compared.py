"""An original and its masked file in pictures: distributions, means, correlations, and columns in their order."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from masktron.report.pictures.canvas import AFTER, BEFORE, LINE, MUTED, WARN, Sketch, label, room
from masktron.report.text import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True)
class TwoDistributions(Sketch):
    """Two histograms over the same bins; a column is as large as its share of the records.

    Attributes
    ----------
    edges : tuple of float
        One more than bins. The outer ones are where the picture ends, not where the values do.
    before, after : tuple of float
        Shares of the records by bin.
    whole : bool
        Whether the values are whole numbers, a bin each.
    """

    edges: tuple[float, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]
    whole: bool = False

    @property
    def size(self) -> tuple[int, int]:
        """Small, as there is one for each field."""
        return 340, 150

    @property
    def margins(self) -> tuple[float, float, float, float]:
        """Room for the values."""
        return 14, 28, 4, 22

    def draw(self, ax: Axes) -> None:
        """Draw on an Axes."""
        from matplotlib.ticker import FuncFormatter, MaxNLocator  # noqa: PLC0415 -- an extra

        widths = [high - low for low, high in pairwise(self.edges)]
        before, after = (
            [share / width for share, width in zip(shares, widths, strict=True)]
            for shares in (self.before, self.after)
        )
        ax.stairs(before, self.edges, fill=True, color=BEFORE, alpha=0.45, linewidth=0)
        ax.stairs(after, self.edges, color=AFTER, linewidth=1.7)
        ax.set_yticks([])
        ax.set_ylim(bottom=0)
        ax.xaxis.set_major_locator(MaxNLocator(4, integer=self.whole))
        ax.xaxis.set_major_formatter(
            FuncFormatter(lambda value, _: number(value, "g" if abs(value) < 1e4 else ".0f"))
        )
        ax.spines["left"].set_visible(False)


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


_FAINTEST = 0.02


@dataclass(frozen=True, slots=True)
class SquareMatrix(Sketch):
    """A symmetric matrix, of which the lower triangle is drawn.

    Attributes
    ----------
    names : tuple of str
    values : tuple of tuple of float
        NaN where there is none.
    strongest : float
        The value that has the full colour.
    """

    names: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]
    strongest: float = 1.0

    @property
    def size(self) -> tuple[int, int]:
        """As large as there are names."""
        side = max(90, min(20, 760 // max(len(self.names), 1)) * len(self.names))
        left, right, above, below = self.margins
        return int(side + left + right), int(side + above + below)

    @property
    def margins(self) -> tuple[float, float, float, float]:
        """Room for the names on both sides."""
        names = room((label(name, 16) for name in self.names), 10) + 10
        return names, 8, 4, names

    def draw(self, ax: Axes) -> None:
        """Draw on an Axes."""
        from matplotlib.patches import Rectangle  # noqa: PLC0415 -- an extra

        for row, values in enumerate(self.values):
            for column in range(row):
                value = values[column]
                if math.isnan(value):
                    ax.plot([column], [row], marker="x", color=MUTED, markersize=3, markeredgewidth=0.7)
                    continue
                strength = min(1.0, abs(value) / self.strongest) if self.strongest else 0.0
                if strength >= _FAINTEST:
                    colour = AFTER if value > 0 else WARN
                    square = Rectangle((column - 0.46, row - 0.46), 0.92, 0.92, color=colour, linewidth=0)
                    square.set_alpha(round(strength, 2))
                    ax.add_patch(square)
        names = [label(name, 16) for name in self.names]
        ax.set_yticks(range(1, len(names)), names[1:])
        ax.set_xticks(range(len(names) - 1), names[:-1], rotation=90)
        ax.tick_params(axis="both", length=0, labelsize=10)
        ax.set_xlim(-0.6, len(names) - 1.4)
        ax.set_ylim(len(names) - 0.4, 0.4)
        ax.set_aspect("equal")
        ax.spines[["left", "bottom"]].set_visible(False)


_TICKS = 12


@dataclass(frozen=True, slots=True)
class ColumnsInOrder(Sketch):
    """Columns side by side.

    Attributes
    ----------
    names, values : tuple
        What each column is of, and how high it is.
    along, axis : str
        What the names are, and what the height says.
    colour : str
    small : bool
        Whether it stands beside others.
    """

    names: tuple[str, ...]
    values: tuple[float, ...]
    along: str
    axis: str
    colour: str = AFTER
    small: bool = False

    @property
    def size(self) -> tuple[int, int]:
        """One size for any number of columns."""
        return (340, 190) if self.small else (640, 240)

    @property
    def narrow(self) -> Sketch | None:
        """The small one."""
        return None if self.small else replace(self, small=True)

    @property
    def margins(self) -> tuple[float, float, float, float]:
        """Room for counts."""
        return 62, 8, 6, 40

    def draw(self, ax: Axes) -> None:
        """Draw on an Axes."""
        from matplotlib.ticker import MaxNLocator  # noqa: PLC0415 -- an extra

        places = range(len(self.values))
        ax.bar(places, self.values, 0.8, color=self.colour, linewidth=0)
        step = -(-len(self.names) // (_TICKS // 2 if self.small else _TICKS))
        ax.set_xticks(places[::step], [label(name, 14) for name in self.names[::step]])
        ax.set_xlim(-0.7, max(len(self.values), 6) - 0.3)
        ax.yaxis.set_major_locator(MaxNLocator(5, integer=True))
        ax.set_xlabel(self.along)
        ax.set_ylabel(self.axis)
        ax.grid(axis="y")
        ax.spines["left"].set_visible(False)
