"""Texts as numbers: the forms that every version of XPath has, read bit by bit as two kinds of engine read them."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.compiling import kernel
from masktron.kernels.scanner import Bytes

# Forms of cells, as `masktron.sources.columns.NumberForm`
_NOTHING, _BLANK, _INTEGER, _DECIMAL, _WORDS, _OTHER = 0, 1, 2, 3, 4, 5
_EMPTY, _TEXT = 1, 2

_MAX_DIGITS = 18
_LIBXML2_DIGITS = 20
_EXACT = 1 << 53
_EXACT_POWER = 22
"""The largest power of ten that is a double."""
_MAX_SCALE = 32767
_SPLIT = 134217729.0
"""2 ** 27 + 1: splits a double in two halves whose products are exact (Dekker 1971)."""
_MARGIN = 2.0**-48


@cache
def powers_of_ten() -> NDArray[np.float64]:
    """Return 10 ** 0 to 10 ** 309, the last infinite, as the C library gives them: libxml2 asks it, too.

    They are made once, and cannot be written to.
    """
    powers = np.array([math.pow(10.0, n) for n in range(309)] + [math.inf])
    powers.flags.writeable = False
    return powers


@kernel
def _is_blank(byte: int) -> bool:
    return byte == 32 or byte == 10 or byte == 9 or byte == 13


@kernel
def _may_be_number(byte: int) -> bool:
    """Tell whether some number of some XPath version has this character in it."""
    if 48 <= byte <= 57 or byte == 43 or byte == 45 or byte == 46:
        return True
    return byte == 101 or byte == 69 or byte == 73 or byte == 78 or byte == 70 or byte == 97 or _is_blank(byte)


@kernel
def _quotient(mantissa: np.int64, power: float) -> float:
    """Return ``mantissa / power`` correctly rounded where that is proven, else NaN.

    The mantissa is below 10 ** 18 and the power exact. The quotient of the leading part is corrected by the exact
    remainder; as rounding is monotonic, what comes out is right if a correction that is surely too small and one
    that is surely too large both give it (Ziv 1991).
    """
    high = float(mantissa)
    low = float(mantissa - np.int64(high))
    quotient = high / power
    product = quotient * power
    q_high = quotient * _SPLIT - (quotient * _SPLIT - quotient)
    p_high = power * _SPLIT - (power * _SPLIT - power)
    q_low, p_low = quotient - q_high, power - p_high
    error = q_low * p_low - (((product - q_high * p_high) - q_low * p_high) - q_high * p_low)
    correction = (((high - product) - error) + low) / power
    margin = abs(correction) * _MARGIN
    least, most = quotient + (correction - margin), quotient + (correction + margin)
    return least if least == most else math.nan


@kernel
def _libxml2(whole: float, fraction: float, digits: int, negative: bool, powers: NDArray[np.float64]) -> float:
    value = whole
    if digits > 0:
        value += fraction / powers[min(digits, len(powers) - 1)]
    return -value if negative else value


@kernel
def read_numbers(
    data: Bytes,
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    status: Bytes,
    powers: NDArray[np.float64],
    form: Bytes,
    double: NDArray[np.float64],
    libxml2: NDArray[np.float64],
    mantissa: NDArray[np.int64],
    scale: NDArray[np.int16],
    unsettled: NDArray[np.int64],
) -> int:
    """Read cells as numbers.

    Parameters
    ----------
    data, starts, stops, status : ndarray
        A buffer, and the cells of one field, shape (n,).
    powers : ndarray of float64
        From `powers_of_ten`.
    form, double, libxml2, mantissa, scale : ndarray, shape (n,)
        Written: see `masktron.sources.columns.Numbers`.
    unsettled : ndarray of int64, shape (n,)
        Written: cells of which `double` is still to be found, as the rounding could not be proven.

    Returns
    -------
    int
        How many cells are unsettled.
    """
    open_cells = 0
    for row in range(len(starts)):
        double[row] = libxml2[row] = math.nan
        mantissa[row], scale[row] = 0, -1
        if status[row] != _TEXT:
            form[row] = _BLANK if status[row] == _EMPTY else _NOTHING
            continue
        i, stop = starts[row], stops[row]
        while i < stop and _is_blank(data[i]):
            i += 1
        while stop > i and _is_blank(data[stop - 1]):
            stop -= 1
        if i == stop:
            form[row] = _BLANK
            continue
        begin = i
        negative = data[i] == 45
        if negative:
            i += 1
        exact = np.int64(0)
        significant = 0  # digits without leading zeros
        whole = 0.0
        first = i
        while i < stop and 48 <= data[i] <= 57:
            digit = np.int64(data[i]) - 48
            if significant > 0 or digit > 0:
                significant += 1
            if significant <= _MAX_DIGITS:
                exact = exact * 10 + digit
            whole = float(exact) if significant <= 15 else whole * 10.0 + float(digit)
            i += 1
        digits = i - first
        point = i < stop and data[i] == 46
        fraction = 0.0
        part = np.int64(0)
        kept = zeros = decimals = 0
        if point:
            i += 1
            first = i
            while i < stop and 48 <= data[i] <= 57:
                digit = np.int64(data[i]) - 48
                if significant > 0 or digit > 0:
                    significant += 1
                if significant <= _MAX_DIGITS:
                    exact = exact * 10 + digit
                if kept == 0 and digit == 0:
                    zeros += 1
                elif kept < _LIBXML2_DIGITS:
                    kept += 1
                    if kept <= 15:
                        part = part * 10 + digit
                        fraction = float(part)
                    else:
                        fraction = fraction * 10.0 + float(digit)
                i += 1
            decimals = i - first
        if i < stop or digits + decimals == 0:
            form[row] = _OTHER
            for j in range(begin, stop):
                if not _may_be_number(data[j]):
                    form[row] = _WORDS
                    break
            continue
        form[row] = _DECIMAL if point else _INTEGER
        libxml2[row] = _libxml2(whole, fraction, zeros + kept, negative, powers)
        value = math.nan
        if significant <= _MAX_DIGITS:
            if decimals <= _MAX_SCALE:
                mantissa[row] = -exact if negative else exact
                scale[row] = decimals
            if decimals == 0:
                value = float(exact)
            elif decimals <= _EXACT_POWER and exact <= _EXACT:
                value = float(exact) / powers[decimals]
            elif decimals <= _EXACT_POWER:
                value = _quotient(exact, powers[decimals])
            elif exact == 0:
                value = 0.0
        double[row] = -value if negative else value
        if math.isnan(value):
            unsettled[open_cells] = row
            open_cells += 1
    return open_cells
