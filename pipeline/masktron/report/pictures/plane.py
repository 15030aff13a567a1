"""The plane of risk and utility: what each way to mask loses and what risk it leaves, with names that cover nothing.

All lengths are in points of the picture, from its lower left corner. The same points give the same places.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise, product
from typing import TYPE_CHECKING, Any, NamedTuple

from masktron.report.pictures.canvas import AFTER, BEFORE, INK, MUTED, PAPER, WARN, Sketch, label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection


type PicturePlace = tuple[float, float]
type PictureLine = tuple[PicturePlace, PicturePlace]

_NEAR = (2.0, 7.0)
"""How far a name stands from the edge of its point, where it needs no line to it."""
_WITH_A_LINE = (14.0, 21.0, 29.0, 38.0, 48.0, 60.0)
"""How far it may stand with a line."""
_DIRECTIONS = (0, 180, 45, 315, 135, 225, 90, 270)
"""Degrees from the right; the best ones first: to the right, to the left, then aslant, above and below."""
_BETWEEN = tuple(range(15, 360, 15))
"""What else there is for a name that is far."""
_APART = 1.5
"""What is left free around a name."""
_PER_RING, _PER_DIRECTION, _PER_CROSSING = 10.0, 0.2, 11.0
"""What a place costs: for being far, for its direction, and for each line that it covers, or point that is passed."""


@dataclass(frozen=True, slots=True)
class PictureBox:
    """An upright rectangle."""

    left: float
    bottom: float
    right: float
    top: float

    def meets(self, other: PictureBox) -> bool:
        """Whether both share more than an edge."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.bottom < other.top
            and other.bottom < self.top
        )

    def holds(self, other: PictureBox) -> bool:
        """Whether the other one is inside."""
        return (
            self.left <= other.left
            and other.right <= self.right
            and self.bottom <= other.bottom
            and other.top <= self.top
        )

    def around(self, space: float) -> PictureBox:
        """Return it with space on all sides."""
        return PictureBox(self.left - space, self.bottom - space, self.right + space, self.top + space)

    def crossed(self, line: PictureLine) -> bool:
        """Whether a line from one spot to another goes through it (Liang and Barsky 1984)."""
        (x, y), (x2, y2) = line
        first, last = 0.0, 1.0
        for step, low, high in ((x2 - x, self.left - x, self.right - x), (y2 - y, self.bottom - y, self.top - y)):
            if not step:
                if low > 0 or high < 0:
                    return False
                continue
            enters, leaves = sorted((low / step, high / step))
            first, last = max(first, enters), min(last, leaves)
        return first < last

    def contains(self, spot: PicturePlace) -> bool:
        """Whether a spot is inside."""
        return self.left < spot[0] < self.right and self.bottom < spot[1] < self.top

    def nearest(self, spot: PicturePlace) -> PicturePlace:
        """Return the point of it that is nearest to a spot."""
        return min(max(spot[0], self.left), self.right), min(max(spot[1], self.bottom), self.top)


@dataclass(frozen=True, slots=True)
class ToName:
    """A point that is to have a name.

    Attributes
    ----------
    spot : (float, float)
    radius : float
        Of its mark.
    sizes : tuple of (float, float)
        Width and height of each name that it may have, the most telling one first. All but the last are taken only
        where they need no line to the point.
    """

    spot: PicturePlace
    radius: float
    sizes: tuple[tuple[float, float], ...]

    @property
    def mark(self) -> PictureBox:
        """The box around its mark."""
        return PictureBox(*self.spot, *self.spot).around(self.radius)


@dataclass(frozen=True, slots=True)
class PlacedName:
    """Where a name stands.

    Attributes
    ----------
    which : int
        The name, by its position among the sizes.
    box : PictureBox
    line : ((float, float), (float, float)) or None
        From the point to the name, where it is not beside it.
    """

    which: int
    box: PictureBox
    line: PictureLine | None


