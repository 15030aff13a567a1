"""Where names of points stand in a picture, so that they cover neither a point nor each other.

All lengths are in points of the picture, from its lower left corner. The same points give the same places.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, product

type PicturePlace = tuple[float, float]
type PictureLine = tuple[PicturePlace, PicturePlace]

_NEAR = (2.0, 7.0)
"""How far a name stands from the edge of its point, where it needs no line to it."""
_FAR = (14.0, 21.0, 29.0, 38.0, 48.0, 60.0)
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
    far = product(enumerate(_FAR, len(_NEAR)), enumerate((*_DIRECTIONS, *_BETWEEN))) if last else ()
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
