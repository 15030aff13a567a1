"""The grid of a field: which numbers it can hold as written, and how they are written.

A masked field keeps the grid of the original: integers stay integers, money keeps its two decimals. Fields with
long fractions (rates, ratios) have no grid of their own; they are written with a number of significant digits.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.elementary import decimal_magnitude
from masktron.sources.column import Column
from masktron.sources.lexical import reads_alike

LONG = 6
"""Fields with more fraction digits than this are written by significant digits."""
FREE_DIGITS = 15
"""Significant digits of a long field that stands in no equality: all that every double keeps."""
TIED_DIGITS = 9
"""Significant digits of a long field in an equality: products of it are still exact in a double."""
SOLVED_DIGITS = 17
"""A solved variable with more significant digits than this could not be told from its neighbours as a double."""

ERROR = 64
"""Rounding errors of a computed number, in units in the last place."""


@dataclass(frozen=True, slots=True)
class Grid:
    """The numbers that a field can hold.

    Attributes
    ----------
    decimals : int
        Fraction digits; 0 for integers.
    digits : int or None
        Significant digits, for long fractions; None for a grid with fixed spacing.
    padded : bool
        Every original value shows exactly `decimals` fraction digits, so masked values do as well.
    whole : bool
        Only integers are looked for, whatever the field can hold: a rule asks for them.
    binary : bool
        Only numbers that a double holds exactly are looked for: of two decimals, the quarters.
    among : tuple of (Fraction, str)
        Where a rule names the values, or wants one of the original: these numbers only, ascending, as written.
    low, high : Fraction or None
        The least and the largest number that the column can hold; None where nothing bounds them.
    most : int or None
        Fraction digits that the column can hold, below 0 for tens; None where nothing bounds them.
    """

    decimals: int
    digits: int | None = None
    padded: bool = False
    whole: bool = False
    binary: bool = False
    among: tuple[tuple[Fraction, str], ...] = ()
    low: Fraction | None = None
    high: Fraction | None = None
    most: int | None = None

    def walk(self, value: float) -> Callable[[int], Fraction | None]:
        """Return the points of the grid around `value` by their offset from the nearest; None where there is none."""
        if not self.among:
            start, step = self.round(value), self.step(value)
            return lambda offset: self._inside(start + offset * step)
        nearest = self._nearest(Fraction(value))
        return lambda offset: self.among[nearest + offset][0] if 0 <= nearest + offset < len(self.among) else None

    def columns(self, value: float, offsets: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the points that `walk` finds, as doubles, and which of them there are; both of shape (m,)."""
        if not self.among:
            start, step = self.round(value), self.step(value)
            common = math.lcm(start.denominator, step.denominator)  # one division per point is rounded correctly
            points = np.asarray((float(start * common) + offsets * float(step * common)) / float(common), np.float64)
            return points, self.within(points)
        known: NDArray[np.float64] = np.array([float(number) for number, _ in self.among])
        at = self._nearest(Fraction(value)) + offsets
        there = np.asarray((at >= 0) & (at < len(known)))
        return known[np.where(there, at, 0)], there

    def fitting(self, values: NDArray[np.float64], *, near: bool) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Move computed numbers to the grid, and tell which of them the grid holds; both of shape (m,).

        Parameters
        ----------
        values : ndarray of float64, shape (m,)
        near : bool
            Take the nearest number of the grid, wherever it is; otherwise only rounding errors are removed.
        """
        if self.digits is not None and not self.among:
            return values, np.isfinite(values) & self.within(values)
        if self.among:
            points = np.array([float(number) for number, _ in self.among])
            right = np.clip(np.searchsorted(points, values), 1 if len(points) > 1 else 0, len(points) - 1)
            left = np.maximum(right - 1, 0)
            moved = np.where(
                np.abs(points[left] - values) <= np.abs(points[right] - values), points[left], points[right]
            )
            error = np.spacing(np.abs(moved)) * ERROR
        else:
            inverse = float(1 / self.step(0.0))
            moved = np.rint(values * inverse) / inverse
            error = np.maximum(1e-6 / inverse, np.spacing(np.abs(moved)) * ERROR)
        return moved, np.isfinite(values) & (near | (np.abs(moved - values) <= error)) & self.within(moved)

    def settled(self, value: Fraction, *, near: bool) -> Fraction:
        """Move a computed number to the grid as `fitting` does, exactly.

        Where a long field has to be equal, it takes the shortest decimal of the nearest double, which is what the
        engine would have computed.
        """
        if self.holds(value):
            return value
        if self.among:
            return self.among[self._nearest(value)][0] if near else value
        if near:
            return self.round(value)
        return value if self.digits is None else Fraction(repr(float(value)))

    def _nearest(self, value: Fraction) -> int:
        """Return which of the values is the nearest, the smaller of two."""
        above = self._position(value)
        around = [at for at in (above - 1, above) if 0 <= at < len(self.among)]
        return min(around, key=lambda at: abs(self.among[at][0] - value))

    def _position(self, value: Fraction) -> int:
        """Return where a number stands, or would stand, among the values."""
        return bisect.bisect_left(self.among, value, key=lambda entry: entry[0])

    def _spelling(self, value: Fraction) -> str | None:
        """Return how a number is written among the values; None where it is none of them."""
        at = self._position(value)
        return self.among[at][1] if at < len(self.among) and self.among[at][0] == value else None

    def step(self, near: float | Fraction) -> Fraction:
        """Return the distance between neighbouring numbers of the grid around `near`."""
        step = self._step(near)
        return step if self.most is None else max(step, self._finest)

    @property
    def _finest(self) -> Fraction:
        """The distance between neighbouring numbers of the column; 0 where nothing bounds its fraction digits."""
        return Fraction(0) if self.most is None else 1 / Fraction(10) ** self.most

    def _step(self, near: float | Fraction) -> Fraction:
        if self.whole:
            return Fraction(1)
        if self.digits is None:
            return Fraction(1, (2 if self.binary else 10) ** self.decimals)
        magnitude = decimal_magnitude(abs(float(near))) if near else 0
        return Fraction(10) ** (magnitude + 1 - self.digits)

    def round(self, value: float | Fraction) -> Fraction:
        """Return the number of the grid nearest to `value` that the column can hold, halves to even."""
        step = self.step(value)
        point = round(Fraction(value) / step) * step
        if self.high is not None and point > self.high:
            return math.floor(self.high / step) * step
        if self.low is not None and point < self.low:
            return math.ceil(self.low / step) * step
        return point

    def admits(self, value: Fraction) -> bool:
        """Tell whether the column can hold a number, wherever the points of the grid are."""
        if (self.low is not None and value < self.low) or (self.high is not None and value > self.high):
            return False
        return self.most is None or bool((value / self._finest).denominator == 1)

    def within(self, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Tell which of some numbers are not beyond what the column can hold; of the shape of `values`."""
        low = -math.inf if self.low is None else float(self.low)
        high = math.inf if self.high is None else float(self.high)
        return np.asarray((values >= low) & (values <= high))

    def _inside(self, value: Fraction) -> Fraction | None:
        return value if self.admits(value) else None

    def holds(self, value: Fraction) -> bool:
        """Tell whether a number can be written on the grid; on a long field, any of at most 17 digits."""
        if not self.admits(value):
            return False
        if self.among:
            return self._spelling(value) is not None
        if self.digits is None:
            return bool((value * 10**self.decimals).denominator == 1)
        return significant_digits(value) <= SOLVED_DIGITS

    def only(self, lexemes: Iterable[str]) -> Grid:
        """Return the grid of certain values, each as it is written; of several spellings the first in order.

        Those that the column cannot hold are left out.
        """
        numbers = {Fraction(lexeme.strip()): lexeme for lexeme in sorted(set(lexemes), reverse=True)}
        spelled = {number: lexeme for number, lexeme in numbers.items() if self.admits(number)}
        if self.among:
            spelled = {number: text for number, text in self.among if number in spelled}
        return replace(self, among=tuple(sorted(spelled.items())))

    def finer(self, digits: int) -> Grid:
        """Return the grid with some more fraction digits, as far as the column has them; integers stay integers."""
        finer = (
            self.decimals + digits
            if self.most is None
            else max(self.decimals, min(self.decimals + digits, self.most))
        )
        return replace(self, decimals=finer) if self._decimal else self

    def coarser(self) -> Grid:
        """Return the grid of the numbers among these that a double holds exactly.

        Theorem: sums and differences of such numbers come out the same in doubles in any order, and equal to the
        exact sum, while it is below 2 ** (53 - decimals). Proof: with d decimals they are multiples of 2 ** -d, and
        so are their sums; doubles hold all multiples of 2 ** -d up to that bound, so that nothing is ever rounded.
        """
        return replace(self, binary=True) if self._decimal else self

    @property
    def _decimal(self) -> bool:
        """Whether the grid is that of a number of decimals."""
        return not self.among and not self.whole and self.digits is None and self.decimals > 0

    def lexeme(self, value: Fraction) -> str:
        """Write a number of the grid in plain decimal notation.

        Raises
        ------
        ValueError
            The number has no finite decimal form.
        """
        if (text := self._spelling(value)) is not None:
            return text
        places = fraction_digits(value)
        if places is None:
            raise ValueError(f"{value} has no finite decimal form")
        if self.padded:
            places = max(places, self.decimals)
        scaled = abs(value.numerator) * 10**places // value.denominator
        sign = "-" if value < 0 else ""
        whole, fraction = divmod(scaled, 10**places)
        return f"{sign}{whole}.{fraction:0{places}d}" if places else f"{sign}{whole}"


