"""What became of counts from one run to the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from masktron.report.pictures.canvas import Sketch, label
from masktron.report.pictures.palette import AFTER, BEFORE, SOFT, WARN

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = (WARN, SOFT, AFTER, BEFORE)
_MARKERS = ("o", "s", "D", "^")


@dataclass(frozen=True, slots=True)
class CourseOfCounts:
    """Counts by run, from the first to the last; NaN where a run has none."""

    name: str
    counts: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Trend(Sketch):
    """Lines from run to run, each with a mark of its own shape.

    Attributes
    ----------
    runs : tuple of str
    courses : tuple of CourseOfCounts
        At most four.
    axis : str
    """

    runs: tuple[str, ...]
    courses: tuple[CourseOfCounts, ...]
    axis: str

    @property
    def size(self) -> tuple[int, int]:
        """One size for any number of runs."""
        return 640, 250

    @property
    def margins(self) -> tuple[float, float, float, float]:
        """Room for counts and the legend."""
        return 62, 16, 26, 24

    def draw(self, ax: Axes) -> None:
        """Draw on an Axes."""
        from matplotlib.ticker import MaxNLocator  # noqa: PLC0415 -- an extra

        places = range(len(self.runs))
        for course, colour, marker in zip(self.courses, _COLOURS, _MARKERS, strict=False):
            ax.plot(
                places, course.counts, color=colour, marker=marker, markersize=6, linewidth=1.8, label=course.name
            )
        ax.set_xticks(places, [label(run, 22) for run in self.runs])
        ax.set_xlim(-0.35, len(self.runs) - 0.65)
        ax.set_ylim(0, 1.12 * max([1.0, *(count for course in self.courses for count in course.counts)]))
        ax.yaxis.set_major_locator(MaxNLocator(5, integer=True))
        ax.set_ylabel(self.axis)
        ax.grid(axis="y")
        ax.spines["left"].set_visible(False)
        ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=4, borderaxespad=0)
