"""Which rule reads which field: fields on the left, rules on the right, in the blocks that are masked together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from masktron.report.pictures.canvas import AFTER, BEFORE, INK, LINE, MUTED, PAPER, SOFT, Sketch, label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ROW, _GAP = 20, 1.6
_LEFT, _RIGHT = 0.30, 0.70


@dataclass(frozen=True, slots=True)
class GraphRule:
    """A rule in the graph.

    Attributes
    ----------
    name : str
    fields : tuple of str
        That it reads.
    strata : int
        Alternatives by which records are parted into strata; 1 where there is nothing to choose.
    soft : bool
    """

    name: str
    fields: tuple[str, ...]
    strata: int = 1
    soft: bool = False


@dataclass(frozen=True, slots=True)
class GraphBlock:
    """Fields and rules that hang together.

    Attributes
    ----------
    title : str
    fields : tuple of str
        Those that are masked together first, then those that its rules read besides.
    rules : tuple of GraphRule
    masked : frozenset of str
        The fields that are masked.
    """

    title: str
    fields: tuple[str, ...]
    rules: tuple[GraphRule, ...]
    masked: frozenset[str]

    @property
    def rows(self) -> int:
        """How many lines it takes."""
        return max(len(self.fields), len(self.rules), 1)


@dataclass(frozen=True, slots=True)
class RuleGraph(Sketch):
    """Blocks one below the other, each a panel with its fields, its rules and the lines between."""

    blocks: tuple[GraphBlock, ...]

    @property
    def size(self) -> tuple[int, int]:
        """As high as there are fields and rules."""
        rows = sum(block.rows + _GAP + 0.55 for block in self.blocks)
        return 760, int(_ROW * rows) + 8

    @property
    def margins(self) -> tuple[float, float, float, float]:
        """None: names stand inside."""
        return 2, 2, 2, 2

    def draw(self, ax: Axes) -> None:
        """Draw on an Axes."""
        from matplotlib.patches import FancyBboxPatch  # noqa: PLC0415 -- an extra

        top = 0.0
        for block in self.blocks:
            height = block.rows + _GAP
            panel = FancyBboxPatch(
                (0.0, top), 1.0, height, boxstyle="round,pad=0,rounding_size=0.012", mutation_aspect=_ROW * 1.2,
                facecolor="none", edgecolor=LINE, linewidth=1,
            )  # fmt: skip
            ax.add_patch(panel)
            ax.text(0.015, top + 0.62, label(block.title, 100), va="center", color=MUTED, fontsize=10)
            self._block(ax, block, top + _GAP - 0.1)
            top += height + 0.55
        ax.set_xlim(-0.005, 1.005)
        ax.set_ylim(top, -0.2)
        ax.set_axis_off()

    def _block(self, ax: Axes, block: GraphBlock, top: float) -> None:
        fields = {name: top + at for at, name in _spaced(block.fields, block.rows)}
        ordered = sorted(block.rules, key=lambda rule: _middle(rule, fields))
        for at, rule in _spaced(ordered, block.rows):
            place = top + at
            for name in rule.fields:
                if name in fields:
                    _curve(ax, fields[name], place, masked=name in block.masked)
            ax.plot(
                [_RIGHT], [place], marker="D" if rule.strata > 1 else "o", color=SOFT if rule.soft else INK,
                markersize=6, markeredgecolor=PAPER, markeredgewidth=0.8,
            )  # fmt: skip
            parted = f"  ({rule.strata} alternatives)" if rule.strata > 1 else ""
            ax.text(_RIGHT + 0.02, place, label(rule.name) + parted, va="center", ha="left", color=INK, fontsize=10.5)
        for name, place in fields.items():
            masked = name in block.masked
            ax.plot(
                [_LEFT], [place], marker="o" if masked else "s", color=AFTER if masked else BEFORE, markersize=6.5,
                markeredgecolor=PAPER, markeredgewidth=0.8,
            )  # fmt: skip
            ax.text(_LEFT - 0.02, place, label(name), va="center", ha="right", color=INK, fontsize=10.5)


def _spaced[T](things: tuple[T, ...] | list[T], rows: int) -> list[tuple[float, T]]:
    """Spread things over the lines of a block, in their order."""
    step = rows / max(len(things), 1)
    return [(step * (at + 0.5), thing) for at, thing in enumerate(things)]


def _middle(rule: GraphRule, fields: Mapping[str, float]) -> float:
    """The mean place of the fields of a rule: rules in this order have the fewest crossings, nearly."""
    places = [fields[name] for name in rule.fields if name in fields]
    return sum(places) / len(places) if places else 0.0


def _curve(ax: Axes, start: float, end: float, *, masked: bool) -> None:
    from matplotlib.patches import PathPatch  # noqa: PLC0415 -- an extra
    from matplotlib.path import Path  # noqa: PLC0415 -- an extra

    middle = (_LEFT + _RIGHT) / 2
    points = [(_LEFT, start), (middle, start), (middle, end), (_RIGHT, end)]
    path = Path(points, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])
    ax.add_patch(PathPatch(path, facecolor="none", edgecolor=AFTER if masked else BEFORE, linewidth=1.1, alpha=0.7))