def placed(
    points: Sequence[ToName],
    inside: PictureBox,
    avoided: Sequence[PictureBox] = (),
    lines: Sequence[PictureLine] = (),
) -> list[PlacedName | None]:
    """Place the names of points one after the other, each at the cheapest place that is left.

    Parameters
    ----------
    points : sequence of ToName
        The most important ones first.
    inside : PictureBox
        What names do not leave.
    avoided : sequence of PictureBox
        What no name covers, beside the points.
    lines : sequence of ((float, float), (float, float))
        What names rather do not cover.

    Returns
    -------
    list of (PlacedName or None)
        One for each point; None where there is no place for any of its names.
    """
    found: list[PlacedName | None] = []
    boxes: list[PictureBox] = []
    drawn: list[PictureLine] = []
    for at, point in enumerate(points):
        marks = [*avoided, *(one.mark for other, one in enumerate(points) if other != at)]
        # a line to the name cannot keep clear of what covers the point itself
        passed = tuple(one for one in marks if not one.contains(point.spot))
        taken = _Taken(inside, (*marks, *boxes, point.mark), tuple(boxes), passed, tuple(drawn), tuple(lines))
        best = None
        for which in range(len(point.sizes)):
            best = best or _cheapest(point, which, taken)
        found.append(best)
        if best is not None:
            boxes.append(best.box.around(_APART))
            drawn += [] if best.line is None else [best.line]
    return found


@dataclass(frozen=True, slots=True)
class _Taken:
    """What a name has to stand in, must not cover, and rather does not cover.

    Attributes
    ----------
    inside : PictureBox
    boxes : tuple of PictureBox
        What is covered by no name.
    names : tuple of PictureBox
        Those of them that are names, which no line crosses.
    passed : tuple of PictureBox
        Marks, which a line rather does not cross.
    drawn, lines : tuple of PictureLine
        Lines to names, which no name covers; others, which a name rather does not cover.
    """

    inside: PictureBox
    boxes: tuple[PictureBox, ...]
    names: tuple[PictureBox, ...]
    passed: tuple[PictureBox, ...]
    drawn: tuple[PictureLine, ...]
    lines: tuple[PictureLine, ...]

    def cost(self, box: PictureBox, line: PictureLine | None) -> float:
        """Return what a place costs for what it is on; infinite where it must not be."""
        if (
            not self.inside.holds(box)
            or any(map(box.meets, self.boxes))
            or any(map(box.crossed, self.drawn))
            or (line is not None and any(one.crossed(line) for one in self.names))
        ):
            return math.inf
        passed = 0 if line is None else sum(one.crossed(line) for one in self.passed)
        return _PER_CROSSING * (passed + sum(map(box.crossed, self.lines)))


def _cheapest(point: ToName, which: int, taken: _Taken) -> PlacedName | None:
    """Return the place of one name that costs least; None where all are taken."""
    best, least = None, math.inf
    last = which == len(point.sizes) - 1
    near = product(enumerate(_NEAR), enumerate(_DIRECTIONS))
    far = product(enumerate(_WITH_A_LINE, len(_NEAR)), enumerate((*_DIRECTIONS, *_BETWEEN))) if last else ()
    for (ring, gap), (order, degrees) in chain(near, far):
        cost = ring * _PER_RING + order * _PER_DIRECTION
        if cost >= least:
            continue
        box = _beside(point, point.sizes[which], gap, math.radians(degrees))
        line = _line_to(point, box) if gap > _NEAR[-1] else None
        cost += taken.cost(box, line)
        if cost < least:
            best, least = PlacedName(which, box, line), cost
    return best


def _beside(point: ToName, size: tuple[float, float], gap: float, angle: float) -> PictureBox:
    """Return the box of a name that is so far from the edge of its point in a direction."""
    away = point.radius + gap
    across, up = math.cos(angle), math.sin(angle)
    left = point.spot[0] + away * across - size[0] * (1 - _toward(across)) / 2
    bottom = point.spot[1] + away * up - size[1] * (1 - _toward(up)) / 2
    return PictureBox(left, bottom, left + size[0], bottom + size[1])


def _toward(share: float) -> float:
    """Return 1 where a name begins at its place, -1 where it ends there, 0 where it has its middle there."""
    return max(-1.0, min(1.0, 2 * share))


def _line_to(point: ToName, box: PictureBox) -> PictureLine:
    """Return the line from the edge of a point to its name."""
    x, y = point.spot
    end = box.nearest(point.spot)
    length = ((end[0] - x) ** 2 + (end[1] - y) ** 2) ** 0.5
    share = point.radius / length
    return (x + (end[0] - x) * share, y + (end[1] - y) * share), end


