"""Bars from left to right, one for each name, with their values behind them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from textwrap import wrap
from typing import TYPE_CHECKING

from masktron.report.pictures.canvas import AFTER, BEFORE, INK, LINE, MUTED, Sketch, label, room

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROW = 24
_SHORT = 16
_WIDTH, _LINE = 46, 14
"""Letters in a line below a narrow picture, and pixels that a line more takes."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: what it is of, how long it is, what stands behind it, and its colour."""

    name: str
    value: float
    told: str
    colour: str = AFTER


@dataclass(frozen=True, slots=True)
class Bars(Sketch):
    """Bars from left to right.

    Attributes
    ----------
    bars : tuple of Bar
        From top to bottom.
    axis : str
        What the length says.
    mark : float or None
        A value that all bars are to be read against, such as 1 for nothing lost.
    slim : bool
        Whether it is for a narrow window, with shorter names.
    """

    bars: tuple[Bar, ...]
    axis: str
    mark: float | None = None
    slim: bool = False

    @property
    def size(self) -> tuple[int, int]:
        """As high as there are bars."""
        return (330 if self.slim else 640), 44 + _ROW * len(self.bars) + _LINE * (len(self._axis) - 1)

    @property
    def narrow(self) -> Sketch | None:
        """The same for a narrow window."""
        return replace(self, slim=True)

    @property
    def _axis(self) -> list[str]:
        return wrap(self.axis, _WIDTH) if self.slim else [self.axis]

    @property
    def _names(self) -> list[str]:
        return [label(bar.name, _SHORT) if self.slim else label(bar.name) for bar in self.bars]

    @property
    def margins(self) -> tuple[float, float, float, float]:
        """Room for the names."""
        return room(self._names) + 10, 8, 4, 40 + _LINE * (len(self._axis) - 1)

    def draw(self, ax: Axes) -> None:
        """Draw on an Axes."""
        from matplotlib.ticker import MaxNLocator  # noqa: PLC0415 -- an extra

        places = range(len(self.bars))
        ax.barh(places, [bar.value for bar in self.bars], 0.62, color=[bar.colour for bar in self.bars], linewidth=0)
        if all(bar.value == int(bar.value) for bar in self.bars):
            ax.xaxis.set_major_locator(MaxNLocator(4 if self.slim else 6, integer=True))
        longest = max([*(bar.value for bar in self.bars), self.mark or 0.0, 1e-12])
        for place, bar in zip(places, self.bars, strict=True):
            behind = bar.value if self.mark is None else longest
            ax.text(behind + longest / 90, place, bar.told, va="center", ha="left", color=INK, fontsize=10.5)
        if self.mark is not None:
            ax.axvline(self.mark, color=MUTED, linewidth=1, linestyle=(0, (4, 3)), zorder=0)
        ax.set_yticks(places, self._names)
        ax.set_ylim(len(self.bars) - 0.4, -0.6)
        ax.set_xlim(0, longest * (1.3 if self.slim else 1.16))
        left, right, _, _ = self.margins
        if self.slim:  # it begins below the names
            ax.set_xlabel("\n".join(self._axis), x=-left / (self.size[0] - left - right), ha="left")
        else:
            ax.set_xlabel(self.axis)
        ax.grid(axis="x")
        ax.spines["left"].set_color(LINE)
        ax.spines["bottom"].set_visible(False)
        ax.tick_params(axis="x", length=0)


@dataclass(frozen=True, slots=True)
class PairOfBars:
    """What something was before, and is after."""

    name: str
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class PairedBars(Sketch):
    """Two bars for each name, the upper one before masking and the lower one after."""

    pairs: tuple[PairOfBars, ...]
    axis: str

    @property
    def size(self) -> tuple[int, int]:
        """As high as there are pairs."""
        return 340, 48 + 30 * len(self.pairs)

    @property
    def margins(self) -> tuple[float, float, float, float]:
        """Room for the names."""
        return room(label(pair.name, _SHORT) for pair in self.pairs) + 10, 8, 4, 40

    def draw(self, ax: Axes) -> None:
        """Draw on an Axes."""
        places = range(len(self.pairs))
        for shift, colour, values in (
            (-0.19, BEFORE, [pair.before for pair in self.pairs]),
            (0.19, AFTER, [pair.after for pair in self.pairs]),
        ):
            ax.barh([place + shift for place in places], values, 0.34, color=colour, linewidth=0)
        ax.set_yticks(places, [label(pair.name, _SHORT) for pair in self.pairs])
        ax.set_ylim(len(self.pairs) - 0.4, -0.6)
        ax.set_xlabel(self.axis)
        ax.grid(axis="x")
        ax.spines["bottom"].set_visible(False)
        ax.tick_params(axis="x", length=0)
