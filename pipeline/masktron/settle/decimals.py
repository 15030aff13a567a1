"""Columns of decimal numbers, exact and as written: what `Grid` does with one number, for many at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Self

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.elementary import decimal_magnitudes
from masktron.settle.grid import Grid

LARGEST = 2.0**53
"""Mantissas stay below, so that a double holds them and one division reads the number correctly rounded."""
MOST_PLACES = 22
"""Fraction digits; a double holds the powers of ten up to there."""
_POWERS = 10 ** np.arange(19, dtype=np.int64)
_DOUBLE_POWERS = np.array([float(10**places) for places in range(MOST_PLACES + 1)])
_ZERO, _POINT, _MINUS = ord("0"), ord("."), ord("-")


@dataclass(frozen=True, slots=True, eq=False)
class Decimals:
    """Numbers ``mantissa / 10 ** places``; all arrays have the same shape.

    Attributes
    ----------
    mantissa : ndarray of int64
    places : ndarray of int64
        Fraction digits, 0 to `MOST_PLACES`.
    known : ndarray of bool
        Where this is the number; elsewhere it does not exist, or takes more digits than are held here.
    """

    mantissa: NDArray[np.int64]
    places: NDArray[np.int64]
    known: NDArray[np.bool_]

    @classmethod
    def near(cls, values: NDArray[np.float64], grid: Grid, offsets: NDArray[np.int64]) -> Self:
        """Return the numbers of a grid that lie some steps from the nearest to each value.

        Parameters
        ----------
        values : ndarray of float64, shape (m, 1)
        grid : Grid
            Of fixed spacing or of significant digits, without a list of values.
        offsets : ndarray of int64, shape (q,)

        Returns
        -------
        Decimals
            Of shape (m, q).
        """
        places = _places(values, grid)
        # from a table, as numpy's powers need not be the same on every machine
        power = _DOUBLE_POWERS[np.minimum(np.abs(places), MOST_PLACES)]
        with np.errstate(all="ignore"):
            scaled = np.rint(np.where(places < 0, values / power, values * power))
            # What lies beyond a double's integers has no neighbours to step to.
            fine = np.abs(scaled) + np.abs(offsets) < LARGEST / np.where(places < 0, power, 1.0)
        fine &= np.abs(places) <= MOST_PLACES
        mantissa = _clamped(np.where(fine, scaled, 0.0).astype(np.int64), places, grid) + offsets
        mantissa *= _POWERS[np.clip(-places, 0, 18)]
        digits = np.broadcast_to(np.clip(places, 0, MOST_PLACES), mantissa.shape)
        found = cls(mantissa, digits, np.broadcast_to(fine, mantissa.shape))
        return cls(mantissa, digits, found.known & found.inside(grid))

    @classmethod
    def constant(cls, number: Fraction) -> Self | None:
        """Return one number, of shape (); None where it has no decimal form that is short enough."""
        for places in range(MOST_PLACES + 1):
            scaled = number * 10**places
            if scaled.denominator == 1 and abs(scaled) < LARGEST:
                mantissa, digits = np.asarray(int(scaled), dtype=np.int64), np.asarray(places, dtype=np.int64)
                return cls(mantissa, digits, np.ones((), dtype=np.bool_))
        return None

    @classmethod
    def joined(cls, parts: Sequence[Decimals]) -> Self:
        """Put one-dimensional numbers one after the other."""
        mantissa, places = (np.concatenate(own) for own in zip(*((p.mantissa, p.places) for p in parts), strict=True))
        return cls(mantissa, places, np.concatenate([part.known for part in parts]))

    def doubles(self) -> NDArray[np.float64]:
        """Return the numbers as doubles, correctly rounded; NaN where they are not known."""
        return np.where(self.known, self.mantissa / _DOUBLE_POWERS[self.places], np.nan)

    def alike(self) -> NDArray[np.bool_]:
        """Tell where libxml2 reads the same double as other engines; see `masktron.sources.lexical.libxml2_number`.

        It adds the whole part and the fraction, which is rounded before; both parts are below 2 ** 53 here.
        """
        size = np.abs(self.mantissa)
        power = _DOUBLE_POWERS[self.places]
        whole = np.where(self.places < len(_POWERS), size // _POWERS[np.minimum(self.places, len(_POWERS) - 1)], 0)
        fraction = size - whole * _POWERS[np.minimum(self.places, len(_POWERS) - 1)]
        return np.asarray(whole + fraction / power == size / power)

    def __add__(self, other: Decimals) -> Decimals:
        places = np.maximum(self.places, other.places)
        one, two = self._at(places), other._at(places)
        total = one.mantissa + two.mantissa
        return Decimals(total, places, one.known & two.known & (np.abs(total) < LARGEST))

    def __mul__(self, other: Decimals) -> Decimals:
        places = self.places + other.places
        size = np.abs(self.mantissa).astype(np.float64) * np.abs(other.mantissa)
        known = self.known & other.known & (size < LARGEST) & (places <= MOST_PLACES)
        mantissa = np.where(known, self.mantissa, 0) * np.where(known, other.mantissa, 0)
        return Decimals(mantissa, np.minimum(places, MOST_PLACES), known)

    def over(self, other: Decimals, grid: Grid, *, near: bool) -> Decimals:
        """Return the quotients on a grid: the nearest number of it, or else what is a quotient exactly."""
        with np.errstate(all="ignore"):
            found = Decimals.near(self.doubles() / other.doubles(), grid, np.zeros(1, dtype=np.int64))
        if near:
            return found
        back = found * other
        places = np.maximum(back.places, self.places)
        one, two = back._at(places), self._at(places)
        return Decimals(found.mantissa, found.places, one.known & two.known & (one.mantissa == two.mantissa))

    def _at(self, places: NDArray[np.int64]) -> Decimals:
        """Write with more fraction digits."""
        more = places - self.places
        fine = np.abs(self.mantissa) * 10.0**more < LARGEST
        mantissa = np.where(fine, self.mantissa, 0) * _POWERS[np.minimum(more, len(_POWERS) - 1)]
        return Decimals(mantissa, places, self.known & fine)

    def shortened(self) -> Decimals:
        """Return the same numbers without zeros at the end of the fraction."""
        mantissa, places = self.mantissa.copy(), self.places.copy()
        for _ in range(int(places.max(initial=0))):
            even = (places > 0) & (mantissa % 10 == 0)
            if not even.any():
                break
            mantissa[even] //= 10
            places[even] -= 1
        return Decimals(mantissa, places, self.known)

    def on(self, grid: Grid) -> Decimals:
        """Return the same numbers, known only where a grid holds them."""
        if grid.digits is not None and grid.most is None:
            return Decimals(self.mantissa, self.places, self.known & self.inside(grid))
        short = self.shortened()
        most = grid.decimals if grid.digits is None or grid.most is None else grid.most
        return Decimals(short.mantissa, short.places, short.known & (short.places <= most) & short.inside(grid))

    def inside(self, grid: Grid) -> NDArray[np.bool_]:
        """Tell which numbers are not beyond what the column of a grid can hold, exactly."""
        fine = np.ones(self.mantissa.shape, dtype=np.bool_)
        if grid.most is not None and grid.most < 0:
            fine = self.mantissa % (_POWERS[min(-grid.most, 18)] * _POWERS[np.minimum(self.places, 18)]) == 0
        for bound, sign in ((grid.low, -1), (grid.high, 1)):
            if bound is None or abs(bound) >= LARGEST:  # all mantissas are below
                continue
            limits = _limits(bound, sign)
            fine &= sign * self.mantissa <= limits[self.places]
        return fine

    def rounded(self, grid: Grid) -> Decimals:
        """Return the nearest numbers of a grid, halves to even; on long fields the numbers themselves."""
        if grid.digits is not None:
            return self
        wanted = 0 if grid.whole else grid.decimals
        cut = np.maximum(self.places - wanted, 0)
        unit = _POWERS[np.minimum(cut, len(_POWERS) - 1)]
        down, rest = np.divmod(self.mantissa, unit)
        up = (2 * rest > unit) | ((2 * rest == unit) & (down % 2 == 1))
        return Decimals(down + up, self.places - cut, self.known & (cut < len(_POWERS)))

    def fits(self, grid: Grid) -> NDArray[np.bool_]:
        """Tell which numbers are known with all the fraction digits that a grid shows."""
        return self._at(np.maximum(self.places, grid.decimals)).known if grid.padded else self.known

    def equals(self, number: Fraction) -> NDArray[np.bool_]:
        """Tell where the numbers are a given one."""
        return np.asarray(self.doubles() == float(number))

    def take(self, which: NDArray[np.intp] | NDArray[np.bool_] | tuple[NDArray[np.intp], ...]) -> Decimals:
        """Return some of the numbers, as indexing with an array does."""
        return Decimals(self.mantissa[which], self.places[which], self.known[which])

    def spelled(self, grid: Grid) -> Spelled:
        """Write one-dimensional numbers in plain decimal notation, as `Grid.lexeme` does."""
        number = self.shortened()
        if grid.padded:
            number = number._at(np.maximum(number.places, grid.decimals))
        return _spelled(number)


def total(parts: Sequence[Decimals]) -> Decimals:
    """Add up some columns, at least one."""
    return reduce(Decimals.__add__, parts)


@dataclass(frozen=True, slots=True, eq=False)
class Spelled:
    """Texts of one field as bytes.

    Attributes
    ----------
    octets : ndarray of uint8, shape (m, width)
        ASCII, each row padded with zeros.
    lengths : ndarray of int64, shape (m,)
    alike : ndarray of bool, shape (m,)
        Where all engines read the same double.
    """

    octets: NDArray[np.uint8]
    lengths: NDArray[np.int64]
    alike: NDArray[np.bool_]

    def take(self, which: NDArray[np.intp]) -> Spelled:
        """Return some of the texts."""
        return Spelled(self.octets[which], self.lengths[which], self.alike[which])

    def texts(self) -> NDArray[np.object_]:
        """Return the texts as str objects."""
        if not len(self.octets):
            return np.empty(0, dtype=np.object_)
        raw = np.ascontiguousarray(self.octets).view(f"S{self.octets.shape[1]}").ravel()
        return raw.astype("U").astype(np.object_)


def _places(values: NDArray[np.float64], grid: Grid) -> NDArray[np.int64]:
    """Fraction digits of the numbers of a grid near some values; negative where its steps are larger than 1."""
    most = MOST_PLACES + 1 if grid.most is None else grid.most
    if grid.whole:
        return np.full(values.shape, min(0, most), dtype=np.int64)
    if grid.digits is None:
        return np.full(values.shape, min(grid.decimals, most), dtype=np.int64)
    size = np.abs(values)
    known = (size > 0) & np.isfinite(size)
    places = np.asarray(grid.digits - 1 - decimal_magnitudes(np.where(known, size, 1.0)))
    return np.minimum(places, most)


def _limits(bound: Fraction, sign: int) -> NDArray[np.int64]:
    """Return how large `sign` times a mantissa may be by its places, shape (MOST_PLACES + 1,)."""
    limits = [math.floor(sign * bound * 10**places) for places in range(MOST_PLACES + 1)]
    beyond = int(LARGEST)
    return np.array([max(-beyond, min(beyond, limit)) for limit in limits], dtype=np.int64)


def _clamped(mantissa: NDArray[np.int64], places: NDArray[np.int64], grid: Grid) -> NDArray[np.int64]:
    """Move mantissas to the nearest that the column of a grid can hold."""
    for bound, sign in ((grid.low, -1), (grid.high, 1)):
        if bound is not None and abs(bound) < LARGEST:
            limits = _limits(bound, sign)[np.clip(places, 0, MOST_PLACES)]
            # steps of tens, hundreds and so on
            limits //= _POWERS[np.clip(-places, 0, len(_POWERS) - 1)]
            mantissa = sign * np.minimum(sign * mantissa, limits)
    return mantissa


def _spelled(numbers: Decimals) -> Spelled:
    size, places = np.abs(numbers.mantissa), numbers.places
    negative = numbers.mantissa < 0
    digits = np.searchsorted(_POWERS, size, side="right")
    shown = np.maximum(digits, places + 1)  # of 0.05, three
    lengths = shown + (places > 0) + negative
    width, longest = int(shown.max(initial=1)), int(lengths.max(initial=1))
    figures = np.full((len(size), width), _ZERO, dtype=np.uint8)
    rest = size
    for column in range(width - 1, max(width - len(_POWERS), 0) - 1, -1):
        rest, digit = np.divmod(rest, 10)
        figures[:, column] += digit.astype(np.uint8)
    at = np.arange(longest) - negative[:, None]
    before = (shown - places)[:, None]
    source = np.clip((width - shown)[:, None] + at - (at > before), 0, width - 1)
    octets = np.take_along_axis(figures, source, axis=1)
    octets[(at == before) & (places > 0)[:, None]] = _POINT
    octets[at < 0] = _MINUS
    octets[np.arange(longest) >= lengths[:, None]] = 0
    return Spelled(octets, lengths.astype(np.int64), numbers.alike())
