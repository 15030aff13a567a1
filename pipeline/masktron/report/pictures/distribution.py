"""The distribution of a number before and after masking, over bins none of which is small."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from masktron.report.pictures.canvas import Sketch
from masktron.report.pictures.palette import AFTER, BEFORE
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
