"""Columns side by side along something that has an order, such as the records of a file or the sizes of groups."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from masktron.report.pictures.canvas import Sketch, label
from masktron.report.pictures.palette import AFTER

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
