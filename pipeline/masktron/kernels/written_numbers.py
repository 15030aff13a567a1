"""Numbers as decimal texts, for the second reading of typed columns; its plain form is in `arrow_objects`."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.compiling import kernel, part
from masktron.kernels.scanner import Bytes

OTHER = -1
"""The scale of a number whose text is given."""
NOTHING = -2
"""The scale where there is no number."""
LONGEST = 26
"""Bytes of a sign, a zero, a point and 22 digits: more than the longest text that is made here."""
_LARGEST = 15
"""Fraction digits that are tried."""
_BOUND = 1e15
"""Below it, 15 digits write every whole number."""
_LEAST, _MOST = 10**16, 10**17
"""Numbers of 17 digits."""
_EXACT_POWER = 22
"""The largest power of ten that is a double."""
_SPLIT = 134217729.0
"""2 ** 27 + 1: splits a double in two halves whose products are exact (Dekker 1971)."""
_DOUBT = 1e-9
"""Far more than what is lost below 128 in doubles."""
_PAIRS = np.frombuffer("".join(f"{number:02d}" for number in range(100)).encode(), dtype=np.uint8)
"""Two digits of each number below 100."""


@part
def _seventeen(value: float) -> tuple[np.int64, int]:
    """Return the digits of the shortest decimal of a double, and its scale; `OTHER` where that is not certain here.

    Theorem: let x = value * 10**s with 10**16 + 100 < x < 10**17 - 100, and h half the distance of `value` to both
    of its neighbours, times 10**s. The decimals that read back as `value` are those d / 10**s with abs(d - x) < h (or
    = h, which is left to others), and h < 12. So at most one multiple of 100 is among such d; where there is one, it
    is the shortest decimal, without the zeros at its end. Else, where there are multiples of 10, the shortest
    decimals have 16 digits, and the nearest of them is wanted; else 17, and the nearest whole number. Proof: every
    decimal of 15, 16 or 17 digits near x / 10**s is a multiple of 100, 10 or 1 there, as x is not near a power of
    ten; and h is at most x * 2**-53, as half a unit in the last place is at most 2**-53 of a double.

    s <= 22, so that 10**s is a double and x the exact sum of two (Dekker 1971), of which the first is whole.
    """
    mantissa, exponent = math.frexp(value)
    power, scale = 1.0, 0
    while value * power < _LEAST and scale <= _EXACT_POWER:
        power *= 10.0
        scale += 1
    if scale > _EXACT_POWER or mantissa == 0.5:  # the neighbours of a power of two are not equally near
        return np.int64(0), OTHER
    product = value * power
    whole = np.int64(product)
    if whole < _LEAST + 100 or whole > _MOST - 100:
        return np.int64(0), OTHER
    v_high = value * _SPLIT - (value * _SPLIT - value)
    p_high = power * _SPLIT - (power * _SPLIT - power)
    v_low, p_low = value - v_high, power - p_high
    error = v_low * p_low - (((product - v_high * p_high) - v_low * p_high) - v_high * p_low)
    half = math.ldexp(power, exponent - 54)
    for unit in (100, 10, 1):
        base = whole - whole % unit
        rest = float(whole - base) + error
        steps = math.floor(rest / unit)
        above = rest - steps * unit
        below = unit - above
        near = min(above, below)
        if abs(above - below) < _DOUBT or abs(near - half) < _DOUBT:
            break
        if near < half:
            digits = base + unit * (np.int64(steps) + (below < above))
            while digits % 10 == 0:
                digits //= 10
                scale -= 1
            return digits, scale
    return np.int64(0), OTHER


@kernel
def scale_doubles(values: NDArray[np.float64], scales: NDArray[np.int8], numbers: NDArray[np.int64]) -> int:
    """Write doubles as ``number / 10**scale``, which is the shortest decimal that reads back as the double.

    Why it is, where 15 digits do, is proved in `masktron.sources.tables.arrow_objects`.

    Parameters
    ----------
    values : ndarray of float64, shape (n,)
    scales : ndarray of int8, shape (n,)
        `NOTHING` where there is no number. Elsewhere written: from 0 to 22, or `OTHER` for -0, infinity, NaN, numbers
        from 1e15 on, those below 1e-6 that have many digits, and those of which it is not certain here.
    numbers : ndarray of int64, shape (n,)
        Written where the scale is not negative.

    Returns
    -------
    int
        How many have the scale `OTHER`.
    """
    left = 0
    for row in range(len(values)):
        if scales[row] == NOTHING:
            continue
        value = abs(values[row])
        scales[row] = OTHER
        if value < _BOUND and not (value == 0.0 and np.signbit(values[row])):
            power = 1.0
            for scale in range(_LARGEST + 1):
                whole = np.rint(value * power)
                if whole >= _BOUND:
                    break
                if whole / power == value:
                    scales[row] = scale
                    numbers[row] = np.int64(whole)
                    break
                power *= 10.0  # exact up to 10**22
            if scales[row] == OTHER:
                numbers[row], scales[row] = _seventeen(value)
            if values[row] < 0.0:
                numbers[row] = -numbers[row]
        left += scales[row] == OTHER
    return left


@kernel
def write_decimals(
    scales: NDArray[np.int8],
    numbers: NDArray[np.int64],
    signed: bool,
    texts: Bytes,
    ends: NDArray[np.int32],
    octets: Bytes,
    stops: NDArray[np.int32],
) -> None:
    """Write numbers as texts, one behind the other.

    Parameters
    ----------
    scales : ndarray of int8, shape (n,)
        Fraction digits; `OTHER` where a text is given, `NOTHING` where there is none.
    numbers : ndarray of int64, shape (n,)
        Times ``10**scale``.
    signed : bool
        Whether they are what they seem; else their bits are those of numbers without a sign.
    texts : ndarray of uint8
        The texts that are given, one behind the other.
    ends : ndarray of int32, shape (m,)
        Where each of these ends.
    octets : ndarray of uint8, shape (at least n * LONGEST + len(texts),)
        Written.
    stops : ndarray of int32, shape (n + 1,)
        Written: 0, and where each text ends.
    """
    at, given, begin = 0, 0, 0
    stops[0] = 0
    for row in range(len(scales)):
        scale = scales[row]
        if scale >= 0:
            rest = np.uint64(numbers[row])
            if signed and numbers[row] < 0:
                octets[at] = 45
                at += 1
                rest = ~rest + np.uint64(1)
            # at least one digit stands before the point
            digits, bound = 1, np.uint64(10)
            while digits <= scale or (digits < 20 and rest >= bound):
                digits += 1
                bound *= np.uint64(10)
            place = at + digits
            at = place
            if scale > 0:
                at += 1
                for back in range(scale):
                    quotient = rest // np.uint64(10)
                    octets[place - back] = 48 + np.uint8(rest - quotient * np.uint64(10))
                    rest = quotient
                place -= scale
                octets[place] = 46
                digits -= scale
            while digits > 1:
                quotient = rest // np.uint64(100)
                two = np.int64(rest - quotient * np.uint64(100))
                octets[place - 1] = _PAIRS[2 * two + 1]
                octets[place - 2] = _PAIRS[2 * two]
                rest = quotient
                place -= 2
                digits -= 2
            if digits > 0:
                octets[place - 1] = 48 + np.uint8(rest)
        elif scale == OTHER:
            for place in range(begin, ends[given]):
                octets[at] = texts[place]
                at += 1
            begin = ends[given]
            given += 1
        stops[row + 1] = at