def grid_of(column: Column, *, tied: bool) -> Grid:
    """Find the grid of a field from its original values.

    Parameters
    ----------
    column : Column
    tied : bool
        The field stands in an equality that has to hold exactly.
    """
    sure, typed = column.typed.digits, column.typed
    bounds = Grid(0, low=typed.lower, high=typed.upper, most=typed.places)
    largest = float(np.nanmax(np.abs(column.values), initial=0.0))
    if column.decimals > LONG or not column.typed.keeps(largest, column.decimals):
        digits = TIED_DIGITS if tied else FREE_DIGITS
        return replace(bounds, decimals=column.decimals, digits=digits if sure is None else min(digits, sure))
    # a binary fraction has no zeros at its end
    padded = (
        sure is None
        and column.decimals > 0
        and all(_places(lexeme) == column.decimals for lexeme in column.each_number())
    )
    return replace(bounds, decimals=column.decimals, padded=padded)


def readable(grid: Grid, value: Fraction) -> str:
    """Write a free value so that all engines read the same double; a long fraction's last digit may be stepped."""
    lexeme = grid.lexeme(value)
    if grid.among or grid.digits is None or reads_alike(lexeme):
        return lexeme
    step = grid.step(float(value))
    for distance in range(1, 10):
        for candidate in (value + distance * step, value - distance * step):
            if reads_alike(text := grid.lexeme(candidate)):
                return text
    return lexeme


