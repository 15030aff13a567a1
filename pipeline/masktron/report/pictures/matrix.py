"""A matrix of correlations, or of their differences, as squares: blue above zero, orange below, pale near it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from masktron.report.pictures.canvas import Sketch, label, room
from masktron.report.pictures.palette import AFTER, MUTED, WARN

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
