"""Numbers as decimal texts, for the second reading of typed columns; its plain form is in `arrow_objects`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.compiling import kernel
from masktron.kernels.scanner import Bytes

OTHER = -1
"""The scale of a number whose text is given."""
NOTHING = -2
"""The scale where there is no number."""
LONGEST = 22
"""Bytes of a sign, 20 digits and a point: the longest text that is made here."""
_LARGEST = 15
"""Fraction digits that are tried."""
_BOUND = 1e15
"""Below it, 15 digits write every whole number."""
_PAIRS = np.frombuffer("".join(f"{number:02d}" for number in range(100)).encode(), dtype=np.uint8)
"""Two digits of each number below 100."""


@kernel
def scale_doubles(values: NDArray[np.float64], scales: NDArray[np.int8], numbers: NDArray[np.int64]) -> int:
    """Write doubles as ``number / 10**scale`` with the least scale that gives them back, where 15 digits do.

    Why that is the shortest decimal of the double is proved in `masktron.sources.tables.arrow_objects`.

    Parameters
    ----------
    values : ndarray of float64, shape (n,)
    scales : ndarray of int8, shape (n,)
        `NOTHING` where there is no number. Elsewhere written: from 0 to 15, or `OTHER` where 15 digits are too few,
        or the number is -0, infinite or NaN.
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
                    numbers[row] = np.int64(whole) if values[row] >= 0.0 else -np.int64(whole)
                    break
                power *= 10.0  # exact up to 10**22
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
            while digits < 20 and (rest >= bound or digits <= scale):
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