def fraction_digits(value: Fraction) -> int | None:
    """Return how many fraction digits the number needs; None when no finite number is enough."""
    denominator, twos, fives = value.denominator, 0, 0
    while denominator % 2 == 0:
        denominator //= 2
        twos += 1
    while denominator % 5 == 0:
        denominator //= 5
        fives += 1
    return max(twos, fives) if denominator == 1 else None


def significant_digits(value: Fraction) -> float:
    """Return how many significant digits the number needs; infinity when no finite number is enough."""
    places = fraction_digits(value)
    if places is None:
        return math.inf
    return len(str(abs(value.numerator) * 10**places // value.denominator).rstrip("0"))


def scales(values: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the spread of each column, shape (p,), 1 where it has none: the unit of distances in settle."""
    largest = np.nanmax(np.abs(values), axis=0, initial=0.0)
    power = np.frexp(largest)[1]  # by powers of two, so that no square overflows
    spread = np.nanstd(np.where(np.isnan(values).all(axis=0), 0.0, np.ldexp(values, -power)), axis=0)
    unit: np.ndarray[tuple[int], np.dtype[np.float64]] = np.ldexp(spread, power)
    return np.where(unit > 0, unit, 1.0)


def _places(lexeme: str) -> int:
    return len(lexeme.strip().partition(".")[2])


def common_measure(numbers: Sequence[Fraction]) -> Fraction:
    """Return the largest number of which all are whole multiples; 0 if all are 0.

    Theorem: whole multiples of the numbers add up to a total if and only if it is a multiple of this one. Proof: on
    a common denominator the numbers are integers, and their integer combinations are the multiples of their greatest
    common divisor (Bezout).
    """
    denominator = math.lcm(*(number.denominator for number in numbers))
    return Fraction(math.gcd(*(int(number * denominator) for number in numbers)), denominator)