@dataclass(frozen=True, slots=True)
class PlanePoint:
    """One way to mask, or none, on the plane.

    Attributes
    ----------
    name : str
        Written beside the point where there is room; empty for none.
    loss, risk : float
    kind : {"unmasked", "this", "other", "best"}
        The file as it was; the one that the page is about; another one; the recommended one.
    number : str
        What the table calls it; it is written where there is no room for number and name. Empty for none.
    outside, sampled, front : bool
        Whether it is outside a limit, measured on a sample alone, and on the front. The mark shows all three.
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
    number: str = ""
    outside: bool = False
    sampled: bool = False
    front: bool = False
    loss_between: tuple[float, float] | None = None
    risk_between: tuple[float, float] | None = None
    said: str = ""
    address: str = ""


class _Look(NamedTuple):
    """A mark: its shape, colour, area in square points, and whether it is hollow, or a ring around another one."""

    shape: str
    colour: str
    area: float
    hollow: bool = False
    ring: bool = False


_LOOKS: Mapping[str, _Look] = {
    "best": _Look("*", AFTER, 240),
    "this": _Look("o", AFTER, 90),
    "other": _Look("o", AFTER, 46),
    "outside": _Look("X", WARN, 64),
    "sampled": _Look("o", MUTED, 46, hollow=True),
    "front": _Look("o", INK, 150, hollow=True, ring=True),
    "unmasked": _Look("s", BEFORE, 60),
}
"""By what the legend calls them; `outside` and `sampled` change the mark of a point, `front` is a ring around it."""
_TOLD = {
    "best": "recommended",
    "this": "this file",
    "other": "within limits",
    "outside": "outside a limit",
    "sampled": "on a sample alone",
    "front": "on the front",
    "unmasked": "unmasked original",
    "limit": "limit",
}
_DOTTED: Mapping[str, Any] = {"color": WARN, "linewidth": 1.1, "linestyle": (0, (1.5, 2.5))}
"""How limits are drawn."""
_AXIS, _LEGEND_ROW = 44, 20
"""Pixels below the axes for their numbers and what they say, and for each row of the legend."""
_FAR = 1.5
"""A limit beyond so many times the largest value is not drawn: it would push all points into a corner."""
_FONT = 10.0
"""Of names, in points."""
_BASELINE, _HEIGHT = 2.8, 13.0
"""Of a line of text of that size: how far its foot is below the letters, and how high it is."""


def _look(point: PlanePoint) -> _Look:
    found = _LOOKS[point.kind]
    if point.outside and point.kind == "other":
        found = _LOOKS["outside"]
    return found._replace(colour=WARN if point.outside else found.colour, hollow=point.sampled)


def _ring(point: PlanePoint) -> float:
    """Return the area of the ring of the front around a point."""
    return max(_LOOKS["front"].area, 1.75 * _look(point).area)


@dataclass(frozen=True, slots=True)
class RiskUtilityPlane(Sketch):
    """Loss to the right, risk upwards: the lower left is better.

    Attributes
    ----------
    points : tuple of PlanePoint
    loss, risk : str
        What the axes say.
    named : mapping of str to str
        Other words for the kinds of points in the legend.
    least_loss, least_risk : float
        What the axes reach at least, so that little does not look like much.
    loss_limit, risk_limit : float or None
        Limits on the axes, drawn as lines.
    slim : bool
        Whether it is for a narrow window, with numbers in the place of names.
    """

    points: tuple[PlanePoint, ...]
    loss: str
    risk: str
    named: Mapping[str, str] | None = None
    least_loss: float = 0.0
    least_risk: float = 0.0
    loss_limit: float | None = None
    risk_limit: float | None = None
    slim: bool = False

    @property
    def size(self) -> tuple[int, int]:
        """One size for any number of points; a row more for each row of the legend."""
        return (330 if self.slim else 640), 384 + _LEGEND_ROW * self._rows

    @property
    def margins(self) -> tuple[float, float, float, float]:
        """Room for the axes, and below for the legend."""
        return (44 if self.slim else 54), 10, 8, _AXIS + _LEGEND_ROW * self._rows

    @property
    def narrow(self) -> Sketch | None:
        """The same for a narrow window."""
        return replace(self, slim=True)

    @property
    def links(self) -> Mapping[str, str]:
        """What the points are called, by the address of their row."""
        return {point.address: point.said for point in self.points if point.address}

    @property
    def _columns(self) -> int:
        return 2 if self.slim else 4

    @property
    def _rows(self) -> int:
        return math.ceil(len([*self._legend()]) / self._columns)

    def _legend(self) -> Iterator[str]:
        """Give the marks that need a word, by their names."""
        kinds = {"outside" if one.outside and one.kind == "other" else one.kind for one in self.points}
        kinds |= {"sampled"} if any(one.sampled for one in self.points) else set()
        kinds |= {"front"} if any(one.front for one in self.points) else set()
        yield from (kind for kind in _LOOKS if kind in kinds)
        if any(bound is not None for bound in self._bounds):
            yield "limit"

    @property
    def _bounds(self) -> tuple[float | None, float | None]:
        """The limits on both axes, but none that is far from all points."""
        return (
            _near(self.loss_limit, [self.least_loss, *(one.loss for one in self.points)]),
            _near(self.risk_limit, [self.least_risk, *(one.risk for one in self.points)]),
        )

    def draw(self, ax: Axes) -> None:
        """Draw on an Axes."""
        front = sorted((one.risk, one.loss) for one in self.points if one.front)
        if len(front) > 1:
            risks, losses = zip(*front, strict=True)
            ax.plot(losses, risks, color=MUTED, linewidth=1.2, linestyle=(0, (4, 3)), zorder=1)
        for point in sorted(self.points, key=lambda one: one.kind in ("best", "this")):  # they cover the others
            _draw_point(ax, point)
        self._limits(ax)
        self._names(ax)
        ax.set_xlabel(f"{self.loss}  →  more is lost")
        ax.set_ylabel(f"{self.risk}  →  more risk")
        ax.grid()
        ax.tick_params(labelcolor=MUTED)
        ax.spines[["left", "bottom"]].set_visible(False)
        self._draw_legend(ax)

    def _limits(self, ax: Axes) -> None:
        """Set how far the axes reach, and draw the limits."""
        loss_limit, risk_limit = self._bounds
        for setting, line, values, least, limit in (
            (ax.set_xlim, ax.axvline, [one.loss for one in self.points], self.least_loss, loss_limit),
            (ax.set_ylim, ax.axhline, [one.risk for one in self.points], self.least_risk, risk_limit),
        ):
            bound = 0.0 if limit is None else limit
            low, high = min([0.0, bound, *values]), max([*values, least, bound, 1e-9])
            space = (high - low) * 0.06
            setting(low - space, high + 1.4 * space)
            if limit is not None:
                line(limit, zorder=1, **_DOTTED)

    def _draw_legend(self, ax: Axes) -> None:
        told = _TOLD | dict(self.named or {})
        handles: list[Any] = []
        for kind in self._legend():
            if kind == "limit":
                handles += ax.plot([], [], **_DOTTED)
                continue
            look = _LOOKS[kind]
            mark = _scattered(ax, [], [], look._replace(area=min(look.area, 120)))
            handles.append((mark, _scattered(ax, [], [], _LOOKS["other"])) if kind == "front" else mark)
        left, right, above, below = self.margins
        width, height = self.size[0] - left - right, self.size[1] - above - below
        ax.legend(
            handles, [told[kind] for kind in self._legend()], loc="upper left", ncols=self._columns,
            bbox_to_anchor=(-left / width, -_AXIS / height), borderaxespad=0, borderpad=0.2,
            handletextpad=0.2, columnspacing=1.0 if self.slim else 1.8,
        )  # fmt: skip

    def _names(self, ax: Axes) -> None:
        """Write numbers and names beside the points, so that none covers a point, a range or another one."""
        importance = ("best", "this", "unmasked")
        shown = sorted(
            (one for one in self.points if one.name or one.number),
            key=lambda one: (importance.index(one.kind) if one.kind in importance else 3, not one.front),
        )
        at = _places(ax)
        texts = [self._texts(point) for point in shown]
        points = [
            ToName(at(one.loss, one.risk), _reach(one), tuple((_width(text), _HEIGHT) for text in own))
            for one, own in zip(shown, texts, strict=True)
        ]
        nameless = [ToName(at(one.loss, one.risk), _reach(one), ()).mark for one in self.points if one not in shown]
        ranges = [
            PictureBox(*at(*start), *at(*end)).around(1.5) for one in self.points for start, end in _spreads(one)
        ]
        front = sorted((one.risk, one.loss) for one in self.points if one.front)
        lines = [(at(a[1], a[0]), at(b[1], b[0])) for a, b in pairwise(front)]
        (x0, x1), (y0, y1) = ax.get_xlim(), ax.get_ylim()
        loss_limit, risk_limit = self._bounds
        lines += [] if loss_limit is None else [(at(loss_limit, y0), at(loss_limit, y1))]
        lines += [] if risk_limit is None else [(at(x0, risk_limit), at(x1, risk_limit))]
        inside = PictureBox(*at(x0, y0), *at(x1, y1))
        for point, own, name, found in zip(
            points, texts, shown, placed(points, inside, (*nameless, *ranges), lines), strict=True
        ):
            if found is not None:
                _write(ax, own[found.which], name, point, found)

    def _texts(self, point: PlanePoint) -> tuple[str, ...]:
        """Return what may be written beside a point, the most telling first."""
        if not point.number:
            return (label(point.name),)
        if self.slim or not point.name:
            return (point.number,)
        return label(f"{point.number}  {point.name}", 44), point.number


def _near(limit: float | None, values: Sequence[float]) -> float | None:
    return limit if limit is not None and 0 <= limit <= _FAR * max(values) else None


def _draw_point(ax: Axes, point: PlanePoint) -> None:
    look = _look(point)
    for (x, y), (x2, y2) in _spreads(point):
        ax.plot([x, x2], [y, y2], color=look.colour, linewidth=1.4, solid_capstyle="butt", zorder=2)
    if point.front:
        _scattered(ax, [point.loss], [point.risk], _LOOKS["front"]._replace(area=_ring(point)))
    mark = _scattered(ax, [point.loss], [point.risk], look)
    mark.set_urls([point.address or None])


def _scattered(ax: Axes, xs: list[float], ys: list[float], look: _Look) -> PathCollection:
    face = look.colour if not look.hollow else "none" if look.ring else PAPER
    edge = look.colour if look.hollow else PAPER
    return ax.scatter(
        xs, ys, s=look.area, marker=look.shape, facecolor=face, edgecolor=edge,
        linewidth=1.4 if look.hollow else 1, zorder=3,
    )  # fmt: skip


def _spreads(point: PlanePoint) -> Iterator[PictureLine]:
    """Give the lines that reach over the seeds of a point, in its own units."""
    if point.loss_between is not None and point.loss_between[0] < point.loss_between[1]:
        low, high = point.loss_between
        yield (low, point.risk), (high, point.risk)
    if point.risk_between is not None and point.risk_between[0] < point.risk_between[1]:
        low, high = point.risk_between
        yield (point.loss, low), (point.loss, high)


def _reach(point: PlanePoint) -> float:
    """Return how far from its middle the mark of a point reaches, with its ring."""
    return math.sqrt(_ring(point) if point.front else _look(point).area) / 2 + 0.7


def _width(text: str) -> float:
    from matplotlib.font_manager import FontProperties  # noqa: PLC0415 -- an extra
    from matplotlib.textpath import text_to_path  # noqa: PLC0415

    width, _, _ = text_to_path.get_text_width_height_descent(text, FontProperties(size=_FONT), ismath=False)
    return float(width) + 2


def _places(ax: Axes) -> Callable[[float, float], PicturePlace]:
    """Return where a point of the plane is, in points of the picture."""
    scale = 72 / ax.figure.dpi

    def at(loss: float, risk: float) -> PicturePlace:
        x, y = ax.transData.transform((loss, risk)) * scale
        return float(x), float(y)

    return at


def _write(ax: Axes, text: str, name: PlanePoint, point: ToName, found: PlacedName) -> None:
    """Write the name of a point where there is room for it."""
    x, y = point.spot

    def offset(spot: PicturePlace) -> PicturePlace:
        return spot[0] - x, spot[1] - y

    if found.line is not None:
        start, end = map(offset, found.line)
        ax.annotate(
            "", (name.loss, name.risk), xytext=end, textcoords="offset points",
            arrowprops={"arrowstyle": "-", "color": MUTED, "linewidth": 0.8, "shrinkA": 0,
                        "shrinkB": math.hypot(*start)},
        )  # fmt: skip
    ax.annotate(
        text, (name.loss, name.risk), xytext=offset((found.box.left + 1, found.box.bottom + _BASELINE)),
        textcoords="offset points", ha="left", va="baseline", color=INK, fontsize=_FONT,
    )  # fmt: skip
